import dataclasses
from typing import Any

import pytest

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.model.capabilities import Capabilities
from kbeval_jupyter.model.problem import Problem
from kbeval_jupyter.model.request import EvaluationRequest, Source
from kbeval_jupyter.planning import describe, new_id, plan, resolve_stages
from kbeval_jupyter.runner import wire

SPEC = wire.ProblemSpec(
    "kernelbench",
    "relu",
    wire.Entry("class", "reference.py", "Model"),
    wire.Entry("class", "implementation.py", "ModelNew"),
    "spread",
    "get_inputs",
)
PROBLEM = Problem(SPEC, [wire.PlanFile("reference", "reference.py", "eA==")])
REQUEST = EvaluationRequest(Source("x", "fast.py"), Source("x", "relu.py"))


ANYWHERE = Capabilities()


def planned(capabilities: Capabilities = ANYWHERE, **changes: Any) -> wire.Plan:
    return plan(dataclasses.replace(REQUEST, **changes), PROBLEM, capabilities, "e1")


@pytest.mark.parametrize(
    ("asked", "stages"),
    [
        (("compile", "correctness"), ["compile", "correctness"]),
        (("compile",), ["compile"]),
        (("correctness",), ["compile", "correctness"]),
        (("benchmark",), ["compile", "benchmark"]),
        (("benchmark", "correctness", "compile", "benchmark"), ["compile", "correctness", "benchmark"]),
        (("all",), ["compile", "correctness", "defense", "benchmark"]),
        (("defense",), ["compile", "defense"]),
    ],
)
def test_stages_that_run(asked: tuple[str, ...], stages: list[str]) -> None:
    assert resolve_stages(asked) == stages


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((), "no stage"),
        (("",), "no stage"),
        (
            ("compile", "corectness"),
            r"unknown stage 'corectness' \(did you mean 'correctness'\?\); valid: all, benchmark, compile",
        ),
        (("profile",), "stage 'profile' is not in this version; valid: compile, correctness, defense, benchmark, all"),
    ],
)
def test_stages_that_are_refused(asked: tuple[str, ...], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        resolve_stages(asked)


def test_the_plan_carries_the_request() -> None:
    made = planned(
        Capabilities("nvidia", (2, 3), "basic", {"X": "1"}, run_root="/runs", grace_s=7.0),
        stages=("all",), seed=7, rtol=0.1, atol=0.0, trials=5, budget_s=1.0, timeout_s=9.0, build_timeout_s=8.0, precision="tf32",
        dtype="float16", backward=True, public_inputs=True, label="v3", limits={"log_bytes": 5}, secret="ab", replay=("c", 1),
    )  # fmt: skip
    assert made == wire.Plan(
        id="e1", label="v3", problem=SPEC, files=PROBLEM.files, stages=["compile", "correctness", "defense", "benchmark"], seed=7,
        tolerance=wire.Tolerance(0.1, 0.0), trials=5, budget_s=1.0, timeout_s=9.0, build_timeout_s=8.0, precision="tf32",
        dtype="float16", backward=True, public_inputs=True, secret="ab", replay=("c", 1), vendor="nvidia", device_index=2,
        environment={"X": "1"}, isolation="basic", limits=wire.Limits(log_bytes=5), grace_s=7.0, run_root="/runs",
    )  # fmt: skip


def test_without_options_the_runner_decides() -> None:
    made = planned()
    assert (made.vendor, made.device_index, made.label) == ("auto", None, "fast.py")
    assert made.tolerance == wire.Tolerance()


@pytest.mark.parametrize(
    ("capabilities", "gpu_id", "index"),
    [(Capabilities(), 1, 1), (Capabilities("nvidia", (4, 5)), None, 4), (Capabilities("nvidia", (4, 5)), 5, 5)],
)
def test_which_gpu(capabilities: Capabilities, gpu_id: int | None, index: int) -> None:
    assert planned(capabilities, gpu_id=gpu_id).device_index == index


@pytest.mark.parametrize(
    ("capabilities", "changes", "message"),
    [
        (Capabilities("cpu"), {"gpu_id": 0}, "configured as a CPU"),
        (Capabilities("nvidia", (4, 5)), {"gpu_id": 0}, "GPU 0 is not among the target's; valid: 4, 5"),
        (Capabilities(), {"gpu_id": -1}, "valid: 0 and above"),
        (Capabilities(), {"trials": 0}, "trials must be above 0"),
        (Capabilities(), {"timeout_s": float("nan")}, "timeout must be above 0"),
        (Capabilities(), {"budget_s": float("inf")}, "budget must be above 0"),
        (Capabilities(), {"rtol": -1.0}, "rtol must be a finite number of at least 0"),
        (Capabilities(), {"precision": "tf16"}, r"unknown precision 'tf16' \(did you mean 'tf32'\?\)"),
        (Capabilities(), {"limits": {"log": 1}}, "unknown limit 'log'"),
        (Capabilities(), {"label": "two\nlines"}, "a name may have at most"),
    ],
)
def test_requests_that_cannot_be(capabilities: Capabilities, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        planned(capabilities, **changes)


def test_description_names_what_would_run() -> None:
    text = describe(planned(rtol=0.01), "local (local)")
    assert "local (local), auto" in text
    assert "relu (kernelbench)" in text
    assert "ModelNew in implementation.py" in text
    assert "compile, correctness" in text
    assert "rtol 0.01" in text
    assert "reference/reference.py, 1 bytes" in text


def test_a_description_is_bounded() -> None:
    many = Problem(SPEC, [wire.PlanFile("reference", f"{i}.py", "") for i in range(200)])
    text = describe(plan(REQUEST, many, Capabilities(), "e1"), "local (local)")
    assert len(text.splitlines()) < 40
    assert "and 180 more" in text


def test_ids_of_one_moment_differ_and_sort_by_time() -> None:
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    assert [i.rpartition("-")[0] for i in ids] == sorted(i.rpartition("-")[0] for i in ids)
