"""The log as numbered lines, the newest kept, so that a page that was reloaded finds it again."""

from __future__ import annotations

import threading
from dataclasses import dataclass

CAPACITY_LINES = 200_000
CAPACITY_CHARACTERS = 64 << 20
_PARTIAL_LIMIT = 64 << 10  # an unfinished line that grows beyond this becomes a line


@dataclass(frozen=True)
class LogBatch:
    """Lines ``first``, ``first + 1``, … in order; ``end`` is one past the last of them."""

    first: int
    lines: list[tuple[str, str]]

    @property
    def end(self) -> int:
        """Where the next batch begins."""
        return self.first + len(self.lines)


class LogBuffer:
    """Lines with their source; any thread may add or read. Memory is bounded by lines and by characters."""

    def __init__(self, capacity_lines: int = CAPACITY_LINES, capacity_characters: int = CAPACITY_CHARACTERS) -> None:
        self._capacity_lines = capacity_lines
        self._capacity_characters = capacity_characters
        self._lock = threading.Lock()
        self._lines: list[tuple[str, str]] = []
        self._first = 0
        self._characters = 0
        self._partial: dict[str, str] = {}

    def add(self, source: str, text: str) -> None:
        """Take the next piece of one source's text: any number of lines, perhaps a part of one."""
        with self._lock:
            *complete, rest = (self._partial.get(source, "") + text).split("\n")
            if len(rest) > _PARTIAL_LIMIT:
                complete.append(rest)
                rest = ""
            self._partial[source] = rest
            self._lines += [(source, line) for line in complete]
            self._characters += sum(map(len, complete))
            self._forget()

    def _forget(self) -> None:
        """Drop the oldest lines, a quarter at a time: taking them from a list's front one by one would be slow."""
        if len(self._lines) > self._capacity_lines:
            self._drop(len(self._lines) - self._capacity_lines * 3 // 4)
        while self._characters > self._capacity_characters and len(self._lines) > 1:
            self._drop((len(self._lines) + 3) // 4)

    def _drop(self, count: int) -> None:
        self._characters -= sum(len(text) for _source, text in self._lines[:count])
        del self._lines[:count]
        self._first += count

    def read(self, start: int, limit_characters: int) -> LogBatch:
        """The lines from ``start`` on, or from the oldest still kept; at least one where there is one."""
        with self._lock:
            first = max(start, self._first)
            offset = first - self._first
            size = 0
            end = offset
            while end < len(self._lines) and (size < limit_characters or end == offset):
                size += len(self._lines[end][1])
                end += 1
            return LogBatch(first, self._lines[offset:end])

    def partial(self) -> list[tuple[str, str]]:
        """What each source has printed since its last newline."""
        with self._lock:
            return [(source, text) for source, text in self._partial.items() if text]

    @property
    def end(self) -> int:
        """The number that the next finished line gets."""
        with self._lock:
            return self._first + len(self._lines)
