"""The result of an evaluation: section 4 of the public contract as frozen data."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbeval_jupyter.runner.report import (
    Artifact,
    BenchmarkReport,
    ComparisonReport,
    CorrectnessReport,
    DefenseReport,
    DeviceInfo,
    Failure,
    IsolationLayer,
    StageReport,
    Verdict,
)

from .codec import decode, encode
from .static_report import StaticReport

SCHEMA = "kbeval.evaluation/1"
MIME_TYPE = "application/vnd.kbeval.evaluation+json"
ARTIFACTS_FOLDER = "kbeval_artifacts"


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
    comparison: ComparisonReport | None = None
    further_comparisons: list[ComparisonReport] = field(default_factory=list)  # of the rivals, and with the reference
    defense: DefenseReport | None = None
    static: StaticReport | None = None
    notes: list[NoteReport] = field(default_factory=list)
    artifacts: list[Artifact] = field(default_factory=list)
    log_tail: list[str] = field(default_factory=list)
    input_secret: str | None = None
    seconds: float | None = None
    error: Failure | None = None
    local_artifacts: Path | None = field(
        default=None, compare=False, metadata={"json": False}
    )  # this machine's, so not in the JSON

    @property
    def passed(self) -> bool | None:
        """True, False, or None where nothing was checked."""
        if self.verdict in ("not_checked", "cancelled", "error"):
            return None
        return self.verdict == "passed"

    @property
    def speedup(self) -> float | None:
        """Geometric mean of the per-case speedups, or None."""
        return self.benchmark.geomean_speedup if self.benchmark else None

    @property
    def artifacts_dir(self) -> Path:
        """Folder of the artifacts on this machine; it exists where there are any and they were fetched."""
        return self.local_artifacts or Path(ARTIFACTS_FOLDER) / self.id

    def to_json(self) -> dict[str, Any]:
        """Section 4 of the contract as strict JSON data: numbers finite or None, keys in the contract's order."""
        data: dict[str, Any] = encode(self)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> EvaluationResult:
        """The result that ``to_json`` wrote, also one of a newer version; raises DecodeError (a ValueError)."""
        return decode(cls, data)
