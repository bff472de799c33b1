"""Sets of slices along one dimension of a tensor, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..report import PatternKind

_LISTED = 6
TILES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8, 4)  # sizes of tiles, the likelier first


@dataclass(frozen=True)
class Region:
    """Wrong slices ``indices`` (ascending) of dimension ``dim``."""

    shape: list[int]
    dim: int
    indices: list[int]

    @property
    def size(self) -> int:
        """Slices that the dimension has."""
        return self.shape[self.dim]

    @property
    def contiguous(self) -> bool:
        """Whether no slice lies between that is right."""
        return self.indices[-1] - self.indices[0] + 1 == len(self.indices)

    @property
    def ordered(self) -> bool:
        """Whether the slices are neighbours, or equally far apart."""
        return self.contiguous or self._period() is not None

    @property
    def at_end(self) -> bool:
        """Whether these are the last slices."""
        return self.contiguous and self.indices[-1] == self.size - 1 and self.indices[0] > 0

    @property
    def kind(self) -> PatternKind:
        """Of pattern: "tail", "rows", "columns", "slice"."""
        if self.at_end and (len(self.indices) > 1 or self._remainder or len(self.shape) == 1):
            return "tail"
        if len(self.shape) > 1 and self.dim == len(self.shape) - 1:
            return "columns"
        return "rows" if self.dim == 0 and len(self.shape) == 2 else "slice"

    @property
    def noun(self) -> str:
        """``last 32 columns``, ``row 7``, ``indices 8 to 15 of dimension 0``."""
        count, first, last = len(self.indices), self.indices[0], self.indices[-1]
        if self.at_end or (self.contiguous and first == 0 and count > 1):
            edge = "last" if self.at_end else "first"
            return f"{edge} {self._name(count)}" if count == 1 else f"{edge} {count:,} {self._name(count)}"
        if count == 1:
            return f"{self._name(1)} {first}{self._of}"
        if self.contiguous:
            return f"{self._name(count)} {first} to {last}{self._of}"
        period = self._period()
        if period:
            return f"{self._name(count)} {first}, {self.indices[1]}, … (one in {period}){self._of}"
        listed = ", ".join(str(index) for index in self.indices[:_LISTED])
        more = ", …" if count > _LISTED else ""
        return f"{count:,} {self._name(count)} ({listed}{more}){self._of}"

    @property
    def words(self) -> str:
        """The noun with article and verb, such as ``the last 32 columns are``."""
        article = "the " if self.at_end or (self.contiguous and self.indices[0] == 0 and len(self.indices) > 1) else ""
        only = "" if self.at_end else "only "
        return f"{only}{article}{self.noun} {'is' if len(self.indices) == 1 else 'are'}"

    @property
    def striking(self) -> bool:
        """Whether chance does not make such a set: enough elements in each slice, or an order in it."""
        elements = 1
        for size in self.shape:
            elements *= size
        slice_elements = elements // self.size
        if len(self.indices) < 3:
            return slice_elements >= 4 or self.at_end
        return slice_elements >= 8 or self.ordered

    @property
    def hint(self) -> str:
        """What a tail suggests, from ": " on."""
        return tile_hint(self.indices[0], self.size) if self.at_end else ""

    @property
    def _remainder(self) -> bool:
        return bool(tile_hint(self.indices[0], self.size))

    def _period(self) -> int | None:
        steps = {b - a for a, b in zip(self.indices, self.indices[1:])}
        return steps.pop() if len(steps) == 1 and len(self.indices) > 2 else None

    @property
    def _of(self) -> str:
        return "" if len(self.shape) <= 2 or self.dim >= len(self.shape) - 2 else f" of dimension {self.dim} (size {self.size:,})"

    def _name(self, count: int) -> str:
        if len(self.shape) == 1:
            return "element" if count == 1 else "elements"
        if self.dim == len(self.shape) - 1:
            return "column" if count == 1 else "columns"
        if self.dim == len(self.shape) - 2:
            return "row" if count == 1 else "rows"
        return "index" if count == 1 else "indices"


def tile_hint(first: int, size: int) -> str:
    """Where exactly what is left over after whole tiles is wrong: the tile for which that is so, from ": " on."""
    for tile in TILES:
        if size % tile and 0 < first == size // tile * tile:
            return f": {size:,} is not a multiple of {tile:,}; is a tail tile not handled?"
    return ""


def ended(sentence: str) -> str:
    """The sentence with its full stop, unless it asks."""
    return sentence if sentence.endswith("?") else f"{sentence}."


def covered(places: Any, shape: list[int], edges: list[tuple[int, int, int]]) -> float:
    """Share of flat indices that lie in the first ``head`` or last ``tail`` slices of a dimension (dim, head, tail)."""
    inside = places < 0
    for dim, head, tail in edges:
        stride = 1
        for size in shape[dim + 1 :]:
            stride *= size
        index = places // stride % shape[dim]
        inside |= (index < head) | (index >= shape[dim] - tail)
    return float(inside.float().mean())
