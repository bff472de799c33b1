"""The result of an evaluation: section 4 of the public contract as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbeval_jupyter.runner.report import (
    Artifact,
    BenchmarkReport,
    CorrectnessReport,
    DeviceInfo,
    Failure,
    IsolationLayer,
    StageReport,
    Verdict,
)

SCHEMA = "kbeval.evaluation/1"
MIME_TYPE = "application/vnd.kbeval.evaluation+json"


@dataclass(frozen=True)
class TargetInfo:
    """Where it ran."""

    name: str
    kind: str
    device: DeviceInfo | None = None


@dataclass(frozen=True)
class NoteReport:
    """A remark that belongs to the result."""

    code: str
    text: str
    level: str = "info"


@dataclass(frozen=True)
class EvaluationResult:
    """One evaluation, finished. ``passed`` is None where nothing was checked; ``speedup`` is the geometric mean or None."""

    schema: str
    id: str
    label: str
    problem: str
    verdict: Verdict
    reason: str
    format: str
    seed: int
    target: TargetInfo
    environment: dict[str, str | None] = field(default_factory=dict)
    isolation: list[IsolationLayer] = field(default_factory=list)
    stages: dict[str, StageReport] = field(default_factory=dict)
    correctness: CorrectnessReport | None = None
    benchmark: BenchmarkReport | None = None
    notes: list[NoteReport] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    log_tail: list[str] = field(default_factory=list)
    input_secret: str | None = None
    seconds: float | None = None
    error: Failure | None = None

    # Not part of the JSON: where the artifacts lie on this machine (set by the client).
    @property
    def passed(self) -> bool | None:
        """True, False, or None where nothing was checked."""
        raise NotImplementedError

    @property
    def speedup(self) -> float | None:
        """Geometric mean of the per-case speedups, or None."""
        raise NotImplementedError

    @property
    def artifacts_dir(self) -> Path:
        """Folder of the artifacts on this machine."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Section 4 of the contract as strict JSON data."""
        raise NotImplementedError
