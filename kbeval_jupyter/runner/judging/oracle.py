"""The exact value: the reference run in float64, only when elements miss the tolerance, bounded in time and memory."""

from __future__ import annotations

import copy
from typing import Any, Callable

import torch

from ..exchange.encoding import tensors_of
from ..exchange.structure import flatten
from .tolerance import root_mean_square

MAX_SECONDS = 20.0
SLOWDOWN = {"cpu": 4.0, "cuda": 64.0}  # float64 against float32: half the vector width and bandwidth; consumer GPUs 1:64
MEMORY_SHARE = 0.5
PLAUSIBLE_ERROR = 0.1  # a float64 run that is farther from the reference did something else (random numbers, dtype checks)


class OracleImpossible(Exception):  # noqa: N818 - a condition that is reported, not an error
    """Why there is no exact value, as part of a sentence."""


def available_bytes() -> int | None:
    """Free memory of this host, None where it is not known."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None


def widen(value: Any) -> Any:
    """The same structure with float64 (complex128) tensors; integers and everything else unchanged."""
    if isinstance(value, torch.Tensor):
        target = torch.complex128 if value.is_complex() else torch.float64 if value.is_floating_point() else value.dtype
        return value.to(target)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(widen, value))
    if isinstance(value, (tuple, list)):
        return type(value)(map(widen, value))
    if isinstance(value, dict):
        return {key: widen(item) for key, item in value.items()}
    return value


def widened_entry(entry: Any) -> Any:
    """A float64 copy of a module; functions are used as they are."""
    return copy.deepcopy(entry).double() if isinstance(entry, torch.nn.Module) else entry


class Oracle:
    """Exact values of one trial. ``run_exact`` runs the reference in float64; ``reason`` says why there are none."""

    def __init__(self, run_exact: Callable[[], Any], inputs: Any, reference_s: float, device: str) -> None:
        self._run_exact = run_exact
        self._inputs = inputs
        self._estimate_s = reference_s * SLOWDOWN.get(device.split(":", maxsplit=1)[0], 64.0)
        self._exact: dict[str, Any] | None = None
        self._tried = False
        self.reason = ""

    def exact(self, path: str, expected: Any) -> Any | None:
        """The exact value of the leaf at ``path`` on the host, or None: see ``reason``."""
        if expected.dtype in (torch.float64, torch.complex128):
            return None
        if not self._tried:
            self._tried = True
            try:
                self._exact = self._run()
            except OracleImpossible as why:
                self.reason = f"no exact value to compare with: {why}"
            except Exception as error:
                self.reason = f"no exact value to compare with: in float64 the reference raised {type(error).__name__}: {error}"
        found = None if self._exact is None else self._exact.get(path)
        if found is None or found.shape != expected.shape:
            return None
        size = root_mean_square(expected.reshape(-1))
        if root_mean_square(widen(found.reshape(-1)) - widen(expected.reshape(-1))) > PLAUSIBLE_ERROR * size:
            self.reason = "no exact value to compare with: the reference gives something else in float64"
            return None
        return found

    def _run(self) -> dict[str, Any]:
        if self._estimate_s > MAX_SECONDS:
            raise OracleImpossible(f"the reference would take about {self._estimate_s:.0f} s in float64")
        needed = 6 * 8 * sum(t.numel() for t in tensors_of(self._inputs))  # inputs, copies and intermediate results
        free = available_bytes()
        if free is not None and needed > free * MEMORY_SHARE:
            raise OracleImpossible(f"about {needed >> 20} MB would be needed, {free >> 20} MB are free")
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)  # for tensors that the reference makes itself
        try:
            value = self._run_exact()
        finally:
            torch.set_default_dtype(default)
        leaves = {leaf.path: leaf for leaf in flatten(value)}
        return {path: leaf.tensor for path, leaf in leaves.items() if isinstance(leaf.value, torch.Tensor)}
