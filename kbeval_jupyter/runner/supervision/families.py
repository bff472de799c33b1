"""A worker and every process that it started: freeze, thaw and end them together.

Freezing happens around every timed call of the other side, so it must cost microseconds: children are read from
/proc/PID/task/TID/children, and only a kernel without that file makes us look through all processes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Iterable, List, Set

from . import processes

_HAS_CHILDREN_FILE = os.path.exists("/proc/thread-self/children")
# On a busy machine a process waits for a processor before it can stop.
_STOP_LIMIT_S = 0.5
# In an uninterruptible call (a driver; vfork, whose child is frozen) it stops when it comes back, and cannot fork before.
_UNINTERRUPTIBLE_LIMIT_S = 0.02


def children(pid: int) -> List[int]:
    """The children of ``pid``, those of all its threads, zombies included; none where there is no such process."""
    if not _HAS_CHILDREN_FILE:
        return [child for child in processes.descendants(pid) if processes.parent_of(child) == pid]
    found: List[int] = []
    folder = f"/proc/{pid}/task"
    try:
        for thread in os.listdir(folder):
            found += map(int, _read(f"{folder}/{thread}/children").split())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        pass  # gone, or hidden from us (hidepid)
    return found


def freeze(pids: Iterable[int]) -> List[int]:
    """Stop ``pids`` and everything below them; gives the stopped ones, parents first. The pids must be held by a parent of ours.

    Parents stop before their children are listed, and the list is made again until nothing new appears: a process that
    forks at this moment cannot slip through.
    """
    stopped: List[int] = []
    known: Set[int] = set()
    fresh = list(pids)
    while fresh:
        known.update(fresh)
        fresh = [pid for pid in fresh if send(pid, signal.SIGSTOP)]
        for pid in fresh:
            _wait_until_stopped(pid)
        stopped += fresh
        # Of all of them again: an orphan is listed under its new parent.
        fresh = [child for pid in stopped for child in children(pid) if child not in known]
    return stopped


def thaw(stopped: List[int]) -> None:
    """Let what ``freeze`` stopped go on."""
    for pid in reversed(stopped):
        send(pid, signal.SIGCONT)


def send(pid: int, number: int) -> bool:
    """Send a signal; whether there was such a process."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
        return True
    return False


def state(pid: int) -> str:
    """The kernel's letter for what ``pid`` does: R, S, D, T (stopped), Z (ended); "X" where there is no such process."""
    try:
        text = _read(f"/proc/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return "X"
    return text[text.rindex(b")") + 2 : text.rindex(b")") + 3].decode()


def _wait_until_stopped(pid: int) -> None:
    # Or until it ended: then its children have their new parent, under which they are found.
    begin = time.monotonic()
    while (letter := state(pid)) not in "TtZX":
        if time.monotonic() - begin > (_UNINTERRUPTIBLE_LIMIT_S if letter == "D" else _STOP_LIMIT_S):
            break
        os.sched_yield()


def _read(path: str) -> bytes:
    # Twice as fast as open(): this is on the path of every timed call.
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, 1 << 16)
        if len(data) < 1 << 12:
            return data
        while piece := os.read(fd, 1 << 16):
            data += piece
        return data
    finally:
        os.close(fd)
