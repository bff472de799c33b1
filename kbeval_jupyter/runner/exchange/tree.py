"""Trees of values between judge and worker: their JSON form, and the checked nodes that the judge works with.

A worker's message is turned into nodes by ``decode``, which refuses anything malformed before a byte of data is read. Tensors are
dense and row-major at an offset of the arena; a tensor without an offset did not fit and is a header only. ``view`` nodes (a
tensor that shares or does not fill its storage) exist only from judge to worker.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterator, NoReturn, Union

from .arena import ALIGNMENT, DTYPES, ITEM_BYTES
from .channel import ProtocolBreachError

MAX_NODES = 10_000
MAX_DEPTH = 32
MAX_DIMENSIONS = 64
MAX_DIMENSION = 1 << 48
MAX_TEXT = 1 << 20
MAX_INT_BITS = 3300
MAX_INT_CHARACTERS = 1000
MAX_NAME = 80


@dataclass(frozen=True)
class TensorNode:
    """A tensor (``container`` "tensor") or a NumPy array ("numpy"); ``offset`` None means: header only."""

    dtype: str
    shape: tuple[int, ...]
    offset: int | None
    device: str = "cpu"
    container: str = "tensor"
    requires_grad: bool = False

    @property
    def nbytes(self) -> int:
        """Size of its data."""
        return math.prod(self.shape) * ITEM_BYTES[self.dtype]


@dataclass(frozen=True)
class ViewNode:
    """A tensor laid over storage number ``storage``; strides and offset count elements."""

    storage: int
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    storage_offset: int
    requires_grad: bool = False


@dataclass(frozen=True)
class SameNode:
    """The very same tensor object as the ``index``-th tensor before it."""

    index: int


@dataclass(frozen=True)
class SequenceNode:
    """A tuple or a list; ``names`` are the fields of a named tuple."""

    kind: str
    items: tuple[Node, ...]
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class MappingNode:
    """A dict (any constant keys) or a dataclass (field names)."""

    kind: str
    items: tuple[tuple[Any, Node], ...]


@dataclass(frozen=True)
class ConstNode:
    """None, bool, int, float, complex, str or bytes; from the judge also dtypes, devices and public functions."""

    value: Any


@dataclass(frozen=True)
class OtherNode:
    """Something that does not travel, by the name of its type."""

    type_name: str


Node = Union[TensorNode, ViewNode, SameNode, SequenceNode, MappingNode, ConstNode, OtherNode]


def child_path(path: str, kind: str, key: Any) -> str:
    """``path`` extended as one writes it in Python: ``[0]``, ``['y']``, ``.field``."""
    return f"{path}.{key}" if kind == "dataclass" else f"{path}[{key!r}]"


def children(node: Node) -> list[tuple[Any, Node]]:
    """Keys and children of a node, in order; empty for leaves."""
    if isinstance(node, SequenceNode):
        return list(enumerate(node.items))
    if isinstance(node, MappingNode):
        return list(node.items)
    return []


def leaves(node: Node, path: str = "") -> Iterator[tuple[str, Node]]:
    """All leaves with their paths, depth first."""
    if isinstance(node, (SequenceNode, MappingNode)):
        for key, child in children(node):
            yield from leaves(child, child_path(path, node.kind, key))
    else:
        yield path, node


def without_data(node: Node) -> str | None:
    """The path of a tensor that came as a header only, because it was too large for the arena; None where there is none."""
    return next((path for path, leaf in leaves(node) if isinstance(leaf, TensorNode) and leaf.offset is None), None)


def _breach(what: str) -> NoReturn:
    raise ProtocolBreachError(f"bad tree: {what}")


class _Decoder:
    """Checks one untrusted tree against the size of the arena it speaks of."""

    def __init__(self, arena_bytes: int) -> None:
        self.arena_bytes = arena_bytes
        self.nodes = 0

    def node(self, message: Any, depth: int) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES or depth > MAX_DEPTH:
            _breach(f"more than {MAX_NODES} nodes or {MAX_DEPTH} levels")
        if type(message) is not dict:
            _breach("a node is no object")
        kind, value = message.get("k"), message.get("v")
        if kind == "tensor":
            return self.tensor(message)
        if kind in ("tuple", "list"):
            if type(value) is not list:
                _breach(f"the items of a {kind}")
            return SequenceNode(str(kind), tuple(self.node(item, depth + 1) for item in value))
        if kind in ("dict", "dataclass"):
            return self.mapping(str(kind), value, depth)
        if kind == "other":
            name = message.get("type")
            return OtherNode(name[:MAX_NAME] if type(name) is str else "object")
        return ConstNode(constant(kind, value))

    def mapping(self, kind: str, value: Any, depth: int) -> MappingNode:
        if type(value) is not list:
            _breach(f"the items of a {kind}")
        items: dict[Any, Node] = {}
        for pair in value:
            if type(pair) is not list or len(pair) != 2:
                _breach(f"an item of a {kind}")
            key = self.key(pair[0], depth + 1)
            if key in items:
                _breach(f"a {kind} with the key {key!r} twice")
            items[key] = self.node(pair[1], depth + 1)
        return MappingNode(kind, tuple(items.items()))

    def key(self, message: Any, depth: int) -> Any:
        node = self.node(message, depth)
        if isinstance(node, ConstNode):
            return node.value
        if isinstance(node, SequenceNode) and node.kind == "tuple" and all(isinstance(i, ConstNode) for i in node.items):
            return tuple(item.value for item in node.items if isinstance(item, ConstNode))
        return f"<{node.type_name}>" if isinstance(node, OtherNode) else _breach("a key")

    def tensor(self, message: dict[str, Any]) -> TensorNode:
        dtype, shape, offset = message.get("dtype"), message.get("shape"), message.get("offset")
        device, container = message.get("device", "cpu"), message.get("container", "tensor")
        if type(dtype) is not str or dtype not in DTYPES:
            _breach("a dtype")
        if type(shape) is not list or len(shape) > MAX_DIMENSIONS:
            _breach("a shape")
        if any(type(size) is not int or not 0 <= size < MAX_DIMENSION for size in shape):
            _breach("a dimension")
        if type(device) is not str or len(device) > MAX_NAME or container not in ("tensor", "numpy"):
            _breach("a device or container")
        node = TensorNode(dtype, tuple(shape), offset, device, container)
        if offset is not None:
            if type(offset) is not int or offset < 0 or offset % ALIGNMENT:
                _breach("an offset")
            if offset + node.nbytes > self.arena_bytes:  # Python integers: no overflow
                _breach("a tensor outside the arena")
        return node


def constant(kind: Any, value: Any) -> Any:
    """The Python value of a constant node; raises ProtocolBreachError."""
    try:
        if kind == "const" and (value is None or type(value) is bool or (type(value) is str and len(value) <= MAX_TEXT)):
            return value
        if kind == "int" and type(value) is str and len(value) <= MAX_INT_CHARACTERS:
            return int(value)
        if kind == "float" and type(value) is str and len(value) <= 40:
            return float.fromhex(value)
        if kind == "bytes" and type(value) is str:
            return bytes.fromhex(value)
        if kind == "complex" and type(value) is list and len(value) == 2 and all(type(v) is str and len(v) <= 40 for v in value):
            return complex(float.fromhex(value[0]), float.fromhex(value[1]))
    except (ValueError, OverflowError):
        pass
    _breach("a constant")


def decode(message: Any, arena_bytes: int) -> Node:
    """The checked tree of an untrusted message; raises ProtocolBreachError. No data is read here."""
    return _Decoder(arena_bytes).node(message, 0)
