"""How fast this processor can move bytes at the very best, and how many bytes a problem's output takes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from ..exchange.encoding import distinct_tensors

if TYPE_CHECKING:
    from ..judging.trials import Trial
    from .probe import Probe

GENEROSITY = 4.0  # other instructions and a cooler moment may be faster than our copy
_BYTES = 128 << 10  # reading and writing it stays within the private caches
_ROUNDS, _REPEATS = 5, 20


def generous_bytes_per_ms(cpus: int) -> float:
    """Bytes that ``cpus`` processors can write per millisecond, several times what one shows from cache."""
    source, target = torch.ones(_BYTES // 4), torch.empty(_BYTES // 4)
    fastest_ns = 1 << 62
    for _ in range(_ROUNDS):
        start = time.perf_counter_ns()
        for _ in range(_REPEATS):
            target.copy_(source)
        fastest_ns = min(fastest_ns, time.perf_counter_ns() - start)
    return GENEROSITY * cpus * _REPEATS * _BYTES / (max(fastest_ns, 1) / 1e6)


def written_bytes(probe: Probe, trial: Trial) -> int:
    """Bytes that any implementation has to write: outputs that are no views of inputs and no repetitions of a smaller tensor."""
    inputs = {t.untyped_storage().data_ptr() for t in distinct_tensors(trial.inputs)}
    outputs = [t for t in distinct_tensors(trial.expected) if t.untyped_storage().data_ptr() not in inputs]
    return sum(map(_distinct_bytes, outputs)) if not probe.context.plan.backward else 0


def _distinct_bytes(tensor: Any) -> int:
    """Bytes of the tensor without dimensions along which it repeats itself: those may be a stride of 0."""
    for dimension in range(tensor.dim()):
        if tensor.shape[dimension] > 1 and torch.equal(tensor.narrow(dimension, 0, 1).expand_as(tensor), tensor):
            tensor = tensor.narrow(dimension, 0, 1)
    return int(tensor.numel() * tensor.element_size())
