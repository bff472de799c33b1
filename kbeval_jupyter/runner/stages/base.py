"""What every stage gets and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Literal, Protocol

from .. import wire
from ..crew import Crew
from ..devices.base import Device
from ..randomness import InputSecret
from ..reference import ReferenceProblem
from ..report import StageName, StageStatus, Verdict


@dataclass(frozen=True)
class StageOutcome:
    """How a stage ended. ``verdict`` is set by a stage that decides; None leaves it to the others."""

    status: StageStatus
    reason: str = ""
    verdict: Verdict | None = None


@dataclass
class StageContext:
    """Everything a stage may use; made once per evaluation by the judge."""

    plan: wire.Plan
    run_dir: str
    device: Device
    emit: Callable[[Any], None]
    secret: InputSecret
    problem: ReferenceProblem  # the reference in the judge: cases, inputs, expected values
    crew: Crew  # spawns and prepares workers; crew.implementation() is the one that is being judged
    deadline: Callable[[str, float, Verdict, str], None]
    clear_deadline: Callable[[str], None]

    def note(self, code: str, text: str, level: Literal["info", "warning"] = "info") -> None:
        """Put a remark into the result."""
        self.emit(wire.Note(code, text, level))

    def progress(self, stage: StageName, done: float, total: float | None = None, message: str = "") -> None:
        """Say how far a stage is."""
        self.emit(wire.Progress(stage, done, total, message))


class Stage(Protocol):
    """One stage."""

    name: StageName

    def total(self, context: StageContext) -> int | None:
        """Number of steps, where it is known beforehand."""

    def run(self, context: StageContext) -> StageOutcome:
        """Do the work; a failing implementation is an outcome, never an exception."""
