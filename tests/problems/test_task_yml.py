from typing import Any

import pytest

from kbeval_jupyter.problems.task_yml import NotReadError, read_list, read_short, read_value, section

TASK = """
# a description of a problem
files:
  - {"name": "utils.py", "source": "../utils.py"}
description: |
  Write the fastest kernel.
  tests: this line is text
tests:
  - {"size": 127, "scale": 1e-3, "shape": [2, 3]}   # a comment
  - {size: 128,
     kind: d_model, mask: null}

  # another
  - size: 5
    name: 'it''s # five'
  - "size: 6; causal: True"
  - size: 7; scale: -.5
benchmarks:
- {"size": 4096}
ranking_by: "geom"
"""


def test_lists_of_a_task() -> None:
    assert read_list(section(TASK, "tests") or "") == [
        {"size": 127, "scale": 0.001, "shape": [2, 3]},
        {"size": 128, "kind": "d_model", "mask": None},
        {"size": 5, "name": "it's # five"},
        {"size": 6, "causal": True},
        {"size": 7, "scale": -0.5},
    ]
    assert read_list(section(TASK, "benchmarks") or "") == [{"size": 4096}]
    assert section(TASK, "source") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1_024", 1024),
        ("-7", -7),
        ("0x10", 16),
        ("007", 7.0),
        ("1.", 1.0),
        ("2e-2", 0.02),
        ("true", True),
        ("False", False),
        ("~", None),
        ("None", None),
        ("d_model", "d_model"),
        ("bf16", "bf16"),
        ("torch.float16", "torch.float16"),
        ('"a: b, [c]; d"', "a: b, [c]; d"),
        (r'"tab\t"', "tab\t"),
        ("'don''t'", "don't"),
        ("[]", []),
        ("{}", {}),
        ("[1, [2, three], {four: 4.0},]", [1, [2, "three"], {"four": 4.0}]),
        ("(8, 16)", [8, 16]),
        ("{a: 1, 'b': [x, y], \"c\": {d: null}}", {"a": 1, "b": ["x", "y"], "c": {"d": None}}),
    ],
)
def test_values(text: str, value: Any) -> None:
    found = read_value(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["[1", "{a}", "{a: 1", "'a", "!tag", "*alias", "&anchor", "| block", "a: b", "[1] [2]"])
def test_what_is_no_value(text: str) -> None:
    with pytest.raises(NotReadError):
        read_value(text)


def test_short_form() -> None:
    text = "size: 1024; shape: [2, 3]; weights: {a: 1; b}; eps: 1e-6; kind: d_model; text: 'a; b'"
    with pytest.raises(NotReadError):
        read_short(text)
    assert read_short(text.replace("{a: 1; b}", "{a: 1}")) == {
        "size": 1024, "shape": [2, 3], "weights": {"a": 1}, "eps": 1e-6, "kind": "d_model", "text": "a; b",
    }  # fmt: skip


@pytest.mark.parametrize("text", ["a: 1\n b", "- - 1", "a", "- a: 1\nb: 2"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(NotReadError):
        read_list(text)
