"""Whether two output trees have the same form, and the leaves of the expected one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import torch

from .arena import dtype_name
from .encoding import TOO_MANY_PARTS, own_constant, plain_tensor_problem, too_long
from .tree import MAX_DEPTH, MAX_NODES, ConstNode, MappingNode, Node, OtherNode, SequenceNode, TensorNode, child_path

CONTAINERS = ("tuple", "list", "dict", "dataclass")


@dataclass(frozen=True)
class Leaf:
    """A leaf of an expected value; arrays of NumPy count as tensors."""

    path: str
    value: Any

    @property
    def tensor(self) -> Any:
        """The leaf on the host, detached, without lazy conjugation."""
        value = self.value if isinstance(self.value, torch.Tensor) else torch.from_numpy(self.value)
        return value.detach().resolve_conj().resolve_neg().cpu().contiguous()


def place_of(path: str) -> str:
    """A path as a message names it: ``output[0]``, ``inputs[1]``."""
    return path if path.startswith("inputs") else f"output{path}"


def is_array(value: Any) -> bool:
    """Whether it is a NumPy array (without importing NumPy)."""
    return type(value).__module__ == "numpy" and type(value).__name__ == "ndarray"


def kind_of(value: Any) -> str:
    """What a value is: tuple, list, dict, dataclass, tensor, numpy, const or other."""
    if isinstance(value, torch.Tensor):
        return "tensor" if plain_tensor_problem(value) is None else "other"
    if isinstance(value, tuple):
        return "tuple"
    if isinstance(value, list):
        return "list"
    if isinstance(value, dict):
        return "dict"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "dataclass"
    if is_array(value):
        return "numpy"
    plain = value is None or isinstance(value, (bool, int, float, complex, str, bytes))
    return "const" if plain and too_long(value) is None else "other"


def parts_of(value: Any) -> list[tuple[Any, Any]]:
    """(key, child) of an expected value's inner node; empty for leaves."""
    kind = kind_of(value)
    if kind in ("tuple", "list"):
        return list(enumerate(value))
    if kind == "dict":
        return list(value.items())
    if kind == "dataclass":
        return [(f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value)]
    return []


def flatten(value: Any, path: str = "") -> list[Leaf]:
    """All leaves of an expected value, depth first."""
    kind = kind_of(value)
    if kind not in CONTAINERS:
        return [Leaf(path, value)]
    return [leaf for key, part in parts_of(value) for leaf in flatten(part, child_path(path, kind, key))]


def excess(value: Any) -> str | None:
    """Why a value is too large a structure for anything here, or None. Ends for values that hold themselves, too."""
    pending, nodes = [(value, 0)], 0
    while pending:
        part, depth = pending.pop()
        nodes += 1
        if nodes > MAX_NODES:
            return f"output has {TOO_MANY_PARTS}"
        if kind_of(part) in CONTAINERS:
            if depth >= MAX_DEPTH:
                return f"output is nested more than {MAX_DEPTH} levels deep"
            pending += [(child, depth + 1) for _, child in parts_of(part)]
    return None


def incomparable_part(value: Any) -> str | None:
    """What in an expected value cannot be compared, or None."""
    for leaf in flatten(value):
        if kind_of(leaf.value) == "other":
            tensor = isinstance(leaf.value, torch.Tensor)
            what = plain_tensor_problem(leaf.value) if tensor else too_long(leaf.value) or type(leaf.value).__name__
            return f"{place_of(leaf.path)} is of type {what}, which cannot be compared"
    return None


def _described(node: Node) -> str:
    if isinstance(node, TensorNode):
        array = "a tensor" if node.container == "tensor" else "a numpy.ndarray"
        return f"{array} of shape {list(node.shape)}, {node.dtype}"
    if isinstance(node, (SequenceNode, MappingNode)):
        return f"a {node.kind} of {len(node.items)}"
    if isinstance(node, ConstNode):
        return f"the {type(node.value).__name__} {node.value!r}"[:100] if node.value is not None else "None"
    return f"an object of type {node.type_name}" if isinstance(node, OtherNode) else "something unknown"


def _expected_words(value: Any) -> str:
    kind = kind_of(value)
    if kind == "tensor":
        return f"a tensor of shape {list(value.shape)}, {dtype_name(value.dtype)}"
    if kind == "numpy":
        return f"a numpy.ndarray of shape {list(value.shape)}, {value.dtype}"
    if kind == "const":
        return "None" if value is None else f"a {type(own_constant(value)).__name__}"
    return f"a {kind} of {len(parts_of(value))}"


def structure_problem(expected: Any, actual: Node, path: str = "") -> str | None:
    """The first difference in structure, types, shapes, dtypes or device kind, as a sentence; None where there is none."""
    kind = kind_of(expected)
    wrong = f"{place_of(path)} is {_described(actual)}; the reference returns {_expected_words(expected)}"
    if kind in ("tensor", "numpy"):
        if not isinstance(actual, TensorNode) or actual.container != kind:
            return wrong
        return _header_problem(expected, actual, wrong)
    if kind == "const":
        return None if isinstance(actual, ConstNode) and type(actual.value) is type(own_constant(expected)) else wrong
    if not isinstance(actual, (SequenceNode, MappingNode)) or actual.kind != kind:
        return wrong
    return _parts_problem(expected, actual, kind, path, wrong)


def _header_problem(expected: Any, actual: TensorNode, wrong: str) -> str | None:
    if isinstance(expected, torch.Tensor):
        if actual.device != expected.device.type:
            return f"{wrong}, on {expected.device.type}, not on {actual.device}"
        dtype = dtype_name(expected.dtype)
    else:
        dtype = str(expected.dtype)
    return None if actual.shape == tuple(expected.shape) and actual.dtype == dtype else wrong


def _parts_problem(expected: Any, actual: SequenceNode | MappingNode, kind: str, path: str, wrong: str) -> str | None:
    parts = parts_of(expected)
    if len(parts) != len(actual.items):
        return wrong
    found = dict(enumerate(actual.items)) if isinstance(actual, SequenceNode) else dict(actual.items)
    for key, part in parts:
        if key not in found:
            return f"{place_of(path)} has the keys {list(found)!r}; the reference's has {key!r} too"
        problem = structure_problem(part, found[key], child_path(path, kind, key))
        if problem:
            return problem
    return None
