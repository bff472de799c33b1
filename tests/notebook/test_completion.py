"""Tab, asked for as IPython asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from kbeval_jupyter.notebook.argument_line import make_parser
from kbeval_jupyter.notebook.commands import NAMES
from kbeval_jupyter.planning import STAGES

if TYPE_CHECKING:
    from collections.abc import Iterator

VALID = {*make_parser()._option_string_actions, *NAMES, *STAGES, "h100", "h200", "local", "softmax", "sum", "best", "tf32"}
REFERENCE = "class Model: pass\ndef get_inputs(): return []\n"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    monkeypatch.chdir(tmp_path)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    made.run_line_magic("load_ext", "kbeval_jupyter")
    Path("kbeval.toml").write_text('default = "local"\n[targets.h100]\nkind = "local"\n[targets.h200]\nkind = "local"\n')
    made.run_cell_magic("kernelref", "softmax", REFERENCE)
    made.run_cell_magic("kernelref", "sum", REFERENCE)
    made.run_cell_magic("kernelbench", "-q --ref sum --name best", "x = 1\n")
    yield made
    made.run_line_magic("unload_ext", "kbeval_jupyter")
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%%kernelbench --ta", ["--target"]),
        ("%%kernelbench --target h", ["h100", "h200"]),
        ("%%kernelbench --target ", ["h100", "h200", "local"]),
        ("%%kernelbench --ref s", ["softmax", "sum"]),
        ("%%kernelbench --ref softmax --benchmark --tr", ["--trials"]),
        ("%%kernelbench --benchmark --be", []),
        ("%%kernelbench --precision t", ["tf32"]),
        ("%%kernelbench --stages c", ["compile", "correctness"]),
        ("%%kernelbench --stages compile,c", ["compile,correctness"]),
        ("%%kernelbench --name b", ["best"]),
        ("%%kernelref so", ["softmax"]),
        ("%kernelbench h", ["history"]),
        ("%kernelbench show b", ["best"]),
        ("%kernelbench --im", ["--impl"]),
    ],
)
def test_what_may_follow(shell: InteractiveShell, text: str, expected: list[str]) -> None:
    assert completed(shell, text) == expected


def test_on_the_first_line_of_a_longer_cell(shell: InteractiveShell) -> None:
    assert completed(shell, "%%kernelbench --target h", "\nclass ModelNew:\n    pass\n") == ["h100", "h200"]


def test_a_broken_configuration_is_no_reason_to_fail(shell: InteractiveShell) -> None:
    Path("kbeval.toml").write_text("not toml")
    assert completed(shell, "%%kernelbench --target ") == []
    assert completed(shell, "%%kernelbench --ref so") == ["softmax"]


def completed(shell: InteractiveShell, text: str, rest: str = "") -> list[str]:
    """The last word of the line with each completion, as a kernel asks for them; Python's own names and files are left out."""
    with provisionalcompleter():
        found = [text[: c.start] + c.text for c in shell.Completer.completions(text + rest, len(text))]
    words = [line.rsplit(maxsplit=1)[-1] for line in found]
    return sorted(
        word for word in words if not word.startswith("%") and set(word.split(",")) <= VALID and word != "compile,compile"
    )
