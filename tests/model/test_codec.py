import math
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from kbeval_jupyter.model.codec import DecodeError, decode, encode


@dataclass(frozen=True)
class Inner:
    value: float | None
    tags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Outer:
    name: str
    count: int
    side: Literal["left", "right"]
    inner: Inner | None
    table: dict[str, Inner] = field(default_factory=dict)
    pair: tuple[str, int] = ("", 0)
    sizes: tuple[int, ...] = ()
    anything: Any = None
    first: int = field(default=0, metadata={"json": "from"})
    local: str = field(default="here", metadata={"json": False})


FULL = Outer("a", 1, "left", Inner(0.5, ["x"]), {"k": Inner(None)}, ("p", 2), (1, 2), {"deep": [1, None]}, 7, "elsewhere")


def test_round_trip_keeps_everything_that_travels() -> None:
    data = encode(FULL)
    assert data["from"] == 7
    assert "local" not in data
    assert list(data) == ["name", "count", "side", "inner", "table", "pair", "sizes", "anything", "from"]
    back = decode(Outer, data)
    assert back.local == "here"
    assert encode(back) == data
    assert back.inner == FULL.inner
    assert back.pair == ("p", 2)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_become_null(value: float) -> None:
    assert encode(Inner(value)) == {"value": None, "tags": []}


def test_unknown_keys_are_ignored_and_integers_serve_as_floats() -> None:
    assert decode(Inner, {"value": 3, "tags": [], "from_the_future": 1}) == Inner(3.0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"count": 1, "side": "left", "inner": None}, r"'name' is missing"),
        ({"name": 3, "count": 1, "side": "left", "inner": None}, r"name: expected str, got 3"),
        ({"name": "a", "count": 1.5, "side": "left", "inner": None}, r"count: expected int"),
        ({"name": "a", "count": True, "side": "left", "inner": None}, r"count: expected int"),
        ({"name": "a", "count": 1, "side": "up", "inner": None}, r"side: expected one of left, right"),
        ({"name": "a", "count": 1, "side": "left", "inner": {"value": "x"}}, r"inner\.value: expected float"),
        ({"name": "a", "count": 1, "side": "left", "inner": {"value": 1, "tags": [1]}}, r"inner\.tags\[0\]: expected str"),
        ({"name": "a", "count": 1, "side": "left", "inner": None, "table": {"k": 1}}, r"table\['k'\]: expected an object"),
        ({"name": "a", "count": 1, "side": "left", "inner": None, "pair": ["x"]}, r"pair: expected a list of 2"),
        ([], r"expected an object"),
    ],
)
def test_wrong_data_is_named_by_its_path(data: Any, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        decode(Outer, data)
