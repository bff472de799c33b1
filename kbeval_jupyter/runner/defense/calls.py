"""The calls that most checks look at: contents never seen before and contents seen once, in turn, at new addresses."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ..exchange.structure import flatten, kind_of
from ..usercode.mutation import same_bits
from .probe import Call

if TYPE_CHECKING:
    from ..judging.trials import Trial
    from .probe import Probe

FIRST_NUMBER = 1 << 20  # trials of their own, after all of the other stages
FRESH_CALLS = 8
MIN_FRESH_CALLS = 5
ENOUGH_WRONG = 2
LAG = 2  # a content is seen again after as many others: as far apart as in the benchmark
SURVEY_S = 3.0


@dataclass
class Survey:
    """``fresh`` and ``again`` are calls of the implementation, ``reference`` those of a worker with the reference's code."""

    fresh: list[Call] = field(default_factory=list)
    again: list[Call] = field(default_factory=list)
    reference: list[Call] = field(default_factory=list)
    same_bits: bool = True  # whether a content that was seen again gave the same bits
    reference_same_bits: bool = True
    last_number: int = FIRST_NUMBER


def expected_trial(probe: Probe, number: int) -> Trial:
    """Trial ``number`` of the probe's case with its expected value."""
    trials = probe.context.trials
    trial = trials.prepare(probe.case, number)
    trials.expect(trial)
    return trial


def survey(probe: Probe, reference: Probe) -> Survey:
    """Make the calls. Raises WorkerFailed, WorkerDied."""
    found = Survey()
    values: list[tuple[Any, Any]] = []
    began = time.monotonic()
    probe.call(expected_trial(probe, FIRST_NUMBER - 1))  # compiles and tunes
    reference.call(expected_trial(probe, FIRST_NUMBER - 1))
    for position in range(FRESH_CALLS):
        if position >= MIN_FRESH_CALLS and time.monotonic() - began > SURVEY_S:
            break
        if found.again and sum(not call.found.passed for call in found.fresh) >= ENOUGH_WRONG:
            break
        trial = expected_trial(probe, FIRST_NUMBER + position)
        found.reference.append(reference.call(trial))
        found.fresh.append(probe.call(trial))
        values.append((found.fresh[-1].value, trial.expected))
        found.last_number = trial.number
        if position < LAG:
            continue
        trial = expected_trial(probe, trial.number - LAG)
        found.again.append(probe.call(trial))
        before, expected = values[position - LAG]
        found.same_bits &= same_values(before, found.again[-1].value)
        found.reference_same_bits &= same_values(expected, trial.expected)
        values[position - LAG] = (None, None)
    return found


def tensor_leaves(value: Any) -> list[Any]:
    """The tensors and arrays of an output as dense tensors on the host, in the order of their paths."""
    leaves = [leaf for leaf in flatten(value) if kind_of(leaf.value) in ("tensor", "numpy")]
    return [leaf.tensor for leaf in sorted(leaves, key=lambda leaf: leaf.path)]


def same_values(left: Any, right: Any) -> bool:
    """Whether all tensors of two outputs have the same bits."""
    pairs = list(zip(tensor_leaves(left), tensor_leaves(right)))
    return all(a.shape == b.shape and a.dtype == b.dtype and same_bits(a, b) for a, b in pairs)


def change_one_element(inputs: Any, generator: torch.Generator) -> str:
    """Change one element of the first floating-point tensor in place; says which, "" where there is none."""
    for number, tensor in enumerate(tensor_leaves_in_place(inputs)):
        if tensor.is_floating_point() and tensor.numel() > 1 and tensor.dtype.itemsize > 1:
            place = int(torch.randint(tensor.numel(), (1,), generator=generator))
            index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), tensor.shape))
            rest = float(tensor.double().abs().mean())
            tensor[index] = (8.0 * rest if rest > 0 else 1.0) - tensor[index]
            return f"element {list(index)} of input {number}"
    return ""


def tensor_leaves_in_place(inputs: Any) -> list[Any]:
    """The tensors themselves."""
    return [leaf.value for leaf in flatten(inputs) if isinstance(leaf.value, torch.Tensor)]
