"""The whole analysis of a tensor that is out of tolerance somewhere: which elements fail, and how badly.

Works in float64 on private copies, in chunks. ``exact`` is the reference run in float64 where that was possible: an element also
passes if it is within tolerance of the exact value, or no farther from it than the reference is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch

from ..report import ElementSample
from .compare import DECADE_TOP, DECADE_ZERO, chunks, decade_counts, histogram
from .tolerance import Tolerance, root_mean_square

ANALYSIS_CHUNK = 1 << 18
MAX_SAMPLES = 5
NOISE_FACTOR = 8.0  # a sound implementation's largest error against the reference's root mean square error


@dataclass
class Analysis:
    """All statistics of one tensor; indices are flat, of components for complex tensors."""

    total: int
    mismatched: int = 0
    max_abs: float | None = 0.0
    max_abs_at: int | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    mean_rel: float | None = None
    histogram: dict[str, int] = field(default_factory=dict)
    samples: list[int] = field(default_factory=list)  # flat indices, the first mismatch and the worst ones


@dataclass
class _Sums:
    finite: int = 0
    nonzero: int = 0
    abs: float = 0.0
    rel: float = 0.0
    max_rel: float = 0.0
    first: int | None = None
    worst: list[tuple[float, int]] = field(default_factory=list)


def reference_noise(expected: Any, exact: Any) -> float:
    """The error level of the reference itself: what a sound implementation may reach anywhere in the tensor."""
    largest, squares, count = 0.0, 0.0, 0
    for start, stop in chunks(expected.numel(), ANALYSIS_CHUNK):
        difference = (expected[start:stop].double() - exact[start:stop].double()).abs()
        difference = difference[torch.isfinite(difference)]
        if difference.numel():
            largest = max(largest, float(difference.max()))
            squares += float((difference * difference).sum())
            count += difference.numel()
    return min(largest, NOISE_FACTOR * math.sqrt(squares / max(count, 1)))


def _wide(values: Any) -> Any:
    return values.to(torch.float64)


def _difference(expected: Any, actual: Any) -> Any:
    """|actual - expected| in float64: zero where both are NaN or the same infinity, exact for close wide integers."""
    e, a = _wide(expected), _wide(actual)
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
    e = _wide(expected)
    finite = e.isfinite() & _wide(actual).isfinite()
    return (difference == 0) | (finite & (difference <= tolerance.atol + tolerance.rtol * e.abs()))


def _near_exact(expected: Any, actual: Any, exact: Any, tolerance: Tolerance, noise: float) -> Any:
    x, a = _wide(exact), _wide(actual)
    error = (a - x).abs()
    own = (_wide(expected) - x).abs().clamp_min(noise)
    return (x.isfinite() & a.isfinite()) & ((error <= tolerance.atol + tolerance.rtol * x.abs()) | (error <= own))


def analyse(expected: Any, actual: Any, tolerance: Tolerance | None, exact: Any | None = None) -> Analysis:
    """Statistics of private flat tensors of real components; ``tolerance`` None means equality."""
    result = Analysis(total=expected.numel())
    sums = _Sums()
    counts = torch.zeros(DECADE_TOP - DECADE_ZERO + 1, dtype=torch.int64)
    noise = reference_noise(expected, exact) if exact is not None else 0.0
    for start, stop in chunks(result.total, ANALYSIS_CHUNK):
        e, a = expected[start:stop], actual[start:stop]
        difference = _difference(e, a)
        passing = _passing(e, a, difference, tolerance)
        if exact is not None and tolerance is not None:
            passing |= _near_exact(e, a, exact[start:stop], tolerance, noise)
        counts += decade_counts(difference, torch.empty_like(difference))
        result.mismatched += int((~passing).sum())
        _add(sums, start, e, difference, passing)
    _finish(result, sums)
    result.histogram = histogram(counts)
    return result


def _add(sums: _Sums, start: int, expected: Any, difference: Any, passing: Any) -> None:
    finite = difference.isfinite()
    sums.finite += int(finite.sum())
    sums.abs += float(difference[finite].sum())
    relative = difference / _wide(expected).abs()
    relative = relative[relative.isfinite()]
    if relative.numel():
        sums.nonzero += relative.numel()
        sums.rel += float(relative.sum())
        sums.max_rel = max(sums.max_rel, float(relative.max()))
    failing = (~passing).nonzero().reshape(-1)
    if failing.numel():
        if sums.first is None:
            sums.first = start + int(failing[0])
        badness = difference[failing].nan_to_num(float("inf"), float("inf"))
        values, places = badness.topk(min(MAX_SAMPLES, badness.numel()))
        sums.worst += [(value, start + int(failing[place])) for value, place in zip(values.tolist(), places.tolist())]
        sums.worst = sorted(sums.worst, key=lambda pair: (-pair[0], pair[1]))[:MAX_SAMPLES]
    elif sums.first is None:
        largest, place = difference.nan_to_num(0.0, 0.0).max(0)
        if not sums.worst or float(largest) > sums.worst[0][0]:
            sums.worst = [(float(largest), start + int(place))]


def _finish(result: Analysis, sums: _Sums) -> None:
    if sums.worst:
        result.max_abs, result.max_abs_at = sums.worst[0]
        if result.max_abs == float("inf"):
            result.max_abs = None
    if sums.finite:
        result.mean_abs = sums.abs / sums.finite
    if sums.nonzero:
        result.max_rel, result.mean_rel = sums.max_rel, sums.rel / sums.nonzero
    if sums.first is not None:
        worst = [index for _, index in sums.worst if index != sums.first]
        result.samples = [sums.first, *worst[: MAX_SAMPLES - 1]]


def error_share(expected: Any, actual: Any) -> float | None:
    """Root mean square error relative to the root mean square of the expected values, None where it is not defined."""
    size = root_mean_square(expected)
    if not size:
        return None
    return root_mean_square(_wide(actual) - _wide(expected)) / size


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
