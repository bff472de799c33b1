"""What processes print: drained from pipes, decoded, bounded, and handed on as text at once."""

from __future__ import annotations

import codecs
import contextlib
import fcntl
import os
from collections import deque
from typing import Callable, Literal

LogSource = Literal["implementation", "reference", "judge"]

TAIL_CHARACTERS = 64 << 10
_PIPE_BYTES = 1 << 20
_READ_BYTES = 1 << 18
_F_SETPIPE_SZ = 1031


def output_pipe() -> tuple[int, int]:
    """A pipe for a process's output (read end, write end); the read end does not block, the pipe is as large as allowed."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    with contextlib.suppress(OSError):  # over the user's allowance for large pipes: the usual 64 KiB do
        fcntl.fcntl(write_end, _F_SETPIPE_SZ, _PIPE_BYTES)
    return read_end, write_end


class LogBudget:
    """How much text an evaluation may deliver. Beyond it text is counted, and only the newest is kept for the end."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self.dropped_bytes = 0
        self._used = 0
        self._tail: deque[tuple[LogSource, str]] = deque()
        self._tail_length = 0

    def admit(self, source: LogSource, text: str) -> bool:
        """Whether the text is to be delivered now."""
        size = len(text.encode("utf-8", "replace"))
        if not self.limit_bytes or self._used + size <= self.limit_bytes:
            self._used += size
            return True
        self._used = self.limit_bytes  # nothing later may slip in before what is left out
        self.dropped_bytes += size
        self._tail.append((source, text))
        self._tail_length += len(text)
        while self._tail and self._tail_length - len(self._tail[0][1]) >= TAIL_CHARACTERS:
            self._tail_length -= len(self._tail.popleft()[1])
        return False

    def tail(self) -> list[tuple[LogSource, str]]:
        """The last ``TAIL_CHARACTERS`` of what was left out; what it holds no longer counts as dropped."""
        pieces = list(self._tail)
        if pieces:
            excess = max(0, self._tail_length - TAIL_CHARACTERS)
            pieces[0] = (pieces[0][0], pieces[0][1][excess:])
        self.dropped_bytes -= sum(len(text.encode("utf-8", "replace")) for _, text in pieces)
        self._tail.clear()
        return pieces


class TextLines:
    """Bytes to text: UTF-8 with replacement, and no line longer than the limit ("… [N bytes cut]")."""

    def __init__(self, line_bytes: int) -> None:
        self._limit = line_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._length = 0  # of the line so far, in bytes
        self._cut = 0

    def feed(self, data: bytes) -> str:
        """The text of these bytes; a character that is not complete waits for the rest of it."""
        if not self._limit:
            return self._decoder.decode(data)
        return "".join(map(self._line, data.splitlines(keepends=True)))

    def end(self) -> str:
        """What is left at the end of the stream."""
        return self._decoder.decode(b"", final=True) + self._cut_mark()

    def _line(self, piece: bytes) -> str:
        """A line, or a part of one where it is the first or last piece of a read."""
        body = piece.rstrip(b"\r\n")
        ending = piece[len(body) :]
        room = self._limit - self._length
        text = self._decoder.decode(body[:room]) if room > 0 else ""
        self._length += len(body)
        if len(body) > room:
            self._decoder.reset()  # a character cut in two is dropped, not replaced
            self._cut += len(body) - max(room, 0)
        if not ending:
            return text
        text += self._decoder.decode(b"", final=True) + self._cut_mark() + ending.decode()
        self._length = 0
        return text

    def _cut_mark(self) -> str:
        mark = f"… [{self._cut} bytes cut]" if self._cut else ""
        self._cut = 0
        return mark


class LogPipe:
    """The read end of one output pipe."""

    def __init__(self, source: LogSource, fd: int, deliver: Callable[[LogSource, str], None]) -> None:
        self.source = source
        self.fd = fd
        self.open = True  # False once all writers have gone
        self._closed = False
        self._deliver = deliver
        self._text: TextLines | None = None

    def start(self, line_bytes: int) -> None:
        """Set the line limit, which is known only when the plan was read."""
        self._text = TextLines(line_bytes)

    def drain(self) -> None:
        """Deliver what lies in the pipe now, at most one pipe full, so that a flood cannot hold up everything else."""
        assert self._text is not None
        taken = 0
        while self.open and taken < _PIPE_BYTES:
            try:
                data = os.read(self.fd, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self.open = False
                return
            taken += len(data)
            self._send(self._text.feed(data))

    def close(self) -> None:
        """Deliver the rest of the text and close the pipe. Idempotent."""
        self.open = False
        if not self._closed:
            self._closed = True
            os.close(self.fd)
            if self._text is not None:
                self._send(self._text.end())

    def _send(self, text: str) -> None:
        if text:
            self._deliver(self.source, text)
