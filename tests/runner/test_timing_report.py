"""What the result says about a case, from samples; and when a worker's clock is not believed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from kbeval_jupyter.runner.judging.reference import CaseInput
from kbeval_jupyter.runner.timing.stopping import NOISE_STABLE, TIME_LIMIT
from kbeval_jupyter.runner.timing.timed_group import Measured
from kbeval_jupyter.runner.timing.timed_worker import Sample
from kbeval_jupyter.runner.timing.timing_report import TimedCase, case_timing
from kbeval_jupyter.runner.timing.wall_clock import disagreement

if TYPE_CHECKING:
    from kbeval_jupyter.runner.report import CaseTiming

CASE = CaseInput("large", {"n": 3})


def samples(generator: random.Random, call_ms: float, count: int = 40, claimed: float = 1.0) -> list[Sample]:
    """Calls that really took about ``call_ms`` and a request that cost 0.05 ms; the worker claims a share of the truth."""
    calls = [call_ms * generator.gauss(1, 0.01) for _ in range(count)]
    return [Sample(call * claimed, call + generator.gauss(0.05, 0.004)) for call in calls]


def pairs(
    implementation_ms: float, reference_ms: float, claimed: float = 1.0, count: int = 40, processes: int = 4
) -> list[Measured]:
    generator = random.Random(1)
    return [
        Measured(
            {
                "implementation": samples(generator, implementation_ms, count, claimed),
                "reference": samples(generator, reference_ms, count),
            },
            NOISE_STABLE,
        )
        for _ in range(processes)
    ]  # fmt: skip


def timing_of(groups: list[Measured], planned: int = 4) -> CaseTiming:
    return case_timing(TimedCase(CASE, groups, 200), planned)


def test_twice_as_fast() -> None:
    timing = timing_of(pairs(1.0, 2.0))
    assert (timing.name, timing.params, timing.stop_reason, timing.reason) == ("large", {"n": 3}, "noise stable", "")
    assert timing.implementation is not None
    assert timing.reference is not None
    assert timing.implementation.median_ms == pytest.approx(1.0, rel=0.01)
    assert timing.reference.n == 160
    assert timing.speedup is not None
    assert timing.speedup.estimate == pytest.approx(2.0, rel=0.01)
    assert timing.speedup.claim == "FASTER"


def test_honest_clocks_agree() -> None:
    generator = random.Random(2)
    for call_ms in (0.01, 1.0, 100.0):
        assert disagreement(samples(generator, call_ms), samples(generator, 2 * call_ms)) == ""


def test_a_clock_that_claims_half_is_replaced_by_the_wall_clock_for_both_sides() -> None:
    timing = timing_of(pairs(1.0, 1.0, claimed=0.5))
    assert "the implementation's clock differs from the judge's by 0.5" in timing.reason
    assert timing.implementation is not None
    assert timing.implementation.median_ms == pytest.approx(1.05, rel=0.01)
    assert timing.reference is not None
    assert timing.reference.median_ms == pytest.approx(1.05, rel=0.01)
    assert timing.speedup is not None
    assert timing.speedup.claim == "SAME"


def test_a_clock_that_claims_more_than_the_wall_is_not_believed_either() -> None:
    generator = random.Random(3)
    assert disagreement(samples(generator, 1.0, claimed=1.2), samples(generator, 1.0)) != ""


def test_too_few_samples_give_no_speedup() -> None:
    measured = pairs(1.0, 2.0, count=2)
    for pair in measured:
        pair.stop_reason = TIME_LIMIT
    timing = timing_of(measured)
    assert timing.speedup is None
    assert timing.implementation is not None
    assert timing.implementation.median_ms is None
    assert timing.implementation.reason == "8 samples, at least 10 are needed: time limit of the evaluation reached"
    assert len(timing.implementation.samples_ms) == 8


def test_fewer_process_pairs_than_planned_are_said_and_claim_nothing() -> None:
    timing = timing_of(pairs(1.0, 2.0, processes=2))
    assert timing.reason == "2 of 4 process groups fitted into the time limit"
    assert timing.speedup is not None
    assert timing.speedup.claim == "AMBIGUOUS"
    assert timing_of([]).reason == "no process group was timed: time limit of the evaluation reached"


def test_calls_that_others_interrupted_are_pointed_out() -> None:
    measured = pairs(1.0, 2.0)
    for pair in measured:
        pair.samples["reference"] = [
            Sample(s.own_ms, s.wall_ms, interrupted=number < 10) for number, s in enumerate(pair.of("reference"))
        ]
    expected = "40 of 320 timed calls were interrupted by other processes on their CPUs: times and ratio are unreliable"
    assert timing_of(measured).reason == expected


def test_below_the_resolution_there_is_no_speedup() -> None:
    timing = timing_of(pairs(0.0001, 1.0))
    assert timing.speedup is None
    assert timing.implementation is not None
    assert timing.implementation.reason == "below the timer's resolution of 0.2 us"
