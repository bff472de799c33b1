from pathlib import Path

import pytest

from kbeval_jupyter import artifacts


def test_beside_the_notebook_or_where_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert artifacts.make_folder("e1", None) == (tmp_path / "kbeval_artifacts" / "e1", None)
    assert artifacts.make_folder("e1", Path("out")) == (tmp_path / "out" / "e1", None)
    assert (tmp_path / "out" / "e1").is_dir()


def test_elsewhere_with_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kbeval_artifacts").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, note = artifacts.make_folder("e1", None)
    assert folder == tmp_path / "cache" / "kbeval" / "kbeval_artifacts" / "e1"
    assert folder.is_dir()
    assert note is not None
    assert (note.code, note.level) == ("artifacts_elsewhere", "warning")
    assert str(folder) in note.text


def test_in_the_temporary_folder_as_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kbeval_artifacts").write_text("a file")
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder, _ = artifacts.make_folder("e1", None)
    assert folder.is_dir()
    assert folder.parent.parent == tmp_path
