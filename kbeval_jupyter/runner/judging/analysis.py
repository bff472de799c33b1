"""The whole analysis of a tensor that is out of tolerance somewhere: which elements fail, how badly, and where.

One pass in cache-sized rectangles on the device that holds the tensors; nothing as large as a tensor is ever made. Finite floats
are judged in their working type; integers, values that are not finite, and everything that is also compared with ``exact`` go the
careful way in float64. ``exact`` is the reference run in float64: an element also passes if it is within tolerance of the exact
value, or no farther from it than the reference is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ..report import ElementSample, Heatmap
from .compare import DECADE_TOP, DECADE_ZERO, chunks, components, histogram, working_dtype
from .heatmap import Cells, Plane, fold
from .patterns import Evidence

if TYPE_CHECKING:
    from .tolerance import Tolerance

CPU_CHUNK, DEVICE_CHUNK = 1 << 16, 1 << 21  # elements: what a core's cache holds; enough to keep a device busy
MAX_SAMPLES = 5
NOISE_FACTOR = 8.0  # a sound implementation's largest error against the reference's root mean square error
EVIDENCE_ELEMENTS = 1 << 16  # wrong elements looked at for patterns, spread evenly over the pieces
MAX_COUNTS = 1 << 20  # rows (columns) counted one by one; of more, neighbours are counted together
BIN_SHIFT = 16  # float32 by its upper 16 bits: bins so fine that decades begin at most 0.8 % early
BINS = 1 << (31 - BIN_SHIFT)


@dataclass
class Analysis:
    """All statistics of one tensor; flat indices are of components (two for each complex element), counts of elements."""

    total: int
    mismatched: int = 0
    max_abs: float | None = 0.0
    max_abs_at: int | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    mean_rel: float | None = None
    histogram: dict[str, int] = field(default_factory=dict)
    samples: list[int] = field(default_factory=list)  # flat indices, the first mismatch and the worst ones
    error_share: float | None = None  # root mean square error / root mean square of the expected values
    differing_share: float = 0.0  # not exactly equal, of the components that should not be zero: half of a relu's are, exactly
    heatmap: Heatmap | None = None
    evidence: Evidence | None = None


def reference_noise(expected: Any, exact: Any) -> float:
    """The error level of the reference itself: what a sound implementation may reach anywhere in the tensor."""
    largest, squares, count = 0.0, 0.0, 0
    for start, stop in chunks(expected.numel(), CPU_CHUNK):
        difference = (expected[start:stop].double() - exact[start:stop].double()).abs()
        difference = difference[torch.isfinite(difference)]
        if difference.numel():
            largest = max(largest, float(difference.max()))
            squares += float((difference * difference).sum())
            count += difference.numel()
    return min(largest, NOISE_FACTOR * math.sqrt(squares / max(count, 1)))


def _difference(expected: Any, actual: Any) -> Any:
    """|actual - expected| in float64: zero where both are NaN or the same infinity, exact for close wide integers."""
    e, a = expected.double(), actual.double()
    difference = (a - e).abs()
    if expected.dtype in (torch.int64, torch.uint64):
        words = (actual.view(torch.int64) - expected.view(torch.int64)).abs().double()
        difference = torch.where(difference < 2.0**52, words, difference)
    same = (a == e) | (a.isnan() & e.isnan())
    if expected.dtype in (torch.int64, torch.uint64):
        same = actual.view(torch.int64) == expected.view(torch.int64)
    return difference.masked_fill_(same, 0.0)


def _passing(expected: Any, actual: Any, difference: Any, tolerance: Tolerance | None) -> Any:
    if tolerance is None:
        return difference == 0
    e = expected.double()
    finite = e.isfinite() & actual.double().isfinite()
    return (difference == 0) | (finite & (difference <= tolerance.atol + tolerance.rtol * e.abs()))


def _near_exact(expected: Any, actual: Any, exact: Any, tolerance: Tolerance, noise: float) -> Any:
    x, a = exact.double(), actual.double()
    error = (a - x).abs()
    own = (expected.double() - x).abs().clamp_min(noise)
    return (x.isfinite() & a.isfinite()) & ((error <= tolerance.atol + tolerance.rtol * x.abs()) | (error <= own))


def _sum_of_squares(values: Any) -> float:
    flat = values.reshape(-1)
    total = float(torch.dot(flat, flat))
    if not 1e-20 < total < 1e30:  # squares that left the range of float32, or values that are not finite
        flat = flat.double()
        flat = flat[flat.isfinite()]
        total = float(torch.dot(flat, flat))
    return total


def analyse(expected: Any, actual: Any, tolerance: Tolerance | None, exact: Any | None = None) -> Analysis:
    """Statistics, heatmap and evidence for patterns of two tensors of one shape; ``tolerance`` None means equality."""
    return _Pass(expected, actual, tolerance, exact).run()


class _Pass:
    """Sums over the rectangles seen so far, and the memory that they share."""

    def __init__(self, expected: Any, actual: Any, tolerance: Tolerance | None, exact: Any | None) -> None:
        self.shape = list(expected.shape)
        self.parts = 2 if expected.is_complex() else 1
        self.expected, self.actual = components(expected), components(actual)
        self.exact = None if exact is None else components(exact)
        self.tolerance = tolerance
        self.noise = reference_noise(self.expected, self.exact) if self.exact is not None else 0.0
        self.careful = tolerance is None or exact is not None
        self.device = expected.device
        self.dtype = torch.float64 if self.careful else working_dtype(self.expected.dtype)
        self.plane = Plane.of(self.shape)
        self.result = Analysis(total=expected.numel())
        self.finite = self.nonzero = 0
        self.sum_abs = self.sum_rel = self.max_rel = self.error_squares = self.expected_squares = 0.0
        self.worst: list[tuple[float, int]] = []
        self.kept = 0  # wrong elements whose flat indices are in ``places``

    def run(self) -> Analysis:
        if self.result.total:
            self._prepare()
            size = CPU_CHUNK if self.device.type == "cpu" else DEVICE_CHUNK
            rectangles = list(self.plane.rectangles(size))
            self.quota = max(8, EVIDENCE_ELEMENTS // len(rectangles))
            # One piece of memory: small tensors made between large ones that go would keep the heap from shrinking.
            self.places = torch.empty(self.quota * len(rectangles), dtype=torch.int64, device=self.device)
            for rectangle in rectangles:
                self._rectangle(*rectangle)
            self._finish()
        return self.result

    def _prepare(self) -> None:
        plane, device = self.plane, self.device
        self.cells = Cells(plane, self.dtype, device)
        self.bins = torch.zeros(BINS, dtype=torch.int64, device=device)
        self.row_bucket, self.col_bucket = -(-plane.rows // MAX_COUNTS), -(-plane.cols // MAX_COUNTS)
        self.row_counts = torch.zeros(-(-plane.rows // self.row_bucket), dtype=torch.int64, device=device)
        self.col_counts = torch.zeros(-(-plane.cols // self.col_bucket), dtype=torch.int64, device=device)

    def _rectangle(self, row: int, row_end: int, col: int, col_end: int) -> None:
        parts = self.parts
        start = (row * self.plane.cols + col) * parts
        piece = slice(start, start + (row_end - row) * (col_end - col) * parts)
        expected, errors, failing = self._judge(piece)
        self._statistics(expected, errors)
        if parts == 2:
            errors_of_elements = errors.view(-1, 2).amax(1)
            failing_elements = None if failing is None else failing.view(-1, 2).amax(1)
        else:
            errors_of_elements, failing_elements = errors, failing
        shape = (row_end - row, col_end - col)
        self.cells.add(errors_of_elements.view(shape), row, col)
        if failing is None or failing_elements is None:
            if not self.result.mismatched:
                self._largest(errors, start)
            return
        self._worst(errors, failing, start)
        self._places(failing_elements.view(shape), row, col)

    def _judge(self, piece: slice) -> tuple[Any, Any, Any | None]:
        """Expected values in the working type, |error|, and 1.0 where an element fails (None: nowhere)."""
        e, a = self.expected[piece], self.actual[piece]
        if not self.careful:
            assert self.tolerance is not None
            wide = e.to(self.dtype)
            errors = torch.sub(a.to(self.dtype), wide).abs_()
            largest = float(errors.max())
            if largest <= self.tolerance.atol:
                return wide, errors, None
            if largest < math.inf:
                bound = wide.abs().mul_(self.tolerance.rtol).add_(self.tolerance.atol)
                failing = torch.gt(errors, bound, out=bound)
                return wide, errors, failing if float(failing.max()) else None
        errors = _difference(e, a)
        passing = _passing(e, a, errors, self.tolerance)
        if self.exact is not None and self.tolerance is not None:
            passing |= _near_exact(e, a, self.exact[piece], self.tolerance, self.noise)
        failing = (~passing).to(self.dtype)
        return e.to(self.dtype), errors.to(self.dtype), failing if float(failing.max()) else None

    def _statistics(self, expected: Any, errors: Any) -> None:
        bits = errors.float().view(torch.int32) >> BIN_SHIFT
        self.bins += torch.bincount(bits, minlength=BINS)
        self.expected_squares += _sum_of_squares(expected)
        magnitude = expected.abs()
        relative = errors / magnitude
        largest, total = float(relative.max()), float(errors.sum())
        if largest < math.inf and total < math.inf:  # the usual case: no zero expected, all finite
            self.finite += errors.numel()
            self.nonzero += errors.numel()
        else:
            finite, defined = errors.isfinite(), relative.isfinite()
            self.finite += int(finite.sum())
            self.nonzero += int(defined.sum())
            total = float(errors[finite].double().sum())
            relative = relative[defined]
            largest = float(relative.max()) if relative.numel() else 0.0
        self.sum_abs += total
        self.sum_rel += float(relative.sum())
        self.max_rel = max(self.max_rel, largest)
        if total:
            self.error_squares += _sum_of_squares(errors)

    def _largest(self, errors: Any, start: int) -> None:
        """The largest error so far, as long as no element fails."""
        largest = float(errors.max())
        if not self.worst or largest > self.worst[0][0]:
            self.worst = [(largest, start + int(errors.argmax()))]

    def _worst(self, errors: Any, failing: Any, start: int) -> None:
        if not self.result.mismatched:
            self.worst = []
        largest = float(errors.max())
        if len(self.worst) == MAX_SAMPLES and largest <= self.worst[-1][0]:
            return
        badness = torch.where(failing > 0, errors.nan_to_num(math.inf, math.inf), -1.0)
        values, places = badness.topk(min(MAX_SAMPLES, badness.numel()))
        self.worst += [(v, start + p) for v, p in zip(values.tolist(), places.tolist()) if v >= 0]
        self.worst = sorted(self.worst, key=lambda pair: (-pair[0], pair[1]))[:MAX_SAMPLES]

    def _places(self, failing: Any, row: int, col: int) -> None:
        rows, cols = failing.sum(1), failing.sum(0)  # of ones: exact in float32 up to 2^24 elements
        self._count(self.row_counts, rows, row, self.row_bucket)
        self._count(self.col_counts, cols, col, self.col_bucket)
        found = failing.reshape(-1).nonzero().reshape(-1)
        start = row * self.plane.cols + col
        if not self.result.mismatched:
            self.result.samples = [(start + int(found[0])) * self.parts]
        self.result.mismatched += found.numel()
        some = found[:: -(-found.numel() // self.quota)]
        torch.add(some, start, out=self.places[self.kept : self.kept + some.numel()])
        self.kept += some.numel()

    @staticmethod
    def _count(counts: Any, values: Any, start: int, bucket: int) -> None:
        folded = fold(values, start, bucket, 0, lambda v, dim: v.sum(dim)).to(torch.int64)
        counts[start // bucket : start // bucket + folded.shape[0]] += folded

    def _finish(self) -> None:
        result = self.result
        if self.worst:
            result.max_abs, result.max_abs_at = self.worst[0]
            if result.max_abs == math.inf:
                result.max_abs = None
        if self.finite:
            result.mean_abs = self.sum_abs / self.finite
        if self.nonzero:
            result.max_rel, result.mean_rel = self.max_rel, self.sum_rel / self.nonzero
        if self.expected_squares:
            result.error_share = math.sqrt(self.error_squares / self.expected_squares)
        counts = decades(self.bins)
        result.histogram = histogram(counts)
        differing = result.total * self.parts - int(counts[0])
        result.differing_share = min(differing / self.nonzero, 1.0) if self.nonzero else 0.0
        result.heatmap = self.cells.heatmap()
        if result.mismatched:
            self._first_component()
            first = result.samples[0]
            result.samples += [index for _, index in self.worst if index != first][: MAX_SAMPLES - 1]
            places = self.places[: self.kept]
            counts_of = (self.row_counts, self.row_bucket), (self.col_counts, self.col_bucket)
            result.evidence = Evidence(self.shape, result.mismatched, *counts_of, places, result.max_abs)

    def _first_component(self) -> None:
        """Of a complex element that fails, the sample is the element; its first component stands for it."""
        self.worst = [(value, index - index % self.parts) for value, index in self.worst]


def decades(bins: Any) -> Any:
    """Counts per decade of |error| from counts by the upper bits of float32; the first: zero, the last: not finite."""
    counts = torch.zeros(DECADE_TOP - DECADE_ZERO + 1, dtype=torch.int64)
    for index in bins.nonzero().reshape(-1).tolist():
        if index == 0:
            decade = DECADE_ZERO
        elif index << BIN_SHIFT >= 0x7F800000:
            decade = DECADE_TOP
        else:
            end = torch.tensor((index + 1 << BIN_SHIFT) - 1, dtype=torch.int32).view(torch.float32)
            decade = math.floor(math.log10(float(end)))
        counts[decade - DECADE_ZERO] += bins[index]
    return counts


def unravel(index: int, shape: list[int]) -> list[int]:
    """The index in a tensor of ``shape`` of a flat index."""
    result = []
    for size in reversed(shape):
        result.append(index % size)
        index //= size
    return result[::-1]


def number_text(value: Any) -> str:
    """A tensor element as text with the digits of its dtype."""
    if value.dtype.is_complex or value.dtype == torch.bool or not value.dtype.is_floating_point:
        return str(value.item())
    digits = {torch.float64: 17, torch.float32: 9}.get(value.dtype, 5)
    return f"{float(value):.{digits}g}"


def element_samples(expected: Any, actual: Any, shape: list[int], flat: list[int], parts: int) -> list[ElementSample]:
    """The elements at flat component indices; ``expected`` and ``actual`` are flat, ``parts`` is 2 for complex tensors."""
    samples = []
    for index in dict.fromkeys(position // parts for position in flat):
        e, a = expected[index], actual[index]
        off = abs(a.item() - e.item())
        finite = isinstance(off, (int, float)) and off == off and off != float("inf")
        samples.append(ElementSample(unravel(index, shape), number_text(e), number_text(a), float(off) if finite else None))
    return samples
