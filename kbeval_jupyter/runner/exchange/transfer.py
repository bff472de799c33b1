"""Moving the tensors of a value to a device and, for floating-point ones, to a dtype."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch


def move(value: Any, device: str, dtype: str | None) -> Any:
    """The same structure with its tensors moved; what needs no change is the same object, and equal objects stay equal."""
    target = getattr(torch, dtype) if dtype else None
    done: dict[int, Any] = {}

    def tensor(t: Any) -> Any:
        if id(t) not in done:
            moved = t if t.device.type == torch.device(device).type else t.to(device)
            if target is not None and t.is_floating_point() and t.dtype != target:
                moved = moved.detach().to(target).requires_grad_(t.requires_grad)
            done[id(t)] = moved
        return done[id(t)]

    return _map(value, tensor)


def _map(value: Any, tensor: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return tensor(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(item, tensor) for item in value))
    if type(value) in (tuple, list):
        return type(value)(_map(item, tensor) for item in value)
    if isinstance(value, dict):
        for key, item in value.items():
            value[key] = _map(item, tensor)
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _map(getattr(value, f.name), tensor) for f in dataclasses.fields(value) if f.init}
        return dataclasses.replace(value, **changed)
    return value
