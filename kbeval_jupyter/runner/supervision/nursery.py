"""The nursery: a process that knows nothing of an evaluation and forks workers when the judge asks.

It was forked before the request was read, so a worker's memory image holds no plan, no secret and no reference, whenever the
worker is made. One request at a time over a socket, trusted in both directions: a frame of JSON, and with "spawn" the worker's
end of its socket to the judge. Ended workers stay zombies until the judge says "kill": a process id that the judge holds is
never somebody else's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import sys
import time
import traceback
from typing import Any, Callable, Dict, List, NoReturn, Optional

from ..isolation import IsolationError, harden
from ..isolation.request import SpawnRequest
from ..report import IsolationLayer
from . import families, frames, processes

__all__ = ["Nursery", "SpawnError", "SpawnRequest", "WorkerProcess", "nursery_main"]

_KILL_LIMIT_S = 10.0


class SpawnError(Exception):
    """A worker could not be made; the text says why."""


# --- the judge's side -----------------------------------------------------------------------------------------------------


class Nursery:
    """The judge's handle of the nursery."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.pid: int = self.ask({"op": "hello"})["pid"]
        self.workers: Dict[int, WorkerProcess] = {}

    def spawn(self, request: SpawnRequest) -> WorkerProcess:
        """A hardened worker process that waits for its first message. Raises SpawnError."""
        ours, theirs = socket.socketpair()
        with theirs:
            reply = self.ask({"op": "spawn", "request": request.to_json()}, theirs)
        if "error" in reply:
            ours.close()
            raise SpawnError(f"no worker process could be made: {reply['error']}")
        worker = WorkerProcess(self, reply["pid"], ours)
        self.workers[worker.pid] = worker
        try:
            hardened = frames.receive(ours)
        except EOFError:
            hardened = {"error": f"the new worker process {worker.exit_reason(1.0)}"}
        if "error" in hardened:
            worker.kill()
            raise SpawnError(hardened["error"])
        worker.layers = [IsolationLayer(**layer) for layer in hardened["layers"]]
        return worker

    def ask(self, message: Dict[str, Any], passed: Optional[socket.socket] = None) -> Dict[str, Any]:
        """Send one request to the nursery and give its reply."""
        self._sock.sendall(frames.pack(message))
        if passed is not None:
            socket.send_fds(self._sock, [b"\0"], [passed.fileno()])
        reply = frames.receive(self._sock)
        assert isinstance(reply, dict)
        return reply

    def strays(self) -> List[int]:
        """Processes that left the family of their worker and are the nursery's children now."""
        return [pid for pid in families.children(self.pid) if pid not in self.workers]


class WorkerProcess:
    """The judge's handle of one worker: its process, its socket, its isolation."""

    def __init__(self, nursery: Nursery, pid: int, sock: socket.socket) -> None:
        self.pid = pid
        self.sock = sock
        self.layers: List[IsolationLayer] = []
        self._nursery = nursery
        self._stopped: List[int] = []
        self._end: Optional[str] = None  # how it ended, once its process id was given back

    def stop(self) -> None:
        """Freeze the worker and all processes that it started; work already queued on a GPU goes on."""
        if self._end is None and not self._stopped:
            self._stopped = families.freeze([self.pid, *self._nursery.strays()])

    def resume(self) -> None:
        """Let a stopped worker go on."""
        stopped, self._stopped = self._stopped, []
        if self._end is None:
            families.thaw(stopped)

    def kill(self) -> None:
        """End the worker and every process that it started, and close its socket."""
        if self._end is None:
            reply = self._nursery.ask({"op": "kill", "pid": self.pid})
            self._end = "was ended by the judge" if reply["by_us"] else _words(reply["code"], reply["status"])
            del self._nursery.workers[self.pid]
            self.sock.close()

    def exit_reason(self, timeout_s: float) -> str:
        """How the worker ended, e.g. "was killed by signal 11 (SIGSEGV)"; waits at most ``timeout_s`` for it to end."""
        if self._end is not None:
            return self._end
        reply = self._nursery.ask({"op": "wait", "pid": self.pid, "timeout_s": timeout_s})
        return _words(reply["code"], reply["status"]) if reply["ended"] else "is still running"


def _words(code: int, status: int) -> str:
    if code == os.CLD_EXITED:
        return f"left with exit status {status}"
    try:
        name = signal.Signals(status).name
    except ValueError:
        return f"was killed by signal {status}"
    hint = {signal.SIGKILL: ": out of memory?", signal.SIGSYS: ": a forbidden system call"}.get(signal.Signals(status), "")
    return f"was killed by signal {status} ({name}){hint}"


# --- the nursery's side ---------------------------------------------------------------------------------------------------


def nursery_main(sock: socket.socket, outputs: Dict[str, int], worker_main: Callable[[socket.socket], None]) -> NoReturn:
    """Serve the judge until its socket ends, then end everything below; never returns.

    ``outputs``: descriptor for standard output and error, by ``SpawnRequest.output``. ``worker_main`` runs in each worker.
    """
    processes.hide_memory()
    processes.adopt_orphans()
    # Not killed with the supervisor: whatever happens to that, what lies below here is ended first.
    signal.signal(signal.SIGTERM, _leave)
    processes.die_with_parent(signal.SIGTERM)
    # Ended workers are asked for, never announced; blocked, the signal can be waited for with a time limit.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    workers: List[int] = []
    try:
        while True:
            message = frames.receive(sock)
            if message["op"] == "spawn":
                reply = _spawn(sock, SpawnRequest(**message["request"]), outputs, worker_main)
                workers += [reply["pid"]] if "pid" in reply else []
            elif message["op"] == "wait":
                reply = _wait(message["pid"], message["timeout_s"])
            elif message["op"] == "kill":
                workers.remove(message["pid"])
                reply = _kill(message["pid"], workers)
            else:
                reply = {"pid": os.getpid()}
            sock.sendall(frames.pack(reply))
    except (EOFError, OSError, SystemExit):
        pass
    finally:
        processes.end_descendants(_KILL_LIMIT_S)
        os._exit(0)


def _leave(*_: object) -> NoReturn:
    raise SystemExit


def _spawn(
    sock: socket.socket, request: SpawnRequest, outputs: Dict[str, int], worker_main: Callable[[socket.socket], None]
) -> Dict[str, Any]:
    nursery = os.getpid()
    _, descriptors, _, _ = socket.recv_fds(sock, 1, 1)
    with socket.socket(fileno=descriptors[0]) as theirs:
        try:
            pid = os.fork()
        except OSError as error:
            return {"error": str(error)}
        if pid == 0:
            sock.close()
            _become_worker(theirs, request, outputs[request.output], nursery, worker_main)
    return {"pid": pid}


def _become_worker(
    sock: socket.socket, request: SpawnRequest, output: int, nursery: int, worker_main: Callable[[socket.socket], None]
) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.dup2(output, 1)
        os.dup2(output, 2)
        try:
            _settle(request)
            layers = harden(request, keep=[sock.fileno()])
        except (SpawnError, IsolationError, OSError) as error:
            sock.sendall(frames.pack({"error": str(error)}))
            os._exit(1)
        if os.getppid() != nursery:  # it ended before we asked to end with it
            os._exit(1)
        sock.sendall(frames.pack({"layers": [dataclasses.asdict(layer) for layer in layers]}))
        worker_main(sock)
        status = 0
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # the fork must not go on with the nursery's own code
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(status & 0xFF)


def _settle(request: SpawnRequest) -> None:
    try:
        os.chdir(request.private_dir)
    except OSError as error:
        raise SpawnError(f"the worker's folder {request.private_dir} cannot be entered: {error.strerror}") from None
    if request.cpus is not None:
        try:
            os.sched_setaffinity(0, request.cpus)
        except OSError as error:
            raise SpawnError(f"the processors {request.cpus} cannot be used: {error.strerror}") from None


def _wait(pid: int, timeout_s: float) -> Dict[str, Any]:
    """How ``pid`` ended, if it does within the time; it stays a zombie."""
    give_up = time.monotonic() + timeout_s
    while True:
        found = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is not None:
            return {"ended": True, "code": found.si_code, "status": found.si_status}
        left_s = give_up - time.monotonic()
        if left_s <= 0:
            return {"ended": False}
        signal.sigtimedwait([signal.SIGCHLD], left_s)


def _kill(pid: int, others: List[int]) -> Dict[str, Any]:
    """End ``pid``, all that it started and all that belongs to nobody; gives back their process ids."""
    was_alive = not _wait(pid, 0)["ended"]
    give_up = time.monotonic() + _KILL_LIMIT_S
    end: Dict[str, Any] = {}
    while time.monotonic() < give_up:
        # What lost its parent is a child of ours, found in the next round.
        roots = [child for child in families.children(os.getpid()) if child not in others]
        if not roots:
            break
        for member in families.freeze(roots):  # what cannot run cannot fork
            families.send(member, signal.SIGKILL)
        for root in roots:
            # A driver can hold a process in a call that nothing ends: never wait for ever.
            ended = _wait(root, give_up - time.monotonic())
            if ended["ended"]:
                os.waitpid(root, 0)
            end = ended if root == pid else end
    by_us = was_alive and end.get("status", signal.SIGKILL) == signal.SIGKILL
    return {"by_us": by_us, "code": end.get("code", os.CLD_KILLED), "status": end.get("status", signal.SIGKILL)}
