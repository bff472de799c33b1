"""A host that is a recording: the fake that we ship. Every evaluation gets the events of one recorded event file."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import anyio

from kbeval_jupyter.errors import ConnectionLostError, TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class ReplayTransport:
    """Plays ``recording`` (an ``events.jsonl``); artifacts are those beside it.

    ``pace`` 1 keeps the recorded times, 0 plays at once. ``break_after`` cuts the first connection after so many events.
    """

    def __init__(self, recording: Path, *, pace: float = 0.0, break_after: int | None = None) -> None:
        self.recording = recording
        self._lines = recording.read_bytes().splitlines()
        self._pace = pace
        self._break_after = break_after

    async def put(self, files: Mapping[PurePosixPath, bytes]) -> None:
        """Nothing is kept."""

    async def start(self, argv: Sequence[str], env: Mapping[str, str]) -> ReplayLink:  # noqa: ARG002 - the protocol's signature
        """A link that plays the recording."""
        runner = PurePosixPath(argv[-2]).stem.removeprefix("kbeval-runner-")
        break_after, self._break_after = self._break_after, None
        return ReplayLink(runner, self.recording.parent, self._lines, self._pace, break_after)

    async def fetch(self, path: PurePosixPath, destination: Path, limit_bytes: int) -> int:
        """Copy a file that lies beside the recording."""
        data = await anyio.Path(path).read_bytes()
        if len(data) > limit_bytes:
            raise TargetError(f"{path.name} has {len(data)} bytes, the limit is {limit_bytes}")
        await anyio.Path(destination.parent).mkdir(parents=True, exist_ok=True)
        await anyio.Path(destination).write_bytes(data)
        return len(data)

    async def aclose(self) -> None:
        """Nothing to give back."""


class ReplayLink:
    """What a link process would say."""

    def __init__(self, runner: str, run_dir: Path, lines: list[bytes], pace: float, break_after: int | None) -> None:
        self._run_dir = run_dir
        self._lines = lines
        self._pace = pace
        self._left = break_after
        self._closed = False
        self._wake = anyio.Event()
        self._out: deque[tuple[float, bytes]] = deque()  # when it is due, the line; in order
        self._say({"kind": "hello", "runner": runner})

    async def send(self, data: bytes) -> None:
        """Take a client's operations."""
        for line in data.splitlines():
            message = json.loads(line)
            if message["op"] == "run":
                self._say({"kind": "accepted", "id": message["id"], "run_dir": str(self._run_dir)})
                self._play(message["id"], 0)
            elif message["op"] == "follow":
                self._play(message["id"], message["after"] + 1)
            else:
                self._cut(message["id"])
        self._wake.set()

    async def receive(self) -> bytes:
        """The next line, when its time has come; b"" after ``aclose``."""
        while not self._closed:
            if self._out:
                wait_s = self._out[0][0] - anyio.current_time()
                if wait_s <= 0:
                    return self._next()
            self._wake = anyio.Event()
            with anyio.move_on_after(wait_s if self._out else None):
                await self._wake.wait()
        return b""

    async def stderr_tail(self) -> str:
        """Nothing."""
        return ""

    async def aclose(self) -> None:
        """End the output."""
        self._closed = True
        self._wake.set()

    def _next(self) -> bytes:
        line = self._out.popleft()[1]
        if self._left is not None and not line.startswith(b"- "):
            if self._left == 0:
                raise ConnectionLostError("the recording's connection broke, as it was told to")
            self._left -= 1
        return line

    def _say(self, message: dict[str, Any]) -> None:
        self._out.append((0.0, b"- " + json.dumps(message).encode() + b"\n"))

    def _play(self, evaluation_id: str, start: int) -> None:
        now = anyio.current_time()
        first = json.loads(self._lines[start])["t"] if start < len(self._lines) else 0.0
        for line in self._lines[start:]:
            due = now + self._pace * (json.loads(line)["t"] - first) if self._pace else 0.0
            self._out.append((due, evaluation_id.encode() + b" " + line + b"\n"))

    def _cut(self, evaluation_id: str) -> None:
        """Cancel: what has not been played gives way to a final event."""
        name = evaluation_id.encode() + b" "
        coming = next((line for _, line in self._out if line.startswith(name)), None)
        self._out = deque(entry for entry in self._out if not entry[1].startswith(name))
        if coming is not None:
            seq = json.loads(coming.removeprefix(name))["seq"]
            final = {"kind": "finished", "seq": seq, "t": 0.0, "verdict": "cancelled", "reason": "cancelled by the user"}
            final |= {"input_secret": None, "error": None}
            self._out.append((0.0, name + json.dumps(final).encode() + b"\n"))
