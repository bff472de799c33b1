"""The fold, fed with events as the runner encodes them."""

import json
import math
import threading
from collections import deque
from typing import Any

import pytest

from kbeval_jupyter.errors import ProtocolError
from kbeval_jupyter.model.evaluation import Evaluation, StageProgress
from kbeval_jupyter.model.result import EvaluationResult, NoteReport, TargetInfo
from kbeval_jupyter.runner import wire
from kbeval_jupyter.runner.report import (
    Artifact,
    CaseReport,
    CaseTiming,
    DeviceInfo,
    Failure,
    IsolationLayer,
    Speedup,
    StageName,
    StageReport,
    TimingStats,
)

DEVICE = DeviceInfo("cpu", "Some CPU", "x86_64", 1 << 30)
STARTED = wire.Started(1, "e1", "/run/e1", DEVICE, {"python": "3.11", "triton": None}, [IsolationLayer("landlock", active=True)])


def plan(stages: list[StageName] | None = None, cases: list[wire.Case] | None = None, trials: int = 2) -> wire.Plan:
    spec = wire.ProblemSpec(
        "functional",
        "scale",
        wire.Entry("function", "reference.py", "ref_kernel"),
        wire.Entry("function", "implementation.py", "custom_kernel"),
        "single",
        "generate_input",
        cases=cases or [],
    )
    return wire.Plan("e1", "v3", spec, [], stages or ["compile", "correctness", "benchmark"], trials=trials)


def line(event: Any, seq: int) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(wire.encode_event(event.kind, wire.event_fields(event), seq, seq / 10))
    return decoded


def fold(*events: Any, of: wire.Plan | None = None) -> Evaluation:
    evaluation = Evaluation(of or plan(), TargetInfo("here", "local"))
    for seq, event in enumerate(events):
        evaluation.apply(line(event, seq))
    return evaluation


def checked(name: str, trial: int, status: str = "passed") -> wire.CaseChecked:
    return wire.CaseChecked(CaseReport(name, {"n": 1}, trial, status))  # type: ignore[arg-type]


def timed(name: str, estimate: float | None) -> wire.CaseTimed:
    stats = TimingStats([1.0], 1, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1, 0)
    speedup = None if estimate is None else Speedup(estimate, estimate, estimate, "FASTER")
    return wire.CaseTimed(CaseTiming(name, {}, stats, stats, speedup))


BENCHMARK = wire.BenchmarkStarted("wall clock", 64 << 20, "noise below 0.5 %")


def test_before_the_first_event_everything_waits() -> None:
    snapshot = fold().snapshot()
    assert snapshot.running
    assert snapshot.result.verdict == "not_checked"
    assert snapshot.result.target == TargetInfo("here", "local", None)
    assert snapshot.stages == [StageProgress(stage) for stage in ("compile", "correctness", "benchmark")]


def test_a_passed_evaluation() -> None:
    evaluation = fold(
        STARTED,
        wire.Note("triton_interpreter", "interpreter; no times", "warning"),
        wire.Log("implementation", "hello\n"),
        wire.StageStarted("compile"),
        wire.StageFinished("compile", "passed", 0.25),
        wire.StageStarted("correctness", 2),
        wire.WeightsMatched("state_dict"),
        checked("a", 0),
        wire.Progress("correctness", 1, message="a"),
        checked("a", 1),
        wire.StageFinished("correctness", "passed", 0.5),
        wire.StageStarted("benchmark"),
        BENCHMARK,
        timed("a", 2.0),
        wire.StageFinished("benchmark", "passed", 1.0),
        wire.ArtifactSaved(Artifact("samples", "samples.json", 3, "00")),
        wire.Heartbeat(),
        wire.Finished("passed", "2 of 2 checks passed", "beef"),
    )
    result = evaluation.result()
    assert (result.verdict, result.passed, result.speedup, result.seconds) == ("passed", True, 2.0, 1.7)
    assert result.target.device == DEVICE
    assert result.environment == {"python": "3.11", "triton": None}
    assert result.isolation == [IsolationLayer("landlock", active=True)]
    assert result.stages["compile"] == StageReport("passed", 0.25)
    assert result.correctness is not None
    assert (result.correctness.cases_passed, result.correctness.cases_total, result.correctness.score) == (2, 2, 1.0)
    assert result.correctness.weights == "state_dict"
    assert result.notes == [NoteReport("triton_interpreter", "interpreter; no times", "warning")]
    assert result.artifacts == [Artifact("samples", "samples.json", 3, "00")]
    assert result.log_tail == ["hello"]
    assert result.input_secret == "beef"
    assert not evaluation.snapshot().running
    assert EvaluationResult.from_json(json.loads(json.dumps(result.to_json(), allow_nan=False))) == result


def test_progress_keeps_the_total_of_the_start() -> None:
    evaluation = fold(wire.StageStarted("correctness", 6), wire.Progress("correctness", 4, message="trial 4"))
    assert evaluation.snapshot().stages[1] == StageProgress("correctness", "running", 4, 6, "trial 4")


def test_checks_that_were_not_reached_did_not_pass() -> None:
    cases = [wire.Case("a"), wire.Case("b"), wire.Case("c")]
    reached = [checked("a", 0), checked("a", 1), checked("b", 0)]
    evaluation = fold(STARTED, *reached, wire.Finished("crashed", "died"), of=plan(cases=cases))
    correctness = evaluation.result().correctness
    assert correctness is not None
    assert (correctness.cases_passed, correctness.cases_total, correctness.score) == (3, 6, 0.5)


def test_no_check_at_all_is_no_correctness_report() -> None:
    assert fold(STARTED, wire.Finished("not_checked", "")).result().correctness is None


@pytest.mark.parametrize(
    ("estimates", "status", "geomean", "worst"),
    [
        ([2.0, 8.0], "passed", 4.0, "case 0"),
        ([2.0, None], "passed", None, "case 0"),  # a mean of the rest would say something else
        ([2.0], "failed", None, "case 0"),
        ([], "passed", None, None),
    ],
)
def test_geometric_mean_of_all_cases_or_none(
    estimates: list[float | None], status: Any, geomean: float | None, worst: str | None
) -> None:
    timings = [timed(f"case {i}", estimate) for i, estimate in enumerate(estimates)]
    result = fold(BENCHMARK, *timings, wire.StageFinished("benchmark", status, 1.0)).result()
    assert result.benchmark is not None
    assert result.benchmark.worst_case == worst
    assert result.speedup is None if geomean is None else math.isclose(result.speedup or 0, geomean)


def test_stages_that_the_end_cut_off() -> None:
    compiled = [wire.StageStarted("compile"), wire.StageFinished("compile", "passed", 1.0)]
    evaluation = fold(*compiled, wire.StageStarted("correctness"), wire.Finished("timed_out", "2 s were over"))
    assert [stage.status for stage in evaluation.snapshot().stages] == ["passed", "failed", "skipped"]
    assert evaluation.result().stages["benchmark"] == StageReport("skipped", None, "not reached")


def test_unknown_kinds_are_kept_as_notes_in_bounded_number() -> None:
    evaluation = Evaluation(plan(), TargetInfo("here", "local"))
    for seq in range(5000):
        evaluation.apply({"kind": "weather", "seq": seq, "t": 0.0, "text": f"sunny {seq}"})
    notes = evaluation.result().notes
    assert len(notes) == 200
    assert notes[0].code == "event:weather"
    assert "sunny 0" in notes[0].text


def test_a_known_kind_without_its_fields_breaks_the_protocol() -> None:
    evaluation = Evaluation(plan(), TargetInfo("here", "local"))
    with pytest.raises(ProtocolError, match=r"'finished' event.*'verdict' is missing"):
        evaluation.apply({"kind": "finished", "seq": 0, "t": 0.0})


def test_error_of_the_target_is_in_the_result() -> None:
    result = fold(wire.Finished("error", "no torch", None, Failure("target", "no torch", "install it"))).result()
    assert result.passed is None
    assert result.error == Failure("target", "no torch", "install it")


def test_snapshots_while_another_thread_applies() -> None:
    evaluation = Evaluation(plan(), TargetInfo("here", "local"))
    events = [line(checked(f"c{i}", 0), i) for i in range(300)]
    thread = threading.Thread(target=lambda: deque(map(evaluation.apply, events)))
    thread.start()
    seen = 0
    while thread.is_alive():
        correctness = evaluation.snapshot().result.correctness
        count = len(correctness.cases) if correctness else 0
        assert count >= seen
        seen = count
    thread.join()
    assert len(evaluation.snapshot().to_json()["result"]["correctness"]["cases"]) == 300
