"""The problem is tried too: does the reference agree with itself, and would an empty answer pass?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..exchange.structure import flatten, is_array, kind_of, place_of
from .compare import compare_floats, components

if TYPE_CHECKING:
    from .outputs import Rules


PREFIX_ELEMENTS = 1024


def difference(first: Any, second: Any, rules: Rules) -> str | None:
    """How two runs of the reference on the same inputs differ by more than the tolerance, as a sentence; None if they do not."""
    left, right = flatten(first), {leaf.path: leaf for leaf in flatten(second)}
    if [leaf.path for leaf in left] != list(right):
        return "its output has another structure"
    for leaf in left:
        other = right[leaf.path]
        if kind_of(leaf.value) not in ("tensor", "numpy"):
            if not rules.same_constant(leaf.value, other.value):
                return f"{place_of(leaf.path)} is {leaf.value!r}, then {other.value!r}"
        elif leaf.tensor.shape != other.tensor.shape or leaf.tensor.dtype != other.tensor.dtype:
            return f"{place_of(leaf.path)} has another shape or dtype"
        elif not _close(leaf.tensor, other.tensor, rules):
            return f"{place_of(leaf.path)} has other values"
    return None


def _close(left: Any, right: Any, rules: Rules) -> bool:
    tolerance = rules.tolerance(left)
    if tolerance is None:
        return bool(torch.equal(left, right))
    left, right = components(left), components(right)
    if compare_floats(left, right, tolerance, with_histogram=False).within:
        return True
    left, right = left.double(), right.double()  # the 8-bit floats have no isfinite
    if left.isfinite().all() and right.isfinite().all():
        return False
    return bool(torch.isclose(right, left, rtol=tolerance.rtol, atol=tolerance.atol, equal_nan=True).all())


def weakness(expected: Any, rules: Rules) -> str | None:
    """Why the problem hardly tests anything: zeros, or the mean of every output, would pass; None where they would not."""
    tensors = [leaf.tensor for leaf in flatten(expected) if isinstance(leaf.value, torch.Tensor) or is_array(leaf.value)]
    tensors = [tensor for tensor in tensors if tensor.numel()]
    if not tensors:
        return None
    if all(_constant_passes(tensor, rules, zeros=True) for tensor in tensors):
        return "zeros would pass"
    if all(_constant_passes(tensor, rules, zeros=False) for tensor in tensors) and any(t.numel() > 1 for t in tensors):
        return "a constant (the mean of the output) would pass"
    return None


def _constant_passes(tensor: Any, rules: Rules, zeros: bool) -> bool:
    tolerance = rules.tolerance(tensor)
    if tolerance is None:
        values = tensor.reshape(-1)
        return bool((values == (0 if zeros else values[0])).all())
    values = components(tensor)
    if values.dtype not in (torch.float32, torch.float64):
        values = values.float()
    constant = 0.0 if zeros else float(values.mean())
    return all(
        bool(((part - constant).abs() <= tolerance.atol + tolerance.rtol * part.abs()).all())
        for part in (values[:PREFIX_ELEMENTS], values)  # the beginning settles it almost always
    )
