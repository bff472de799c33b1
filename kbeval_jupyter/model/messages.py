"""The widget's custom messages, as JSON objects; the live state itself is a Snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class LogMessage:
    """Python to view: finished lines from number ``from`` on, and the unfinished line of each source that has one.

    Both are (source, text) pairs. ``replay``: lines missing before ``from`` are gone, the view goes on there; without it a
    view that misses lines asks for them.
    """

    first_line: int = field(metadata={"json": "from"})
    lines: list[tuple[str, str]]
    partial: list[tuple[str, str]]
    replay: bool = False
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
