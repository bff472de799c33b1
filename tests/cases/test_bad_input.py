"""What bad input gets: what, where, what was expected, the valid choices; and nothing stays behind."""

import json
from pathlib import Path

import pytest

from kbeval_jupyter import evaluate
from kbeval_jupyter.errors import ConfigurationError, RequestError

REFERENCE = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.randn(8, 8)]

def get_init_inputs():
    return []
"""
GOOD = "from torch import nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n        return x + 1\n"
FUNCTIONAL = "import torch\ndef generate_input(n=4):\n    return torch.randn(n)\ndef ref_kernel(x):\n    return x + 1\n"
FUNCTIONAL_GOOD = "def custom_kernel(x):\n    return x + 1\n"


def forward(body: str, header: str = "import os, sys, signal, time, subprocess, torch") -> str:
    lines = "\n".join("        " + line for line in body.splitlines())
    return f"{header}\nfrom torch import nn\nclass ModelNew(nn.Module):\n    def forward(self, x):\n{lines}\n"


@pytest.mark.parametrize(
    ("implementation", "words"),
    [
        ("class Fast: pass\n", ["ModelNew", "Fast"]),
        ("def build():\n    class ModelNew: pass\n", ["ModelNew"]),
        (FUNCTIONAL_GOOD, ["ModelNew", "custom_kernel"]),
        ("x = (\n", ["line 1"]),
        ("import torch\nraise ValueError('no such luck')\nclass ModelNew: pass\n", ["no such luck", "line 2"]),
        ("import does_not_exist_xyz\nclass ModelNew: pass\n", ["does_not_exist_xyz"]),
        ("", ["ModelNew"]),
    ],
)
def test_implementation_that_cannot_be_loaded(implementation: str, words: list[str]) -> None:
    result = evaluate(implementation, REFERENCE)
    assert result.verdict == "compile_failed"
    everything = result.reason + "\n".join(result.log_tail)
    for word in words:
        assert word in everything


@pytest.mark.parametrize(
    "definition",
    [
        "ModelNew = Fast",
        "ModelNew: type = Fast",
        "if True:\n    ModelNew = Fast\nelse:\n    ModelNew = None",
        "try:\n    ModelNew = Fast\nexcept ImportError:\n    raise",
        "from mine import ModelNew",
        "from mine import Fast as ModelNew",
    ],
)
def test_definitions_that_count(definition: str, tmp_path: Path) -> None:
    body = GOOD.replace("ModelNew", "Fast")
    (tmp_path / "mine.py").write_text(body + "\nModelNew = Fast\n")
    (tmp_path / "impl.py").write_text((body if "mine" not in definition else "") + definition + "\n")
    result = evaluate(tmp_path / "impl.py", REFERENCE)
    assert result.verdict == "passed", result.reason


def test_other_format_says_what_to_type() -> None:
    result = evaluate(GOOD, FUNCTIONAL)
    assert result.verdict == "compile_failed"
    assert "custom_kernel" in result.reason
    assert "ModelNew" in result.reason
    with pytest.raises(RequestError, match=r"ref_kernel|Model"):
        evaluate(FUNCTIONAL_GOOD, "x = 1\n")


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (REFERENCE.replace("return [torch.randn(8, 8)]", "return [torch.randn(8, 'a')]"), ["get_inputs"]),
        (REFERENCE.replace("return x + 1", "return x + undefined_name"), ["undefined_name"]),
        (
            REFERENCE.replace("class Model(nn.Module):", "raise OSError('broken reference')\nclass Model(nn.Module):"),
            ["broken reference"],
        ),
        (REFERENCE.replace("return x + 1", "return x + torch.randn(()).item() * float(torch.seed() % 1000)"), ["differs"]),
    ],
)
def test_reference_that_fails(reference: str, words: list[str]) -> None:
    result = evaluate(GOOD, reference)
    assert result.verdict == "invalid_reference", result.reason
    for word in words:
        assert word in result.reason + "\n".join(result.log_tail)


@pytest.mark.parametrize(
    ("inputs", "word"),
    [
        ("return [torch.randn(8, 8), torch.randn(8, 8)]", "2"),
        ("return ['text']", "tensor"),
        ("return [torch.randn(8, 8).double()]", "float64"),
        ("return [torch.randn(8)]", "dim"),
        ("return [torch.randn(8, 8)", "line"),
    ],
)
def test_wrong_custom_inputs(inputs: str, word: str, tmp_path: Path) -> None:
    file = tmp_path / "inputs.py"
    file.write_text(f"import torch\ndef get_inputs():\n    {inputs}\n")
    with pytest.raises(RequestError) as caught:
        evaluate(GOOD, REFERENCE, inputs=file)
    assert word in caught.value.message + caught.value.hint
    assert "get_inputs" in caught.value.message or "inputs" in caught.value.message


@pytest.mark.parametrize("function", ["get_inputs", "get_init_inputs"])
def test_custom_inputs_that_fail_are_not_the_references_fault(function: str, tmp_path: Path) -> None:
    file = tmp_path / "inputs.py"
    file.write_text(f"def {function}():\n    raise ValueError('no such size')\n")
    with pytest.raises(RequestError) as caught:
        evaluate(GOOD, REFERENCE, inputs=file)
    assert caught.value.message == f"custom inputs: {function}() of inputs.py failed: ValueError: no such size"
    assert "line 2" in caught.value.hint


def test_custom_inputs_of_another_shape_are_used_and_mentioned(tmp_path: Path) -> None:
    file = tmp_path / "inputs.py"
    file.write_text("import torch\ndef get_inputs():\n    return [torch.randn(3, 5)]\n")
    result = evaluate(GOOD, REFERENCE, inputs=file)
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert result.correctness.cases[0].outputs[0].shape == [3, 5]
    assert any("3" in note.text and "5" in note.text and "8" in note.text for note in result.notes)


@pytest.mark.parametrize("cases", ["[]", "{", '{"n": 4}', '["a"]', "[1, 2]"])
def test_cases_that_cannot_be_used(cases: str, tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    file.write_text(cases)
    with pytest.raises(RequestError, match="case"):
        evaluate(FUNCTIONAL_GOOD, FUNCTIONAL, cases=file)


def test_case_with_an_argument_that_the_generator_does_not_have(tmp_path: Path) -> None:
    file = tmp_path / "cases.json"
    file.write_text(json.dumps([{"m": 4}]))
    with pytest.raises(RequestError, match="test case 1: unknown argument 'm'; generate_input takes n"):
        evaluate(FUNCTIONAL_GOOD, FUNCTIONAL, cases=file)


def test_unknown_names_list_the_valid_ones() -> None:
    with pytest.raises(RequestError, match=r"(?s)correctnes.*correctness"):
        evaluate(GOOD, REFERENCE, stages="compile,correctnes")
    with pytest.raises(RequestError, match=r"(?s)trails.*trials"):
        evaluate(GOOD, REFERENCE, trails=3)
    with pytest.raises(ConfigurationError, match=r"(?s)locale.*local"):
        evaluate(GOOD, REFERENCE, target="locale")


@pytest.mark.parametrize(
    ("body", "verdict", "word"),
    [
        ("raise ValueError('bad luck')", "crashed", "bad luck"),
        ("sys.exit(0)", "crashed", "SystemExit"),
        ("raise KeyboardInterrupt", "crashed", "KeyboardInterrupt"),
        ("os._exit(7)", "crashed", "7"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "crashed", "SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crashed", "SIGSEGV"),
        ("os.abort()", "crashed", "SIGABRT"),
        ("for fd in range(3, 256):\n    try: os.close(fd)\n    except OSError: pass\nreturn x + 1", "crashed", ""),
        ("return None", "incorrect", "None"),
        ("return x + 1, x", "incorrect", "tuple"),
        ("return (x + 1).double()", "incorrect", "float64"),
        ("return (x + 1)[:1]", "incorrect", "[1, 8]"),
        ("return (x + 1).numpy()", "incorrect", "ndarray"),
    ],
)
def test_implementation_that_misbehaves(body: str, verdict: str, word: str) -> None:
    result = evaluate(forward(body), REFERENCE)
    assert (result.verdict, result.passed) == (verdict, False), result.reason
    assert word in result.reason


def test_implementation_that_never_ends() -> None:
    result = evaluate(forward("while True: pass"), REFERENCE, timeout=2)
    assert result.verdict == "timed_out"
    assert "2" in result.reason


def test_changing_the_directory_is_harmless() -> None:
    result = evaluate(forward("os.chdir('/')\nreturn x + 1"), REFERENCE)
    assert result.verdict == "passed", result.reason


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "line = 'y' * 79 + '\\n'\nfor _ in range(200 << 20 >> 16): sys.stdout.write(line * 819)\nprint('the end')\nreturn x + 1",
        "print('z' * (50 << 20))\nprint('the end')\nreturn x + 1",
        "sys.stdout.flush(); os.write(1, bytes(range(256)) * 50)\nprint()\nprint('the end')\nreturn x + 1",
    ],
)
def test_floods_of_output(body: str) -> None:
    result = evaluate(forward(body), REFERENCE, trials=1)
    assert result.verdict == "passed", result.reason
    assert any("the end" in line for line in result.log_tail)
    json.dumps(result.to_json(), allow_nan=False)
    assert len(json.dumps(result.to_json())) < 300_000


def test_forked_children_do_not_stay() -> None:
    marker = "kbeval_stray_child_31337"
    argv = f"[sys.executable, '-c', 'import time; time.sleep(600)', {marker!r}]"
    body = f"subprocess.Popen({argv}, start_new_session=True)\nreturn x + 1"
    result = evaluate(forward(body), REFERENCE)
    assert result.verdict == "passed", result.reason
    left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if _contains(p, marker)]
    assert left == []


def _contains(path: Path, marker: str) -> bool:
    try:
        return marker.encode() in path.read_bytes()
    except OSError:
        return False


def test_run_directory_has_a_size_limit() -> None:
    body = "with open('big', 'wb') as f:\n    while True: f.write(bytes(1 << 20)); f.flush()"
    result = evaluate(forward(body), REFERENCE, limits={"run_dir_bytes": 32 << 20}, timeout=60)
    assert result.verdict == "crashed"
    assert "32" in result.reason


def test_read_only_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "ro"
    folder.mkdir()
    (folder / "kbeval_artifacts").write_text("a file where the folder should be")
    monkeypatch.chdir(folder)
    result = evaluate(GOOD.replace("x + 1", "x + 2"), REFERENCE)
    assert result.verdict == "incorrect"
    assert result.artifacts_dir.exists()
    assert folder not in result.artifacts_dir.parents
