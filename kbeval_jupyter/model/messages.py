"""The widget's custom messages, as JSON objects; the live state itself is a Snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class LogMessage:
    """Python to view: finished lines from number ``from`` on, and the unfinished line of each source that has one.

    ``lines`` are (source, text) pairs. ``first_available`` is the oldest line number that Python still keeps.
    """

    first_line: int = field(metadata={"json": "from"})
    lines: list[tuple[str, str]]
    partial: dict[str, str]
    first_available: int = 0
    kind: Literal["log"] = "log"


@dataclass(frozen=True)
class SyncMessage:
    """View to Python: send the log again from line number ``from``."""

    first_line: int = field(metadata={"json": "from"})
    kind: Literal["sync"] = "sync"


@dataclass(frozen=True)
class CancelMessage:
    """View to Python: stop the evaluation."""

    kind: Literal["cancel"] = "cancel"
