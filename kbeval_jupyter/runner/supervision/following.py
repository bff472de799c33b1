"""One evaluation as the link sees it: a connection to its supervisor, and its event file read from an offset."""

from __future__ import annotations

import contextlib
import json
import os
import socket

from .run_protocol import CANCEL, CONTROL, EVENTS

TYPE_CHECKING = False  # see main.py
if TYPE_CHECKING:
    from typing import Any

_FINISHED = b'{"kind":"finished"'
_PIECE_BYTES = 1 << 18
_SEND_LIMIT_S = 60.0


class GoneError(Exception):
    """The supervisor ended before it answered."""


class Following:
    """Delivers the event lines of one evaluation, from number ``after + 1`` on."""

    def __init__(self, evaluation_id: str, after: int = -1) -> None:
        self.id = evaluation_id
        self.connection: socket.socket | None = None
        self.run_dir = ""
        self.hungry = False  # the file may hold more than was read
        self.finished = False
        self.prefix = evaluation_id.encode() + b" "
        self._skip = after + 1
        self._file: int | None = None
        self._partial = b""
        self._greeting = b""

    def submit(self, server: str, plan_frame: bytes) -> None:
        """Connect to the server and hand the plan over; raises OSError where nobody listens."""
        self.connection = _connect(server)
        self.connection.sendall(plan_frame)
        self.connection.setblocking(False)

    def attach(self, run_dir: str) -> None:
        """Follow an evaluation that runs, or has run, in ``run_dir``; raises OSError where there is none."""
        self._open(run_dir)
        folder = os.open(run_dir, os.O_PATH | os.O_DIRECTORY)
        try:
            # Through the descriptor the path is short enough for a socket, however deep the folder lies.
            self.connection = _connect(f"/proc/self/fd/{folder}/{CONTROL}")
            self.connection.setblocking(False)
        except OSError:
            self.connection = None  # over: the file says how it ended
        finally:
            os.close(folder)

    def cancel(self) -> None:
        """Ask the supervisor to end the evaluation."""
        if self.connection is not None:
            with contextlib.suppress(OSError):
                self.connection.send(CANCEL)

    def on_readable(self) -> dict[str, Any] | None:
        """Take bells, the greeting and the end from the connection; returns the greeting when it has come."""
        assert self.connection is not None
        try:
            data = self.connection.recv(1 << 16)
        except BlockingIOError:
            return None
        except OSError:
            data = b""
        self.hungry = True
        if not data:
            self._hang_up()
            if self._file is None:
                raise GoneError
            return None
        return self._greet(data) if self._file is None else None

    def read(self) -> bytes:
        """The next event lines, each with the evaluation's id before it; empty where there is nothing new."""
        if self._file is None:
            self.hungry = False
            return b""
        data = os.read(self._file, _PIECE_BYTES)
        if len(data) < _PIECE_BYTES:
            self.hungry = False
        lines = (self._partial + data).split(b"\n")
        self._partial = lines.pop()
        if self._skip:
            skipped = min(self._skip, len(lines))
            self._skip -= skipped
            del lines[:skipped]
        if lines and lines[-1].startswith(_FINISHED):
            self.finished = True
        return b"".join(self.prefix + line + b"\n" for line in lines)

    @property
    def abandoned(self) -> bool:
        """Whether all was read, nobody writes any more, and the final event is missing."""
        return self.connection is None and self._file is not None and not self.hungry and not self.finished

    def close(self) -> None:
        """Give descriptors back. Idempotent."""
        self._hang_up()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _greet(self, data: bytes) -> dict[str, Any] | None:
        self._greeting += data
        line, newline, _ = self._greeting.partition(b"\n")
        if not newline:
            return None
        greeting: dict[str, Any] = json.loads(line)
        if "run_dir" in greeting:
            self._open(greeting["run_dir"])
        return greeting

    def _open(self, run_dir: str) -> None:
        self.run_dir = run_dir
        self._file = os.open(os.path.join(run_dir, EVENTS), os.O_RDONLY)

    def _hang_up(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def _connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(_SEND_LIMIT_S)
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection
