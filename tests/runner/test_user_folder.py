from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kbeval_jupyter.runner.supervision import user_folder


def test_a_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    assert user_folder.checked_folder(str(path)) == str(path)
    assert path.stat().st_mode & 0o777 == 0o700
    user_folder.checked_folder(str(path))


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o777])
def test_a_folder_that_others_can_enter_is_refused(tmp_path: Path, mode: Any) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(user_folder.UnsafeFolderError, match=f"mode {mode:04o}"):
        user_folder.checked_folder(str(tmp_path))


def test_links_and_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").touch()
    for name in ("link", "file"):
        with pytest.raises(user_folder.UnsafeFolderError, match="is not a folder"):
            user_folder.checked_folder(str(tmp_path / name))


def test_a_socket_lies_in_the_runtime_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert user_folder.socket_path("x.sock") == str(tmp_path / "kbeval" / "x.sock")
    assert (tmp_path / "kbeval").is_dir()


def test_a_path_too_long_for_a_socket_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    monkeypatch.setenv("TMPDIR", str(deep))
    assert user_folder.socket_path("x.sock") == f"/tmp/kbeval-{os.geteuid()}/x.sock"
    with pytest.raises(user_folder.UnsafeFolderError, match="at most 107 bytes"):
        user_folder.socket_path("n" * 100)


def test_without_a_runtime_folder_the_temporary_one_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert Path(user_folder.socket_path("x.sock")).parent == tmp_path / f"kbeval-{os.geteuid()}"
