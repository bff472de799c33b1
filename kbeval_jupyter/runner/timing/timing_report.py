"""From the samples of all process pairs to what the result says about a case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..report import CaseTiming
from .speedup import log_ratios, paired_speedup
from .statistics import summarise
from .stopping import TIME_LIMIT, summarise_reasons
from .wall_clock import disagreement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..judging.reference import CaseInput
    from .timed_pair import Measured
    from .timed_worker import Sample

DISTURBED_SHARE = 0.1  # fewer interruptions hardly move a median


def case_timing(case: CaseInput, pairs: Sequence[Measured], resolution_ns: int, planned_pairs: int) -> CaseTiming:
    """Statistics of both sides, the speedup and its claim.

    Where the implementation's clock cannot be believed all times are those of the judge's wall clock; ``reason`` says so.
    """
    timed = [pair for pair in pairs if pair.implementation]
    implementation = [sample for pair in timed for sample in pair.implementation]
    reference = [sample for pair in timed for sample in pair.reference]
    stop_reason = summarise_reasons([pair.stop_reason for pair in pairs])
    if not timed:
        return CaseTiming(
            case.name, case.params, None, None, None, stop_reason, f"no process pair was timed: {stop_reason or TIME_LIMIT}"
        )
    doubt = disagreement(implementation, reference)

    def times(samples: Sequence[Sample]) -> list[float]:
        return [sample.wall_ms if doubt else sample.own_ms for sample in samples]

    sides = [summarise(times(samples), resolution_ns / 1e6, stop_reason) for samples in (implementation, reference)]
    speedup = None
    if all(side.median_ms is not None for side in sides):
        speedup = paired_speedup([log_ratios(times(pair.reference), times(pair.implementation)) for pair in timed])
    few = f"{len(timed)} of {planned_pairs} process pairs fitted into the time limit" if len(timed) < planned_pairs else ""
    remarks = "; ".join(filter(None, (doubt, few, _disturbance(implementation + reference))))
    return CaseTiming(case.name, case.params, sides[0], sides[1], speedup, stop_reason, remarks)


def _disturbance(samples: Sequence[Sample]) -> str:
    """What to say where other processes used the timed CPUs: long calls are interrupted more often, which distorts ratios."""
    count = sum(sample.interrupted for sample in samples)
    if count < DISTURBED_SHARE * len(samples):
        return ""
    return (
        f"{count} of {len(samples)} timed calls were interrupted by other processes on their CPUs: times and ratio are unreliable"
    )
