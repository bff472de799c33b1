"""From the samples of all process groups to what the result says about a case, and about two implementations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Mapping, Sequence

from ..judging.reference import CaseInput
from ..report import CaseComparison, CaseTiming, ComparisonReport
from .speedup import log_ratios, mean_speedup, paired_speedup
from .statistics import summarise
from .stopping import TIME_LIMIT, summarise_reasons
from .timed_group import Measured
from .wall_clock import disagreement

if TYPE_CHECKING:
    from ..judging.crew import Role
    from ..report import TimingStats
    from .timed_worker import Sample

DISTURBED_SHARE = 0.1  # fewer interruptions hardly move a median


@dataclass(frozen=True)
class TimedCase:
    """All samples of one case, by process group.

    Where a clock of a side that is not trusted cannot be believed all times are those of the judge's wall clock.
    """

    case: CaseInput
    groups: Sequence[Measured]
    resolution_ns: int

    @property
    def timed(self) -> list[Measured]:
        """The process groups in which anything was timed."""
        return [group for group in self.groups if group.rounds]

    @property
    def stop_reason(self) -> str:
        """Why the process groups stopped."""
        return summarise_reasons([group.stop_reason for group in self.groups])

    def samples(self, role: Role) -> list[Sample]:
        """All samples of a side."""
        return [sample for group in self.timed for sample in group.of(role)]

    @cached_property
    def doubts(self) -> list[str]:
        """Which clocks cannot be believed, as sentences."""
        roles = dict.fromkeys(role for group in self.timed for role in group.samples if role != "reference")
        found = [disagreement(self.samples(role), self.samples("reference"), _spoken(role)) for role in roles]
        return [doubt for doubt in found if doubt]

    def times_ms(self, role: Role) -> list[list[float]]:
        """A side's times in each process group."""
        doubtful = bool(self.doubts)
        return [[sample.wall_ms if doubtful else sample.own_ms for sample in group.of(role)] for group in self.timed]

    def stats(self, role: Role) -> TimingStats:
        """Statistics of a side."""
        return summarise([ms for group in self.times_ms(role) for ms in group], self.resolution_ns / 1e6, self.stop_reason)

    def ratios(self, role: Role, base: Role) -> list[list[float]]:
        """Log ratios of each process group, positive where ``role`` is faster than ``base``; empty where either has no times."""
        if any(not self.samples(side) or self.stats(side).median_ms is None for side in (role, base)):
            return []
        return [log_ratios(theirs, ours) for theirs, ours in zip(self.times_ms(base), self.times_ms(role))]


@dataclass(frozen=True)
class Remark:
    """Whether the outputs of a rival are right (None: unknown), and what is to be said about it."""

    right: bool | None = None
    text: str = ""


def case_timing(timed_case: TimedCase, planned_groups: int) -> CaseTiming:
    """Statistics of implementation and reference, the speedup and its claim; ``reason`` says what is to be known about them."""
    case, timed, stop_reason = timed_case.case, timed_case.timed, timed_case.stop_reason
    if not timed:
        return CaseTiming(
            case.name, case.params, None, None, None, stop_reason, f"no process group was timed: {stop_reason or TIME_LIMIT}"
        )
    implementation, reference = (timed_case.stats(role) for role in ("implementation", "reference"))
    speedup = paired_speedup(timed_case.ratios("implementation", "reference"))
    few = f"{len(timed)} of {planned_groups} process groups fitted into the time limit" if len(timed) < planned_groups else ""
    disturbance = _disturbance([sample for group in timed for samples in group.samples.values() for sample in samples])
    remarks = "; ".join(filter(None, (*timed_case.doubts, few, disturbance)))
    return CaseTiming(case.name, case.params, implementation, reference, speedup, stop_reason, remarks)


def comparison(
    cases: Sequence[TimedCase], role: Role, base: Role, labels: Mapping[Role, str], remarks: Mapping[Role, Remark]
) -> ComparisonReport:
    """One side against another."""
    found = []
    ours, theirs = remarks.get(role, Remark()), remarks.get(base, Remark())
    for case in cases:
        stats = case.stats(base) if case.samples(base) else None
        reason = "" if stats else theirs.text or f"no process group was timed: {case.stop_reason or TIME_LIMIT}"
        found.append(CaseComparison(case.case.name, stats, paired_speedup(case.ratios(role, base)), reason))
    whole = mean_speedup([case.ratios(role, base) for case in cases])
    estimates = {case.name: case.speedup.estimate for case in found if case.speedup}
    return ComparisonReport(
        implementation=labels[role],
        baseline=labels[base],
        estimate=whole.estimate if whole else None,
        ci_low=whole.ci_low if whole else None,
        ci_high=whole.ci_high if whole else None,
        claim=whole.claim if whole else None,
        speedup=whole,
        implementation_right=ours.right,
        implementation_reason=ours.text,
        baseline_right=theirs.right,
        baseline_reason=theirs.text,
        cases=found,
        worst_case=min(estimates, key=lambda name: estimates[name]) if estimates else None,
    )


def _spoken(role: Role) -> str:
    return role if role == "implementation" else "baseline"


def _disturbance(samples: Sequence[Sample]) -> str:
    """What to say where other processes used the timed CPUs: long calls are interrupted more often, which distorts ratios."""
    count = sum(sample.interrupted for sample in samples)
    if count < DISTURBED_SHARE * len(samples):
        return ""
    return (
        f"{count} of {len(samples)} timed calls were interrupted by other processes on their CPUs: times and ratio are unreliable"
    )
