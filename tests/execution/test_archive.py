from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from kbeval_jupyter.execution import archive

if TYPE_CHECKING:
    import pytest


def test_the_same_sources_give_the_same_bytes_and_name() -> None:
    first = archive.pack(archive.sources(), "main")
    again = archive.pack(dict(reversed(archive.sources().items())), "main")
    assert (first.name, first.data) == (again.name, again.data)
    assert archive.pack(archive.sources() | {"more.py": b""}, "main").name != first.name


def test_every_source_is_python_3_9_and_imports_only_itself_the_standard_library_and_torch() -> None:
    allowed = {*sys.stdlib_module_names, "torch"}
    for path, source in archive.sources().items():
        tree = ast.parse(source, path, feature_version=(3, 9))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                assert {name.name.split(".")[0] for name in node.names} <= allowed, path
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert (node.module or "").split(".")[0] in allowed, path


def test_it_runs_outside_of_any_environment(tmp_path: Path) -> None:
    path = tmp_path / archive.build().name
    path.write_bytes(archive.build().data)
    result = subprocess.run(
        [os.path.realpath(sys.executable), "-I", "-S", path, "link"],
        input=b"", capture_output=True, cwd=tmp_path, env={}, check=True,
    )  # fmt: skip
    dash, _, hello = result.stdout.partition(b" ")
    assert dash == b"-"
    assert json.loads(hello)["runner"] == archive.build().runner
    assert result.stderr == b""


def test_a_link_imports_nothing_heavy() -> None:
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", archive.cached(archive.build()), "link"],
        input=b"", capture_output=True, check=True,
    )  # fmt: skip
    modules = {line.rpartition("|")[2].strip() for line in result.stderr.decode().splitlines()}
    assert "kbeval_runner.supervision.link" in modules
    assert not {"torch", "numpy", "typing", "dataclasses", "ctypes", "subprocess", "asyncio", "tempfile"} & modules


def test_wrong_arguments_get_the_usage(tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, archive.cached(archive.build()), "what"], capture_output=True)
    assert result.returncode == 2
    assert b"usage: kbeval-runner link" in result.stderr


def test_it_holds_all_sources() -> None:
    with zipfile.ZipFile(io.BytesIO(archive.build().data)) as content:
        names = set(content.namelist())
    assert {"__main__.py", "kbeval_runner/supervision/link.py", "kbeval_runner/isolation/__init__.py"} <= names
    assert all(name.endswith(".py") for name in names)


def test_the_cached_file_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    built = archive.build()
    path = archive.cached(built)
    assert tmp_path in path.parents
    before = path.stat().st_ino
    assert archive.cached(built).stat().st_ino == before
    assert path.read_bytes() == built.data


def test_a_cache_folder_that_cannot_be_made_is_replaced_by_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "below"))
    path = archive.cached(archive.build())
    assert path.read_bytes() == archive.build().data
    assert path.parent == Path(f"/tmp/kbeval-{os.geteuid()}")
