"""The nursery with real forks: how workers start, stop, end, and that nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kbeval_jupyter.runner.supervision import families
from kbeval_jupyter.runner.supervision.nursery import SpawnError, SpawnRequest, WorkerProcess

from .nursery_process import NurseryProcess, ask

if TYPE_CHECKING:
    from collections.abc import Callable

    from .conftest import Spawn

FORK_CHILD = """
import os, time
result = os.fork()
if result == 0:
    while True:
        time.sleep(0.001)
"""
# The middle process ends: its child has no parent left.
DAEMON = """
import os, time
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(w, str(os.getpid()).encode())
        while True:
            time.sleep(0.001)
    os._exit(0)
os.wait()
result = int(os.read(r, 20))
"""


def until(condition: Callable[[], object], limit_s: float = 10.0) -> None:
    give_up = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < give_up, "the awaited event did not come"
        os.sched_yield()


def test_worker_answers_with_torch_already_imported(spawn: Spawn) -> None:
    worker = spawn()
    assert ask(worker, "import sys; result = 'torch' in sys.modules")
    assert ask(worker, "import torch; result = float(torch.ones(4).sum())") == 4.0


def test_output_of_both_streams_goes_to_one_pipe_in_order(nursery: NurseryProcess, spawn: Spawn) -> None:
    worker = spawn()
    ask(worker, "import os; os.write(1, b'one '); os.write(2, b'two '); os.write(1, b'three')")
    assert os.read(nursery.output, 100) == b"one two three"


def test_worker_is_pinned_and_cannot_be_given_missing_processors(spawn: Spawn) -> None:
    first = min(os.sched_getaffinity(0))
    assert ask(spawn(cpus=[first]), "import os; result = sorted(os.sched_getaffinity(0))") == [first]
    with pytest.raises(SpawnError, match=r"the processors \[4095\] cannot be used"):
        spawn(cpus=[4095])


def test_private_folder_is_home_temporary_and_working_folder(spawn: Spawn, tmp_path: Path) -> None:
    code = "import os, tempfile; result = [os.getcwd(), os.path.expanduser('~'), tempfile.gettempdir()]"
    assert ask(spawn(), code) == [str(tmp_path / "worker0")] * 3


def test_environment_is_built_from_nothing(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    variables = ask(spawn(environment={"CUDA_VISIBLE_DEVICES": "3"}), "import os; result = dict(os.environ)")
    assert variables["CUDA_VISIBLE_DEVICES"] == "3"
    assert variables["PATH"].split(":")[0] == str(Path(sys.executable).parent)
    assert "PYTEST_CURRENT_TEST" not in variables
    assert "XDG_CONFIG_HOME" not in variables


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "was killed by signal 11 (SIGSEGV)"),
        ("import ctypes; ctypes.string_at(8)", "was killed by signal 11 (SIGSEGV)"),
        ("import os; os.abort()", "was killed by signal 6 (SIGABRT)"),
        ("import os; os.kill(os.getpid(), 9)", "was killed by signal 9 (SIGKILL): out of memory?"),
        ("import os; os._exit(3)", "left with exit status 3"),
        ("import sys; sys.exit(4)", "left with exit status 4"),
        ("import sys; sys.exit('text')", "left with exit status 1"),
        ("raise KeyboardInterrupt", "left with exit status 1"),
    ],
)
def test_exit_reason(spawn: Spawn, code: str, reason: str) -> None:
    worker = spawn()
    with pytest.raises(EOFError):
        ask(worker, code)
    assert worker.exit_reason(10.0) == reason
    assert families.state(worker.pid) == "Z", "the process id must stay valid until the judge gives it back"
    worker.kill()
    assert families.state(worker.pid) == "X"
    assert worker.exit_reason(0.0) == reason


def test_exit_reason_of_the_living_and_of_the_killed(spawn: Spawn) -> None:
    worker = spawn()
    assert worker.exit_reason(0.0) == "is still running"
    worker.kill()
    assert worker.exit_reason(0.0) == "was ended by the judge"
    worker.kill()
    worker.stop()
    worker.resume()


def test_worker_leaves_when_the_judge_closes_its_socket(spawn: Spawn) -> None:
    worker = spawn()
    worker.sock.close()
    assert worker.exit_reason(10.0) == "left with exit status 0"


@pytest.mark.parametrize("start", [FORK_CHILD, DAEMON], ids=["child", "daemon"])
@pytest.mark.parametrize("hardening", ["basic", "full"])
def test_stop_and_resume_reach_everything_the_worker_started(spawn: Spawn, start: str, hardening: str) -> None:
    worker, other = spawn(hardening=hardening), spawn()
    child = ask(worker, start)
    worker.stop()
    assert [families.state(pid) for pid in (worker.pid, child)] == ["T", "T"]
    assert ask(other, "result = 1") == 1, "the other worker runs on"
    worker.resume()
    until(lambda: families.state(child) in "RS")
    assert ask(worker, "result = 2") == 2
    worker.kill()
    assert [families.state(pid) for pid in (worker.pid, child)] == ["X", "X"]
    assert ask(other, "result = 3") == 3


def test_stop_costs_microseconds_without_children(spawn: Spawn) -> None:
    worker = spawn()
    costs_us = []
    for _ in range(200):
        begin = time.perf_counter()
        worker.stop()
        costs_us.append((time.perf_counter() - begin) * 1e6)
        worker.resume()
    assert min(costs_us) < 200


def test_worker_that_forks_without_end_is_stopped_and_killed(spawn: Spawn) -> None:
    worker = spawn()
    # Every process of the chain forks the next and leaves; with short-lived siblings it never is the same one twice.
    ask(
        worker,
        """
import os, time
if os.fork() == 0:
    for _ in range(100000):
        if os.fork():
            os._exit(0)
        time.sleep(0.001)
""",
    )
    worker.stop()
    stopped = families.children(worker.pid)
    assert all(families.state(pid) in "TZ" for pid in stopped)
    worker.resume()
    worker.kill()
    assert families.state(worker.pid) == "X"


def test_process_that_made_itself_a_sibling_is_ended_too(nursery: NurseryProcess, spawn: Spawn) -> None:
    worker = spawn(hardening="basic")
    # CLONE_PARENT | SIGCHLD: the new process is the nursery's child, not the worker's.
    clone = "0x8011, 0, 0, 0, 0"
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    stray = ask(
        worker,
        f"""
import ctypes, time
result = ctypes.CDLL(None).syscall({number}, {clone})
if result == 0:
    while True:
        time.sleep(0.001)
""",
    )
    assert nursery.judge.strays() == [stray]
    worker.stop()
    assert families.state(stray) == "T"
    worker.kill()
    assert families.state(stray) == "X"


def test_full_hardening_with_a_missing_layer_is_an_error(spawn: Spawn) -> None:
    with pytest.raises(SpawnError, match=r"full isolation was asked for, but the layer 'landlock' is not available: too old"):
        spawn(hardening="full", left_out={"landlock": "too old"})


def test_spawn_error_when_the_private_folder_is_missing(nursery: NurseryProcess) -> None:
    with pytest.raises(SpawnError, match="the worker's folder /nowhere cannot be entered: No such file or directory"):
        nursery.judge.spawn(SpawnRequest("implementation", "/nowhere"))


def lonely_worker(nursery: NurseryProcess, folder: Path) -> tuple[WorkerProcess, int]:
    worker = nursery.judge.spawn(SpawnRequest("implementation", str(folder)))
    return worker, ask(worker, DAEMON)


def test_nothing_stays_when_the_judge_is_gone(tmp_path: Path) -> None:
    nursery = NurseryProcess()
    worker, daemon = lonely_worker(nursery, tmp_path)
    assert nursery.close() == 0
    assert [families.state(pid) for pid in (worker.pid, daemon)] == ["X", "X"]
    worker.sock.close()


def test_nothing_stays_when_the_nursery_is_told_to_leave(tmp_path: Path) -> None:
    nursery = NurseryProcess()
    worker, daemon = lonely_worker(nursery, tmp_path)
    nursery.process.send_signal(signal.SIGTERM)
    assert nursery.process.wait(timeout=20) == 0
    assert [families.state(pid) for pid in (worker.pid, daemon)] == ["X", "X"]
    worker.sock.close()
    nursery.close()


def test_a_killed_nursery_takes_its_workers_along(tmp_path: Path) -> None:
    nursery = NurseryProcess()
    worker = nursery.judge.spawn(SpawnRequest("implementation", str(tmp_path)))
    nursery.process.kill()
    nursery.process.wait(timeout=20)
    until(lambda: families.state(worker.pid) in "XZ")
    worker.sock.close()
    nursery.close()


def test_children_without_the_kernels_list(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        quick = families.children(os.getpid())
        monkeypatch.setattr(families, "_HAS_CHILDREN_FILE", False)
        assert child.pid in quick
        assert sorted(families.children(os.getpid())) == sorted(quick)
    finally:
        child.communicate()
