"""Whatever happens to judge and workers: one final event, no process, no text lost without a word."""

from __future__ import annotations

import base64
import itertools
import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kbeval_jupyter.runner import wire

from .link_client import LinkClient, make_plan, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

numbers = itertools.count()


@pytest.fixture(scope="module")
def link() -> Iterator[LinkClient]:
    with LinkClient() as client:
        yield client


def evaluate(link: LinkClient, judge: str, tmp_path: Path, **options: Any) -> list[dict[str, Any]]:
    plan = make_plan(f"s{next(numbers)}", judge, tmp_path, **options)
    link.run(plan)
    return link.events(plan.id)


def start(link: LinkClient, judge: str, tmp_path: Path, **options: Any) -> str:
    plan = make_plan(f"s{next(numbers)}", judge, tmp_path, **options)
    link.run(plan)
    return plan.id


def await_cleaned(run_dir: Path) -> None:
    """The final event does not wait for the removal; the control socket goes last."""
    deadline = time.monotonic() + 10
    while (run_dir / "control").exists():
        assert time.monotonic() < deadline


def gone(pids: list[int]) -> bool:
    """No such process, not even a zombie."""
    return not any(Path(f"/proc/{pid}").exists() for pid in pids)


def processes_with(marker: str) -> list[str]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if marker.encode() in (process / "cmdline").read_bytes() or marker in str((process / "cwd").readlink()):
                found.append(process.name)
        except OSError:
            continue
    return found


def test_events_are_numbered_stamped_and_come_after_what_was_printed_before_them(link: LinkClient, tmp_path: Path) -> None:
    judge = """
channel.emit(wire.StageStarted("compile", 1))
worker = spawn("print('from the worker')")
frames.receive(worker.sock)
print("from the judge")
channel.emit(wire.StageFinished("compile", "passed", 0.5))
channel.emit(wire.Finished("passed", "it passed", "c0ffee"))
"""
    events = evaluate(link, judge, tmp_path)
    assert [e["kind"] for e in events] == ["stage_started", "log", "log", "stage_finished", "finished"]
    assert [(e["source"], e["text"]) for e in events[1:3]] == [
        ("implementation", "from the worker\n"),
        ("judge", "from the judge\n"),
    ]
    assert events[-1] | {"seq": 0, "t": 0} == {
        "kind": "finished", "seq": 0, "t": 0, "verdict": "passed", "reason": "it passed", "input_secret": "c0ffee", "error": None,
    }  # fmt: skip
    times = [e["t"] for e in events]
    assert times == sorted(times)
    assert 0 <= times[0] < times[-1] < 60


def test_the_event_file_is_what_the_client_got_and_only_it_and_artifacts_stay(link: LinkClient, tmp_path: Path) -> None:
    judge = """
import os
os.mkdir(run_dir + "/private/1")
open(run_dir + "/private/1/secret", "w").close()
open(run_dir + "/artifacts/kept", "w").close()
channel.emit(wire.Finished("passed", ""))
"""
    events = evaluate(link, judge, tmp_path)
    (run_dir,) = tmp_path.glob("run-*")
    await_cleaned(run_dir)
    assert run_dir.stat().st_mode & 0o777 == 0o700
    assert [json.loads(line) for line in (run_dir / "events.jsonl").read_text().splitlines()] == events
    assert sorted(path.name for path in run_dir.iterdir()) == ["artifacts", "events.jsonl"]
    assert [path.name for path in (run_dir / "artifacts").iterdir()] == ["kept"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import os; os._exit(139)", "exited with status 139"),
        ("import os; os._exit(0)", "exited with status 0"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "was killed by SIGKILL"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "was killed by SIGSEGV"),
        ("1 / 0", "exited with status 1"),
        ("import sys; sys.exit(3)", "exited with status"),
    ],
)
def test_a_judge_that_dies_is_an_error_with_its_reason(link: LinkClient, tmp_path: Path, code: Any, words: Any) -> None:
    events = evaluate(link, "channel.emit(wire.StageStarted('compile'))\n" + code, tmp_path)
    stage, final = events[-2:]
    assert final["verdict"] == "error"
    assert final["error"]["kind"] == "judge_died"
    assert words in final["reason"]
    assert (stage["kind"], stage["status"]) == ("stage_finished", "failed")
    if code == "1 / 0":
        assert "ZeroDivisionError" in text_of(events, "judge")


def test_what_the_judge_said_last_is_taken_although_it_died_at_once(link: LinkClient, tmp_path: Path) -> None:
    judge = "channel.emit(wire.Finished('incorrect', 'all wrong'))\nimport os; os._exit(1)"
    assert evaluate(link, judge, tmp_path)[-1]["verdict"] == "incorrect"


def test_cancel_ends_everything_within_a_second(link: LinkClient, tmp_path: Path) -> None:
    judge = """
import os, time
worker = spawn('''
import os, subprocess, sys, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:  # a daemon
        print("daemon", os.getpid(), flush=True)
        os.execv("/bin/sleep", ["kbeval-test-marker", "1000"])
    os._exit(0)
print("worker", os.getpid(), flush=True)
time.sleep(1000)
''')
print("judge", os.getpid(), worker.pid, os.getppid(), nursery_pid := workers.pid)
frames.receive(worker.sock)
"""
    evaluation_id = start(link, judge, tmp_path)
    (run_dir,) = (Path(link.until("accepted", evaluation_id)["run_dir"]),)
    seen = ""
    while seen.count("\n") < 3:  # unbuffered, a line may come in pieces
        message = link.line()[1]
        seen += message.get("text", "")
    pids = [int(word) for word in seen.split() if word.isdigit()]
    assert len(pids) == 6
    assert processes_with(str(run_dir))
    asked = time.monotonic()
    link.send(op="cancel", id=evaluation_id)
    final = link.events(evaluation_id)[-1]
    assert time.monotonic() - asked < 1
    assert final["verdict"] == "cancelled"
    link.send(op="cancel", id=evaluation_id)  # once more: no harm
    while not gone(pids) or processes_with("kbeval-test-marker") or processes_with(str(run_dir)):
        assert time.monotonic() - asked < 1.5, (pids, processes_with("kbeval-test-marker"))


def test_a_flood_is_cut_at_the_budget_and_its_end_still_arrives(link: LinkClient, tmp_path: Path) -> None:
    judge = """
worker = spawn('''
import os
line = b"x" * 99 + b"\\\\n"
for _ in range(200):
    os.write(1, line * 1000)
print("the very last line")
''')
frames.receive(worker.sock)
channel.emit(wire.Finished("passed", ""))
"""
    limits = wire.Limits(log_bytes=1 << 20)
    events = evaluate(link, judge, tmp_path, limits=limits)
    text = text_of(events)
    assert text.endswith("the very last line\n")
    (note,) = [e for e in events if e["kind"] == "note"]
    assert note["code"] == "log_cut"
    written = 200 * 1000 * 100 + len("the very last line\n")
    assert len(text) + int(note["text"].split()[0]) == written
    assert len(text) <= (1 << 20) + (64 << 10)
    before = text_of(events[: events.index(note)])
    assert (1 << 20) - (1 << 18) <= len(before) <= 1 << 20


def test_one_line_of_50_mb_and_bytes_that_are_no_utf8(link: LinkClient, tmp_path: Path) -> None:
    judge = """
worker = spawn(r'''
import os
data = b"y" * (1 << 20)
for _ in range(50):
    os.write(1, data)
os.write(1, b"\\n")
os.write(1, "ä€".encode()[:3])
os.write(1, "ä€".encode()[3:] + b"\\xff\\xfe ok\\n")
''')
frames.receive(worker.sock)
channel.emit(wire.Finished("passed", ""))
"""
    first, second = text_of(evaluate(link, judge, tmp_path)).splitlines()
    assert first == "y" * (64 << 10) + f"… [{(50 << 20) - (64 << 10)} bytes cut]"
    assert second == "ä€\ufffd\ufffd ok"


def test_deadline_of_the_whole_evaluation(link: LinkClient, tmp_path: Path) -> None:
    final = evaluate(link, "import time; time.sleep(1000)", tmp_path, timeout_s=0.3)[-1]
    assert final["verdict"] == "timed_out"
    assert "0.3 s (--timeout)" in final["reason"]


def test_declared_deadlines_bring_their_verdict_unless_cleared(link: LinkClient, tmp_path: Path) -> None:
    judge = """
import time
channel.deadline("first", 0.05, "crashed", "never")
channel.clear_deadline("first")
time.sleep(0.2)
channel.deadline("build", 0.1, "compile_failed", "the build took too long")
time.sleep(1000)
"""
    final = evaluate(link, judge, tmp_path)[-1]
    assert (final["verdict"], final["reason"]) == ("compile_failed", "the build took too long")


def test_the_run_directory_has_a_limit(link: LinkClient, tmp_path: Path) -> None:
    judge = """
import os, time
for i in range(10):
    os.mkdir(f"{run_dir}/private/{i}")
    with open(f"{run_dir}/private/{i}/big", "wb") as f:
        f.write(os.urandom(1 << 20))
time.sleep(1000)
"""
    final = evaluate(link, judge, tmp_path, limits=wire.Limits(run_dir_bytes=5 << 20))[-1]
    assert final["verdict"] == "crashed"
    assert f"limit of {5 << 20} bytes" in final["reason"]


def test_a_hostile_tree_of_folders_is_removed(link: LinkClient, tmp_path: Path) -> None:
    judge = """
import os
os.chdir(run_dir + "/private")
for _ in range(1500):
    os.mkdir("d" * 20); os.chdir("d" * 20)
os.mkdir(run_dir + "/private/closed", 0)
os.symlink("/etc", run_dir + "/private/link")
channel.emit(wire.Finished("passed", ""))
"""
    evaluate(link, judge, tmp_path)
    (run_dir,) = tmp_path.glob("run-*")
    await_cleaned(run_dir)
    assert sorted(path.name for path in run_dir.iterdir()) == ["artifacts", "events.jsonl"]
    assert Path("/etc/passwd").exists()


def test_silence_is_broken_by_heartbeats(tmp_path: Path) -> None:
    judge = "import time; time.sleep(5.3); channel.emit(wire.Finished('passed', ''))"
    with LinkClient() as link:
        assert [e["kind"] for e in evaluate(link, judge, tmp_path)] == ["heartbeat", "finished"]


def test_the_client_is_killed_and_the_evaluation_ends(tmp_path: Path) -> None:
    judge = "import os, time; print('pids', os.getpid(), os.getppid(), 'end'); time.sleep(1000)"
    link = LinkClient()
    start(link, judge, tmp_path)
    pids = [int(word) for word in link.log_until("end").split() if word.isdigit()]
    link.process.kill()
    killed = time.monotonic()
    link.process.wait()
    link.stdin.close()
    link.stdout.close()
    while not gone(pids):
        assert time.monotonic() - killed < 2
    (run_dir,) = tmp_path.glob("run-*")
    final = json.loads((run_dir / "events.jsonl").read_text().splitlines()[-1])
    assert (final["verdict"], final["reason"]) == ("cancelled", "the client went away")


@pytest.mark.parametrize("path", ["../x.py", "/etc/x.py", "a//b", "a/./b", "", "a/../b", "a\0b"])
def test_files_with_unsafe_paths_are_refused(link: LinkClient, tmp_path: Path, path: Any) -> None:
    file = wire.PlanFile("implementation", path, "")
    evaluation_id = start(link, "", tmp_path, files=[file])
    error = link.until("failed", evaluation_id)["error"]
    assert error["kind"] == "request"
    assert "expected a relative path" in error["message"]


def test_files_are_laid_down_in_their_folders(link: LinkClient, tmp_path: Path) -> None:
    files = [
        wire.PlanFile("implementation", "pkg/deep/k.cu", base64.b64encode(b"\xff\x00").decode()),
        wire.PlanFile("reference", "r.py", base64.b64encode(b"R").decode()),
    ]
    judge = """
from pathlib import Path
assert Path(run_dir, "implementation/pkg/deep/k.cu").read_bytes() == b"\\xff\\x00"
assert Path(run_dir, "reference/r.py").read_bytes() == b"R"
channel.emit(wire.Finished("passed", ""))
"""
    assert evaluate(link, judge, tmp_path, files=files)[-1]["verdict"] == "passed"


def test_old_run_directories_are_removed_by_the_next_evaluation(link: LinkClient, tmp_path: Path) -> None:
    old = tmp_path / "run-0000000000000000"
    old.mkdir()
    (old / "events.jsonl").write_text("")
    other = tmp_path / "something-else"
    other.mkdir()
    for path in (old / "events.jsonl", old, other):
        os.utime(path, (0, 0))
    evaluate(link, "channel.emit(wire.Finished('passed', ''))", tmp_path)
    deadline = time.monotonic() + 5
    while old.exists():
        assert time.monotonic() < deadline
    assert other.exists()
