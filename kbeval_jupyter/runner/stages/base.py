"""What every stage gets and gives."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Callable, Literal, Protocol

from .. import wire
from ..devices import Device
from ..judging.crew import Crew
from ..judging.custom_inputs import RequestRefused
from ..judging.outputs import Rules
from ..judging.reference import ReferenceProblem
from ..judging.trials import Trials
from ..report import StageStatus, Verdict
from ..usercode.randomness import InputSecret

if TYPE_CHECKING:
    from ..judging.reference import CaseInput
    from ..report import StageName


@dataclass(frozen=True)
class StageOutcome:
    """How a stage ended. ``verdict`` is set by a stage that decides; None leaves it to the others.

    ``stops``: whether the stages after a failed one are left out.
    """

    status: StageStatus
    reason: str = ""
    verdict: Verdict | None = None
    stops: bool = True


@dataclass
class StageContext:
    """Everything a stage may use; made once per evaluation by the judge."""

    plan: wire.Plan
    run_dir: str
    device: Device
    emit: Callable[..., None]  # events, all at once
    secret: InputSecret
    problem: ReferenceProblem  # the reference in the judge: cases, inputs, expected values
    crew: Crew  # makes workers and fills them; crew.implementation() is the one that is being judged
    trials: Trials  # makes trials and runs them
    started: float = field(default_factory=time.monotonic)

    def time_left_s(self) -> float:
        """Seconds until the time limit of the whole evaluation."""
        return self.started + self.plan.timeout_s - time.monotonic()

    @property
    def rules(self) -> Rules:
        """How values are judged."""
        return Rules(self.plan.tolerance, self.problem.tf32_allowed)

    def first_trial(self) -> tuple[CaseInput, int]:
        """The case and trial that come first: those of a replay, or the problem's first."""
        return (self.selected_trials() or [(self.problem.cases[0], 0)])[0]

    def selected_trials(self) -> list[tuple[CaseInput, int]]:
        """(case, trial) in the order in which they run: all, or the one of a replay. Raises RequestRefused."""
        replay = self.plan.replay
        if replay is None:
            return [(case, number) for case in self.problem.cases for number in range(wire.trials_of(self.plan, case.checked))]
        names = [case.name for case in self.problem.cases]
        if replay[0] not in names:
            raise RequestRefused(f"replay: the problem has no case {replay[0]!r}; valid: {', '.join(names)}")
        return [(self.problem.cases[names.index(replay[0])], replay[1])]

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
        """Do the work. A failing implementation is an outcome; only InvalidReference and RequestRefused may be raised."""
