"""The event file: numbers events, stamps them, appends them. The single writer is the supervisor."""

from __future__ import annotations

import os
import time
from typing import Any

from ..wire import encode_event
from .run_protocol import EVENTS


class EventFile:
    """``events.jsonl`` of one run directory; ``t`` counts from ``started_at`` (monotonic)."""

    def __init__(self, run_dir: str, started_at: float) -> None:
        self._fd = os.open(os.path.join(run_dir, EVENTS), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._size = 0
        self._seq = 0
        self._started_at = started_at
        self.last_at = started_at  # when the newest event was written, monotonic

    def append(self, kind: str, fields: dict[str, Any]) -> None:
        """Number, stamp and write an event."""
        now = time.monotonic()
        self._write(encode_event(kind, fields, self._seq, now - self._started_at), now)

    def _write(self, line: bytes, now: float) -> None:
        done = 0
        try:
            while done < len(line):
                done += os.write(self._fd, line[done:])
        except OSError:
            if done:
                os.ftruncate(self._fd, self._size)  # disk full: never leave half a line
            raise
        self._size += len(line)
        self._seq += 1
        self.last_at = now

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
