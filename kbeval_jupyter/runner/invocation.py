"""How an entry is constructed and called: the same rules for the reference in the judge and for both sides in workers."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

import torch

from .encoding import distinct_tensors


def construct(definition: Any, arguments: Any, device: str, dtype: str | None) -> Any:
    """An instance on the device, in evaluation mode. Arguments: list or tuple (positional), dict (keywords), None (none)."""
    instance = definition(**arguments) if isinstance(arguments, dict) else definition(*(arguments or []))
    if isinstance(instance, torch.nn.Module):
        instance = instance.to(device)
        if dtype is not None:
            instance = instance.to(getattr(torch, dtype))
        instance.eval()
    return instance


def bind(entry: Any, inputs: Any, style: str) -> Callable[[], Any]:
    """The call, ready to be made. "single": the inputs are the one argument; "spread": by position, of a dict by name."""
    if style == "spread" and isinstance(inputs, dict):
        return partial(entry, **inputs)
    if style == "spread" and isinstance(inputs, (list, tuple)):
        return partial(entry, *inputs)
    return partial(entry, inputs)


def invoke(entry: Any, inputs: Any, style: str) -> Any:
    """Call the entry once."""
    return bind(entry, inputs, style)()


def forward(entry: Any, inputs: Any, style: str) -> Any:
    """One forward without gradients."""
    with torch.no_grad():
        return invoke(entry, inputs, style)


def forward_backward(entry: Any, inputs: Any, style: str, cotangents: list[Any] | None, seed: int) -> Any:
    """``{"output", "input_gradients", "parameter_gradients"}`` of one forward and backward.

    Every floating-point input gets a gradient; a gradient that autograd leaves out is zero. ``cotangents`` belong to the floating
    outputs that depend on something, in order; None makes them from ``seed`` (the judge does that, workers are handed them).
    """
    leaves = [t for t in distinct_tensors(inputs) if t.is_floating_point() and t.is_leaf]
    for leaf in leaves:
        leaf.requires_grad_(True)
    named = list(entry.named_parameters()) if isinstance(entry, torch.nn.Module) else []
    parameters = [(name, parameter) for name, parameter in named if parameter.requires_grad]
    with torch.enable_grad():
        output = invoke(entry, inputs, style)
    roots = [t for t in distinct_tensors(output) if t.requires_grad]
    if cotangents is None:
        cotangents = make_cotangents(roots, seed)
    if len(cotangents) != len(roots):
        raise RuntimeError(f"{len(roots)} outputs can be differentiated, but {len(cotangents)} of the reference's")
    wanted = leaves + [parameter for _, parameter in parameters]
    gradients = torch.autograd.grad(roots, wanted, cotangents, allow_unused=True) if roots and wanted else [None] * len(wanted)
    filled = [torch.zeros_like(t) if g is None else g for t, g in zip(wanted, gradients)]
    return {
        "output": output,
        "input_gradients": filled[: len(leaves)],
        "parameter_gradients": {name: g for (name, _), g in zip(parameters, filled[len(leaves) :])},
        "cotangents": cotangents,
    }


def make_cotangents(roots: list[Any], seed: int) -> list[Any]:
    """Random cotangents for the outputs, on their devices."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(t.shape, generator=generator, dtype=torch.float32).to(t.device, t.dtype) for t in roots]
