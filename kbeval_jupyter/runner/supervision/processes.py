"""Processes as the kernel sees them: the tree below one of them, its end, and the few prctl calls that we need."""

from __future__ import annotations

import collections
import contextlib
import ctypes
import os
import signal
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_HAS_CHILDREN_FILE = os.path.exists("/proc/thread-self/children")

_libc = ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """Have this process sent a signal when its parent ends."""
    _prctl(_PR_SET_PDEATHSIG, number)


def hide_memory() -> None:
    """Close this process's memory and descriptors to others of the same user (no ptrace, no /proc/PID/mem)."""
    _prctl(_PR_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none can slip away."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def set_name(name: str) -> None:
    """Name this process (at most 15 bytes) for ps and top."""
    _libc.prctl(_PR_SET_NAME, ctypes.c_char_p(name.encode()), 0, 0, 0)


def parent_of(pid: int) -> int | None:
    """The parent's process id, or None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            text = stat.read()
    except OSError:
        return None
    # The name stands in parentheses and may hold anything, blanks and parentheses included.
    return int(text[text.rindex(b")") + 2 :].split()[1])


def is_descendant(pid: int, ancestor: int) -> bool:
    """Whether ``pid`` lies below ``ancestor``."""
    current: int | None = pid
    while current and current != ancestor:
        current = parent_of(current)
    return current == ancestor and pid != ancestor


def descendants(root: int) -> list[int]:
    """Every process below ``root``, zombies included, parents before their children."""
    children_of = _listed_children if _HAS_CHILDREN_FILE else _table_of_children().__getitem__
    found = [root]
    for pid in found:
        found.extend(children_of(pid))
    return found[1:]


def _listed_children(pid: int) -> list[int]:
    """From the kernel's own lists, one per thread: much quicker than to look through all processes."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # gone meanwhile
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as children:
                found.extend(map(int, children.read().split()))
    return found


def _table_of_children() -> dict[int, list[int]]:
    children: dict[int, list[int]] = collections.defaultdict(list)
    for name in os.listdir("/proc"):
        parent = parent_of(int(name)) if name.isdigit() else None
        if parent is not None:
            children[parent].append(int(name))
    return children


def reap() -> dict[int, int]:
    """Collect children that have ended: process id -> exit status as ``waitstatus_to_exitcode`` gives it."""
    ended = {}
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            ended[pid] = os.waitstatus_to_exitcode(status)
    return ended


def end_descendants(limit_s: float) -> tuple[bool, dict[int, int]]:
    """Kill and reap everything below this process, which must adopt orphans. Whether none is left, and the exit codes seen."""
    codes: dict[int, int] = {}
    give_up = time.monotonic() + limit_s
    while True:
        # Again and again: a process may have forked after the list was made.
        for pid in descendants(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for _ in range(20):
            codes.update(reap())
            if not _has_children():
                return True, codes
            time.sleep(0.0005)
        if time.monotonic() > give_up:
            return False, codes


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def exit_reason(code: int) -> str:
    """Words for an exit code: "was killed by SIGSEGV", "exited with status 3"."""
    if code >= 0:
        return f"exited with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
