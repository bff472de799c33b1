from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.runner import wire
from kbeval_jupyter.runner.supervision.event_file import EventFile

if TYPE_CHECKING:
    from pathlib import Path


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]


def test_events_are_numbered_stamped_and_strict_json(tmp_path: Path) -> None:
    file = EventFile(str(tmp_path), time.monotonic() - 10)
    file.append("note", wire.event_fields(wire.Note("code", "ä\n\ud800")))
    file.append("progress", wire.event_fields(wire.Progress("compile", float("nan"), float("inf"))))
    file.close()
    first, second = lines(tmp_path)
    assert list(first) == ["kind", "seq", "t", "code", "text", "level"]
    assert first["text"] == "ä\n?"  # half a surrogate pair is no character
    assert (first["seq"], second["seq"]) == (0, 1)
    assert 10 <= first["t"] <= second["t"] < 20
    assert (second["done"], second["total"]) == (None, None)


FULL = """
import resource, signal, sys, time
from kbeval_jupyter.runner.supervision.event_file import EventFile
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
file = EventFile(sys.argv[1], time.monotonic())
file.append("small", {})
try:
    file.append("large", {"text": "x" * 1000})
except OSError:
    file.append("last", {})
"""


def test_a_full_disk_leaves_whole_lines_and_room_for_a_shorter_event(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=True)
    assert [(event["kind"], event["seq"]) for event in lines(tmp_path)] == [("small", 0), ("last", 1)]
