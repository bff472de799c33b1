"""Sends an evaluation's log and state to the page, slowly enough for Jupyter Server and fast enough for people.

Jupyter Server drops messages above about 1,000 a second and a browser repaints 60 times a second, so lines travel in batches. One
thread per live view sends, so neither the evaluation's loop nor a message handler ever waits for a socket.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbeval_jupyter.widgets.log_buffer import LogBuffer

LOG_INTERVAL_S = 0.034  # at most 30 messages a second
STATE_INTERVAL_S = 0.1
BATCH_CHARACTERS = 256 << 10
_FLUSH_MESSAGES = 64
_STATE_SHARE = 10


class Publisher:
    """The sending thread. ``send`` and ``set_state`` are called on it alone."""

    def __init__(self, log: LogBuffer, send: Callable[[dict[str, Any]], None], set_state: Callable[[], None]) -> None:
        self._log = log
        self._send = send
        self._set_state = set_state
        self._wake = threading.Condition()
        self._state_changed = False
        self._log_changed = False
        self._closing = False
        self._rewind_to: int | None = None
        self._next_line = 0
        self._replay_until = 0
        self._thread = threading.Thread(target=self._run, name="kbeval-view", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def log_changed(self) -> None:
        """There is more text."""
        with self._wake:
            self._log_changed = True
            self._wake.notify()

    def state_changed(self) -> None:
        """The snapshot is different now."""
        with self._wake:
            self._state_changed = True
            self._wake.notify()

    def replay(self, start: int) -> None:
        """Send every line from ``start`` on again."""
        with self._wake:
            self._rewind_to = start if self._rewind_to is None else min(start, self._rewind_to)
            self._wake.notify()

    def close(self, timeout_s: float = 2.0) -> None:
        """Send what is left, and end. Idempotent."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        state_due = 0.0
        while True:
            with self._wake:
                self._wake.wait_for(self._work_to_do)
                if self._closing:
                    break
                state_now = self._state_changed and time.monotonic() >= state_due
                log_now = self._log_changed or self._rewind_to is not None
                self._state_changed = self._state_changed and not state_now
            if state_now:
                begin = time.monotonic()
                self._set_state()
                took_s = time.monotonic() - begin
                # A state that is large must not keep the kernel busy.
                state_due = begin + max(STATE_INTERVAL_S, _STATE_SHARE * took_s)
            if log_now:
                self._publish_log()
            with self._wake:
                self._wake.wait_for(lambda: self._closing, LOG_INTERVAL_S)
        self._flush()

    def _work_to_do(self) -> bool:
        return self._closing or self._state_changed or self._log_changed or self._rewind_to is not None

    def _publish_log(self) -> None:
        """One message."""
        with self._wake:
            self._log_changed = False
            if self._rewind_to is not None:
                self._replay_until = max(self._replay_until, self._next_line, 1)
                self._next_line = min(self._rewind_to, self._next_line)
                self._rewind_to = None
        batch = self._log.read(self._next_line, BATCH_CHARACTERS)
        # A page may go on after a gap only where it is told that the lines between are gone for good.
        replay = self._next_line < self._replay_until or batch.first > self._next_line
        self._next_line = batch.end
        if self._next_line >= self._replay_until:
            self._replay_until = 0
        complete = batch.end >= self._log.end
        partial = self._log.partial() if complete else []
        self._send({"kind": "log", "from": batch.first, "lines": batch.lines, "partial": partial, "replay": replay})
        if not complete:
            with self._wake:
                self._log_changed = True

    def _flush(self) -> None:
        for _message in range(_FLUSH_MESSAGES):
            if self._next_line >= self._log.end and not self._log_changed:
                break
            self._publish_log()
        self._set_state()
