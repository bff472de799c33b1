"""``--vs`` and ``%kernelbench compare`` over what was evaluated before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kbeval_jupyter import ComparisonResult
from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.model.request import TORCH_COMPILE
from tests.runner.test_comparison import CASES, REFERENCE, SAME, TWICE_AS_FAST
from tests.test_magics import Shell, shell

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["shell"]


@pytest.fixture
def evaluated(shell: Shell) -> Shell:
    shell.run(f"%%kernelref work\n{REFERENCE}")
    shell.run(f"%%kernelcases work\n{CASES}")
    shell.run(f"%%kernelbench -q --trials 1\n{SAME}")
    return shell


def test_vs_a_label_then_compare(evaluated: Shell) -> None:
    result = evaluated.run(f"%%kernelbench -q --trials 1 --vs v1 --budget 0.5\n{TWICE_AS_FAST}")
    assert (result.comparison.baseline, result.comparison.claim) == ("v1", "FASTER")
    compared = evaluated.run("%kernelbench compare v1 v2 --budget 0.5")
    assert isinstance(compared, ComparisonResult)
    assert compared.labels == ["v1", "v2", "reference"]
    assert compared.speedup("v2", "v1").claim == "FASTER"  # type: ignore[union-attr]
    assert "v2 is faster than all others" in evaluated.printed


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%kernelbench compare v1", "at least two implementations"),
        ("%kernelbench compare v1 v9", rf"unknown implementation 'v9'.*valid: {TORCH_COMPILE}, v1, or a file"),
        ("%kernelbench compare v1 v1", "two sides of the comparison are called 'v1'"),
        ("%kernelbench compare v1 other.py --budget 0", "--budget must be a number of seconds above 0"),
    ],
)
def test_what_cannot_be_compared(evaluated: Shell, line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text(SAME)
    with pytest.raises(RequestError, match=message):
        evaluated.run(line)


def test_only_one_problem_at_a_time(evaluated: Shell) -> None:
    evaluated.run(f"%%kernelref other\n{REFERENCE}\n")
    evaluated.run(f"%%kernelbench -q --ref other --stages compile --cases work\n{SAME}")
    with pytest.raises(RequestError, match="v2 is not of the same problem as v1"):
        evaluated.run("%kernelbench compare v1 v2")
