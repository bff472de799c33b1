import asyncio
import json
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import kbeval_jupyter
from kbeval_jupyter import EvaluationResult, aevaluate, api, astream, evaluate, sources
from kbeval_jupyter.errors import RequestError, TargetError
from kbeval_jupyter.model.request import EvaluationRequest
from kbeval_jupyter.options import build_request
from kbeval_jupyter.runner.report import StageReport

REFERENCE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.randn(8, 8)]

def get_init_inputs():
    return []
"""
GOOD = "from torch import nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return 1 + x\n"
WRONG = GOOD.replace("1 + x", "2 + x")
ENDLESS = GOOD.replace("return 1 + x", "print('looping', flush=True)\n        while True: pass")
ECHO = REFERENCE
OWN_TIME_LIMIT_S = 0.010


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Artifacts of wrong implementations come to the working directory."""
    monkeypatch.chdir(tmp_path)


def request(implementation: str, **options: Any) -> EvaluationRequest:
    return build_request(
        sources.from_value(implementation, "implementation"), sources.from_value(REFERENCE, "reference"), options
    )


def test_public_names() -> None:
    assert {"EvaluationResult", "aevaluate", "astream", "evaluate", "load_ipython_extension"} <= set(kbeval_jupyter.__all__)
    assert all(hasattr(kbeval_jupyter, name) for name in kbeval_jupyter.__all__)
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = kbeval_jupyter.evalute


def test_passed() -> None:
    result = evaluate(GOOD, REFERENCE, name="v1")
    assert (result.verdict, result.passed, result.speedup, result.label) == ("passed", True, None, "v1")
    assert result.target.name == result.target.kind == "local"
    assert result.target.device is not None
    assert result.stages["compile"].status == result.stages["correctness"].status == "passed"
    assert result.correctness is not None
    assert result.correctness.score == 1.0


def test_wrong_is_data() -> None:
    result = evaluate(WRONG, REFERENCE)
    assert (result.verdict, result.passed) == ("incorrect", False)


def test_what_can_be_seen_without_running_never_reaches_the_target() -> None:
    events: list[dict[str, Any]] = []
    running = api.start(request(ECHO), events.append)
    result = running.future.result(10)
    reason = "no ModelNew; found Model, get_inputs, get_init_inputs"
    assert (result.verdict, result.reason, result.seconds) == ("compile_failed", reason, None)
    assert result.stages == {
        "compile": StageReport("failed", None, reason),
        "correctness": StageReport("skipped", None, "not reached"),
    }
    assert [event["kind"] for event in events] == ["stage_finished", "finished"]
    assert running.evaluation.snapshot().result == result
    running.cancel()  # after the end: nothing happens


def test_dry_run_shows_the_plan_and_runs_nothing(tmp_path: Path) -> None:
    (tmp_path / "kbeval.toml").write_text('[targets.local]\nkind = "local"\npython = "/nonexistent"')
    result = evaluate(GOOD, REFERENCE, dry_run=True)
    assert (result.verdict, result.reason) == ("not_checked", "dry run: nothing was run")
    assert "implementation ModelNew in implementation.py" in result.log_tail
    assert asyncio.run(aevaluate(GOOD, REFERENCE, dry_run=True)).verdict == "not_checked"


@pytest.mark.parametrize("python", ["/bin/false", "/nonexistent/python"])
def test_a_target_that_does_not_start_is_an_error(python: str, tmp_path: Path) -> None:
    (tmp_path / "kbeval.toml").write_text(f'default = "mine"\n[targets.mine]\nkind = "local"\npython = "{python}"')
    running = api.start(request(GOOD))
    with pytest.raises(TargetError, match=python):
        running.future.result(60)
    result = running.evaluation.result()
    assert result.verdict == "error"
    assert result.error is not None
    assert python in result.error.message
    assert not running.evaluation.running


def test_awaited() -> None:
    assert asyncio.run(aevaluate(GOOD, REFERENCE)).verdict == "passed"


def test_inside_a_running_loop() -> None:
    async def cell() -> EvaluationResult:
        return evaluate(GOOD, REFERENCE)

    assert asyncio.run(cell()).verdict == "passed"


def test_events_as_they_come() -> None:
    async def collect() -> list[dict[str, Any]]:
        return [event async for event in astream(GOOD, REFERENCE)]

    events = asyncio.run(collect())
    assert events[0]["kind"] == "started"
    assert events[-1]["kind"] == "finished"
    assert events[-1]["verdict"] == "passed"
    assert [event["seq"] for event in events] == list(range(len(events)))


def test_a_dry_run_has_no_events() -> None:
    async def first() -> None:
        async for _ in astream(GOOD, REFERENCE, dry_run=True):
            pass

    with pytest.raises(RequestError, match="a dry run has no events"):
        asyncio.run(first())


def test_leaving_the_stream_stops_the_evaluation() -> None:
    async def until_it_loops() -> str:
        async for event in astream(ENDLESS, REFERENCE):
            if event["kind"] == "log":
                return str(event["text"])
        return ""

    begin = time.monotonic()
    assert "looping" in asyncio.run(until_it_loops())
    assert time.monotonic() - begin < 60


def test_cancelling_the_awaiting_task_stops_the_evaluation() -> None:
    async def main() -> None:
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def listen(event: dict[str, Any]) -> None:
            if event["kind"] == "log":
                loop.call_soon_threadsafe(started.set)

        running = api.start(request(ENDLESS), listen)
        await started.wait()
        task = asyncio.create_task(aevaluate(ENDLESS, REFERENCE))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        running.cancel()
        assert (await asyncio.wrap_future(running.future)).verdict == "cancelled"

    asyncio.run(main())


def test_cancel_ends_within_a_second_and_keeps_the_log() -> None:
    looping = threading.Event()
    running = api.start(request(ENDLESS), lambda event: looping.set() if event["kind"] == "log" else None)
    assert looping.wait(60)
    begin = time.monotonic()
    running.cancel()
    result = running.future.result(10)
    assert time.monotonic() - begin < 1.0
    assert (result.verdict, result.passed) == ("cancelled", None)
    assert any("looping" in line for line in result.log_tail)


def test_cancel_before_the_target_answers() -> None:
    running = api.start(request(ENDLESS))
    running.cancel()
    assert running.future.result(10).verdict == "cancelled"


def test_interrupt_raises_cancelled(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, time\nfrom kbeval_jupyter import api, sources\nfrom kbeval_jupyter.options import build_request\n"
        "from kbeval_jupyter.errors import Cancelled\n"
        f"request = build_request(sources.from_text({ENDLESS!r}), sources.from_text({REFERENCE!r}), {{}})\n"
        "running = api.start(request, lambda event: event['kind'] == 'log' and print('ready', flush=True))\n"
        "try:\n    api.wait(running)\nexcept Cancelled as error:\n    print('cancelled:', error, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        lines = [line for line in process.stdout if line != "ready\n"]
        assert lines == ["cancelled: cancelled by interrupt\n"]
        assert time.monotonic() - begin < 3.0
    assert process.returncode == 0


def test_two_at_once_do_not_share_anything(tmp_path: Path) -> None:
    first, second = api.start(request(WRONG, name="a")), api.start(request(WRONG, name="b"))
    results = [first.future.result(60), second.future.result(60)]
    assert first.id != second.id
    assert [result.label for result in results] == ["a", "b"]
    assert [result.verdict for result in results] == ["incorrect", "incorrect"]
    folders = {result.artifacts_dir for result in results}
    assert len(folders) == 2
    assert all(folder.parent == tmp_path / "kbeval_artifacts" and any(folder.iterdir()) for folder in folders)


def test_artifacts_stay_on_the_target_when_told_so(tmp_path: Path) -> None:
    result = evaluate(WRONG, REFERENCE, no_sync_artifacts=True)
    assert result.artifacts
    assert list(tmp_path.iterdir()) == []


def test_artifacts_that_are_gone_do_not_cost_the_result() -> None:
    run_dirs: list[str] = []

    def lose(event: dict[str, Any]) -> None:
        run_dirs.extend([event["run_dir"]] if event["kind"] == "started" else [])
        if event["kind"] == "finished":
            shutil.rmtree(f"{run_dirs[0]}/artifacts")

    result = api.start(request(WRONG), lose).future.result(60)
    assert result.verdict == "incorrect"
    assert [note.code for note in result.notes] == ["artifacts_missing"]


def test_a_listener_that_fails_does_not_stop_the_evaluation(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_event: dict[str, Any]) -> None:
        raise ValueError("broken view")

    assert api.start(request(GOOD), fail).future.result(60).verdict == "passed"
    assert "broken view" in caplog.text


def test_warm_evaluations_cost_little_of_our_own() -> None:
    evaluate(GOOD, REFERENCE)
    own = []
    for _ in range(10):
        begin = time.perf_counter()
        result = evaluate(GOOD, REFERENCE)
        assert result.seconds is not None
        own.append(time.perf_counter() - begin - result.seconds)
    assert min(own) < OWN_TIME_LIMIT_S


def test_the_result_is_strict_json() -> None:
    json.dumps(evaluate(WRONG.replace("2 + x", "x / 0"), REFERENCE).to_json(), allow_nan=False)
