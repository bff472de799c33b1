"""From Python values to the JSON form of trees; the bytes of tensors go to an arena.

``encode_outputs`` writes results: dense tensors, nothing shared. ``encode_inputs`` writes the judge's arguments and keeps which
tensors are the same object, share a storage or have strides of their own.
"""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

import torch

from .arena import DTYPES, Arena, aligned, dtype_name
from .tree import MAX_DEPTH, MAX_INT_BITS, MAX_NAME, MAX_NODES, MAX_TEXT, child_path

TOO_MANY_PARTS = f"more than {MAX_NODES} parts"
_PUBLIC_MODULES = ("torch", "math", "builtins", "operator")


class CannotTravelError(Exception):
    """An input that cannot be handed to another process; the message names it and its place."""


def plain_tensor_problem(tensor: Any) -> str | None:
    """Why a tensor is not plain and strided, or None."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return type(tensor).__name__
    if tensor.layout != torch.strided:
        return f"{str(tensor.layout)[6:]} tensor"
    if tensor.device.type == "meta":
        return "meta tensor (without data)"
    if dtype_name(tensor.dtype) not in DTYPES:
        return f"tensor of {tensor.dtype}"
    return None


def own_constant(value: Any) -> Any:
    """A number or text in Python's own type, also of a subclass (an enumeration, NumPy's float64); other values as they are."""
    if isinstance(value, str):
        return str.__str__(value)  # str() of an enumeration is its name
    kinds: tuple[Any, ...] = (bool, int, float, complex, bytes)
    return next((kind(value) for kind in kinds if isinstance(value, kind)), value)


def _constant(value: Any) -> dict[str, Any] | None:
    value = own_constant(value)
    if value is None or isinstance(value, (bool, str)):
        return {"k": "const", "v": value}
    if isinstance(value, int):
        return {"k": "int", "v": str(value)}
    if isinstance(value, float):
        return {"k": "float", "v": value.hex()}
    if isinstance(value, complex):
        return {"k": "complex", "v": [value.real.hex(), value.imag.hex()]}
    if isinstance(value, bytes):
        return {"k": "bytes", "v": value.hex()}
    return None


def too_long(value: Any) -> str | None:
    """What a constant is that is too long to travel, or None."""
    if isinstance(value, (str, bytes)) and len(value) > MAX_TEXT:
        return f"{type(value).__name__} of length {len(value)}"
    if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
        return f"{type(value).__name__} of {value.bit_length()} bits"
    return None


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and value.dtype.kind in "fiub"


class _Encoder:
    """Walks a value; subclasses say how tensors and unknown things are written."""

    def __init__(self, arena: Arena | None) -> None:
        self.arena = arena

    def encode(self, value: Any, path: str = "", depth: int = 0) -> dict[str, Any]:
        if isinstance(value, torch.Tensor):
            problem = plain_tensor_problem(value)
            return self.other(value, path, problem) if problem else self.tensor(value)
        long = too_long(value)
        if long is not None:
            return self.other(value, path, long)
        constant = _constant(value)
        if constant is not None:
            return constant
        return self.container(value, path, depth)

    def container(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        if depth >= MAX_DEPTH:
            return self.other(value, path, f"{type(value).__name__} nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, (tuple, list)):
            return self.sequence(value, path, depth)
        if isinstance(value, dict):
            return {"k": "dict", "v": [self.item("dict", k, v, path, depth) for k, v in value.items()]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = [f.name for f in dataclasses.fields(value)]
            return {"k": "dataclass", "v": [self.item("dataclass", n, getattr(value, n, None), path, depth) for n in names]}
        if _is_array(value):
            return {**self.dense(torch.from_numpy(value.copy())), "container": "numpy"}
        return self.other(value, path, type(value).__name__)

    def sequence(self, value: Any, path: str, depth: int) -> dict[str, Any]:
        kind = "tuple" if isinstance(value, tuple) else "list"
        items = [self.encode(item, child_path(path, kind, i), depth + 1) for i, item in enumerate(value)]
        names = getattr(value, "_fields", None)
        return {"k": kind, "v": items, "names": list(names)} if kind == "tuple" and names else {"k": kind, "v": items}

    def item(self, kind: str, key: Any, value: Any, path: str, depth: int) -> list[Any]:
        written = _constant(key)
        if written is None and isinstance(key, tuple):
            written = {"k": "tuple", "v": [_constant(part) or {"k": "other", "type": "key"} for part in key]}
        if written is None:
            written = self.other(key, path, f"key of type {type(key).__name__}")
        return [written, self.encode(value, child_path(path, kind, key), depth + 1)]

    def dense(self, tensor: Any) -> dict[str, Any]:
        """The header of a tensor; its data in the arena where it fits."""
        nbytes = tensor.numel() * tensor.element_size()
        header = {"k": "tensor", "dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape), "device": tensor.device.type}
        if self.arena is not None and self.arena.fits(nbytes):
            header["offset"] = self.arena.put(tensor)
        return header

    def tensor(self, tensor: Any) -> dict[str, Any]:
        # Never by a method of the object: an instance may carry a ``detach`` of its own that computes now what was timed before.
        return self.dense(torch.Tensor.detach(tensor).resolve_conj().resolve_neg())

    def other(self, value: Any, path: str, what: str | None) -> dict[str, Any]:
        del value, path
        return {"k": "other", "type": str(what)[:MAX_NAME]}


class _TooManyPartsError(Exception):
    pass


class _OutputEncoder(_Encoder):
    def __init__(self, arena: Arena | None) -> None:
        super().__init__(arena)
        self.nodes = 0

    def encode(self, value: Any, path: str = "", depth: int = 0) -> dict[str, Any]:
        self.nodes += 1
        if self.nodes > MAX_NODES:  # more than the judge would take
            raise _TooManyPartsError
        return super().encode(value, path, depth)


class _InputEncoder(_Encoder):
    def __init__(self, arena: Arena, shared: dict[int, int]) -> None:
        super().__init__(arena)
        self.shared = shared  # storage pointer -> number of tensors that lie on it
        self.seen: dict[int, int] = {}  # id of a tensor -> its number
        self.storages: dict[int, int] = {}
        self.storage_headers: list[dict[str, Any]] = []

    def tensor(self, tensor: Any) -> dict[str, Any]:
        if id(tensor) in self.seen:
            return {"k": "same", "v": self.seen[id(tensor)]}
        self.seen[id(tensor)] = len(self.seen)
        plain = tensor.detach().resolve_conj().resolve_neg()
        pointer = plain.untyped_storage().data_ptr()
        lone = self.shared.get(pointer, 0) < 2
        header = self.dense(plain) if lone and plain.is_contiguous() else self.view(plain, pointer)
        header["grad"] = bool(tensor.requires_grad)
        return header

    def view(self, tensor: Any, pointer: int) -> dict[str, Any]:
        if pointer not in self.storages:
            self.storages[pointer] = len(self.storages)
            flat = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(tensor.untyped_storage())
            self.storage_headers.append(self.dense(flat))
        return {
            "k": "view", "storage": self.storages[pointer], "dtype": dtype_name(tensor.dtype), "shape": list(tensor.shape),
            "stride": list(tensor.stride()), "storage_offset": tensor.storage_offset(),
        }  # fmt: skip

    def other(self, value: Any, path: str, what: str | None) -> dict[str, Any]:
        if isinstance(value, torch.dtype):
            return {"k": "dtype", "v": dtype_name(value)}
        if isinstance(value, torch.device):
            return {"k": "device", "v": str(value)}
        module, name = getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "")
        if module.split(".")[0] in _PUBLIC_MODULES and getattr(sys.modules.get(module), name, None) is value:
            return {"k": "public", "v": [module, name]}
        raise CannotTravelError(f"{path or 'the value'} is of type {what}, which cannot be handed to another process")


def tensors_of(value: Any, depth: int = 0) -> list[Any]:
    """All tensors in a value, in the order in which trees number them (repeated objects included)."""
    if isinstance(value, torch.Tensor):
        return [value]
    if depth > MAX_DEPTH:
        return []
    if isinstance(value, (tuple, list)):
        parts: list[Any] = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, f.name, None) for f in dataclasses.fields(value)]
    elif type(value).__name__ == "SimpleNamespace":
        parts = list(vars(value).values())
    else:
        return []
    return [tensor for part in parts for tensor in tensors_of(part, depth + 1)]


def distinct_tensors(value: Any) -> list[Any]:
    """The tensor objects in a value, each once, in order."""
    return list({id(tensor): tensor for tensor in tensors_of(value)}.values())


def encode_outputs(value: Any, arena: Arena | None) -> dict[str, Any]:
    """The tree of a result; what does not fit into the arena is a header only."""
    try:
        return _OutputEncoder(arena).encode(value)
    except _TooManyPartsError:
        return {"k": "other", "type": f"{type(value).__name__[:MAX_NAME]} of {TOO_MANY_PARTS}"[:MAX_NAME]}


def input_bytes(value: Any) -> int:
    """Room in an arena that the tensors of a value need at most."""
    return sum(
        aligned(max(t.numel() * t.element_size(), t.untyped_storage().nbytes() if t.layout == torch.strided else 0))
        for t in distinct_tensors(value)
    ) + array_bytes(value)


def array_bytes(value: Any, depth: int = 0) -> int:
    """Room that NumPy arrays in a value need."""
    if _is_array(value):
        return aligned(value.nbytes)
    parts = list(value) if isinstance(value, (tuple, list)) else list(value.values()) if isinstance(value, dict) else []
    return sum(array_bytes(part, depth + 1) for part in parts) if depth <= MAX_DEPTH else 0


def encode_inputs(value: Any, arena: Arena) -> dict[str, Any]:
    """``{"storages", "tree"}`` of arguments, for ``materialise``. Raises CannotTravelError."""
    shared: dict[int, int] = {}
    for tensor in distinct_tensors(value):
        if plain_tensor_problem(tensor) is None:
            pointer = tensor.untyped_storage().data_ptr()
            shared[pointer] = shared.get(pointer, 0) + 1
    encoder = _InputEncoder(arena, shared)
    tree = encoder.encode(value)
    return {"storages": encoder.storage_headers, "tree": tree}
