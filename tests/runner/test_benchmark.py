"""The benchmark stage from end to end: known ratios, failures, budgets, several cases."""

from __future__ import annotations

import asyncio
import json
import statistics
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from kbeval_jupyter import EvaluationResult, astream, evaluate
from kbeval_jupyter.runner.timing.measurement import PROCESS_GROUPS
from kbeval_jupyter.runner.timing.speedup import paired_speedup

if TYPE_CHECKING:
    from kbeval_jupyter.runner.report import CaseTiming

# Pure Python work: its time follows its amount, whatever vector units and caches do.
REFERENCE = """
import torch

def work(x, rounds):
    total = 0.0
    for i in range(rounds):
        total += i
    return x + total

def ref_kernel(inputs):
    return work(inputs[0], inputs[1])

def generate_input(rounds, seed):
    return torch.full((4,), float(seed % 7)), rounds
"""
CASES = [{"name": "short", "rounds": 40_000, "seed": 1}]


def implementation(body: str, before: str = "") -> str:
    work = REFERENCE[: REFERENCE.index("def ref_kernel")]
    return work + textwrap.dedent(before) + "\ndef custom_kernel(inputs):\n" + textwrap.indent(textwrap.dedent(body), "    ")


SAME = implementation("return work(inputs[0], inputs[1])")
TWICE_AS_FAST = implementation("""
    x, rounds = inputs
    half = rounds // 2
    return work(x, half) + (rounds * (rounds - 1) - half * (half - 1)) / 2
""")


def timed(result: EvaluationResult, case: int = 0) -> CaseTiming:
    assert result.benchmark is not None, result.reason
    return result.benchmark.cases[case]


@pytest.fixture(scope="module")
def faster(tmp_path_factory: pytest.TempPathFactory) -> EvaluationResult:
    folder = tmp_path_factory.mktemp("faster")
    return evaluate(TWICE_AS_FAST, REFERENCE, cases=json.dumps(CASES), benchmark=True, budget=2.0, artifacts=folder)


def test_half_the_work_is_twice_as_fast(faster: EvaluationResult) -> None:
    assert (faster.verdict, faster.stages["benchmark"].status) == ("passed", "passed"), faster.reason
    speedup = timed(faster).speedup
    assert speedup is not None
    assert speedup.claim == "FASTER"
    assert 1.4 < speedup.estimate < 3.0  # wide: on a busy machine the longer call is interrupted more often
    assert faster.speedup == pytest.approx(speedup.estimate)


def test_statistics_agree_with_the_samples(faster: EvaluationResult) -> None:
    timing = timed(faster)
    for side in (timing.implementation, timing.reference):
        assert side is not None
        assert side.samples_total == side.n == len(side.samples_ms) >= 10
        q1, median, q3 = (float(np.quantile(side.samples_ms, p)) for p in (0.25, 0.5, 0.75))
        assert (side.q1_ms, side.median_ms, side.q3_ms) == pytest.approx((q1, median, q3))
        assert side.iqr_ms == pytest.approx(q3 - q1)
        assert side.mean_ms == pytest.approx(np.mean(side.samples_ms))
        assert side.std_ms == pytest.approx(np.std(side.samples_ms, ddof=1))
        assert (side.min_ms, side.max_ms) == (min(side.samples_ms), max(side.samples_ms))
        assert side.mad_ms == pytest.approx(np.median(np.abs(np.array(side.samples_ms) - median)))
        assert side.reason == ""


def test_the_result_says_how_it_was_measured(faster: EvaluationResult) -> None:
    benchmark = faster.benchmark
    assert benchmark is not None
    assert "perf_counter_ns" in benchmark.method
    assert "4 pairs of processes" in benchmark.method
    assert "judge on CPU" in benchmark.method
    assert "budget of 2 s" in benchmark.stop_rule
    assert timed(faster).stop_reason
    assert benchmark.worst_case == "short"


def test_every_sample_is_in_the_artifact_with_both_clocks(faster: EvaluationResult) -> None:
    assert faster.artifacts_dir is not None
    (case,) = json.loads((faster.artifacts_dir / "benchmark_samples.json").read_text())
    pairs: list[dict[str, Any]] = case["process_pairs"]
    assert len(pairs) == PROCESS_GROUPS
    for role, side in (("implementation", timed(faster).implementation), ("reference", timed(faster).reference)):
        assert side is not None
        assert [ms for pair in pairs for ms in pair[role]["own_ms"]] == pytest.approx(side.samples_ms)
        walls = [ms for pair in pairs for ms in pair[role]["wall_ms"]]
        assert all(wall > own for wall, own in zip(walls, side.samples_ms, strict=True)), "the judge's window holds the worker's"
    ratios = [np.log(np.divide(pair["reference"]["own_ms"], pair["implementation"]["own_ms"])).tolist() for pair in pairs]
    assert paired_speedup(ratios) == timed(faster).speedup, "the claim can be made again from what was kept"


def test_equal_code_is_not_claimed_to_differ() -> None:
    result = evaluate(SAME, REFERENCE, cases=json.dumps(CASES), benchmark=True, budget=1.0)
    speedup = timed(result).speedup
    assert speedup is not None
    assert speedup.claim in ("SAME", "AMBIGUOUS")
    assert speedup.ci_low < 1.01
    assert speedup.ci_high > 0.99


def test_two_cases_have_a_geometric_mean_and_a_worst_one() -> None:
    cases = [{"name": "many", "rounds": 80_000, "seed": 1}, {"name": "few", "rounds": 40_000, "seed": 1}]
    slower_when_few = implementation("""
        x, rounds = inputs
        for _ in range(2 if rounds == 40_000 else 0):
            work(x, rounds)
        return work(x, rounds)
    """)
    result = evaluate(slower_when_few, REFERENCE, cases=json.dumps(cases), benchmark=True, budget=1.0)
    many, few = (timed(result, i).speedup for i in range(2))
    assert many is not None
    assert few is not None
    assert many.ci_low < 1.1
    assert many.ci_high > 0.9
    assert few.estimate < 0.6
    assert few.claim == "SLOWER"
    assert result.speedup == pytest.approx(statistics.geometric_mean([many.estimate, few.estimate]))
    assert result.benchmark is not None
    assert result.benchmark.worst_case == "few"


def test_an_implementation_that_raises_in_a_later_call_crashed() -> None:
    raises = implementation(
        "global calls\ncalls += 1\nif calls > 5:\n    raise ValueError('the sixth call')\nreturn work(inputs[0], inputs[1])",
        "calls = 0",
    )
    result = evaluate(raises, REFERENCE, cases=json.dumps(CASES), benchmark=True, trials=1, budget=1.0)
    assert (result.verdict, result.stages["benchmark"].status) == ("crashed", "failed")
    assert "the implementation raised ValueError: the sixth call, while it was timed" in result.reason
    assert timed(result).implementation is None
    assert timed(result).speedup is None
    assert result.speedup is None
    assert "raise ValueError('the sixth call')" in "\n".join(result.log_tail)


def test_an_implementation_that_dies_in_a_later_call_crashed() -> None:
    dies = implementation(
        "global calls\ncalls += 1\nif calls > 5:\n    import os\n    os.kill(os.getpid(), 11)\nreturn work(inputs[0], inputs[1])",
        "calls = 0",
    )
    result = evaluate(dies, REFERENCE, cases=json.dumps(CASES), benchmark=True, trials=1, budget=1.0)
    assert result.verdict == "crashed"
    assert "SIGSEGV" in result.reason
    assert timed(result).reason == result.reason


def test_an_implementation_that_hangs_in_a_later_call_timed_out() -> None:
    hangs = implementation(
        "global calls\ncalls += 1\nwhile calls > 5:\n    pass\nreturn work(inputs[0], inputs[1])",
        "calls = 0",
    )
    result = evaluate(hangs, REFERENCE, cases=json.dumps(CASES), benchmark=True, trials=1, budget=1.0, timeout=6)
    assert result.verdict == "timed_out"
    assert "before the time limit, while it was timed" in result.reason


def test_a_wrong_implementation_is_not_timed() -> None:
    result = evaluate(implementation("return inputs[0]"), REFERENCE, cases=json.dumps(CASES), benchmark=True)
    assert (result.verdict, result.stages["benchmark"].status) == ("incorrect", "skipped")
    assert result.benchmark is None


def test_without_correctness_and_with_a_tiny_budget_there_are_ten_samples_and_not_checked() -> None:
    wrong = implementation("return work(inputs[0], inputs[1]) + 1")
    result = evaluate(wrong, REFERENCE, cases=json.dumps(CASES), stages="compile,benchmark", budget=0.001)
    assert (result.verdict, result.stages["benchmark"].status) == ("not_checked", "passed")
    timing = timed(result)
    assert timing.implementation is not None
    assert timing.implementation.n == 12, "three in each of four process pairs"
    assert timing.implementation.median_ms is not None
    assert timing.stop_reason == "budget spent"
    assert timing.speedup is not None


def test_broken_code_that_no_other_stage_met_is_a_failed_compilation() -> None:
    result = evaluate("import nothing_of_that_name\n" + SAME, REFERENCE, cases=json.dumps(CASES), stages="benchmark")
    assert result.verdict == "compile_failed"
    assert "No module named 'nothing_of_that_name'" in result.reason


def test_an_output_that_is_wrong_only_when_timed_is_found() -> None:
    later = implementation(
        "global calls\ncalls += 1\nreturn work(inputs[0], inputs[1]) * (2 if calls > 5 else 1)",
        "calls = 0",
    )
    result = evaluate(later, REFERENCE, cases=json.dumps(CASES), benchmark=True, trials=1, budget=0.001)
    assert result.verdict == "incorrect"
    assert "the output of the last timed call is wrong: output: 4 of 4 elements are wrong" in result.reason
    assert timed(result).implementation is None


def test_a_clock_that_the_implementation_slowed_down_is_found_by_the_wall_clock() -> None:
    slowed = implementation(
        "return work(inputs[0], inputs[1])",
        """
        import gc, time
        honest = time.perf_counter_ns
        time.perf_counter_ns = lambda: 0  # bound before: no effect
        for thing in gc.get_objects():
            if type(thing).__name__ == "_WallTimer":
                thing._clock = lambda: honest() // 10
        """,
    )
    cases = json.dumps([{"name": "long", "rounds": 400_000, "seed": 1}])  # a busy machine hides small lies
    result = evaluate(slowed, REFERENCE, cases=cases, benchmark=True, trials=1, budget=0.2)
    timing = timed(result)
    assert "the implementation's clock differs from the judge's" in timing.reason
    assert timing.speedup is not None
    assert 0.5 < timing.speedup.estimate < 2.0, "the wall clock's ratio, not the tenfold of the slowed clock"
    assert any("clock differs" in note.text for note in result.notes)


def test_triton_in_its_interpreter_has_no_times() -> None:
    triton = "import triton\n" + SAME
    result = evaluate(triton, REFERENCE, cases=json.dumps(CASES), benchmark=True)
    assert result.stages["benchmark"].status == "skipped"
    assert "interpreter; no times" in result.stages["benchmark"].reason
    assert result.verdict == "passed"


def test_what_does_not_fit_into_the_time_limit_has_samples_perhaps_but_no_numbers() -> None:
    cases = json.dumps([{"name": f"long {i}", "rounds": 2_000_000, "seed": 1} for i in range(20)])
    result = evaluate(SAME, REFERENCE, cases=cases, stages="benchmark", budget=0.5, timeout=6)
    assert result.verdict == "not_checked", result.reason
    first, last = timed(result, 0), timed(result, 19)
    assert first.speedup is None
    if first.implementation is None:  # a busy machine: not even one process pair
        assert "no process group was timed" in first.reason
    else:
        assert first.implementation.median_ms is None
        assert "at least 10 are needed" in first.implementation.reason
    assert last.reason == "no process group was timed: time limit of the evaluation reached"
    assert result.stages["benchmark"].status == "failed"
    assert result.stages["benchmark"].reason.startswith("no times: ")


def test_in_place_implementations_meet_fresh_inputs_in_every_call() -> None:
    reference = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return x.add_(1)

def get_inputs():
    return [torch.zeros(64)]
"""
    checked = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        assert not x.any(), "the last call's inputs came back"
        return x.add_(1)
"""
    result = evaluate(checked, reference, benchmark=True, budget=0.001)
    assert result.verdict == "passed", result.reason
    assert timed(result).speedup is not None


def test_backward_times_forward_and_backward() -> None:
    reference = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 16)

    def forward(self, x):
        return torch.relu(self.linear(x))

def get_inputs():
    return [torch.randn(8, 16)]
"""
    result = evaluate(
        reference.replace("class Model(", "class ModelNew("), reference, benchmark=True, backward=True, budget=0.001
    )
    assert result.verdict == "passed", result.reason
    assert result.benchmark is not None
    assert result.benchmark.method.startswith("forward and backward: ")


async def progress_messages() -> list[str]:
    return [
        event["message"]
        async for event in astream(SAME, REFERENCE, cases=json.dumps(CASES), stages="benchmark", budget=0.2)
        if event["kind"] == "progress" and event["stage"] == "benchmark"
    ]


def test_progress_says_how_many_samples_and_how_fast() -> None:
    messages = asyncio.run(progress_messages())
    assert messages
    assert all(message.startswith("short: ") and "samples" in message and "reference" in message for message in messages)
