"""The magics in a real IPython shell. Implementations that are refused without being run need no target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from kbeval_jupyter.errors import KernelBenchError, RequestError
from kbeval_jupyter.model.result import EvaluationResult

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCE = """from torch import nn
import torch

class Model(nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.ones(4)]
"""
FUNCTIONAL = "def generate_input(n):\n    return n\ndef ref_kernel(x):\n    return x\n"
REFUSED = "class Fast: pass\n"  # no ModelNew: a verdict without running anything


class Shell:
    """Runs cells and keeps what they printed."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.ip = shell
        self.printed = ""

    def run(self, cell: str) -> Any:
        with capture_output() as captured:
            done = self.ip.run_cell(cell, store_history=True)
        self.printed = captured.stdout + captured.stderr
        error = done.error_before_exec or done.error_in_exec
        if error is not None:
            raise error
        return done.result


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shell]:
    monkeypatch.chdir(tmp_path)
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell = Shell(made)
    shell.run("%load_ext kbeval_jupyter")
    yield shell
    shell.run("%unload_ext kbeval_jupyter")
    InteractiveShell.clear_instance()


@pytest.fixture
def softmax(shell: Shell) -> Shell:
    shell.run(f"%%kernelref softmax\n{REFERENCE}")
    return shell


def test_a_reference_is_saved_and_its_format_named(softmax: Shell) -> None:
    assert softmax.printed == "saved reference softmax (kernelbench format)\n"
    softmax.run("%kernelbench problems")
    assert "softmax  kernelbench" in softmax.printed


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("%%kernelref\nx = 1", ["%%kernelref takes one name", "%%kernelref softmax"]),
        ("%%kernelref a b\nx = 1", ["takes one name", "'a b'"]),
        ("%%kernelref a\nx = (", ["line 2", "x = ("]),
        ("%%kernelref a\nclass Model: pass", ["no get_inputs", "found Model"]),
        ("%%kernelref a\ndef ref_kernel(x): pass", ["no generate_input", "found ref_kernel"]),
        ("%%kernelref a\nclass ModelNew: pass", ["ModelNew", "not a reference"]),
        ("%%kernelcases a\n[1, ", ["not JSON", "the cell", "expected a JSON list"]),
        ("%%kernelcases a\n[]", ["empty"]),
        ("%%kernelinputs a\ndef inputs(): pass", ["get_inputs", "found inputs"]),
        ("%%kernelbench\nx = 1", ["no reference is saved", "%%kernelref NAME"]),
        ("%%kernelbench --reff a\nx = 1", ["--reff", "did you mean '--ref'", "--stages"]),
        ("%%kernelbench --trials x\nx = 1", ["--trials", "'x'"]),
        ("%%kernelbench --stages compile,corectness --ref f.py\nx = 1", ["f.py"]),
        ("%%kernelbench --profile\nx = 1", ["--profile is not in this version", "--ref"]),
        ("%%kernelbench --name 'a\nx = 1", ["no closing quotation"]),
        ("%%kernelbench -o 3x\nx = 1", ["-o takes the name of a variable", "'3x'"]),
        ("%%kernelbench --impl k.py\nx = 1", ["the cell is the implementation"]),
        ("%kernelbench", ["--impl FILE", "%%kernelbench"]),
        ("%kernelbench hstory", ["unknown command 'hstory'", "did you mean 'history'", "targets"]),
        ("%kernelbench compare a b", ["unknown implementation 'a'", "or a file"]),
        ("%kernelbench show v1", ["nothing was evaluated"]),
        ("%kernelbench targets x", ["takes no arguments"]),
    ],
)
def test_a_wrong_request_is_one_line_that_helps(shell: Shell, cell: str, words: list[str]) -> None:
    with pytest.raises(KernelBenchError) as caught:
        shell.run(cell)
    for word in words:
        assert word in caught.value.message + caught.value.hint
    assert "\n" not in caught.value.message
    assert "Traceback" not in shell.printed


def test_the_only_saved_reference_is_the_default(softmax: Shell) -> None:
    result = softmax.run(f"%%kernelbench\n{REFUSED}")
    assert isinstance(result, EvaluationResult)
    assert result.problem == "softmax"
    softmax.run(f"%%kernelref other\n{REFERENCE}")
    with pytest.raises(RequestError, match="softmax, other"):
        softmax.run(f"%%kernelbench\n{REFUSED}")


def test_the_value_is_underscore_and_the_variable(softmax: Shell) -> None:
    result = softmax.run(f"%%kernelbench --ref softmax --name broken -o r\n{REFUSED}")
    assert result.verdict == "compile_failed"
    assert "no ModelNew; found Fast" in result.reason
    assert result.label == "broken"
    assert softmax.ip.user_ns["_"] is result
    assert softmax.ip.user_ns["r"] is result
    assert softmax.printed.count("COMPILE FAILED") == 1


def test_q_leaves_only_the_value(softmax: Shell) -> None:
    result = softmax.run(f"%%kernelbench -q -o r\n{REFUSED}")
    assert softmax.printed.startswith("Out[")
    assert softmax.ip.user_ns["r"] is result
    assert softmax.ip.user_ns["_"] is result


def test_variables_are_put_into_the_line_only(softmax: Shell) -> None:
    softmax.run("label = 'with space'; options = {'ref': 'softmax'}")
    result = softmax.run("%%kernelbench --ref {options['ref']} --name $label\nclass Fast:\n    text = '{label} $label'\n")
    assert result.label == "with space"
    with pytest.raises(RequestError, match=r"variables in '--name \{missing\}': NameError"):
        softmax.run(f"%%kernelbench --name {{missing}}\n{REFUSED}")


@pytest.mark.parametrize("outer", ["%%time", "%%capture captured"])
def test_it_works_inside_other_magics(softmax: Shell, outer: str) -> None:
    softmax.run(f"{outer}\n%%kernelbench --name inner -o r\n{REFUSED}")
    assert softmax.ip.user_ns["r"].label == "inner"


def test_it_works_in_a_function_and_in_an_if(softmax: Shell) -> None:
    softmax.ip.user_ns["body"] = REFUSED
    softmax.run("def go():\n    return get_ipython().run_cell_magic('kernelbench', '--name called', body)\nr = go()")
    assert softmax.ip.user_ns["r"].label == "called"
    Path("k.py").write_text(REFUSED)
    softmax.run("if True:\n    %kernelbench --impl k.py --name conditional -o c")
    assert softmax.ip.user_ns["c"].label == "conditional"


def test_files_as_implementation_reference_cases_and_inputs(shell: Shell) -> None:
    Path("k.py").write_text(REFUSED)
    Path("r.py").write_text(FUNCTIONAL)
    Path("c.json").write_text('[{"n": 1}]')
    result = shell.run("%kernelbench --impl k.py --ref r.py --cases c.json")
    assert (result.problem, result.format, result.verdict) == ("r", "functional", "compile_failed")
    with pytest.raises(RequestError, match=r"cannot read none\.py"):
        shell.run("%kernelbench --impl none.py --ref r.py --cases c.json")


def test_cases_and_inputs_saved_under_the_problems_name_are_used(shell: Shell) -> None:
    shell.run(f"%%kernelref sum\n{FUNCTIONAL}")
    with pytest.raises(RequestError, match="needs test cases"):
        shell.run(f"%%kernelbench\n{REFUSED}")
    shell.run('%%kernelcases sum\n[{"n": 1}, {"n": 2, "name": "two"}]')
    assert shell.printed == "saved 2 test cases for sum\n"
    shell.run("%%kernelinputs sum\ndef generate_input(n): return n")
    result = shell.run(f"%%kernelbench --dry-run\n{REFUSED}")
    plan = "\n".join(result.log_tail)
    assert "n=1, two" in plan
    assert "generate_input in inputs.py" in plan
    with pytest.raises(RequestError, match=r"unknown cases 'summ' \(did you mean 'sum'\?\)"):
        shell.run(f"%%kernelbench --cases summ\n{REFUSED}")


def test_a_dry_run_shows_the_plan_and_runs_nothing(softmax: Shell) -> None:
    result = softmax.run("%%kernelbench --dry-run --trials 7\nclass ModelNew: pass")
    assert result.verdict == "not_checked"
    assert "7 trials a case" in "\n".join(result.log_tail)
    softmax.run("%kernelbench history")
    assert softmax.printed == "nothing was evaluated in this session yet\n"


def test_history_and_show(softmax: Shell) -> None:
    for _ in range(2):
        softmax.run(f"%%kernelbench\n{REFUSED}")
    named = softmax.run(f"%%kernelbench --name best\n{REFUSED}")
    softmax.run("%kernelbench history")
    head, *rows = softmax.printed.splitlines()
    assert head.split() == ["#", "label", "problem", "target", "verdict", "speedup", "time", "id"]
    assert [row.split()[1] for row in rows] == ["v1", "v2", "best"]
    assert "compile failed" in rows[0]
    for key in ("best", named.id, "3"):
        assert softmax.run(f"%kernelbench show {key}") is named
        assert "COMPILE FAILED" in softmax.printed
    with pytest.raises(RequestError, match=r"unknown label or id 'bast'.*did you mean 'best'"):
        softmax.run("%kernelbench show bast")


def test_what_cannot_be_replayed_says_why(softmax: Shell) -> None:
    softmax.run(f"%%kernelbench\n{REFUSED}")
    with pytest.raises(RequestError, match="v1 has no trials to replay"):
        softmax.run("%kernelbench replay v1")


def test_targets_are_listed(shell: Shell) -> None:
    Path("kbeval.toml").write_text('[targets.mine]\nkind = "local"\n')
    shell.run("%kernelbench targets")
    assert "mine" in shell.printed
    assert "kbeval.toml" in shell.printed
    assert "built in" in shell.printed


def test_detaching_without_a_page_is_refused(softmax: Shell) -> None:
    with pytest.raises(RequestError, match="--detach needs a page"):
        softmax.run(f"%%kernelbench --detach\n{REFUSED}")


def test_help_shows_examples_options_and_commands(shell: Shell) -> None:
    text = shell.ip.find_cell_magic("kernelbench").__doc__ or ""
    for word in ("%%kernelbench --ref softmax --benchmark", "--build-timeout S", "-o VAR", "replay", "targets"):
        assert word in text


def test_loading_twice_and_unloading_leaves_one_of_everything(shell: Shell) -> None:
    before = len(shell.ip.input_transformers_post)
    shell.run("%reload_ext kbeval_jupyter")
    assert len(shell.ip.input_transformers_post) == before
    shell.run("%unload_ext kbeval_jupyter")
    assert len(shell.ip.input_transformers_post) == before - 1
    shell.run("%load_ext kbeval_jupyter")


def test_the_result_in_a_terminal_is_text(softmax: Shell) -> None:
    result = softmax.run(f"%%kernelbench\n{REFUSED}")
    bundle, _metadata = softmax.ip.display_formatter.format(result)
    assert bundle["text/plain"].startswith("✗ COMPILE FAILED")
    json.dumps(bundle)
