"""The client's end of a link: one process on the host, many evaluations over its standard streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

import anyio

from kbeval_jupyter.errors import ConnectionLostError, KernelBenchError, ProtocolError, RequestError, TargetError
from kbeval_jupyter.runner import wire

if TYPE_CHECKING:
    from kbeval_jupyter.transports.base import RemoteProcess

HELLO_LIMIT_S = 60.0
_LINE_LIMIT_BYTES = 256 << 20


class LinkStream:
    """What the link says about one evaluation: event lines as bytes, messages of the link itself as objects.

    Unbounded on purpose: a consumer that waits must not hold up the others, and an evaluation's output has a limit.
    """

    def __init__(self) -> None:
        self._items: asyncio.Queue[bytes | dict[str, Any] | KernelBenchError] = asyncio.Queue()

    def put(self, item: bytes | dict[str, Any] | KernelBenchError) -> None:
        """Add the next item."""
        self._items.put_nowait(item)

    async def next(self) -> bytes | dict[str, Any]:
        """The next item; raises what ended the stream."""
        item = await self._items.get()
        if isinstance(item, KernelBenchError):
            raise item
        return item


class LinkConnection:
    """A running link whose hello has come. One reader takes its output apart."""

    def __init__(self, process: RemoteProcess) -> None:
        self.hello: dict[str, Any] = {}
        self.alive = True
        self._process = process
        self._buffer = bytearray()
        self._streams: dict[str, LinkStream] = {}
        self._reader: asyncio.Task[None] | None = None

    async def greet(self) -> bool:
        """Wait for the hello; False where the process ended without one."""
        with anyio.move_on_after(HELLO_LIMIT_S):
            while b"\n" not in self._buffer:
                data = await self._process.receive()
                if not data:
                    return False
                self._buffer += data
            line, _, self._buffer = self._buffer.partition(b"\n")
            self.hello = _link_message(line.removeprefix(b"- "))
            self._reader = asyncio.create_task(self._read(), name="kbeval link reader")
            return True
        return False

    async def run(self, plan: wire.Plan) -> LinkStream:
        """Start an evaluation."""
        return await self._open(plan.id, {"op": "run", "id": plan.id, "plan": wire.plan_to_json(plan)})

    async def follow(self, evaluation_id: str, run_dir: str, after: int) -> LinkStream:
        """Follow an evaluation from event ``after + 1`` on."""
        return await self._open(evaluation_id, {"op": "follow", "id": evaluation_id, "run_dir": run_dir, "after": after})

    async def cancel(self, evaluation_id: str) -> None:
        """End an evaluation."""
        await self._send({"op": "cancel", "id": evaluation_id})

    def forget(self, evaluation_id: str) -> None:
        """Drop whatever still comes for an evaluation."""
        self._streams.pop(evaluation_id, None)

    async def stderr_tail(self) -> str:
        """The last that the link wrote to standard error."""
        return await self._process.stderr_tail()

    async def aclose(self) -> None:
        """Leave the host. Idempotent."""
        self.alive = False
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
        await self._process.aclose()
        self._end_streams("the connection was closed")

    async def _open(self, evaluation_id: str, message: dict[str, Any]) -> LinkStream:
        stream = self._streams[evaluation_id] = LinkStream()
        try:
            await self._send(message)
        except ConnectionLostError as error:
            stream.put(error)  # one place where a lost connection shows
        return stream

    async def _send(self, message: dict[str, Any]) -> None:
        try:
            await self._process.send(json.dumps(message).encode() + b"\n")
        except ConnectionLostError:
            self.alive = False
            raise

    async def _read(self) -> None:
        why = "the link process ended"
        try:
            while True:
                self._take_lines()
                data = await self._process.receive()
                if not data:
                    break
                self._buffer += data
                if len(self._buffer) > _LINE_LIMIT_BYTES:
                    raise ProtocolError(f"the link sent a line of more than {_LINE_LIMIT_BYTES} bytes")
        except KernelBenchError as error:
            why = error.message
        finally:
            self.alive = False
            self._end_streams(why)

    def _take_lines(self) -> None:
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer = bytearray(rest)
        for line in lines:
            name, _, body = line.partition(b" ")
            if name == b"-":
                self._dispatch(_link_message(body))
            elif (stream := self._streams.get(name.decode("ascii", "replace"))) is not None:
                stream.put(body)

    def _dispatch(self, message: dict[str, Any]) -> None:
        stream = self._streams.get(message.get("id") or "")
        if stream is not None:
            stream.put(_exception(message["error"]) if message.get("kind") == "failed" else message)

    def _end_streams(self, why: str) -> None:
        for stream in self._streams.values():
            stream.put(ConnectionLostError(f"the connection to the target was lost: {why}"))
        self._streams.clear()


def _link_message(body: bytes | bytearray) -> dict[str, Any]:
    try:
        message = json.loads(body)
    except ValueError:
        message = None
    if not isinstance(message, dict):
        raise ProtocolError(f"the link says what is no message: {bytes(body[:120])!r}")
    return message


def _exception(error: dict[str, Any]) -> KernelBenchError:
    kind = str(error.get("kind"))
    types: dict[str, type[KernelBenchError]] = {"request": RequestError, "protocol": ProtocolError, "gone": ConnectionLostError}
    return types.get(kind, TargetError)(str(error.get("message")), str(error.get("hint", "")), kind=kind)
