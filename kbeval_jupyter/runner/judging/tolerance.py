"""How far a value may be from the expected one: defaults per dtype, what the user set, and the scale of the reference.

An element passes if |actual - expected| <= atol + rtol * |expected|. Integers and bools have no tolerance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

DEFAULTS: dict[str, float] = {
    "float64": 1e-7,
    "float32": 1e-4,
    "float16": 1e-2,
    "bfloat16": 1e-2,
    "float8_e4m3fn": 0.1,
    "float8_e5m2": 0.1,
    "float8_e4m3fnuz": 0.1,
    "float8_e5m2fnuz": 0.1,
    "complex128": 1e-7,
    "complex64": 1e-4,
}
TF32 = 1e-3
SMALL_SHARE = 0.02  # a default atol is at most this share of the reference's root mean square, so that zeros never pass


@dataclass(frozen=True)
class Tolerance:
    """Bounds for the elements of one tensor."""

    rtol: float
    atol: float


def default_tolerance(dtype: str, tf32: bool) -> float | None:
    """Rtol and atol of a dtype; None where values must be equal."""
    if tf32 and dtype in ("float32", "complex64"):
        return TF32
    return DEFAULTS.get(dtype)


def root_mean_square(tensor: Any) -> float:
    """Of the finite elements, as a float; 0.0 where there is none."""
    values = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    if values.dtype not in (torch.float32, torch.float64):
        values = values.float()
    norm = float(torch.linalg.vector_norm(values))
    if not 1e-15 < norm < 1e18:  # not finite, or squares that left the range of float32
        values = values.double()
        norm = float(torch.linalg.vector_norm(values[torch.isfinite(values)]))
    return norm / math.sqrt(max(values.numel(), 1))


def tolerance_for(dtype: str, expected: Any, rtol: float | None, atol: float | None, tf32: bool) -> Tolerance | None:
    """The bounds for one expected tensor; None: equality. ``rtol`` and ``atol`` are the user's and are taken as they are."""
    default = default_tolerance(dtype, tf32)
    if default is None:
        return None
    if atol is None:
        size = root_mean_square(expected) if expected.numel() else 0.0
        atol = min(default, max(SMALL_SHARE, default) * size) if size else default
    return Tolerance(default if rtol is None else rtol, atol)
