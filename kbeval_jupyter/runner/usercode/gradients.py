"""Forward and backward: the outputs and what they say about every input and parameter (``--backward``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..exchange.encoding import distinct_tensors
from .failures import WrongResultError
from .invocation import invoke


@dataclass(frozen=True)
class BackwardResult:
    """``value`` is compared; ``cotangents`` belong to the outputs that can be differentiated, in order."""

    value: dict[str, Any]
    cotangents: list[Any]


def forward_backward(entry: Any, inputs: Any, style: str, cotangents: list[Any] | int, with_parameters: bool) -> BackwardResult:
    """One forward and backward; the value holds "output", "input_gradients" and "parameter_gradients".

    Every floating-point input gets a gradient; one that autograd leaves out is zero. ``cotangents`` as a number is the seed to
    make them from: the judge does that, workers are handed the same ones.
    """
    leaves = [t for t in distinct_tensors(inputs) if (t.is_floating_point() or t.is_complex()) and t.is_leaf]
    for leaf in leaves:
        leaf.requires_grad_(True)
    named = list(entry.named_parameters()) if with_parameters and isinstance(entry, torch.nn.Module) else []
    parameters = {name: parameter for name, parameter in named if parameter.requires_grad}
    with torch.enable_grad():
        output = invoke(entry, inputs, style)
    roots = [t for t in distinct_tensors(output) if t.requires_grad]
    if isinstance(cotangents, int):
        cotangents = make_cotangents(roots, cotangents)
    if len(cotangents) != len(roots):
        raise WrongResultError(f"{len(roots)} output tensors can be differentiated; the reference has {len(cotangents)}")
    wanted = [*leaves, *parameters.values()]
    gradients = torch.autograd.grad(roots, wanted, cotangents, allow_unused=True) if roots and wanted else [None] * len(wanted)
    filled = [torch.zeros_like(t) if g is None else g for t, g in zip(wanted, gradients)]
    value = {
        "output": output,
        "input_gradients": filled[: len(leaves)],
        "parameter_gradients": dict(zip(parameters, filled[len(leaves) :])),
    }
    return BackwardResult(value, cotangents)


def make_cotangents(roots: list[Any], seed: int) -> list[Any]:
    """Random cotangents of the outputs' shapes, dtypes and devices."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, generator=generator).to(t.device, t.dtype) for t in roots]
