from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

import anyio
import pytest

from kbeval_jupyter.errors import ConnectionLostError, TargetError
from kbeval_jupyter.transports.local import LocalTransport

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def rest_of(process: Any) -> bytes:
    data = b""
    while piece := await process.receive():
        data += piece
    return data


async def test_bytes_go_in_and_out_in_a_session_of_its_own() -> None:
    process = await LocalTransport().start(["sh", "-c", "cat; ps -o sid= -p $$ >&2; exit 3"], {})
    await process.send(b"\x00\xff" * 50_000)
    assert await process.receive()
    await process.aclose()
    await process.aclose()
    assert await process.stderr_tail() == ""


async def test_environment_is_added_and_the_end_is_empty_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_HERE", "1")
    process = await LocalTransport().start(["sh", "-c", "echo $KB_HERE$KB_MORE; ps -o sid= -p $$"], {"KB_MORE": "2"})
    first, session = (await rest_of(process)).split()
    assert first == b"12"
    assert int(session) != os.getsid(0)
    assert await process.receive() == b""
    await process.aclose()


async def test_the_tail_of_standard_error() -> None:
    process = await LocalTransport().start(["sh", "-c", "yes x | head -c 100000 >&2; echo end >&2"], {})
    await rest_of(process)
    tail = await process.stderr_tail()
    assert tail.endswith("end\n")
    assert len(tail) == 8192
    await process.aclose()


async def test_sending_to_a_process_that_has_ended() -> None:
    process = await LocalTransport().start(["true"], {})
    await rest_of(process)
    with pytest.raises(ConnectionLostError):
        await process.send(b"x" * 1_000_000)
    await process.aclose()


async def test_a_process_that_does_not_leave_is_killed() -> None:
    process = await LocalTransport().start(["sh", "-c", "trap '' TERM; echo $$; exec sleep 1000"], {})
    pid = int(await process.receive())
    with anyio.fail_after(5):
        await process.aclose()
    assert not await anyio.Path(f"/proc/{pid}").exists()


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(TargetError, match="cannot start /no/such: No such file"):
        await LocalTransport().start(["/no/such"], {})


async def test_put_and_fetch(tmp_path: Path) -> None:
    transport = LocalTransport()
    path = PurePosixPath(tmp_path / "a" / "b" / "file")
    await transport.put({path: b"one"})
    await transport.put({path: b"two!"})
    assert (await anyio.Path(path).stat()).st_mode & 0o777 == 0o600
    assert [p.name async for p in anyio.Path(path).parent.iterdir()] == ["file"]
    assert await transport.fetch(path, tmp_path / "c" / "copy", 4) == 4
    assert (tmp_path / "c" / "copy").read_bytes() == b"two!"
    with pytest.raises(TargetError, match="4 bytes, the limit is 3"):
        await transport.fetch(path, tmp_path / "small", 3)
    with pytest.raises(TargetError, match="No such file"):
        await transport.fetch(PurePosixPath("/no/such"), tmp_path / "none", 3)
    with pytest.raises(TargetError, match="cannot write"):
        await transport.put({PurePosixPath("/proc/none/x"): b""})
    await transport.aclose()
