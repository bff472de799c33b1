import base64
import re
from pathlib import Path
from typing import Any

import pytest

from kbeval_jupyter import sources
from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.model.problem import Problem
from kbeval_jupyter.model.request import EvaluationRequest
from kbeval_jupyter.problems.loading import load
from kbeval_jupyter.runner import wire

KERNELBENCH = "class Model: pass\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
MODEL_NEW = "class ModelNew: pass\n"
FUNCTIONAL = "def ref_kernel(x): return x\ndef generate_input(n, seed=0): return n\n"
CUSTOM = "def custom_kernel(x): return x\n"


def request(implementation: Any, reference: Any, **fields: Any) -> EvaluationRequest:
    return EvaluationRequest(
        sources.from_value(implementation, "implementation"), sources.from_value(reference, "reference"), **fields
    )


def problem(implementation: Any, reference: Any, **fields: Any) -> Problem:
    return load(request(implementation, reference, **fields))


def content(loaded: Problem) -> dict[str, str]:
    return {f"{file.folder}/{file.path}": base64.b64decode(file.data).decode() for file in loaded.files}


def test_kernelbench() -> None:
    loaded = problem(MODEL_NEW, KERNELBENCH, problem_name="relu")
    assert loaded.fault == ""
    assert loaded.spec == wire.ProblemSpec(
        "kernelbench",
        "relu",
        wire.Entry("class", "reference.py", "Model"),
        wire.Entry("class", "implementation.py", "ModelNew"),
        "spread",
        "get_inputs",
        "get_init_inputs",
    )
    assert content(loaded) == {"reference/reference.py": KERNELBENCH, "implementation/implementation.py": MODEL_NEW}


def test_functional() -> None:
    reference = FUNCTIONAL + "def check_implementation(inputs, output): return True, ''\n"
    loaded = problem(CUSTOM, reference, cases=[{"n": 1, "name": "one"}, {"n": 2, "seed": 3}])
    assert loaded.fault == ""
    assert loaded.spec == wire.ProblemSpec(
        "functional",
        "reference",
        wire.Entry("function", "reference.py", "ref_kernel"),
        wire.Entry("function", "implementation.py", "custom_kernel"),
        "single",
        "generate_input",
        checker_function="check_implementation",
        cases=[wire.Case("one", {"n": 1}), wire.Case("n=2, seed=3", {"n": 2, "seed": 3})],
    )


def test_input_groups_stand_for_get_inputs() -> None:
    spec = problem(MODEL_NEW, "class Model: pass\ndef get_input_groups(): return []\n").spec
    assert (spec.input_groups_function, spec.init_inputs_function) == ("get_input_groups", None)


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        ("x = 1\n", "reference is no reference: it must define class Model.*, or ref_kernel.*; found x", ""),
        ("", "found nothing", ""),
        ("class Model: pass\n", "no get_inputs; found Model", "kernelbench reference defines"),
        ("def get_inputs(): pass\n", "no Model; found get_inputs", "kernelbench reference defines"),
        ("def ref_kernel(x): pass\n", "no generate_input; found ref_kernel", "functional reference defines"),
        (
            "def f():\n    class Model: pass\ndef get_inputs(): pass\n",
            r"no Model at the top level; the one in line 2 is inside",
            "",
        ),
        (MODEL_NEW, r"is an implementation \(it defines ModelNew\)", "--impl"),
        (CUSTOM, r"is an implementation \(it defines custom_kernel\)", "--impl"),
        (KERNELBENCH + FUNCTIONAL, "fits several formats", "--format kernelbench"),
        ("def f(:\n", r"syntax error in reference, line 1: .*: def f\(:", ""),
    ],
)
def test_references_that_are_refused(reference: str, message: str, hint: str) -> None:
    with pytest.raises(RequestError, match=message) as caught:
        problem(MODEL_NEW, reference)
    assert re.search(hint, caught.value.hint)


OTHER_WAY = "no {}; found {}. That is the {} format and the reference has the {} format: define {}, or give --ref a file with {}"
KERNELBENCH_FORM = "class Model(nn.Module), get_inputs() and get_init_inputs()"
FUNCTIONAL_FORM = "ref_kernel(inputs) and generate_input(**case)"
NESTED = "no ModelNew at the top level; the one in line 2 is inside another definition and does not count"


@pytest.mark.parametrize(
    ("implementation", "reference", "fault"),
    [
        ("class Model: pass\n", KERNELBENCH, "no ModelNew; found Model"),
        ("", KERNELBENCH, "no ModelNew; the source defines nothing"),
        ("import torch\n", KERNELBENCH, "no ModelNew; the source defines nothing"),
        ("def build():\n    class ModelNew: pass\n", KERNELBENCH, NESTED),
        (
            CUSTOM,
            KERNELBENCH,
            OTHER_WAY.format(
                "ModelNew", "custom_kernel", "functional", "kernelbench", "class ModelNew(nn.Module)", FUNCTIONAL_FORM
            ),
        ),
        (
            MODEL_NEW,
            FUNCTIONAL,
            OTHER_WAY.format(
                "custom_kernel", "ModelNew", "kernelbench", "functional", "def custom_kernel(inputs)", KERNELBENCH_FORM
            ),
        ),
        (
            "import torch\n<custom_kernel_name_1>\n",
            KERNELBENCH,
            "syntax error in implementation, line 2: invalid syntax: <custom_kernel_name_1>",
        ),
    ],
)
def test_a_wrong_implementation_is_data(implementation: str, reference: str, fault: str) -> None:
    cases = [{"n": 1}] if "ref_kernel" in reference else None
    assert problem(implementation, reference, cases=cases).fault == fault


def test_names_that_cannot_be_known_are_left_to_the_run() -> None:
    assert problem("from mine import *\n", KERNELBENCH).fault == ""


def test_the_format_can_be_forced() -> None:
    assert problem(CUSTOM, KERNELBENCH + FUNCTIONAL, format="functional", cases=[{"n": 1}]).spec.format == "functional"
    with pytest.raises(RequestError, match=r"unknown format 'functionel' .*did you mean 'functional'"):
        problem(CUSTOM, FUNCTIONAL, format="functionel")


@pytest.mark.parametrize(
    ("cases", "message"),
    [
        (None, "the problem needs test cases: generate_input takes n, seed"),
        ([{"m": 1}], "test case 1: unknown argument 'm'; generate_input takes n, seed"),
        ([{"n": 1}, {"seed": 1}], "test case 2: argument 'n' is missing"),
    ],
)
def test_cases_must_fit_generate_input(cases: Any, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        problem(CUSTOM, FUNCTIONAL, cases=cases)


def test_generators_with_defaults_or_keywords_need_no_certain_cases() -> None:
    assert problem(CUSTOM, "def ref_kernel(x): pass\ndef generate_input(n=4, *, m=1): pass\n").spec.cases == []
    loose = "def ref_kernel(x): pass\ndef generate_input(**case): pass\n"
    assert problem(CUSTOM, loose, cases=[{"anything": 1}]).fault == ""


def test_cases_do_not_belong_to_kernelbench() -> None:
    with pytest.raises(RequestError, match="kernelbench format"):
        problem(MODEL_NEW, KERNELBENCH, cases=[{"n": 1}])


def test_own_inputs_of_the_implementation_are_mentioned() -> None:
    notes = problem(MODEL_NEW + "def get_inputs(): return [1]\n", KERNELBENCH).notes
    assert [note.code for note in notes] == ["ignored_inputs"]
    assert "get_inputs" in notes[0].text


def test_custom_inputs_go_to_the_judges_side() -> None:
    inputs = sources.from_value("def get_inputs(): return [2]\ndef get_init_inputs(): return []\n", "inputs")
    loaded = problem(MODEL_NEW, "class Model: pass\ndef get_inputs(): return []\n", inputs=inputs)
    assert loaded.spec.inputs_module == "inputs.py"
    assert loaded.spec.init_inputs_function == "get_init_inputs"
    assert "reference/inputs.py" in content(loaded)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [("x = 1\n", "custom inputs: no get_inputs; found x"), ("def get_inputs(:\n", "syntax error in inputs, line 1")],
)
def test_custom_inputs_that_are_refused(inputs: str, message: str) -> None:
    with pytest.raises(RequestError, match=message):
        problem(MODEL_NEW, KERNELBENCH, inputs=sources.from_value(inputs, "inputs"))


def test_files_keep_their_names_and_bring_what_they_need(tmp_path: Path) -> None:
    (tmp_path / "relu.py").write_text(KERNELBENCH + "import shared\nopen('groups.jsonl')\n")
    (tmp_path / "fast.py").write_text("from shared import ModelNew\nfrom relu import Model\n")
    (tmp_path / "inputs.py").write_text("def get_inputs(): return []\n")
    for name in ("shared.py", "groups.jsonl", "k.cuh"):
        (tmp_path / name).write_text(name)
    inputs = sources.from_path(tmp_path / "inputs.py")
    loaded = problem(tmp_path / "fast.py", tmp_path / "relu.py", inputs=inputs, files=("*.cuh",))
    assert set(content(loaded)) == {
        "reference/relu.py", "reference/shared.py", "reference/groups.jsonl", "reference/inputs.py",
        "implementation/fast.py", "implementation/shared.py", "implementation/k.cuh",
    }  # fmt: skip
    assert (loaded.spec.reference.module, loaded.spec.implementation.module) == ("relu.py", "fast.py")
    assert loaded.spec.name == "relu"
    assert [note.code for note in loaded.notes] == ["file_left_out"]
    assert "relu.py was not sent with the implementation" in loaded.notes[0].text


def test_two_files_of_one_name(tmp_path: Path) -> None:
    for folder, text in (("a", KERNELBENCH), ("b", MODEL_NEW), ("c", "def get_inputs(): return []\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "kernel.py").write_text(text)
    inputs = sources.from_path(tmp_path / "c" / "kernel.py")
    loaded = problem(tmp_path / "b" / "kernel.py", tmp_path / "a" / "kernel.py", inputs=inputs)
    assert set(content(loaded)) == {"reference/kernel.py", "reference/custom_kernel.py", "implementation/kernel.py"}
    assert loaded.spec.inputs_module == "custom_kernel.py"
