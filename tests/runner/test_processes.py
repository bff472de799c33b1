"""The tree below a process, and its end; each in a child of its own, because it adopts and kills."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from kbeval_jupyter.runner.supervision import processes

TREE = """
import os, signal, subprocess, sys, time
from kbeval_jupyter.runner.supervision import processes
if {table}:
    processes._HAS_CHILDREN_FILE = False
processes.adopt_orphans()
read, write = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:  # an orphan soon, in a session of its own
                os.write(write, b"x")
                time.sleep(1000)
            os._exit(0)
        os.wait()
        os.write(write, b"x")
        time.sleep(1000)
for _ in range(6):
    os.read(read, 1)
before = processes.descendants(os.getpid())
assert len(before) == 6, before
assert all(processes.is_descendant(pid, os.getpid()) for pid in before)
done, codes = processes.end_descendants(5.0)
assert done
assert sorted(codes) == sorted(before), (codes, before)
assert set(codes.values()) == {{-9}}
assert processes.descendants(os.getpid()) == []
assert processes.end_descendants(5.0) == (True, {{}})
"""


@pytest.mark.parametrize("table", [False, True], ids=["kernel's lists", "all of /proc"])
def test_daemons_and_stubborn_processes_are_ended_and_reaped(table: Any) -> None:
    result = subprocess.run([sys.executable, "-c", TREE.format(table=table)], capture_output=True, timeout=30)
    assert (result.returncode, result.stderr) == (0, b"")


FORKING = """
import os, time
from kbeval_jupyter.runner.supervision import processes
processes.adopt_orphans()
if os.fork() == 0:
    while True:  # always one step ahead of whoever made a list
        if os.fork() != 0:
            os._exit(0)
time.sleep(0.05)
done, codes = processes.end_descendants(10.0)
assert done, codes
assert not processes.descendants(os.getpid())
"""


def test_a_process_that_forks_all_the_time_is_caught() -> None:
    result = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, timeout=30)
    assert (result.returncode, result.stderr) == (0, b"")


def test_relations() -> None:
    child = subprocess.Popen(["sleep", "1000"])
    try:
        assert processes.parent_of(child.pid) == os.getpid()
        assert child.pid in processes.descendants(os.getpid())
        assert processes.is_descendant(child.pid, os.getpid())
        assert not processes.is_descendant(os.getpid(), child.pid)
        assert not processes.is_descendant(os.getpid(), os.getpid())
    finally:
        child.kill()
        child.wait()
    assert processes.parent_of(child.pid) is None


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exited with status 0"),
        (139, "exited with status 139"),
        (-signal.SIGSEGV, "was killed by SIGSEGV"),
        (-99, "was killed by signal 99"),
    ],
)
def test_exit_reason(code: Any, words: Any) -> None:
    assert processes.exit_reason(code) == words
