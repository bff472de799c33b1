"""Several implementations timed together: the matrix of claims, made from one evaluation in which they were rivals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.runner.report import Claim, ComparisonReport, Speedup, TimingStats, Verdict

from .codec import decode, encode
from .result import NoteReport, TargetInfo

if TYPE_CHECKING:
    from .result import EvaluationResult

SCHEMA = "kbeval.comparison/1"
REFERENCE = "reference"

_OPPOSITE: dict[Claim, Claim] = {"FASTER": "SLOWER", "SLOWER": "FASTER"}


@dataclass(frozen=True)
class CaseTimes:
    """Times of one implementation in one case."""

    name: str
    times: TimingStats | None


@dataclass(frozen=True)
class ComparedSide:
    """One of the implementations, or the reference. ``right``: whether its outputs passed; None where they could not be had."""

    label: str
    right: bool | None
    reason: str
    cases: list[CaseTimes]


@dataclass(frozen=True)
class ComparisonResult:
    """Implementations and the reference, timed together. ``pairs`` holds each pair once; ``speedup`` finds it in either order.

    ``verdict`` is "not_checked" where everything went well: correctness is told by side, in ``sides``.
    """

    schema: str
    id: str
    problem: str
    verdict: Verdict
    reason: str
    target: TargetInfo
    method: str = ""
    stop_rule: str = ""
    sides: list[ComparedSide] = field(default_factory=list)
    pairs: list[ComparisonReport] = field(default_factory=list)
    notes: list[NoteReport] = field(default_factory=list)
    environment: dict[str, str | None] = field(default_factory=dict)
    seconds: float | None = None

    @property
    def labels(self) -> list[str]:
        """The implementations in the order in which they were given, then the reference."""
        return [side.label for side in self.sides]

    def speedup(self, label: str, over: str) -> Speedup | None:
        """How much faster ``label`` is than ``over``, over all cases; None where that was not measured."""
        for pair in self.pairs:
            if (pair.implementation, pair.baseline) == (label, over):
                return pair.speedup
            if (pair.implementation, pair.baseline) == (over, label):
                return inverted(pair.speedup)
        return None

    def fastest(self) -> str | None:
        """The implementation that is claimed to be faster than all other right ones; None where there is no such claim."""
        right = [side.label for side in self.sides if side.right and side.label != REFERENCE]
        for label in right:
            claims = [found.claim if (found := self.speedup(label, other)) else None for other in right if other != label]
            if claims and all(claim == "FASTER" for claim in claims):
                return label
        return None

    def to_json(self) -> dict[str, Any]:
        """Strict JSON data of schema kbeval.comparison/1."""
        data: dict[str, Any] = encode(self)
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> ComparisonResult:
        """The result that ``to_json`` wrote; raises DecodeError (a ValueError)."""
        return decode(cls, data)


def inverted(speedup: Speedup | None) -> Speedup | None:
    """The same seen from the other side."""
    if speedup is None:
        return None
    claim = _OPPOSITE.get(speedup.claim, speedup.claim)
    return Speedup(1 / speedup.estimate, 1 / speedup.ci_high, 1 / speedup.ci_low, claim)


def from_evaluation(result: EvaluationResult) -> ComparisonResult:
    """The comparison that an evaluation with rivals made."""
    pairs = [result.comparison, *result.further_comparisons] if result.comparison else []
    sides = []
    if pairs and result.benchmark:
        first = pairs[0]
        own = [CaseTimes(timing.name, timing.implementation) for timing in result.benchmark.cases]
        sides.append(ComparedSide(first.implementation, first.implementation_right, first.implementation_reason, own))
        for pair in pairs:
            if pair.implementation == first.implementation:
                times = [CaseTimes(case.name, case.baseline) for case in pair.cases]
                right = True if pair.baseline == REFERENCE else pair.baseline_right
                sides.append(ComparedSide(pair.baseline, right, pair.baseline_reason, times))
    return ComparisonResult(
        schema=SCHEMA,
        id=result.id,
        problem=result.problem,
        verdict=result.verdict,
        reason=result.reason,
        target=result.target,
        method=result.benchmark.method if result.benchmark else "",
        stop_rule=result.benchmark.stop_rule if result.benchmark else "",
        sides=sides,
        pairs=pairs,
        notes=result.notes,
        environment=result.environment,
        seconds=result.seconds,
    )
