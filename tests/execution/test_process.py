from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path, PurePosixPath
from typing import Any

import anyio
import pytest

from kbeval_jupyter.errors import ConnectionLostError, ProtocolError, RequestError, TargetError
from kbeval_jupyter.execution.base import Capabilities
from kbeval_jupyter.execution.process import ProcessExecutor
from kbeval_jupyter.runner import wire
from kbeval_jupyter.transports.local import LocalTransport
from tests.runner.link_client import make_plan, text_of

from .stand_in import executor, runner

PASS = "\nchannel.emit(wire.Finished('passed', ''))"
LONG = "import os, time\nprint('pids', os.getpid(), os.getppid(), 'end')\ntime.sleep(1000)"
pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def collect(target: ProcessExecutor, plan: wire.Plan) -> list[dict[str, Any]]:
    return [event async for event in target.run(plan)]


async def pids_of(events: Any) -> list[int]:
    seen = ""
    async for event in events:
        seen += event.get("text", "")
        if "end" in seen:
            return [int(word) for word in seen.split() if word.isdigit()]
    raise AssertionError(seen)


def exist(pids: list[int]) -> bool:
    return any(Path(f"/proc/{pid}").exists() for pid in pids)


def names_in(folder: PurePosixPath) -> list[str]:
    return [path.name for path in Path(folder).iterdir()]


async def until_gone(pids: list[int], limit_s: float) -> None:
    with anyio.fail_after(limit_s):
        while exist(pids):  # noqa: ASYNC110 - the end of a process that is no child cannot be awaited
            await anyio.sleep(0.005)


async def test_events_arrive_in_order_and_a_second_evaluation_uses_the_same_link(tmp_path: Path) -> None:
    async with executor() as target:
        for name in ("one", "two"):
            events = await collect(target, make_plan(name, f"print({name!r})" + PASS, tmp_path))
            assert [e["kind"] for e in events] == ["log", "finished"]
            assert text_of(events) == f"{name}\n"
        links = [p for p in children() if b"link" in (Path("/proc") / p / "cmdline").read_bytes()]
        assert len(links) == 1


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


async def test_two_evaluations_at_the_same_moment(tmp_path: Path) -> None:
    async with executor() as target, anyio.create_task_group() as group:
        found: dict[str, str] = {}

        async def one(name: str) -> None:
            found[name] = text_of(await collect(target, make_plan(name, f"print({name!r})" + PASS, tmp_path)))

        for name in ("left", "right"):
            group.start_soon(one, name)
    assert found == {"left": "left\n", "right": "right\n"}


async def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    async with executor() as target:
        await collect(target, make_plan("twice", PASS, tmp_path))
        with pytest.raises(ProtocolError, match="exists already"):
            await collect(target, make_plan("twice", PASS, tmp_path))


async def test_cancel_still_ends_in_finished(tmp_path: Path) -> None:
    async with executor() as target:
        events = target.run(make_plan("stopped", LONG, tmp_path))
        pids = await pids_of(events)
        asked = time.monotonic()
        await target.cancel("stopped")
        rest = [event async for event in events]
        assert time.monotonic() - asked < 1
        assert rest[-1]["verdict"] == "cancelled"
        await until_gone(pids, 1)
        await target.cancel("stopped")
        await target.cancel("never heard of")


async def test_closing_the_iterator_cancels(tmp_path: Path) -> None:
    async with executor() as target:
        async with contextlib.aclosing(target.run(make_plan("closed", LONG, tmp_path))) as events:
            pids = await pids_of(events)
        await until_gone(pids, 1)
        # What still came of it does not disturb the next.
        assert (await collect(target, make_plan("after", PASS, tmp_path)))[-1]["verdict"] == "passed"


async def test_cancelling_the_task_cancels(tmp_path: Path) -> None:
    async with executor() as target:
        pids: list[int] = []

        async def consume() -> None:
            async with contextlib.aclosing(target.run(make_plan("scoped", LONG, tmp_path))) as events:
                pids.extend(await pids_of(events))
                started.set()
                await anyio.sleep_forever()

        started = anyio.Event()
        async with anyio.create_task_group() as group:
            group.start_soon(consume)
            await started.wait()
            group.cancel_scope.cancel()
        await until_gone(pids, 1)


async def test_leaving_the_target_ends_its_evaluations(tmp_path: Path) -> None:
    async with executor() as target:
        events = target.run(make_plan("left", LONG, tmp_path))
        pids = await pids_of(events)
        await target.aclose()
        with pytest.raises(ConnectionLostError):
            await anext(events)
    await until_gone(pids, 1)


def kill_link() -> None:
    for pid in children():
        if b"\0link\0" in (Path("/proc") / pid / "cmdline").read_bytes():
            os.kill(int(pid), signal.SIGKILL)


async def test_a_link_that_died_between_evaluations_is_started_again(tmp_path: Path) -> None:
    async with executor() as target:
        await collect(target, make_plan("first", PASS, tmp_path))
        kill_link()
        assert (await collect(target, make_plan("second", PASS, tmp_path)))[-1]["verdict"] == "passed"


async def test_two_thousand_lines_once_and_in_order_over_killed_links(tmp_path: Path) -> None:
    judge = """
worker = spawn('''
import time
for i in range(2000):
    print("line", i)
    if i % 50 == 0:
        time.sleep(0.02)
''')
frames.receive(worker.sock)
"""
    async with executor() as target:
        lines = ""
        kills = 0
        async for event in target.run(make_plan("resumed", judge + PASS, tmp_path, grace_s=30.0)):
            lines += event.get("text", "")
            if lines.count("\n") > 500 * (kills + 1) and kills < 3:
                kills += 1
                kill_link()
        assert kills == 3
        assert event["verdict"] == "passed"
        assert lines.splitlines() == [f"line {i}" for i in range(2000)]


async def test_without_grace_a_lost_link_is_an_error(tmp_path: Path) -> None:
    async with executor() as target:
        events = target.run(make_plan("lost", LONG, tmp_path))
        pids = await pids_of(events)
        kill_link()
        with pytest.raises(ConnectionLostError):
            await anext(events)
        await until_gone(pids, 1)


async def test_a_refused_plan_and_a_missing_torch_are_errors_of_ours(tmp_path: Path) -> None:
    async with executor() as target:
        plan = make_plan("refused", PASS, tmp_path, files=[wire.PlanFile("implementation", "../x", "")])
        with pytest.raises(RequestError, match="without"):
            await collect(target, plan)
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')")
    async with executor(PYTHONPATH=str(tmp_path)) as target:
        with pytest.raises(TargetError, match="has no torch") as caught:
            await collect(target, make_plan("no-torch", PASS, tmp_path))
        assert caught.value.kind == "no_torch"
        assert "pip install torch" in caught.value.hint


async def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    target = ProcessExecutor(LocalTransport(), Capabilities(), python="/no/such/python")
    with pytest.raises(TargetError, match="/no/such/python"):
        await collect(target, make_plan("x", PASS, tmp_path))
    await target.aclose()


async def test_the_archive_is_put_where_it_is_missing(tmp_path: Path) -> None:
    folder = PurePosixPath(tmp_path / "new" / "folder")
    target = ProcessExecutor(
        LocalTransport(), Capabilities(), folder=folder, runner=runner(), environment={"KBEVAL_SERVER_IDLE_S": "5"}
    )
    try:
        assert (await collect(target, make_plan("put", PASS, tmp_path)))[-1]["verdict"] == "passed"
    finally:
        await target.aclose()
    assert names_in(folder) == [runner().name]


async def test_artifacts_are_fetched_and_checked(tmp_path: Path) -> None:
    judge = """
import hashlib, os
from dataclasses import dataclass
os.mkdir(run_dir + "/artifacts/sub")
open(run_dir + "/artifacts/sub/a.bin", "wb").write(b"data")
from importlib import import_module
report = import_module(wire.__package__ + ".report")
channel.emit(wire.ArtifactSaved(report.Artifact("a", "sub/a.bin", 4, hashlib.sha256(DATA).hexdigest())))
"""
    async with executor() as target:
        await collect(target, make_plan("good", judge.replace("DATA", "b'data'") + PASS, tmp_path))
        (path,) = await target.fetch_artifacts("good", tmp_path / "here", 100)
        assert path == tmp_path / "here" / "sub" / "a.bin"
        assert path.read_bytes() == b"data"
        with pytest.raises(TargetError, match="the limit is 3"):
            await target.fetch_artifacts("good", tmp_path / "small", 3)
        await collect(target, make_plan("bad", judge.replace("DATA", "b'other'") + PASS, tmp_path))
        with pytest.raises(TargetError, match="checksum"):
            await target.fetch_artifacts("bad", tmp_path / "there", 100)
        with pytest.raises(TargetError, match="no artifacts"):
            await target.fetch_artifacts("unknown", tmp_path, 100)
