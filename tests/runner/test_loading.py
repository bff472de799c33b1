import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from kbeval_jupyter.runner.usercode import failures
from kbeval_jupyter.runner.usercode.failures import UserCodeError
from kbeval_jupyter.runner.usercode.loading import load_module, take


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def module(folder: Path, text: str, name: str = "implementation.py") -> ModuleType:
    (folder / name).write_text(text)
    loaded: ModuleType = load_module(str(folder), name)
    return loaded


def caught(folder: Path, text: str) -> dict[str, str]:
    with pytest.raises(BaseException) as error:  # noqa: PT011 - SystemExit among them
        module(folder, text)
    return failures.describe(error.value, str(folder))


def test_real_file_that_can_be_inspected(tmp_path: Path) -> None:
    loaded = module(tmp_path, "def custom_kernel(x):\n    return x\n\nhere = __file__\n")
    assert inspect.getsource(loaded.custom_kernel) == "def custom_kernel(x):\n    return x\n"
    assert loaded.here == str(tmp_path / "implementation.py")
    assert sys.modules[loaded.__name__] is loaded


def test_helpers_and_packages_beside_it(tmp_path: Path) -> None:
    (tmp_path / "helper_of_test.py").write_text("value = 1\n")
    (tmp_path / "package_of_test").mkdir()
    (tmp_path / "package_of_test" / "__init__.py").write_text("from .inner import value\n")
    (tmp_path / "package_of_test" / "inner.py").write_text("value = 2\n")
    (tmp_path / "late_of_test.py").write_text("value = 3\n")
    text = "import helper_of_test, package_of_test\ndef late():\n    import late_of_test\n    return late_of_test.value\n"
    loaded = module(tmp_path, text + "total = helper_of_test.value + package_of_test.value\n")
    assert loaded.total == 3
    assert loaded.late() == 3
    assert sys.path[0] != str(tmp_path)


def test_same_file_name_on_both_sides(tmp_path: Path) -> None:
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
    left = module(tmp_path / "a", "side = 'a'\n")
    right = module(tmp_path / "b", "side = 'b'\n")
    assert (left.side, right.side) == ("a", "b")
    assert left.__name__ != right.__name__
    with pytest.raises(RuntimeError, match="already imported"):
        load_module(str(tmp_path / "a"), "implementation.py")


def test_main_guard_is_not_run_and_prints_are_fine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = module(tmp_path, "print('hello')\nran = False\nif __name__ == '__main__':\n    ran = True\n")
    assert loaded.ran is False
    assert capsys.readouterr().out == "hello\n"


def test_dataclasses_and_pickles_find_their_module(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass C:\n    x: int = 1\n"
    assert module(tmp_path, text).C().x == 1


def test_names_given_beforehand(tmp_path: Path) -> None:
    (tmp_path / "inputs.py").write_text("def get_inputs():\n    return N\n")
    assert load_module(str(tmp_path), "inputs.py", {"N": 5}).get_inputs() == 5


def test_missing_name_says_what_is_there(tmp_path: Path) -> None:
    loaded = module(tmp_path, "import torch\nfrom torch import nn\nclass Model(nn.Module): pass\ndef helper(): pass\n")
    with pytest.raises(UserCodeError, match=r"implementation.py: no ModelNew; found Model, helper"):
        take(loaded, "ModelNew", "implementation.py")
    loaded = module(tmp_path, "ModelNew = 3\n", "other.py")
    with pytest.raises(UserCodeError, match="ModelNew is a int, not a class or function"):
        take(loaded, "ModelNew", "other.py")
    with pytest.raises(UserCodeError, match="found no class or function"):
        take(loaded, "Nothing", "other.py")


def test_syntax_error_is_one_line(tmp_path: Path) -> None:
    found = caught(tmp_path, "import torch\n<custom_kernel_name_1>\n")
    assert found == {
        "kind": "syntax",
        "summary": "implementation.py, line 2: invalid syntax: <custom_kernel_name_1>",
        "traceback": "",
    }


def test_error_in_the_module_shows_the_users_frames(tmp_path: Path) -> None:
    found = caught(tmp_path, "def f():\n    raise ValueError('no')\n\nf()\n")
    assert found["kind"] == "raise"
    assert found["summary"] == "ValueError: no"
    lines = found["traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == '  File "implementation.py", line 4, in <module>'
    assert "loading.py" not in found["traceback"]
    assert str(tmp_path) not in found["traceback"]


def test_chained_errors_are_trimmed_too(tmp_path: Path) -> None:
    found = caught(tmp_path, "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e\n")
    assert "ZeroDivisionError" in found["traceback"]
    assert found["traceback"].count('File "implementation.py"') == 2


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import does_not_exist_xyz", "build"),
        ("raise RuntimeError('Error building extension \\'x\\': [1/2] c++ ...')", "build"),
        ("raise RuntimeError('size mismatch')", "raise"),
        ("raise SystemExit(0)", "raise"),
        ("raise KeyboardInterrupt", "raise"),
        ("class Evil(Exception):\n    def __str__(self): raise ValueError\nraise Evil", "raise"),
    ],
)
def test_kinds_of_failure(tmp_path: Path, text: str, kind: str) -> None:
    found = caught(tmp_path, text + "\n")
    assert found["kind"] == kind
    assert found["summary"]


def test_endless_message_is_cut(tmp_path: Path) -> None:
    found = caught(tmp_path, "raise ValueError('x' * 10_000_000)\n")
    assert len(found["traceback"]) < 40_000
    assert len(found["summary"]) <= 2000
