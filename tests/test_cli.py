"""The command, in this process where nothing is signalled, else as its own."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its types are a package of their own
import nbformat.v4
import pytest

from kbeval_jupyter import __version__, evaluate
from kbeval_jupyter.cli import main
from kbeval_jupyter.model.result import MIME_TYPE
from kbeval_jupyter.model.schema import json_schema
from tests.test_api import ECHO, ENDLESS, GOOD, REFERENCE, WRONG

VALIDATOR = jsonschema.Draft202012Validator(json_schema())
COMMAND = [sys.executable, "-m", "kbeval_jupyter.cli"]
FUNCTIONAL = "import torch\ndef generate_input(n):\n    return torch.randn(n)\ndef ref_kernel(x):\n    return x * 2\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {"reference.py": REFERENCE, "good.py": GOOD, "wrong.py": WRONG, "echo.py": ECHO, "endless.py": ENDLESS}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str, implementation: str = "good.py") -> int:
    return main(["run", "--reference", "reference.py", "--impl", implementation, *words])


def valid(text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(text)
    VALIDATOR.validate(data)
    return data


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("implementation", "words", "status", "verdict"),
    [
        ("good.py", [], 0, "passed"),
        ("wrong.py", [], 1, "incorrect"),
        ("echo.py", [], 1, "compile_failed"),
        ("good.py", ["--stages", "compile"], 0, "not_checked"),
        ("wrong.py", ["--stages", "compile"], 0, "not_checked"),
        ("good.py", ["--dry-run"], 0, "not_checked"),
    ],
)
def test_verdicts(implementation: str, words: list[str], status: int, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "-", *words, implementation=implementation) == status
    data = valid(capsys.readouterr().out)
    assert data["verdict"] == verdict
    assert data["error"] is None


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["--trails", "3"], "request", "unknown option '--trails' (did you mean '--trials'?)"),
        (["--trials", "0"], "request", "--trials must be a whole number from 1 to 100000, got '0'"),
        (["--profile"], "request", "option --profile is not in this version"),
        (["--stages", "corectness"], "request", "unknown stage 'corectness' (did you mean 'correctness'?)"),
        (["--impl", "nope.py"], "request", "cannot read nope.py: No such file or directory"),
        (["--reference", "good.py"], "request", "good.py is an implementation (it defines ModelNew), not a reference"),
        (["--cases", "nope.json"], "request", "cannot read nope.json"),
        (["--target", "locale"], "configuration", "unknown target 'locale' (did you mean 'local'?)"),
        (["--events", "-"], "request", "--json and --events cannot both go to standard output"),
        (["--events", "no/folder/x"], "request", "--events no/folder/x: No such file or directory"),
    ],
)
def test_wrong_requests(words: list[str], kind: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "-", *words) == 2
    captured = capsys.readouterr()
    data = valid(captured.out)
    assert data["verdict"] == "error"
    assert data["error"]["kind"] == kind
    assert data["error"]["message"].startswith(message)
    assert captured.err.startswith(f"kbeval: {message}")
    assert "Traceback" not in captured.err


def test_a_target_that_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "kbeval.toml").write_text('[targets.local]\nkind = "local"\npython = "/bin/false"')
    assert run("--json", "result.json") == 3
    data = valid((folder / "result.json").read_text())
    assert data["verdict"] == "error"
    assert "/bin/false" in data["error"]["message"]
    assert data["target"]["name"] == "local"
    assert capsys.readouterr().err.startswith("kbeval: ")


def test_json_into_a_folder_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--json", "no/result.json") == 2
    assert f"there is no folder {folder / 'no'}" in capsys.readouterr().err


@pytest.mark.usefixtures("folder")
def test_text_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(implementation="wrong.py") == 1
    captured = capsys.readouterr()
    assert "INCORRECT" in captured.out
    assert "correctness failed" in captured.err
    assert run("--quiet", implementation="wrong.py") == 1
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert captured.err == ""


def test_events_as_lines(folder: Path) -> None:
    assert run("--events", "events.jsonl", "--quiet") == 0
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert (events[0]["kind"], events[-1]["kind"]) == ("started", "finished")


def test_dry_run_prints_the_plan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.cuh").write_text("")
    assert run("--dry-run", "--files", "*.cuh", "--name", "v1") == 0
    out = capsys.readouterr().out
    assert "label          v1" in out
    assert "implementation/mine.cuh, 0 bytes" in out


def test_functional_with_cases(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ref.py").write_text(FUNCTIONAL)
    (folder / "impl.py").write_text("def custom_kernel(x):\n    return x + x\n")
    (folder / "cases.json").write_text('[{"n": 3, "name": "small"}, {"n": 300}]')
    words = ["run", "--ref", "ref.py", "--impl", "impl.py", "--trials", "1", "--json", "-"]
    assert main([*words, "--cases", "cases.json"]) == 0
    data = valid(capsys.readouterr().out)
    assert [case["name"] for case in data["correctness"]["cases"]] == ["small", "n=300"]
    assert main(words) == 2
    assert "the problem needs test cases: generate_input takes n" in valid(capsys.readouterr().out)["reason"]


def test_cells_of_a_notebook(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = [f"%%kernelref add\n{REFERENCE}", f"%%kernelbench --name v1\n{GOOD}"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    (folder / "course.ipynb").write_text(nbformat.writes(notebook))
    assert main(["run", "--ref", "course.ipynb#add", "--impl", "course.ipynb#v1", "--json", "-"]) == 0
    assert valid(capsys.readouterr().out)["verdict"] == "passed"
    assert main(["run", "--ref", "course.ipynb#add", "--impl", "course.ipynb#v2"]) == 2
    assert "unknown cell 'v2'" in capsys.readouterr().err


def test_show_reads_saved_results_back(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = nbformat.v4.new_output("display_data", {MIME_TYPE: evaluate(ECHO, REFERENCE, name="first try").to_json()})
    cell = nbformat.v4.new_code_cell("%%kernelbench", outputs=[nbformat.v4.new_output("stream", text="x"), output])
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("text"), cell])
    (folder / "saved.ipynb").write_text(nbformat.writes(notebook))
    assert main(["show", "saved.ipynb"]) == 0
    out = capsys.readouterr().out
    assert "first try" in out
    assert "no ModelNew; found Model" in out
    output.data[MIME_TYPE]["verdict"] = "splendid"
    (folder / "saved.ipynb").write_text(nbformat.writes(notebook))
    assert main(["show", "saved.ipynb"]) == 2
    assert "saved.ipynb, cell 2: the saved result is damaged: verdict: expected one of passed" in capsys.readouterr().err
    assert main(["show", "reference.py"]) == 2
    assert "is not a notebook" in capsys.readouterr().err


def test_targets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "kbeval.toml").write_text('default = "cpu"\n[targets.cpu]\nkind = "local"\nvendor = "cpu"\ngpu_ids = [1]')
    assert main(["targets"]) == main(["targets", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["*", "cpu", "local", str(folder / "kbeval.toml")]
    assert lines[1].split() == ["local", "local", "built", "in"]
    assert main(["targets", "show"]) == 0
    assert "[targets.cpu]" in (out := capsys.readouterr().out)
    assert 'vendor = "cpu"' in out
    assert "gpu_ids = [1]" in out
    assert main(["targets", "show", "gpu"]) == 2
    (folder / "kbeval.toml").write_text("default = 3")
    assert main(["targets"]) == 2


@pytest.mark.parametrize(
    ("words", "status"), [(["--version"], 0), (["--help"], 0), ([], 2), (["rum"], 2), (["run"], 2), (["doctor", "x"], 2)]
)
def test_the_command_itself(words: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == status
    captured = capsys.readouterr()
    if words == ["--version"]:
        assert captured.out == f"kbeval {__version__}\n"
    elif words == ["rum"]:
        assert "did you mean 'run'?" in captured.err
    else:
        assert captured.out + captured.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_cancel_within_a_second(number: signal.Signals) -> None:
    words = ["run", "--reference", "reference.py", "--impl", "endless.py", "--json", "result.json", "--events", "-"]
    with subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert any('"kind": "log"' in line for line in process.stdout)
        begin = time.monotonic()
        process.send_signal(number)
        process.stdout.read()
        errors = process.stderr.read()
    assert process.returncode == 130
    assert time.monotonic() - begin < 2.0
    data = valid(Path("result.json").read_text())
    assert data["verdict"] == "cancelled"
    assert "kbeval: cancelled by interrupt\n" in errors


@pytest.mark.usefixtures("folder")
def test_a_reader_that_leaves_is_no_disaster() -> None:
    words = ["run", "--reference", "reference.py", "--impl", "good.py", "--events", "-"]
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0
    assert "Traceback" not in errors


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", ["", "--json -"])
def test_closed_streams_are_no_disaster(closed: str, words: str) -> None:
    command = f"'{sys.executable}' -m kbeval_jupyter.cli run --reference reference.py --impl good.py {words} {closed}"
    assert subprocess.run(command, shell=True, check=False).returncode == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("words", [["--json", "-"], []])
def test_standard_output_on_a_full_disk_is_said(words: list[str]) -> None:
    command = [*COMMAND, "run", "--reference", "reference.py", "--impl", "good.py", *words]
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert process.returncode == 2
    assert process.stderr.endswith("kbeval: standard output: No space left on device\n")


@pytest.mark.usefixtures("folder")
def test_a_terminal_without_unicode_gets_question_marks() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*COMMAND, "run", "--reference", "reference.py", "--impl", "wrong.py"]
    process = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert process.returncode == 1
    assert process.stdout.startswith("? INCORRECT")


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    command = f"cd '{tmp_path}/gone' && rmdir '{tmp_path}/gone' && '{sys.executable}' -m kbeval_jupyter.cli targets"
    process = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert process.returncode == 2
    assert process.stderr == "kbeval: the working directory was removed\n  change to a folder that exists\n"


@pytest.mark.parametrize("name", [b"gr\xc3\xb6\xc3\x9fe.py", b"gr\xff.py", b"two\nlines.py"])
def test_any_file_name_will_do(name: bytes, folder: Path) -> None:
    (folder / os.fsdecode(name)).write_bytes((folder / "good.py").read_bytes())
    words = ["run", "--reference", "reference.py", "--impl", os.fsdecode(name), "--name", os.fsdecode(name[:3])]
    command = [*COMMAND, *words, "--json", "result.json"]
    for environment in ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
        subprocess.run(command, check=True, capture_output=True, env={**os.environ, **environment})
        assert valid(Path("result.json").read_text())["label"] == name[:3].decode("utf-8", "replace")


@pytest.mark.usefixtures("folder")
def test_a_terminal_gets_a_bar() -> None:
    ours, theirs = pty.openpty()
    words = ["run", "--reference", "reference.py", "--impl", "endless.py", "--timeout", "1"]
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert process.wait(60) == 1
    assert b"\r\x1b[2K" in shown
    assert b"looping" in shown


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:  # Linux says EIO when the other side has gone
        return b""
