"""Text that remembers where the user sees each of its lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CHARACTERS_LIMIT = 2 << 20  # of what is put together from parts; sums of sums grow without end
_PROBE_CHARACTERS = 60  # enough of a line to find it again in the source


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file or cell, counted from 1."""

    file: str
    line: int


@dataclass(frozen=True)
class Text:
    """``places`` holds one place for each line of ``value``."""

    value: str
    places: tuple[Place, ...]

    @classmethod
    def of_file(cls, file: str, value: str) -> Text:
        """A file's whole content."""
        value = value.replace("\r\n", "\n")
        return cls(value, tuple(Place(file, number) for number in range(1, value.count("\n") + 2)))

    @classmethod
    def of_literal(cls, value: str, file: str, first: int, last: int, source: list[str]) -> Text:
        """A Python literal that stands in the lines ``first`` to ``last`` of ``source``.

        In a triple-quoted literal its lines are those of the source. Where newlines are written as escapes, or the literal is
        joined from several, each line is looked for from where the one before it was found.
        """
        pieces = value.split("\n")
        if last - first == len(pieces) - 1:
            return cls(value, tuple(Place(file, first + offset) for offset in range(len(pieces))))
        places, current = [], first
        for piece in pieces:
            probe = piece.strip()[:_PROBE_CHARACTERS]
            if probe:
                found = (line for line in range(current, last + 1) if probe in source[line - 1])
                current = next(found, current)
            places.append(Place(file, current))
        return cls(value, tuple(places))

    def __add__(self, other: Text) -> Text:
        """The two, one directly after the other."""
        return concatenated([self, other])

    def with_value(self, value: str) -> Text:
        """The same lines with other words; the text itself where the number of lines would change."""
        return Text(value, self.places) if value.count("\n") == self.value.count("\n") else self

    def place(self, line: int) -> Place:
        """Where the user sees a line of the value, counted from 0."""
        return self.places[min(line, len(self.places) - 1)]


def joined(texts: Iterable[Text]) -> Text | None:
    """All of them, each on lines of its own, as far as the limit allows; None where there are none."""
    values: list[str] = []
    places: list[Place] = []
    length = 0
    for text in texts:
        length += len(text.value)
        if values and length > CHARACTERS_LIMIT:
            break
        values.append(text.value)
        places += text.places
    return Text("\n".join(values), tuple(places)) if values else None


def concatenated(texts: Iterable[Text]) -> Text:
    """All of them, one directly after the other, as far as the limit allows.

    Where two meet in a line, its place is that of the first part that is not blank.
    """
    values: list[str] = []
    places: list[Place] = []
    length, line_is_blank = 0, True
    for text in texts:
        length += len(text.value)
        if values and length > CHARACTERS_LIMIT:
            break
        if places and not line_is_blank:
            places += text.places[1:]
        else:
            places[-1:] = text.places
        line_is_blank = not text.value.rpartition("\n")[2].strip() and (line_is_blank or "\n" in text.value)
        values.append(text.value)
    return Text("".join(values), tuple(places))
