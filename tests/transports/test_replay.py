from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from kbeval_jupyter.errors import ConnectionLostError, ProtocolError
from kbeval_jupyter.execution.base import Capabilities
from kbeval_jupyter.execution.process import ProcessExecutor
from kbeval_jupyter.transports.replay import ReplayTransport
from tests.runner.link_client import make_plan

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    events = [{"kind": "log", "seq": i, "t": i / 10, "source": "implementation", "text": f"{i}\n"} for i in range(5)]
    events.append({"kind": "finished", "seq": 5, "t": 0.5, "verdict": "passed", "reason": ""})
    path = tmp_path / "events.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


async def collect(transport: Any, **options: Any) -> list[dict[str, Any]]:
    target = ProcessExecutor(transport, Capabilities())
    try:
        return [event async for event in target.run(make_plan("r", "", **options))]
    finally:
        await target.aclose()


async def test_the_recording_is_played(recording: Any) -> None:
    assert await collect(ReplayTransport(recording)) == [json.loads(line) for line in recording.read_text().splitlines()]


async def test_in_its_own_time(recording: Any) -> None:
    started = time.monotonic()
    await collect(ReplayTransport(recording, pace=1.0))
    assert 0.5 <= time.monotonic() - started < 5


async def test_a_broken_connection_is_taken_up_again(recording: Any) -> None:
    events = await collect(ReplayTransport(recording, break_after=2), grace_s=10.0)
    assert [event["seq"] for event in events] == list(range(6))


async def test_a_broken_connection_without_grace(recording: Any) -> None:
    with pytest.raises(ConnectionLostError, match="as it was told to"):
        await collect(ReplayTransport(recording, break_after=2))


async def test_cancel_cuts_it_short(recording: Any) -> None:
    target = ProcessExecutor(ReplayTransport(recording, pace=1000.0), Capabilities())
    events = target.run(make_plan("r", ""))
    first = await anext(events)
    await target.cancel("r")
    rest = [event async for event in events]
    assert (first["seq"], rest[-1]["seq"], rest[-1]["verdict"]) == (0, 1, "cancelled")
    await target.aclose()


async def test_a_recording_with_a_gap_is_an_error(recording: Any) -> None:
    lines = recording.read_text().splitlines(keepends=True)
    recording.write_text("".join(lines[:2] + lines[3:]))
    with pytest.raises(ProtocolError, match="event 2 was expected, number 3 came"):
        await collect(ReplayTransport(recording))
