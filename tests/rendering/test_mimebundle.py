from __future__ import annotations

import dataclasses
import json

import pytest

from kbeval_jupyter.model.result import MIME_TYPE, EvaluationResult
from kbeval_jupyter.rendering import mimebundle
from kbeval_jupyter.runner.report import BenchmarkReport, CorrectnessReport
from tests.rendering.examples import EXAMPLES, passed_case, timed_case, timing, wrong_case


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_usual_result_is_kept_whole(name: str) -> None:
    kept = mimebundle.bundle(EXAMPLES[name])
    assert set(kept) == {"text/plain", "text/html", MIME_TYPE}
    assert kept[MIME_TYPE] == EXAMPLES[name].to_json()


def huge_result(cases: int) -> EvaluationResult:
    timed = timed_case("c", {"n": 1}, 1, 2, "FASTER")
    full = dataclasses.replace(timed, implementation=timing(1.23456789, 0.1, 1000), reference=timing(2.3456789, 0.1, 1000))
    trials = [passed_case(f"case-{i}") for i in range(cases)]
    return dataclasses.replace(
        EXAMPLES["passed_benchmark"],
        correctness=CorrectnessReport(cases, cases, 1.0, None, [*trials, wrong_case(0)]),
        benchmark=BenchmarkReport("m", 0, "s", [dataclasses.replace(full, name=f"c{i}") for i in range(cases)]),
        log_tail=["x" * 2000] * 50,
    )


@pytest.mark.parametrize("cases", [20, 100, 600])
def test_a_large_result_is_thinned_and_says_so(cases: int) -> None:
    result = huge_result(cases)
    kept = mimebundle.bundle(result)
    assert len(json.dumps(kept, ensure_ascii=False).encode()) < 300_000
    data = kept[MIME_TYPE]
    (note,) = (note for note in data["notes"] if note["code"] == "thinned")
    assert "timing samples a case" in note["text"]
    again = EvaluationResult.from_json(data)
    assert again.correctness is not None
    assert "failed" in {case.status for case in again.correctness.cases}
    assert result.correctness is not None
    assert len(result.correctness.cases) == cases + 1  # the result itself is untouched
