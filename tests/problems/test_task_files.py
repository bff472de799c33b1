"""A problem as GPU MODE lays it out: task.yml, reference.py and task.py in one folder, utils.py in the one above."""

import base64
from pathlib import Path

import pytest

from kbeval_jupyter import evaluate, sources
from kbeval_jupyter.model.problem import Problem
from kbeval_jupyter.model.request import EvaluationRequest
from kbeval_jupyter.problems.loading import load

TASK_YML = """
files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "task.py", "source": "task.py"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "eval.py", "source": "../eval.py"}
config:
  main: "eval.py"
tests:
  - {"rows": 3, "columns": 5, "scale": 0.5, "kind": gelu, "seed": 4242}
  - rows: 7; columns: 2; scale: 1e-1; kind: relu; seed: 17
benchmarks:
  - {"rows": 64, "columns": 64, "scale": 1.0, "kind": relu, "seed": 93}
"""
TASK_PY = (
    "from typing import TypeVar\nimport torch\ninput_t = TypeVar('input_t')\noutput_t = TypeVar('output_t', bound=torch.Tensor)\n"
)
UTILS_PY = """
import torch

def make_match_reference(reference, rtol, atol):
    def matches(data, output):
        good = torch.allclose(output, reference(data), rtol=rtol, atol=atol)
        return good, "" if good else "mismatch found"
    return matches
"""
REFERENCE_PY = """
import torch
from task import input_t, output_t
from utils import make_match_reference

def ref_kernel(data: input_t) -> output_t:
    x, kind, output = data
    output.copy_(getattr(torch.nn.functional, kind)(x))
    return output

def generate_input(rows: int, columns: int, scale: float, kind: str, seed: int) -> input_t:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(rows, columns, generator=generator) * scale
    return x, kind, torch.empty(rows, columns)

check_implementation = make_match_reference(ref_kernel, rtol=1e-4, atol=1e-4)
"""
SUBMISSION = """
import torch
from task import input_t, output_t
import utils

def custom_kernel(data: input_t) -> output_t:
    x, kind, output = data
    output[...] = x.clamp(min=0) if kind == "relu" else torch.nn.functional.gelu(x)
    return output
"""


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    folder = tmp_path / "activation_py"
    folder.mkdir()
    (tmp_path / "utils.py").write_text(UTILS_PY)
    (tmp_path / "eval.py").write_text("raise SystemExit('not ours')\n")
    for name, text in (("task.yml", TASK_YML), ("task.py", TASK_PY), ("reference.py", REFERENCE_PY)):
        (folder / name).write_text(text)
    return folder / "reference.py"


def problem(reference: Path, implementation: str = SUBMISSION) -> Problem:
    return load(EvaluationRequest(sources.from_value(implementation, "implementation"), sources.from_path(reference)))


def files(loaded: Problem) -> dict[str, str]:
    return {f"{file.folder}/{file.path}": base64.b64decode(file.data).decode() for file in loaded.files}


def test_helper_modules_travel_to_both_sides_and_the_answer_to_none(reference: Path) -> None:
    (reference.parent / "extra.py").write_text("from reference import ref_kernel\n")
    found = files(problem(reference, SUBMISSION + "import extra\nimport reference\n"))
    assert found == {
        "reference/reference.py": REFERENCE_PY,
        "reference/task.py": TASK_PY,
        "reference/utils.py": UTILS_PY,
        "implementation/implementation.py": SUBMISSION + "import extra\nimport reference\n",
        "implementation/task.py": TASK_PY,
        "implementation/utils.py": UTILS_PY,
    }


def test_a_module_of_the_implementation_comes_first(reference: Path, tmp_path: Path) -> None:
    own = tmp_path / "mine"
    own.mkdir()
    (own / "submission.py").write_text(SUBMISSION)
    (own / "utils.py").write_text("mine = True\n")
    request = EvaluationRequest(sources.from_path(own / "submission.py"), sources.from_path(reference))
    assert files(load(request))["implementation/utils.py"] == "mine = True\n"


def test_only_a_functional_problem_shares_its_modules(tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text("def forward(x): return x * 2\n")
    path = tmp_path / "reference.py"
    path.write_text("import answer\nclass Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n")
    assert "implementation/answer.py" not in files(problem(path, "import answer\nclass ModelNew: pass\n"))


def test_cases_of_the_task_are_used_and_said(reference: Path) -> None:
    loaded = problem(reference)
    assert [(case.name, case.checked, case.timed) for case in loaded.spec.cases] == [
        ("rows=3, columns=5, scale=0.5, kind=gelu, seed=4242", True, False),
        ("rows=7, columns=2, scale=0.1, kind=relu, seed=17", True, False),
        ("rows=64, columns=64, scale=1.0, kind=relu, seed=93", False, True),
    ]
    assert [note.text for note in loaded.notes] == ["cases from task.yml beside the reference: 2 tests and 1 benchmark"]


def test_given_cases_replace_those_of_the_task(reference: Path) -> None:
    given = [{"rows": 1, "columns": 1, "scale": 1, "kind": "relu", "seed": 0}]
    request = EvaluationRequest(sources.from_value(SUBMISSION, "implementation"), sources.from_path(reference), cases=given)
    assert len(load(request).spec.cases) == 1


def test_right_and_wrong_submissions_by_case(reference: Path) -> None:
    right = evaluate(SUBMISSION, reference)
    assert right.verdict == "passed", right.reason
    assert right.correctness is not None
    assert (right.correctness.cases_passed, right.correctness.cases_total) == (6, 6)
    assert "case_seeds" in {note.code for note in right.notes}
    wrong = evaluate(SUBMISSION.replace("torch.nn.functional.gelu(x)", "x"), reference)
    assert wrong.verdict == "incorrect"
    assert "check_implementation: mismatch found" in wrong.reason
    assert wrong.correctness is not None
    assert [case.status for case in wrong.correctness.cases] == ["failed"] * 3 + ["passed"] * 3


def test_what_is_timed_is_checked_once(reference: Path) -> None:
    body = SUBMISSION.replace("return output", "return output if x.shape[0] < 64 else output.fill_(1)")
    wrong = evaluate(body, reference, benchmark=True)
    assert wrong.verdict == "incorrect"
    assert wrong.correctness is not None
    assert (wrong.correctness.cases_passed, wrong.correctness.cases_total) == (6, 7)
    right = evaluate(SUBMISSION, reference, benchmark=True, budget=0.1)
    assert right.verdict == "passed", right.reason
    assert right.benchmark is not None
    assert [case.params["rows"] for case in right.benchmark.cases] == [64]


def test_seeds_of_cases_are_kept_for_public_inputs(reference: Path) -> None:
    body = SUBMISSION.replace("    x, kind", "    print('sum', data[0].sum().item())\n    x, kind")

    def first_sums(**options: bool) -> list[str]:
        return [line for line in evaluate(body, reference, trials=1, **options).log_tail if line.startswith("sum")]

    import torch

    public, public_again, secret = first_sums(public_inputs=True), first_sums(public_inputs=True), first_sums()
    assert public == public_again
    assert set(public).isdisjoint(secret)
    expected = torch.randn(7, 2, generator=torch.Generator().manual_seed(17)) * 0.1
    assert f"sum {expected.sum().item()}" in public
