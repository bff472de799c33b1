"""How an entry is constructed and called: the same rules for the reference in the judge and for both sides in workers."""

from __future__ import annotations

from functools import partial
from typing import Any, Callable

import torch
from torch.nn import parameter


def construct(definition: Any, arguments: Any, device: str, dtype: str | None) -> Any:
    """An instance on the device, in evaluation mode. Arguments: list or tuple (positional), dict (keywords), None (none)."""
    instance = definition(**arguments) if isinstance(arguments, dict) else definition(*(arguments or []))
    if isinstance(instance, torch.nn.Module):
        instance = instance.to(device)
        if dtype is not None:
            instance = instance.to(getattr(torch, dtype))
        instance.eval()
    return instance


def is_lazy(entry: Any) -> bool:
    """Whether a module has weights whose shapes its first call will decide (``torch.nn.LazyLinear`` and its like)."""
    return isinstance(entry, torch.nn.Module) and any(map(parameter.is_lazy, (*entry.parameters(), *entry.buffers())))


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
