"""``--backend`` from the request to the result: refused before anything runs, accepted with what was found as notes."""

from pathlib import Path
from typing import Any

import pytest

from kbeval_jupyter import EvaluationResult, aevaluate, api, evaluate, sources
from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.options import build_request
from kbeval_jupyter.rendering.text import render
from kbeval_jupyter.running import Prepared

from .sources import line_of, read_cases

REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x

def get_inputs():
    return [torch.randn(8)]

def get_init_inputs():
    return []
"""
TORCH = "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.add(x, x)\n"
TRITON = read_cases("honest.txt")["triton: plain"].source


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def prepared(implementation: str, **options: Any) -> Prepared:
    reference = sources.from_value(REFERENCE, "reference")
    return api.prepare(build_request(sources.from_cell(implementation, "the cell"), reference, options))


def test_what_is_refused_is_not_run() -> None:
    result = evaluate(TORCH, REFERENCE, backend="triton")
    assert result.verdict == "compile_failed"
    assert result.reason == (
        "not a Triton implementation: ModelNew (line 3) reaches no Triton kernel; it uses torch.add (line 5)"
    )
    assert result.stages["compile"].status == "failed"
    assert result.target.device is None  # nothing was sent, so nothing is known of the device
    assert result.static is not None
    assert not result.static.is_backend
    assert [(finding.kind, finding.name, finding.line) for finding in result.static.findings] == [
        ("torch_operator", "torch.add", 5)
    ]
    assert EvaluationResult.from_json(result.to_json()) == result
    assert result.reason in render(result)


async def test_what_is_accepted_runs_and_says_what_it_is_made_of(anyio_backend: str) -> None:
    result = await aevaluate(TRITON, REFERENCE, backend="triton", trials=1)
    assert result.verdict == "passed", result.reason
    assert result.static is not None
    assert result.static.is_backend
    line = line_of(TRITON, "def double")
    assert [note.text for note in result.notes if note.code == "static_check"] == [
        f"static check: own kernels: double (line {line})"
    ]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


pytestmark = pytest.mark.anyio


def test_lines_are_those_of_the_cell() -> None:
    """The first line of a cell is its magic."""
    problem = prepared(TORCH, backend="cuda").problem
    assert problem.fault == "not a CUDA implementation: ModelNew (line 4) reaches no CUDA kernel; it uses torch.add (line 6)"


def test_notes_are_few_and_complete() -> None:
    more = "        out = torch.relu(out) @ x\n        out = torch.relu(out).half()\n        torch.cuda.Stream()\n"
    source = TRITON.replace("        return out", more + "        return out")
    notes = {note.code: note for note in prepared(source, backend="triton").problem.notes}
    kernel, first = line_of(source, "def double") + 1, line_of(source, "torch.relu") + 1
    assert notes["static_check"].text == (
        f"static check: own kernels: double (line {kernel}); "
        f"torch operators: @ (line {first}), torch.relu (lines {first}, {first + 1})"
    )
    assert notes["static_warnings"].level == "warning"
    assert notes["static_warnings"].text == (
        f"static check: converts to float16 (line {first + 1}), works on a stream of its own (line {first + 2})"
    )


def test_without_the_option_nothing_is_checked() -> None:
    problem = prepared(TORCH).problem
    assert problem.static is None
    assert problem.notes == []


def test_what_cannot_be_read_is_told_as_that() -> None:
    problem = prepared("class ModelNew(:\n    pass\n", backend="cuda").problem
    assert problem.fault.startswith("syntax error in the cell, line 2")
    assert problem.static is None


def test_files_that_travel_are_read(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(TRITON.replace("class ModelNew", "class Fast"))
    problem = prepared("from kernels import Fast as ModelNew\n", backend="triton").problem
    assert problem.fault == ""
    assert problem.static is not None
    assert [finding.file for finding in problem.static.findings] == ["kernels.py"]


def test_a_dry_run_says_it_too() -> None:
    result = evaluate(TORCH, REFERENCE, backend="hip", dry_run=True)
    assert result.verdict == "not_checked"
    assert result.reason.startswith("not a HIP implementation")


def test_unknown_backends_are_named_with_the_nearest() -> None:
    with pytest.raises(RequestError, match=r"unknown backend 'tritton' \(did you mean 'triton'\?\); valid: cuda, cute, cutlass"):
        evaluate(TORCH, REFERENCE, backend="tritton")
