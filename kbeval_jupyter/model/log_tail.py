"""The last lines that an evaluation printed, as a terminal would show them."""

from __future__ import annotations

from collections import deque

TAIL_LINES = 50
LINE_CHARACTERS = 2_000  # a longer line is cut: somebody prints tensors, and the tail is saved in the notebook


def shown(line: str) -> str:
    """What stays on screen of a line: the text after its last carriage return that has any; cut where it is very long."""
    if "\r" in line:
        line = next((part for part in reversed(line.split("\r")) if part), "")
    return line if len(line) <= LINE_CHARACTERS else line[:LINE_CHARACTERS] + "…"


class LogTail:
    """Collects pieces of text per source, in bounded memory; a line counts where it ends, across sources."""

    def __init__(self, lines: int = TAIL_LINES) -> None:
        self._lines: deque[str] = deque(maxlen=lines)
        self._partial: dict[str, str] = {}

    def add(self, source: str, text: str) -> None:
        """Take the next piece of one source's text: any number of lines, perhaps a part of one."""
        *complete, rest = (self._partial.get(source, "") + text).rsplit("\n", (self._lines.maxlen or 0) + 1)
        if len(complete) > (self._lines.maxlen or 0):
            del complete[0]  # everything older than the tail, still in one piece
        self._lines.extend(shown(line) for line in complete)
        self._partial[source] = _shortened(rest)

    def lines(self) -> list[str]:
        """The tail, unfinished lines included."""
        unfinished = [shown(text) for text in self._partial.values() if text]
        return [*self._lines, *unfinished][-(self._lines.maxlen or 0) :]


def _shortened(partial: str) -> str:
    """An unfinished line without what can no longer be seen; a carriage return at its end may yet be half of a line end."""
    ending = "\r" if partial.endswith("\r") else ""
    body = partial.removesuffix("\r")
    return body[body.rfind("\r") + 1 :][: LINE_CHARACTERS + 1] + ending
