"""Progress as plain text, for a terminal and for notebooks that are executed without a page: little, and bounded."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.rendering import units
from kbeval_jupyter.rendering.text import strip_control

if TYPE_CHECKING:
    from collections.abc import Callable

INTERVAL_S = 0.5
LINES_AT_ONCE = 20
LINES_IN_ALL = 200
_LINE_CHARACTERS = 500


class TextProgress:
    """Collects events on any thread; ``pump`` writes what is new, on the thread whose output belongs to the cell."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._pending: deque[str] = deque()
        self._log: deque[str] = deque(maxlen=LINES_AT_ONCE)
        self._log_count = 0
        self._partial: dict[str, str] = {}
        self._shown = 0
        self._due = 0.0

    def on_event(self, event: dict[str, Any]) -> None:
        """Take the next event of the evaluation."""
        kind = event.get("kind")
        with self._lock:
            if kind == "log":
                source = str(event["source"])
                *lines, rest = (self._partial.get(source, "") + str(event["text"])).split("\n")
                self._partial[source] = rest[-_LINE_CHARACTERS:]
                self._log_count += len(lines)
                self._log.extend(lines)
            elif kind == "stage_finished":
                self._flush_log()
                self._pending.append(_stage_line(event))

    def pump(self, *, at_once: bool = False) -> None:
        """Write what came since the last call, at most twice a second."""
        now = time.monotonic()
        if now < self._due and not at_once:
            return
        self._due = now + INTERVAL_S
        with self._lock:
            self._flush_log()
            lines, self._pending = list(self._pending), deque()
        if lines:
            self._write("\n".join(lines) + "\n")

    def _flush_log(self) -> None:
        """Move the log's last lines to what is written; of a flood only these are shown."""
        room = max(0, LINES_IN_ALL - self._shown)
        shown = list(self._log)[:room]
        hidden = self._log_count - len(shown)
        if hidden and room:
            self._pending.append(f"  … {units.counted(hidden, 'line')} not shown here")
        self._pending += [f"  {strip_control(line)[:_LINE_CHARACTERS]}" for line in shown]
        self._shown += len(shown)
        self._log.clear()
        self._log_count = 0


def _stage_line(event: dict[str, Any]) -> str:
    took = f", {units.seconds(event['seconds'])}" if event.get("seconds") is not None else ""
    reason = f": {event['reason']}" if event.get("reason") else ""
    return f"{event['stage']} {event['status']}{took}{reason}"
