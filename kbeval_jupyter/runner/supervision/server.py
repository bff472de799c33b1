"""The warm server: has imported torch, and forks. It neither accepts nor reads, so no request is ever in its memory."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from typing import TYPE_CHECKING, Callable

from . import huge_pages, processes, standby

if TYPE_CHECKING:
    from .offspring import Parts

_IDLE_S = "KBEVAL_SERVER_IDLE_S"
_DEFAULT_IDLE_S = 300.0
_RETRY_S = 0.5
_QUIET_S = 0.5
_TRACEBACK_CHARACTERS = 4000


def serve(path: str, ready_fd: int, load_parts: Callable[[], Parts]) -> None:
    """Listen at ``path`` until idle; one line on ``ready_fd`` says when that works, or why it does not.

    ``load_parts`` imports the programs of an evaluation and returns them as ``Parts``.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # the link ignores it, and that is inherited
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two links may have started a server at the same time
        if _served(path):
            _tell(ready_fd, {"ready": True})
            return
        error = _import_torch()
        if error is not None:
            _tell(ready_fd, {"error": error})
            return
        parts = load_parts()
        with contextlib.suppress(ImportError):  # torch imports it when first seeded: not in every evaluation anew
            importlib.import_module("numpy.random")
        listener = _listen(path)
    processes.set_name("kbeval-server")
    heap = huge_pages.heap_areas()  # asked now: soon the list is hidden from ourselves too
    processes.hide_memory()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: the system reaps supervisors
    gc.collect()
    gc.freeze()  # children must not touch, and so copy, every page that holds objects
    _tell(ready_fd, {"ready": True})
    _keep_standby(listener, path, parts, heap)


def _served(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            return False
    return True


def _listen(path: str) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a server that was killed
    listener = socket.socket(socket.AF_UNIX)
    previous = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(previous)
    listener.listen(128)
    return listener


def _keep_standby(listener: socket.socket, path: str, parts: Parts, heap: list[tuple[int, int]]) -> None:
    """Have one standby supervisor at any time, until none was needed for the idle time."""
    idle_s = float(os.environ.get(_IDLE_S, _DEFAULT_IDLE_S))
    listener.setblocking(False)
    while True:
        accepted, alive = _fork_standby(listener, parts)
        readable, _, _ = select.select([accepted], [], [], min(idle_s, _QUIET_S) if heap else idle_s)
        told = os.read(accepted, 1) if readable else None
        os.close(alive)  # where it has not accepted anybody it leaves now
        os.close(accepted)
        if told == b"":
            time.sleep(_RETRY_S)  # it died waiting: no memory, no process ids
        elif told is None and heap:
            huge_pages.collapse(heap)  # in a quiet moment: the first evaluation need not wait for it
            heap = []
        elif told is None:
            break
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def _fork_standby(listener: socket.socket, parts: Parts) -> tuple[int, int]:
    """A standby: a descriptor that tells when it has accepted and ends when it dies; one that sends it away when closed."""
    accepted, told = os.pipe()
    server_alive, alive = os.pipe()
    server = os.getpid()
    child = -1
    try:
        child = os.fork()
    except OSError:
        traceback.print_exc()
    if child == 0:
        status = 1
        try:
            os.close(alive)
            os.close(accepted)
            standby.stand_by(listener, server, server_alive, told, parts)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(told)
    os.close(server_alive)
    return accepted, alive


def _import_torch() -> dict[str, str] | None:
    """Import torch without touching a device; returns what is wrong as kind, message, hint."""
    try:
        import torch
        import torch.nn.functional
    except ModuleNotFoundError as error:
        if error.name == "torch":
            return {
                "kind": "no_torch",
                "message": f"the Python at {sys.executable} has no torch",
                "hint": f"install it there: {sys.executable} -m pip install torch",
            }
        return _broken_torch()
    except BaseException:
        return _broken_torch()
    if not hasattr(torch, "Tensor"):  # a folder that happens to be called torch
        where = getattr(torch, "__file__", None) or list(getattr(torch, "__path__", []))
        return {"kind": "broken_torch", "message": f"'torch' is not PyTorch: {where}", "hint": "rename or remove it"}
    return None


def _broken_torch() -> dict[str, str]:
    text = traceback.format_exc().strip()
    return {
        "kind": "broken_torch",
        "message": f"import torch fails in {sys.executable}: {text.splitlines()[-1]}",
        "hint": text[-_TRACEBACK_CHARACTERS:],
    }


def _tell(ready_fd: int, message: dict[str, object]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the link went meanwhile; the server stays for the next one
        os.write(ready_fd, json.dumps(message).encode() + b"\n")
    os.close(ready_fd)
