"""How an evaluation can end, and the deadlines that end it."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ending:
    """The content of the final event, before the output was drained. ``error`` is a ``report.Failure`` as JSON data."""

    verdict: str
    reason: str
    error: dict[str, Any] | None = None
    input_secret: str | None = None

    @classmethod
    def fault(cls, kind: str, message: str, hint: str = "") -> Ending:
        """Ours or the host's fault: verdict "error"."""
        return cls("error", message, {"kind": kind, "message": message, "hint": hint})

    @classmethod
    def of_exception(cls, error: Exception) -> Ending:
        """The supervisor itself cannot go on."""
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "free space there, or print and save less"
            return cls.fault("disk_full", "the disk that holds the run directory is full", hint)
        return cls.fault("supervisor_failed", f"the supervisor failed: {type(error).__name__}: {error}")


class Deadlines:
    """Named points in time, each with the ending that it brings. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[float, Ending]] = {}

    def set(self, name: str, at: float, ending: Ending) -> None:
        """Set a deadline, or move it."""
        self._entries[name] = (at, ending)

    def clear(self, name: str) -> None:
        """Take a deadline back; an unknown name is no error."""
        self._entries.pop(name, None)

    def next(self) -> float:
        """When the earliest comes; infinity where there is none."""
        return min((at for at, _ in self._entries.values()), default=float("inf"))

    def expired(self, now: float) -> Ending | None:
        """The ending of the earliest deadline that has passed."""
        passed = [entry for entry in self._entries.values() if entry[0] <= now]
        return min(passed, key=lambda entry: entry[0])[1] if passed else None
