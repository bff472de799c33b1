"""The warm server: has imported torch, accepts, forks. It reads nothing, so no request is ever in its memory."""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import socket
import traceback
from typing import Callable

from . import clients, processes

_IDLE_S = "KBEVAL_SERVER_IDLE_S"
_DEFAULT_IDLE_S = 300.0
_TRACEBACK_CHARACTERS = 4000


def serve(path: str, ready_fd: int, load_parts: Callable[[], object]) -> None:
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
        listener = _listen(path)
    processes.set_name("kbeval-server")
    processes.hide_memory()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies: the system reaps supervisors
    gc.collect()
    gc.freeze()  # children must not touch, and so copy, every page that holds objects
    _tell(ready_fd, {"ready": True})
    _accept_until_idle(listener, path, parts)


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


def _accept_until_idle(listener: socket.socket, path: str, parts: object) -> None:
    listener.settimeout(float(os.environ.get(_IDLE_S, _DEFAULT_IDLE_S)))
    while True:
        try:
            connection, _ = listener.accept()
        except socket.timeout:
            break
        _hand_over(connection, listener, parts)
    with open(path + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        # Whoever connected in the last moment is still served.
        listener.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                _hand_over(listener.accept()[0], listener, parts)


def _hand_over(connection: socket.socket, listener: socket.socket, parts: object) -> None:
    if clients.allowed(connection):
        try:
            child = os.fork()
        except OSError:  # no memory, no process ids: the client sees its connection end and says so
            traceback.print_exc()
            child = -1
        if child == 0:
            _become_supervisor(connection, listener, parts)
    connection.close()


def _become_supervisor(connection: socket.socket, listener: socket.socket, parts: object) -> None:
    from .supervisor import supervise

    status = 1
    try:
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        supervise(connection, parts)  # type: ignore[arg-type]  # load_parts made it
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _import_torch() -> dict[str, str] | None:
    """Import torch without touching a device; returns what is wrong as kind, message, hint."""
    import sys

    try:
        import torch
        import torch.nn.functional  # noqa: F401
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
    import sys

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
