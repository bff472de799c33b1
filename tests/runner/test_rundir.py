import os
import time
from pathlib import Path

import pytest

from kbeval_jupyter.runner.supervision import rundir


def made(root: Path, name: str, idle_s: float, kilobytes: int = 8) -> None:
    folder = root / f"run-{name}"
    folder.mkdir()
    (folder / "events.jsonl").write_bytes(b"x" * 1024 * kilobytes)
    at = time.time() - idle_s
    os.utime(folder / "events.jsonl", (at, at))


def left(root: Path) -> set[str]:
    rundir.remove_old(str(root))
    return {path.name.removeprefix("run-") for path in root.iterdir()}


def test_what_was_idle_for_a_day_goes(tmp_path: Path) -> None:
    made(tmp_path, "old", rundir.KEEP_S + 60)
    made(tmp_path, "young", rundir.KEEP_S - 60)
    (tmp_path / "else").mkdir()
    assert left(tmp_path) == {"young", "else"}


def test_the_oldest_go_where_all_are_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rundir, "KEEP_BYTES", 100 << 10)
    for hours in range(1, 5):
        made(tmp_path, f"{hours}h", 3600.0 * hours, kilobytes=40)
    made(tmp_path, "alive", 1.0, kilobytes=1)
    assert left(tmp_path) == {"alive", "1h", "2h"}
    made(tmp_path, "huge", 1.0, kilobytes=200)
    assert left(tmp_path) == {"alive", "huge"}, "one that may be alive stays whatever its size"
