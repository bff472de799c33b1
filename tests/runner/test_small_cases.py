"""Many small cases come in batches; what is said about each of them does not depend on that."""

import json

import pytest

from kbeval_jupyter import EvaluationResult, evaluate
from kbeval_jupyter.rendering.mimebundle import bundle
from kbeval_jupyter.runner.judging.pending import BATCH, BATCHED_FROM

COUNT = BATCHED_FROM + BATCH
REFERENCE = """
import torch

def generate_input(number):
    return torch.randn(4 + number % 7, 3), number

def ref_kernel(data):
    return data[0] * 2
"""


def judged(body: str, reference: str = REFERENCE, count: int = COUNT, **options: object) -> EvaluationResult:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    implementation = f"import os, torch\n\ndef custom_kernel(data):\n    x, number = data[:2]\n{lines}\n"
    cases = [{"number": number} for number in range(count)]
    return evaluate(implementation, reference, **{"cases": cases, "trials": 1, **options})


def statuses(result: EvaluationResult) -> dict[int, str]:
    assert result.correctness is not None
    return {case.params["number"]: case.status for case in result.correctness.cases}


def test_every_case_is_reported_in_order() -> None:
    result = judged("return x + x")
    assert result.verdict == "passed", result.reason
    assert result.reason == f"{COUNT} trials passed"
    assert list(statuses(result).items()) == [(number, "passed") for number in range(COUNT)]
    shapes = [case.outputs[0].shape for case in result.correctness.cases] if result.correctness else []
    assert shapes == [[4 + number % 7, 3] for number in range(COUNT)]


def test_one_wrong_case_is_the_only_failure() -> None:
    result = judged("return x * 2 + (number == 70)")
    assert result.verdict == "incorrect"
    assert result.reason.startswith("case number=70, trial 0: ")
    assert [number for number, status in statuses(result).items() if status == "failed"] == [70]
    assert len(statuses(result)) == COUNT
    assert [artifact.name for artifact in result.artifacts] == ["failed_number_70_0.pt"]


def test_one_case_that_raises_is_named_and_the_others_run() -> None:
    result = judged("assert number != 33, 'not this one'\nreturn x * 2")
    assert result.verdict == "crashed"
    assert "case number=33, trial 0: the implementation raised AssertionError: not this one" in result.reason
    assert [number for number, status in statuses(result).items() if status == "failed"] == [33]
    assert len(statuses(result)) == COUNT


def test_a_case_that_raises_does_not_run_its_other_trials() -> None:
    result = judged("assert number != 5\nreturn x * 2", count=BATCHED_FROM, trials=2)
    assert result.correctness is not None
    ran = [case.trial for case in result.correctness.cases if case.params["number"] == 5]
    assert ran == [0]
    assert len(result.correctness.cases) == 2 * BATCHED_FROM - 1


def test_a_process_that_ends_is_blamed_on_the_case_in_which_it_ended() -> None:
    result = judged("os._exit(3) if number == 40 else None\nreturn x * 2")
    assert result.verdict == "crashed"
    assert "case number=40, trial 0: the implementation's process" in result.reason
    assert "status 3" in result.reason
    found = statuses(result)
    assert found[40] == "failed"
    assert all(found[number] == "passed" for number in range(BATCH))
    assert max(found) == 40


def test_buffers_that_are_used_again_in_the_next_call() -> None:
    body = "if not hasattr(torch, 'kept'):\n    torch.kept = torch.empty(10, 3)\nout = torch.kept[: x.shape[0]]\n"
    assert judged(body + "return torch.mul(x, 2, out=out)").verdict == "passed"


def test_answers_that_are_too_large_together_come_one_by_one() -> None:
    reference = REFERENCE.replace("return data[0] * 2", "return data[0] * 2, 'x' * 400_000")
    result = judged("return x * 2, 'x' * 400_000", reference)
    assert result.verdict == "passed", result.reason


def test_inputs_that_are_too_large_together_come_one_by_one() -> None:
    reference = REFERENCE.replace("3), number", "3), number, 'x' * 400_000")
    result = judged("return x * 2", reference, count=COUNT)
    assert result.verdict == "passed", result.reason


@pytest.mark.parametrize("change", ["x.add_(1)\nreturn (x - 1) * 2", "return x.mul_(2).clone()"])
def test_inputs_changed_in_place_are_found_in_every_case(change: str) -> None:
    result = judged(change)
    assert result.verdict == "incorrect"
    assert set(statuses(result).values()) == {"failed"}
    assert "changed its inputs in place" in result.reason


def test_a_reference_that_is_no_function_of_its_inputs_is_not_blamed_on_the_implementation() -> None:
    reference = REFERENCE.replace(
        "return data[0] * 2", "return data[0] * 2 + (data[1] == 130) * int.from_bytes(__import__('os').urandom(4), 'big')"
    )
    assert judged("return x * 2", reference, count=140).verdict == "invalid_reference"


def test_many_cases_stay_small_in_a_notebook() -> None:
    result = judged("return x * 2", count=1500)
    assert result.verdict == "passed", result.reason
    kept = bundle(result)
    assert len(json.dumps(kept, ensure_ascii=False).encode()) < 300_000
    assert kept["application/vnd.kbeval.evaluation+json"]["correctness"]["cases_passed"] == 1500
    assert "of 1,500 trials" in json.dumps(kept["application/vnd.kbeval.evaluation+json"]["notes"])
