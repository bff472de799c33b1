from pathlib import Path

import pytest

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.problems import sidecars
from kbeval_jupyter.problems.sidecars import find_sidecars
from kbeval_jupyter.sources import from_path


def lay(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def found(root: Path, files: dict[str, str], *patterns: str, hidden: tuple[str, ...] = ()) -> set[str]:
    lay(root, files)
    result = find_sidecars(from_path(root / "main.py"), patterns, [root / name for name in hidden])
    return {str(path) for path in result.files}


@pytest.mark.parametrize(
    ("files", "travels"),
    [
        ({"main.py": "open('data.jsonl')", "data.jsonl": "", "other.jsonl": ""}, {"data.jsonl"}),
        ({"main.py": "open('data/x.bin')", "data/x.bin": "", "data/y.bin": ""}, {"data/x.bin"}),
        ({"main.py": "join('data', 'x.bin')", "data/x.bin": "", "data/y.bin": ""}, {"data/x.bin"}),
        ({"main.py": "import mine", "mine.py": "", "yours.py": ""}, {"mine.py"}),
        ({"main.py": "def f():\n    from mine import g", "mine.py": ""}, {"mine.py"}),
        ({"main.py": "import mine", "mine.py": "import deeper\nopen('t.txt')", "deeper.py": "", "t.txt": ""},
         {"mine.py", "deeper.py", "t.txt"}),
        ({"main.py": "from pack.sub import x", "pack/__init__.py": "", "pack/sub.py": "", "pack/header.cuh": ""},
         {"pack/__init__.py", "pack/sub.py", "pack/header.cuh"}),
        ({"main.py": "from pack import sub", "pack/sub.py": ""}, {"pack/sub.py"}),
        ({"main.py": "import mine", "mine.py": "import main"}, {"mine.py"}),
        ({"main.py": "load(sources=['k.cu'])", "k.cu": '#include "a.cuh"\n# include "b.cuh"', "a.cuh": "", "b.cuh": ""},
         {"k.cu", "a.cuh", "b.cuh"}),
        ({"main.py": "source = '''\n#include \"a.cuh\"\n'''", "a.cuh": ""}, {"a.cuh"}),
        ({"main.py": "open('.env'); open('/etc/hostname'); open('../x'); open('')", ".env": ""}, set()),
        ({"main.py": "import json, torch", "json.py": "", "torch/__init__.py": ""}, set()),
        ({"main.py": "x = 'data'", "data/big.bin": ""}, set()),
        ({"main.py": "syntax error here", "here": ""}, set()),
    ],
)  # fmt: skip
def test_what_travels(files: dict[str, str], travels: set[str], tmp_path: Path) -> None:
    assert found(tmp_path, files) == travels


def test_links_that_lead_out_do_not_travel(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    home = tmp_path / "home"
    home.mkdir()
    (home / "link.txt").symlink_to(tmp_path / "outside.txt")
    assert found(home, {"main.py": "open('link.txt')"}) == set()


def test_the_reference_never_travels_with_the_implementation(tmp_path: Path) -> None:
    lay(tmp_path, {"main.py": "from reference import Model", "reference.py": "import helper", "helper.py": ""})
    result = find_sidecars(from_path(tmp_path / "main.py"), hidden=[tmp_path / "reference.py"])
    assert result.files == {}
    assert "reference.py was not sent" in result.withheld[0]
    assert found(tmp_path, {"main.py": ""}, "*.py", hidden=("reference.py",)) == {"helper.py"}


def test_patterns_bring_files_and_folders(tmp_path: Path) -> None:
    files = {"main.py": "", "inc/a.h": "", "inc/deep/b.h": "", "inc/__pycache__/c.pyc": "", "notes.txt": ""}
    assert found(tmp_path, files, "inc") == {"inc/a.h", "inc/deep/b.h"}
    assert found(tmp_path, files, "**/*.h", "*.txt") == {"inc/a.h", "inc/deep/b.h", "notes.txt"}


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("*.cuh", "no such file"),
        ("../x", "must lie in"),
        ("/etc/passwd", "must lie in"),
        ("", "Unacceptable pattern"),
        ("**.cuh", "Invalid pattern"),
    ],
)
def test_patterns_that_are_refused(pattern: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=message):
        found(tmp_path, {"main.py": ""}, pattern)


def test_too_much_is_left_out_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sidecars, "BYTES_LIMIT", 10)
    lay(tmp_path, {"main.py": "open('big.bin'); open('small.txt')", "big.bin": "x" * 11, "small.txt": "x"})
    result = find_sidecars(from_path(tmp_path / "main.py"))
    assert {str(path) for path in result.files} == {"small.txt"}
    assert "big.bin" in result.unsent[0]
    with pytest.raises(RequestError, match=r"--files: big\.bin"):
        find_sidecars(from_path(tmp_path / "main.py"), ["big.bin"])
