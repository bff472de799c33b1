"""Where a tensor is wrong, and what stands there instead: the sentence that tells an engineer where to look.

Two questions. *Place*: which slices along which dimensions hold the wrong elements, from the counts per row and column and the
evenly taken wrong elements. *Value*: what the wrong elements hold (``value_patterns``). A place is claimed only where the wrong
elements fill most of it, or are spread evenly over an ordered set of slices, and hardly any lies elsewhere; a value only where it
explains nearly all wrong elements looked at. Else "scattered".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..report import PatternKind
from .places import Region, covered, ended, tile_hint
from .value_patterns import meaning_of

if TYPE_CHECKING:
    from .tolerance import Tolerance

ALL = 0.95  # share of elements from which "all" are wrong: some are right by chance
FILLED = 0.5  # a place is claimed when at least this share of it is wrong
MOSTLY = 0.75  # of shapes that other shapes may look like
CONTAINED = 0.98  # and at least this share of the wrong elements lies in it
FEW = 8  # wrong elements that may well lie together by chance
TILES = (256, 128, 64, 32, 16, 8)


@dataclass(frozen=True)
class Evidence:
    """What the pass kept: counts of wrong elements with the number of rows (columns) in each, and some of their flat indices."""

    shape: list[int]
    mismatched: int
    rows: tuple[Any, int]
    cols: tuple[Any, int]
    places: Any
    max_abs: float | None

    @property
    def total(self) -> int:
        """Elements of the tensor."""
        product = 1
        for size in self.shape:
            product *= size
        return product


@dataclass(frozen=True)
class Pattern:
    """A machine-readable kind and the sentence for people."""

    kind: PatternKind
    sentence: str


def find_pattern(evidence: Evidence, expected: Any, actual: Any, tolerance: Tolerance | None) -> Pattern:
    """The pattern of a tensor that is wrong somewhere; ``expected`` and ``actual`` are of its shape."""
    meaning = meaning_of(evidence.places, expected, actual, tolerance)
    place = _place(evidence)
    if meaning is None:
        return place
    if place.kind in ("all", "scattered"):
        return Pattern(meaning.kind, f"{meaning.sentence} ({_counted(evidence)} elements are wrong.)")
    return Pattern(place.kind, f"{place.sentence} {meaning.sentence}")


def _counted(evidence: Evidence) -> str:
    return f"{evidence.mismatched:,} of {evidence.total:,}"


def _place(evidence: Evidence) -> Pattern:
    if evidence.mismatched == 1:
        last = len(evidence.shape) == 1 and int(evidence.places[0]) == evidence.total - 1 > 0
        which = "The last element" if last else "A single element"
        return Pattern("tail" if last else "scattered", f"{which} of {evidence.total:,} is wrong.")
    if evidence.mismatched >= ALL * evidence.total:
        return Pattern("all", f"All elements are wrong ({_counted(evidence)}).")
    marginals = _marginals(evidence)
    return (
        _tail(evidence)
        or _slices(evidence, marginals)
        or _edges(evidence, marginals)
        or _triangle(evidence)
        or _blocks(evidence)
        or _scattered(evidence)
    )


def _marginals(evidence: Evidence) -> list[list[int] | None]:
    """Per dimension how many elements of each slice are wrong; None where rows or columns were counted together."""
    shape = evidence.shape or [1]
    (rows, row_bucket), (cols, col_bucket) = evidence.rows, evidence.cols
    found: list[list[int] | None] = []
    for dim in range(len(shape) - 1):
        if row_bucket > 1:
            found.append(None)
        else:
            others = [d for d in range(len(shape) - 1) if d != dim]
            leading = rows.reshape(shape[:-1])
            found.append((leading.sum(others) if others else leading).tolist())
    found.append(None if col_bucket > 1 else cols.tolist())
    return found


def _slices(evidence: Evidence, marginals: list[list[int] | None]) -> Pattern | None:
    """All wrong elements lie in some slices of one dimension, or where some slices of several dimensions meet."""
    shape, total = evidence.shape or [1], evidence.total
    supports: dict[int, list[int]] = {}
    for dim, counts in enumerate(marginals):
        if counts is not None and shape[dim] > 1:
            threshold = max(counts) * 0.05  # strays do not count as a wrong slice
            support = [index for index, count in enumerate(counts) if count > threshold]
            if len(support) < 0.95 * shape[dim] and sum(counts[i] for i in support) >= CONTAINED * evidence.mismatched:
                supports[dim] = support
    if not supports:
        return None
    filled = total
    for dim, support in supports.items():
        filled = filled * len(support) // shape[dim]
    regions = [Region(shape, dim, support) for dim, support in sorted(supports.items())]
    even = all(region.ordered and _even([(marginals[region.dim] or [])[i] for i in region.indices]) for region in regions)
    if evidence.mismatched < (FILLED if len(supports) == 1 else MOSTLY) * filled and not even:
        return None
    if len(regions) > 1 and evidence.mismatched < FEW:
        return None
    if len(regions) == 1:
        only = regions[0]
        if not only.striking:
            return None
        return Pattern(only.kind, ended(f"{only.words} wrong{only.hint}".capitalize()))
    where = ", ".join(region.noun for region in regions)
    if len(regions) == len(shape) and all(region.contiguous for region in regions):
        tile = " x ".join(str(len(region.indices)) for region in regions)
        return Pattern("blocks", ended(f"One block of {tile} elements is wrong: {where}{_aligned(regions)}"))
    return Pattern("slice", f"Only one part is wrong: {where}.")


def _even(counts: list[int]) -> bool:
    """Whether all slices are wrong to a like degree, as where small values are within tolerance of anything."""
    mean = sum(counts) / len(counts)
    return mean >= FEW and min(counts) >= 0.25 * mean


def _aligned(regions: list[Region]) -> str:
    sizes = {len(region.indices) for region in regions}
    size = min(sizes)
    if len(sizes) == 1 and size in TILES and all(region.indices[0] % size == 0 for region in regions[-2:]):
        return f", aligned to tiles of {size}; is a tile not computed?"
    return ""


def _edges(evidence: Evidence, marginals: list[list[int] | None]) -> Pattern | None:
    """Whole slices at the ends of the last two dimensions: a frame, or what is left over after whole tiles in both."""
    shape = evidence.shape
    if len(shape) < 2 or min(shape[-2:]) < 3:
        return None
    dense = []
    for dim in (len(shape) - 2, len(shape) - 1):
        counts = marginals[dim]
        if counts is None:
            return None
        whole = evidence.total / shape[dim]
        slices = [index for index, count in enumerate(counts) if count >= 0.75 * whole]
        head = 0
        while head in slices:
            head += 1
        tail = 0
        while shape[dim] - 1 - tail in slices:
            tail += 1
        if not slices or head + tail != len(slices) or head + tail > shape[dim] // 2:
            return None
        dense.append((dim, head, tail))
    if covered(evidence.places, shape, dense) < CONTAINED:
        return None
    if not any(head for _, head, _ in dense):
        regions = [Region(shape, dim, list(range(shape[dim] - tail, shape[dim]))) for dim, _, tail in dense]
        words = " and ".join(region.noun for region in regions)
        hints = "".join(region.hint for region in regions)
        return Pattern("tail", ended(f"The {words} are wrong{hints}"))
    width = max(max(head, tail) for _, head, tail in dense)
    sides = "a frame" if all(head and tail for _, head, tail in dense) else "some edges"
    return Pattern(
        "boundary", f"Only the boundary is wrong: {sides} up to {width} wide; are borders (padding, halo) handled as expected?"
    )


def _tail(evidence: Evidence) -> Pattern | None:
    """Everything after one flat index, in memory order, that lies well within a row."""
    first, last = int(evidence.places.min()), int(evidence.places.max())
    length = evidence.total - first
    if len(evidence.shape) < 2 or length > 0.95 * evidence.total or not first % evidence.shape[-1] > 4:
        return None
    if evidence.mismatched < MOSTLY * length or last < first + 0.9 * length:
        return None
    hint = tile_hint(first, evidence.total)
    text = f"Everything from the flat index {first:,} on is wrong, in memory order ({length:,} elements){hint}"
    return Pattern("tail", ended(text))


def _triangle(evidence: Evidence) -> Pattern | None:
    """The elements on one side of the diagonal of the last two dimensions, as a mask makes them."""
    shape = evidence.shape
    if len(shape) < 2 or min(shape[-2:]) < 4:
        return None
    height, width = shape[-2:]
    row, col = evidence.places // width % height, evidence.places % width
    below = float((row > col).float().mean())
    area = sum(min(i, width) for i in range(height))
    for side, share, size in (("below", below, area), ("above", float((row < col).float().mean()), height * width - area)):
        if share >= CONTAINED and evidence.mismatched >= MOSTLY * size * (evidence.total // (height * width)):
            text = f"Only elements {side} the diagonal of the last two dimensions are wrong: is a mask missing or inverted?"
            return Pattern("triangle", text)
    return None


def _blocks(evidence: Evidence) -> Pattern | None:
    """Some tiles of the last two dimensions are wholly wrong: the largest tile that is filled."""
    shape = evidence.shape
    if len(shape) < 2:
        return None
    height, width = shape[-2:]
    row, col = evidence.places // width, evidence.places % width
    image, row = row // height, row % height
    for tall, wide in sorted(((t, w) for t in TILES for w in TILES), key=lambda size: -size[0] * size[1]):
        if tall > height or wide > width:
            continue
        across, down = -(-width // wide), -(-height // tall)
        hit = ((image * down + row // tall) * across + col // wide).unique().numel()
        if evidence.mismatched >= 0.75 * hit * tall * wide:
            total = evidence.total // (height * width) * across * down
            return Pattern(
                "blocks",
                f"{hit:,} of {total:,} tiles of {tall}x{wide} elements are wrong, aligned to multiples of {tall} and {wide}; "
                "are tiles left out or written twice?",
            )
    return None


def _scattered(evidence: Evidence) -> Pattern:
    (rows, _), (cols, _) = evidence.rows, evidence.cols
    where = f" in {int(rows.count_nonzero()):,} rows and {int(cols.count_nonzero()):,} columns" if len(evidence.shape) > 1 else ""
    return Pattern("scattered", f"Wrong elements are scattered: {_counted(evidence)}{where}; no pattern was found.")
