"""From trees back to Python values: arguments in a worker, outputs of a worker as private copies in the judge."""

from __future__ import annotations

import collections
import importlib
import types
from typing import Any

import torch

from .arena import DTYPES, Arena
from .tree import ConstNode, MappingNode, Node, SequenceNode, TensorNode, constant


class _InputBuilder:
    """Builds arguments from the judge's message; the tensors are private copies on the device."""

    def __init__(self, storages: list[dict[str, Any]], arena: Arena, device: str, copy: bool) -> None:
        self.arena = arena
        self.device = device
        self.copy = copy
        self.tensors: list[Any] = []
        self.storages = [self.dense(header) for header in storages]

    def dense(self, header: dict[str, Any]) -> Any:
        tensor = self.arena.view(header["dtype"], header["shape"], header["offset"])
        if self.device != "cpu":
            return tensor.to(self.device)
        return tensor.clone() if self.copy else tensor

    def build(self, message: dict[str, Any]) -> Any:
        kind, value = message["k"], message.get("v")
        if kind in ("tensor", "view"):
            return self.tensor(message)
        if kind == "same":
            return self.tensors[int(message["v"])]
        if kind in ("tuple", "list"):
            items = [self.build(item) for item in value or []]
            if kind == "list":
                return items
            names = message.get("names")
            return collections.namedtuple("Inputs", names)(*items) if names else tuple(items)  # noqa: PYI024 - made at run time
        if kind == "dict":
            return {self.build(key): self.build(item) for key, item in value or []}
        if kind == "dataclass":
            return types.SimpleNamespace(**{self.build(key): self.build(item) for key, item in value or []})
        if kind == "dtype":
            return getattr(torch, str(value))
        if kind == "device":
            return torch.device(self.device if str(value).split(":")[0] != "cpu" else "cpu")
        if kind == "public" and value:
            return getattr(importlib.import_module(value[0]), value[1])
        return constant(kind, value)

    def tensor(self, message: dict[str, Any]) -> Any:
        if message["k"] == "tensor":
            tensor = self.dense(message)
        else:
            storage = self.storages[message["storage"]].untyped_storage()
            tensor = torch.empty(0, dtype=DTYPES[message["dtype"]], device=self.device)
            tensor.set_(storage, message["storage_offset"], message["shape"], message["stride"])
        if message.get("container") == "numpy":
            return tensor.cpu().numpy()
        if message.get("grad"):
            tensor.requires_grad_(True)
        self.tensors.append(tensor)
        return tensor


def build_inputs(message: dict[str, Any], arena: Arena, device: str, copy: bool = True) -> Any:
    """Arguments from ``encode_inputs`` as private copies on ``device``; on the CPU without ``copy`` the arena's memory itself."""
    return _InputBuilder(message["storages"], arena, device, copy).build(message["tree"])


def copy_tensor(node: TensorNode, arena: Arena) -> Any:
    """A private copy of one checked tensor. Bytes of bools other than 0 and 1 count as True."""
    if node.dtype == "bool":
        return arena.view("uint8", node.shape, node.offset or 0).clone() != 0
    return arena.view(node.dtype, node.shape, node.offset or 0).clone()


def build_outputs(node: Node, arena: Arena) -> Any:
    """A worker's checked output as a Python value of private copies; dataclasses become namespaces, headers without data None."""
    if isinstance(node, TensorNode):
        if node.offset is None:
            return None
        tensor = copy_tensor(node, arena)
        return tensor.numpy() if node.container == "numpy" else tensor
    if isinstance(node, SequenceNode):
        items = [build_outputs(item, arena) for item in node.items]
        return items if node.kind == "list" else tuple(items)
    if isinstance(node, MappingNode):
        pairs = {key: build_outputs(item, arena) for key, item in node.items}
        return pairs if node.kind == "dict" else types.SimpleNamespace(**{str(k): v for k, v in pairs.items()})
    return node.value if isinstance(node, ConstNode) else None
