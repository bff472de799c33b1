"""One pass over two tensors in cache-sized chunks: are all elements within tolerance, and how far off are they.

Each chunk of the worker's memory is copied once to private memory and judged there, so that a worker that changes its memory
meanwhile changes nothing. While chunks are within tolerance there are only cheap reductions; ``analysis`` takes over where not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator

import torch

if TYPE_CHECKING:
    from .tolerance import Tolerance

CHUNK_ELEMENTS = 1 << 16  # 256 kB of float32: chunk and temporaries stay in the cache
DECADE_ZERO, DECADE_TOP = -46, 39  # below the smallest float32 (1e-45), which stands for zero; above the largest (3e38)
DECADE_NAMES = ["0", *(f"1e{power}" for power in range(DECADE_ZERO + 1, DECADE_TOP)), "not finite"]


@dataclass
class Errors:
    """Sums over the elements seen so far. ``within`` turns False at the first element out of tolerance."""

    within: bool = True
    max_abs: float = 0.0
    max_abs_at: int = 0  # flat index; for complex tensors of the element
    sum_abs: float = 0.0
    max_rel: float = 0.0
    sum_rel: float = 0.0
    total: int = 0
    nonzero: int = 0  # elements whose expected value is not zero: relative errors are defined for these
    decades: Any = None  # counts per decade of |error|, see ``decade_counts``


def components(tensor: Any) -> Any:
    """A flat view of real numbers: complex tensors count twice."""
    flat = tensor.reshape(-1)
    return torch.view_as_real(flat).reshape(-1) if flat.is_complex() else flat


def working_dtype(dtype: Any) -> Any:
    """The float type in which differences of a dtype are taken: never narrower than itself, at least float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def chunks(total: int, size: int = CHUNK_ELEMENTS) -> Iterator[tuple[int, int]]:
    """(start, stop) of the pieces of ``total`` elements."""
    for start in range(0, total, size):
        yield start, min(start + size, total)


def decade_counts(difference: Any, scratch: Any) -> Any:
    """Counts of |error| per decade from DECADE_ZERO (no error) to DECADE_TOP (not finite); ``scratch`` is overwritten."""
    torch.log10(difference, out=scratch)
    scratch.floor_().nan_to_num_(DECADE_TOP, DECADE_TOP, DECADE_ZERO).clamp_(DECADE_ZERO, DECADE_TOP)
    return torch.bincount(scratch.to(torch.int64) - DECADE_ZERO, minlength=DECADE_TOP - DECADE_ZERO + 1)


def histogram(counts: Any) -> dict[str, int]:
    """The counts as ``{"0": exact, "1e-8": from 1e-8 to below 1e-7, …, "not finite": …}``, empty decades left out."""
    return {name: count for name, count in zip(DECADE_NAMES, counts.tolist()) if count}


class _Buffers:
    """Memory that all chunks share."""

    def __init__(self, dtype: Any, size: int) -> None:
        self.actual = torch.empty(size, dtype=dtype)
        self.difference = torch.empty(size, dtype=dtype)
        self.magnitude = torch.empty(size, dtype=dtype)
        self.scratch = torch.empty(size, dtype=dtype)


def compare_floats(expected: Any, actual: Any, tolerance: Tolerance, with_histogram: bool = True) -> Errors:
    """Errors of ``actual`` (perhaps memory of a worker) against ``expected``: flat real tensors of one float dtype.

    Stops at the first chunk that is out of tolerance or not finite: the caller analyses then.
    """
    total = expected.numel()
    dtype = working_dtype(expected.dtype)
    buffers = _Buffers(dtype, min(total, CHUNK_ELEMENTS))
    errors = Errors(total=total)
    if with_histogram:
        errors.decades = torch.zeros(DECADE_TOP - DECADE_ZERO + 1, dtype=torch.int64)
    for start, stop in chunks(total):
        if not _chunk(expected[start:stop], actual[start:stop], start, tolerance, buffers, errors):
            errors.within = False
            break
    return errors


def _chunk(expected: Any, actual: Any, start: int, tolerance: Tolerance, buffers: _Buffers, errors: Errors) -> bool:
    count = expected.numel()
    private, difference = buffers.actual[:count], buffers.difference[:count]
    magnitude, scratch = buffers.magnitude[:count], buffers.scratch[:count]
    private.copy_(actual)  # the only read of the worker's memory; converts narrow floats exactly
    if expected.dtype != private.dtype:
        scratch.copy_(expected)
        expected = scratch.clone()
    torch.sub(private, expected, out=difference)
    difference.abs_()
    torch.abs(expected, out=magnitude)
    largest = float(difference.max())
    if not largest <= tolerance.atol:  # NaN included
        torch.mul(magnitude, tolerance.rtol, out=scratch)
        scratch.add_(tolerance.atol).sub_(difference)
        if not float(scratch.min()) >= 0 or largest == float("inf"):
            return False
    if largest > errors.max_abs:
        errors.max_abs, errors.max_abs_at = largest, start + int(difference.argmax())
    if largest > 0:
        errors.sum_abs += float(difference.sum())
        torch.div(difference, magnitude, out=scratch)
        relative = float(scratch.max())
        if not relative < float("inf"):  # an expected zero
            scratch.nan_to_num_(0.0, 0.0)
            relative = float(scratch.max())
        errors.max_rel = max(errors.max_rel, relative)
        errors.sum_rel += float(scratch.sum())
    if errors.decades is not None:
        if largest > 0:
            errors.decades += decade_counts(difference, scratch)
        else:
            errors.decades[0] += count
    errors.nonzero += int(torch.count_nonzero(magnitude))
    return True


def equal_bits(expected: Any, actual: Any) -> bool:
    """Whether flat integer or bool tensors hold equal values; any byte other than 0 is a True."""
    total = expected.numel()
    if expected.dtype == torch.bool:
        return all(
            torch.equal(actual.view(torch.uint8)[a:b].clone() != 0, expected[a:b]) for a, b in chunks(total, 4 * CHUNK_ELEMENTS)
        )
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[expected.element_size()]
    expected, actual = expected.view(words), actual.view(words)
    return all(torch.equal(actual[a:b].clone(), expected[a:b]) for a, b in chunks(total))
