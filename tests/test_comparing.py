"""Several implementations in one interleaved run: the matrix, from Python, a notebook and the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kbeval_jupyter import ComparisonResult, cli, compare
from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.model.comparison import SCHEMA, inverted
from kbeval_jupyter.rendering import comparison
from kbeval_jupyter.runner.report import Speedup
from tests.runner.test_comparison import CASES, REFERENCE, SAME, TWICE_AS_FAST, WRONG

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def compared() -> ComparisonResult:
    return compare({"plain": SAME, "half": TWICE_AS_FAST, "bad": WRONG}, REFERENCE, cases=CASES, budget=1.5)


def test_every_pair_has_a_claim_in_both_directions(compared: ComparisonResult) -> None:
    assert compared.labels == ["plain", "half", "bad", "reference"]
    assert len(compared.pairs) == 6
    faster, slower = compared.speedup("half", "plain"), compared.speedup("plain", "half")
    assert faster is not None
    assert (faster.claim, inverted(faster)) == ("FASTER", slower)
    assert compared.speedup("half", "reference").claim == "FASTER"  # type: ignore[union-attr]
    assert compared.speedup("half", "half") is None
    assert compared.fastest() == "half"


def test_a_wrong_side_is_said(compared: ComparisonResult) -> None:
    assert [side.right for side in compared.sides] == [True, True, False, True]
    assert "bad is wrong: case short: " in compared.sides[2].reason


def test_as_json_text_and_html(compared: ComparisonResult) -> None:
    data = json.loads(json.dumps(compared.to_json(), allow_nan=False))
    assert data["schema"] == SCHEMA
    assert ComparisonResult.from_json(data) == compared
    shown = comparison.text(compared)
    assert shown.startswith("half is faster than all others that are right")
    assert "bad is wrong" in shown
    page = comparison.html(compared)
    assert "<script" not in page
    assert "half is faster" in page


def test_a_claim_is_turned_round() -> None:
    assert inverted(Speedup(2.0, 1.6, 2.5, "FASTER")) == Speedup(0.5, 0.4, 0.625, "SLOWER")
    assert inverted(None) is None


@pytest.mark.parametrize(
    ("implementations", "message"),
    [
        ([SAME], "at least two implementations"),
        ({"a": SAME, "reference": SAME}, "called 'reference'"),
        (SAME, "got one text"),
        (["torch.compile", "torch.compile"], "are called 'torch.compile'"),
    ],
)
def test_what_cannot_be_compared(implementations: list[str], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        compare(implementations, REFERENCE, cases=CASES)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("ref.py", REFERENCE), ("a.py", SAME), ("b.py", TWICE_AS_FAST), ("cases.json", CASES)):
        (tmp_path / name).write_text(text)
    words = ["compare", "--reference", str(tmp_path / "ref.py"), "--cases", str(tmp_path / "cases.json"), "--budget", "0.5"]
    status = cli.main([*words, str(tmp_path / "a.py"), str(tmp_path / "b.py"), "--json", "-"])
    assert status == 0
    assert [side["label"] for side in json.loads(capsys.readouterr().out)["sides"]] == ["a.py", "b.py", "reference"]
