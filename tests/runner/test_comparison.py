"""A baseline that is timed together with implementation and reference: claims, checks, failures, confirmation."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING, Any

import pytest

from kbeval_jupyter import EvaluationResult, evaluate
from kbeval_jupyter.rendering import text
from kbeval_jupyter.runner.timing.speedup import mean_speedup, paired_speedup
from kbeval_jupyter.runner.timing.timed_crew import creation_order

if TYPE_CHECKING:
    from kbeval_jupyter.runner.report import Claim, ComparisonReport

WORK = """
import torch

def work(x, rounds):
    total = 0.0
    for i in range(rounds):
        total += i
    return x + total
"""
REFERENCE = (
    WORK
    + """
def ref_kernel(inputs):
    return work(inputs[0], inputs[1])

def generate_input(rounds, seed):
    return torch.full((4,), float(seed % 7)), rounds
"""
)
CASES = json.dumps([{"name": "short", "rounds": 40_000, "seed": 1}])


def implementation(body: str, before: str = "") -> str:
    return WORK + textwrap.dedent(before) + "\ndef custom_kernel(inputs):\n" + textwrap.indent(textwrap.dedent(body), "    ")


SAME = implementation("return work(inputs[0], inputs[1])")
TWICE_AS_FAST = implementation("""
    x, rounds = inputs
    half = rounds // 2
    return work(x, half) + (rounds * (rounds - 1) - half * (half - 1)) / 2
""")
WRONG = implementation("return work(inputs[0], inputs[1]) * 1.01")


def against(baseline: str, candidate: str = TWICE_AS_FAST, **options: Any) -> tuple[EvaluationResult, ComparisonReport]:
    result = evaluate(candidate, REFERENCE, cases=CASES, vs=baseline, **{"budget": 1.0, "trials": 1, **options})
    assert result.comparison is not None, result.reason
    return result, result.comparison


@pytest.fixture(scope="module")
def faster() -> tuple[EvaluationResult, ComparisonReport]:
    return against(SAME, confirm=True, budget=1.5)


def test_vs_measures_without_benchmark_being_asked_for(faster: tuple[EvaluationResult, ComparisonReport]) -> None:
    result, comparison = faster
    assert (result.verdict, result.stages["benchmark"].status) == ("passed", "passed"), result.reason
    assert (comparison.baseline, comparison.baseline_right, comparison.baseline_reason) == ("baseline", True, "")
    assert comparison.speedup is not None
    assert comparison.claim == comparison.speedup.claim == "FASTER"
    assert comparison.estimate is not None
    assert 1.4 < comparison.estimate < 3.0
    (case,) = comparison.cases
    assert case.baseline is not None
    assert case.baseline.n >= 10
    assert result.benchmark is not None
    assert "4 groups of 3 processes" in result.benchmark.method
    assert case.baseline.n == result.benchmark.cases[0].implementation.n, "sampled in the same rounds"  # type: ignore[union-attr]


def test_views_that_know_no_comparison_have_it_as_a_note(faster: tuple[EvaluationResult, ComparisonReport]) -> None:
    result, _ = faster
    notes = {note.code: note.text for note in result.notes}
    assert notes["comparison_claim"].startswith("against baseline: ")
    assert "faster (95 % interval" in notes["comparison_claim"]
    assert notes["confirmed"].startswith("short: a second measurement")
    shown = text.render(result)
    assert shown.count("the speed of baseline: faster") == 1
    assert "confirmed in fresh processes" in shown
    assert notes["comparison_claim"] not in shown


def test_the_baseline_against_the_reference_is_told_too(faster: tuple[EvaluationResult, ComparisonReport]) -> None:
    own, other = faster[0].further_comparisons
    assert (own.implementation, own.baseline, own.claim) == ("implementation", "reference", "FASTER")
    assert (other.implementation, other.baseline) == ("baseline", "reference")
    assert other.claim in ("SAME", "AMBIGUOUS")


def test_a_winner_is_confirmed_in_fresh_processes(faster: tuple[EvaluationResult, ComparisonReport]) -> None:
    assert faster[0].benchmark is not None
    timing = faster[0].benchmark.cases[0]
    assert timing.confirmed is True
    assert timing.confirmation is not None
    assert timing.confirmation.claim == "FASTER"
    assert timing.confirmation != timing.speedup, "measured, not repeated"


def test_the_machine_is_looked_at_before_and_during(faster: tuple[EvaluationResult, ComparisonReport]) -> None:
    benchmark = faster[0].benchmark
    assert benchmark is not None
    assert [state.moment for state in benchmark.states] == ["before"] + ["during"] * (len(benchmark.states) - 1)
    assert len(benchmark.states) == 9, "once before, and once in each process group of both measurements"
    assert benchmark.states[0].load_average is not None
    assert benchmark.precision["matmul.allow_tf32"] == "False"


def test_the_result_survives_json(faster: tuple[EvaluationResult, ComparisonReport]) -> None:
    data = json.loads(json.dumps(faster[0].to_json(), allow_nan=False))
    assert data["comparison"]["baseline"] == "baseline"
    assert data["comparison"]["claim"] == "FASTER"
    assert EvaluationResult.from_json(data).comparison == faster[1]


def test_swapped_sides_invert_the_speedup() -> None:
    half_as_fast = REFERENCE.replace("def ref_kernel", "def custom_kernel").partition("def generate_input")[0]
    fast_reference = TWICE_AS_FAST.replace("def custom_kernel", "def ref_kernel") + "\n" + REFERENCE[REFERENCE.index("def gen") :]
    straight = evaluate(TWICE_AS_FAST, REFERENCE, cases=CASES, benchmark=True, budget=1.0, trials=1)
    swapped = evaluate(half_as_fast, fast_reference, cases=CASES, benchmark=True, budget=1.0, trials=1)
    assert straight.benchmark is not None
    assert swapped.benchmark is not None
    one, other = straight.benchmark.cases[0].speedup, swapped.benchmark.cases[0].speedup
    assert one is not None
    assert other is not None
    assert (one.claim, other.claim) == ("FASTER", "SLOWER")
    # Two measurements, each with an interval; on a busy machine they are wide.
    assert max(one.ci_low, 1 / other.ci_high) <= 1.1 * min(one.ci_high, 1 / other.ci_low)


def test_the_claim_of_swapped_samples_is_the_opposite() -> None:
    ratios = [[0.02 + 0.001 * ((7 * i + g) % 5) for i in range(41)] for g in range(4)]
    one = paired_speedup(ratios)
    other = paired_speedup([[-ratio for ratio in group] for group in ratios])
    assert one is not None
    assert other is not None
    opposite: dict[Claim, Claim] = {"FASTER": "SLOWER", "SLOWER": "FASTER"}
    assert other.claim == opposite[one.claim]
    assert other.estimate == pytest.approx(1 / one.estimate)
    assert (other.ci_low, other.ci_high) == pytest.approx((1 / one.ci_high, 1 / one.ci_low), rel=1e-3)


def test_over_several_cases_the_mean_is_claimed() -> None:
    def case(log_ratio: float) -> list[list[float]]:
        return [[log_ratio + 0.001 * (i % 3 - 1) for i in range(30)] for _ in range(4)]

    found = mean_speedup([case(0.3), case(-0.1)])
    assert found is not None
    assert found.estimate == pytest.approx(2.718281828**0.1, rel=1e-3)
    assert found.claim == "FASTER"
    assert mean_speedup([case(0.3), []]) is None
    assert mean_speedup([]) is None


def test_every_side_is_made_early_as_often_as_late() -> None:
    orders = [creation_order(["a", "b"], number) for number in range(4)]
    assert [order.index("a") for order in orders].count(0) == 2
    orders = [creation_order(["a", "b", "c"], number) for number in range(6)]
    for role in "abc":
        assert sorted(order.index(role) for order in orders) == [0, 0, 1, 1, 2, 2]


def test_a_wrong_baseline_is_said_and_timed() -> None:
    result, comparison = against(WRONG)
    assert result.verdict == "passed", "it is the baseline that is wrong"
    assert comparison.baseline_right is False
    assert "baseline is wrong: case short: " in comparison.baseline_reason
    assert comparison.claim == "FASTER"
    assert any(note.level == "warning" and "baseline is wrong" in note.text for note in result.notes)


def test_a_baseline_that_raises_is_not_timed_and_harms_nothing() -> None:
    result, comparison = against(implementation("raise ValueError('old bug')"))
    assert result.verdict == "passed"
    assert result.speedup is not None
    assert comparison.baseline_right is None
    assert "baseline raised ValueError: old bug" in comparison.baseline_reason
    assert (comparison.speedup, comparison.claim, comparison.cases[0].baseline) == (None, None, None)
    assert comparison.cases[0].reason == comparison.baseline_reason


def test_a_baseline_that_fails_in_a_later_call_is_left_out() -> None:
    later = implementation(
        "global calls\ncalls += 1\nif calls > 4:\n    raise ValueError('the fifth call')\nreturn work(inputs[0], inputs[1])",
        "calls = 0",
    )
    result, comparison = against(later)
    assert result.speedup is not None
    assert comparison.baseline_reason == "baseline failed while it was timed: it raised ValueError: the fifth call"


def test_without_a_winner_nothing_is_confirmed() -> None:
    result = evaluate(SAME, REFERENCE, cases=CASES, confirm=True, budget=0.2, trials=1)
    assert result.benchmark is not None
    timing = result.benchmark.cases[0]
    assert timing.speedup is not None
    assert timing.speedup.claim != "FASTER"
    assert (timing.confirmed, timing.confirmation) == (None, None)
