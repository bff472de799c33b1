import copy
import enum
import json
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from kbeval_jupyter.runner.exchange.arena import Arena
from kbeval_jupyter.runner.exchange.channel import ProtocolBreachError
from kbeval_jupyter.runner.exchange.encoding import (
    CannotTravelError,
    distinct_tensors,
    encode_inputs,
    encode_outputs,
    input_bytes,
)
from kbeval_jupyter.runner.exchange.materialise import build_inputs, build_outputs
from kbeval_jupyter.runner.exchange.structure import structure_problem
from kbeval_jupyter.runner.exchange.tree import (
    MAX_DEPTH,
    MAX_INT_BITS,
    MAX_NODES,
    MAX_TEXT,
    ConstNode,
    OtherNode,
    SequenceNode,
    TensorNode,
    decode,
    leaves,
)

ROOM = 1 << 16


@dataclass
class Pair:
    left: Any
    right: Any


class Named(NamedTuple):
    values: Any
    indices: Any


@pytest.fixture
def arena() -> Iterator[Arena]:
    arena = Arena.create(ROOM)
    yield arena
    arena.close()


def through(value: Any, arena: Arena) -> Any:
    """Encoded, sent as text, checked, and built again."""
    message = json.loads(json.dumps(encode_outputs(value, arena), allow_nan=False))
    return build_outputs(decode(message, arena.size), arena)


def test_outputs_come_back(arena: Arena) -> None:
    x = torch.randn(3, 4)
    value = {
        "a": [x, (x.t(), None)],
        3: True,
        (1, "k"): "text",
        None: [],
        "n": {"deep": -7, "f": 0.1, "c": 1 + 2j, "b": b"\x00\xff"},
    }
    back = through(value, arena)
    assert list(back) == ["a", 3, (1, "k"), None, "n"]
    assert torch.equal(back["a"][0], x)
    assert torch.equal(back["a"][1][0], x.t())
    assert back["a"][1][1] is None
    assert back["n"] == value["n"]
    assert back[3] is True
    assert back[None] == []


def test_numbers_are_exact(arena: Arena) -> None:
    values = [0.1, -0.0, math.inf, -math.inf, 1e-320, 2**200, -(2**64), True, complex(math.inf, -0.0)]
    back = through(values, arena)
    assert back == values
    assert math.copysign(1, back[1]) == -1
    assert [type(v) for v in back] == [type(v) for v in values]
    assert math.isnan(through(math.nan, arena))


def test_named_tuples_and_dataclasses(arena: Arena) -> None:
    x = torch.arange(4)
    back = through(Pair(x, Named(x, x + 1)), arena)
    assert torch.equal(back.left, x)
    assert torch.equal(back.right[1], x + 1)
    top = torch.topk(torch.randn(5), 2)
    assert isinstance(through(top, arena), tuple)


def test_bool_bytes_other_than_one_are_true(arena: Arena) -> None:
    arena.put(torch.tensor([0, 1, 2, 255], dtype=torch.uint8))
    node = TensorNode("bool", (4,), 0)
    assert build_outputs(node, arena).tolist() == [False, True, True, True]


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (object(), "object"),
        (torch.sparse_coo_tensor([[0]], [1.0], (2,), check_invariants=True), "sparse_coo tensor"),
        (torch.empty(2, device="meta"), "meta tensor"),
        (torch.ones(2).as_subclass(type("Fast", (torch.Tensor,), {})), "Fast"),
        ({1, 2}, "set"),
    ],
)
def test_other_things_are_named(arena: Arena, value: Any, name: str) -> None:
    node = decode(encode_outputs(value, arena), arena.size)
    assert isinstance(node, OtherNode)
    assert name in node.type_name


def test_too_large_output_is_a_header(arena: Arena) -> None:
    node = decode(encode_outputs(torch.zeros(ROOM), arena), arena.size)
    assert node == TensorNode("float32", (ROOM,), None)


def test_structures_end_where_a_tree_does(arena: Arena) -> None:
    endless: list[Any] = []
    endless.append(endless)
    *_, (path, bottom) = leaves(decode(encode_outputs(endless, arena), arena.size))
    assert path == "[0]" * MAX_DEPTH
    assert bottom == OtherNode(f"list nested more than {MAX_DEPTH} levels deep")
    many = decode(encode_outputs([0] * MAX_NODES, arena), arena.size)
    assert many == OtherNode(f"list of more than {MAX_NODES} parts")
    assert isinstance(decode(encode_outputs([0] * (MAX_NODES - 1), arena), arena.size), SequenceNode)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("x" * (MAX_TEXT + 1), "str of length 1048577"),
        (b"x" * (MAX_TEXT + 1), "bytes of length 1048577"),
        (1 << 4000, "int of 4001 bits"),
    ],
)
def test_constants_that_are_too_long(arena: Arena, value: Any, name: str) -> None:
    assert decode(encode_outputs(value, arena), arena.size) == OtherNode(name)


def test_longest_constants(arena: Arena) -> None:
    value = ["x" * MAX_TEXT, b"x" * (MAX_TEXT // 2), (1 << MAX_INT_BITS) - 1, -(1 << MAX_INT_BITS) + 1]
    node = decode(encode_outputs(value, arena), arena.size)
    assert [leaf.value for _, leaf in leaves(node) if isinstance(leaf, ConstNode)] == value


def test_constants_of_subclasses_are_plain(arena: Arena) -> None:
    color = enum.IntEnum("color", "RED")
    word = enum.Enum("word", {"A": "a"}, type=str)
    node = decode(encode_outputs([color.RED, word.A, np.float64(0.5)], arena), arena.size)
    values = [leaf.value for _, leaf in leaves(node) if isinstance(leaf, ConstNode)]
    assert values == [1, "a", 0.5]
    assert [type(value) for value in values] == [int, str, float]


TENSOR = {"k": "tensor", "dtype": "float32", "shape": [2, 2], "offset": 0, "device": "cpu"}


@pytest.mark.parametrize(
    "message",
    [
        None, [], 1, "tensor", {}, {"k": 1}, {"k": "unknown", "v": 1}, {"k": ["tensor"]},
        {**TENSOR, "dtype": "float31"}, {**TENSOR, "dtype": 1}, {**TENSOR, "dtype": ["float32"]}, {**TENSOR, "dtype": None},
        {**TENSOR, "shape": [-1, 2]}, {**TENSOR, "shape": [True]}, {**TENSOR, "shape": [1.0]}, {**TENSOR, "shape": "22"},
        {**TENSOR, "shape": [1 << 48]}, {**TENSOR, "shape": [1 << 40, 1 << 40]}, {**TENSOR, "shape": [1] * 65},
        {**TENSOR, "shape": [[2]]}, {**TENSOR, "shape": None}, {**TENSOR, "offset": -64}, {**TENSOR, "offset": 1},
        {**TENSOR, "offset": True}, {**TENSOR, "offset": "0"}, {**TENSOR, "offset": 0.0}, {**TENSOR, "offset": ROOM},
        {**TENSOR, "offset": 1 << 70}, {**TENSOR, "device": 1}, {**TENSOR, "device": "x" * 81}, {**TENSOR, "container": "pickle"},
        {"k": "tuple"}, {"k": "tuple", "v": {}}, {"k": "list", "v": [1]}, {"k": "dict", "v": [[]]}, {"k": "dict", "v": [1]},
        {"k": "dict", "v": [[{"k": "list", "v": []}, TENSOR]]}, {"k": "dict", "v": [[TENSOR, TENSOR]]},
        {"k": "dict", "v": [[{"k": "const", "v": "a"}, TENSOR], [{"k": "const", "v": "a"}, TENSOR]]},
        {"k": "const", "v": 1}, {"k": "const", "v": []}, {"k": "int", "v": 1}, {"k": "int", "v": "x"},
        {"k": "int", "v": "9" * 1001},
        {"k": "float", "v": "0x1p99999"}, {"k": "float", "v": 1.0}, {"k": "complex", "v": ["nan"]}, {"k": "bytes", "v": "xx"},
        {"k": "same", "v": 0}, {"k": "view", "storage": 0}, {"k": "public", "v": ["os", "system"]},
    ],
)  # fmt: skip
def test_evil_headers_are_refused(message: Any) -> None:
    with pytest.raises(ProtocolBreachError):
        decode(message, ROOM)


def test_too_many_nodes_and_levels() -> None:
    with pytest.raises(ProtocolBreachError, match="nodes"):
        decode({"k": "list", "v": [{"k": "const", "v": None}] * 10_001}, ROOM)
    deep: Any = {"k": "const", "v": None}
    for _ in range(40):
        deep = {"k": "list", "v": [deep]}
    with pytest.raises(ProtocolBreachError, match="levels"):
        decode(deep, ROOM)


def _mutate(value: Any, chance: random.Random) -> Any:
    junk: list[Any] = [None, True, -1, 1 << 80, "x", "", [], {}, [[]], "float64", 1.5, {"k": "tensor"}, "nan", "0x1p1024"]
    if chance.random() < 0.01:
        return chance.choice(junk)
    if isinstance(value, dict):
        return {k: _mutate(v, chance) for k, v in value.items() if chance.random() > 0.003}
    if isinstance(value, list):
        return [_mutate(v, chance) for v in value]
    return value


def test_mutated_messages_raise_nothing_else(arena: Arena) -> None:
    x = torch.randn(4, 4)
    original = encode_outputs([{"a": x, 2: (x, 3, 0.5, None, 1j)}, Pair(x, "s"), b"b", [x] * 3], arena)
    chance = random.Random(7)
    accepted = 0
    for _ in range(3000):
        try:
            node = decode(_mutate(copy.deepcopy(original), chance), arena.size)
        except ProtocolBreachError:
            continue
        accepted += 1
        build_outputs(node, arena) if all(
            not isinstance(n, TensorNode) or n.offset is not None for _, n in leaves(node)
        ) else None
        structure_problem([x], node)
    assert 100 < accepted < 2900


# --- inputs: the trusted direction -----------------------------------------------------------------------------------------


def arrived(value: Any) -> Any:
    arena = Arena.create(input_bytes(value) + 4096, read_only_for_others=True)
    message = json.loads(json.dumps(encode_inputs(value, arena)))
    back = build_inputs(message, arena, "cpu")
    arena.close()
    return back


def test_inputs_keep_what_they_are() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    value = [x, {"mask": x > 0, "w": Named(torch.arange(3), [1, 2.5, "s", None])}, torch.float16, torch.nn.functional.relu, 7]
    back = arrived(value)
    assert back[0].requires_grad
    assert back[0].is_leaf
    assert torch.equal(back[0], x)
    assert torch.equal(back[1]["mask"], x > 0)
    assert back[1]["w"].values.tolist() == [0, 1, 2]
    assert back[1]["w"].indices == [1, 2.5, "s", None]
    assert back[2:] == [torch.float16, torch.nn.functional.relu, 7]


def test_aliasing_is_kept() -> None:
    base = torch.randn(4, 6)
    back = arrived([base, base, base[1:3], base.t(), torch.randn(2)])
    assert back[0] is back[1]
    assert torch.equal(back[2], base[1:3])
    back[0][1, 0] = 99.0
    assert back[2][0, 0] == 99.0
    assert back[3][0, 1] == 99.0
    assert back[3].stride() == base.t().stride()
    assert base[1, 0] != 99.0


@pytest.mark.parametrize(
    "tensor",
    [
        torch.randn(4, 6).t(),
        torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.randn(1, 5).expand(7, 5),
        torch.randn(100)[10:90:7],
        torch.randn(3, 0, 2),
        torch.randn(4, dtype=torch.complex64).conj(),
        torch.tensor(5, dtype=torch.int64),
    ],
)
def test_layouts_are_kept(tensor: torch.Tensor) -> None:
    (back,) = arrived([tensor])
    assert torch.equal(back, tensor)
    assert back.shape == tensor.shape
    assert tensor.is_conj() or back.stride() == tensor.stride()


def test_two_calls_see_the_same_bytes() -> None:
    arena = Arena.create(4096, read_only_for_others=True)
    message = encode_inputs([torch.zeros(4)], arena)
    first = build_inputs(message, arena, "cpu")
    first[0].add_(1)
    assert build_inputs(message, arena, "cpu")[0].tolist() == [0, 0, 0, 0]
    arena.close()


def test_numpy_arrays() -> None:
    (back,) = arrived([np.arange(6, dtype=np.float32).reshape(2, 3)])
    assert type(back) is np.ndarray
    assert back.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_what_cannot_travel_is_named_with_its_place() -> None:
    with pytest.raises(CannotTravelError, match=r"\[1\]\['f'\] is of type function"):
        arrived([1, {"f": lambda: None}])


def test_distinct_tensors_count_each_object_once() -> None:
    x, y = torch.ones(1), torch.ones(1)
    assert [id(t) for t in distinct_tensors([x, {"a": y}, (x, y)])] == [id(x), id(y)]


def test_constants_of_the_judge_are_constants_again() -> None:
    assert decode({"k": "int", "v": "12"}, 0) == ConstNode(12)
