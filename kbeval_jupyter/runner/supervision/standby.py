"""The next supervisor, ready before anybody asks: its children are forked, and it accepts the next connection itself."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from typing import TYPE_CHECKING

from .. import wire
from ..typed_json import JsonTypeError
from . import frames, processes, rundir
from .clients import allowed, greeting
from .offspring import Offspring, Parts, fork_offspring
from .supervisor import KILL_LIMIT_S, Supervisor

if TYPE_CHECKING:
    import socket

ACCEPTED = b"a"
_REQUEST_LIMIT_S = 60.0


def stand_by(listener: socket.socket, server: int, server_alive: int, accepted: int, parts: Parts) -> None:
    """Wait for one connection and serve it; returns when its evaluation is over, or without one when it is not needed any more.

    ``server`` is the server's process id. ``server_alive`` is a descriptor that ends when the server does, or sends us away; on
    ``accepted`` it is told that somebody came.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    processes.set_name("kbeval-superv")
    processes.adopt_orphans()
    offspring = fork_offspring(parts)
    connection = _accept(listener, server_alive, server)
    if connection is not None:
        with contextlib.suppress(BrokenPipeError):  # it was just about to send us away
            os.write(accepted, ACCEPTED)
    for fd in (listener.detach(), server_alive, accepted):
        os.close(fd)
    if connection is not None:
        _serve(connection, offspring)
    processes.end_descendants(KILL_LIMIT_S)


def _accept(listener: socket.socket, server_alive: int, server: int) -> socket.socket | None:
    while True:
        readable, _, _ = select.select([listener.fileno(), server_alive], [], [])
        # A connection first: whoever came in the server's last moment is still served.
        if listener.fileno() in readable:
            with contextlib.suppress(BlockingIOError, ConnectionError):
                connection, _ = listener.accept()
                if allowed(connection, server):
                    return connection
                connection.close()
        elif readable:
            return None


def _serve(connection: socket.socket, offspring: Offspring) -> None:
    started_at = time.monotonic()
    connection.settimeout(_REQUEST_LIMIT_S)
    try:
        request = frames.receive(connection)
        plan = wire.plan_from_json(request)
        run_dir = rundir.create(plan.run_root)
        rundir.lay_down(run_dir, plan.files, plan.limits.run_dir_bytes)
        os.chdir(run_dir)
        supervisor = Supervisor(plan, run_dir, offspring, started_at)
    except EOFError:  # only looked whether somebody listens
        return
    except (JsonTypeError, rundir.UnsafePathError) as error:
        _refuse(connection, "request", error)
    except (OSError, ValueError) as error:
        _refuse(connection, "host", error)
    else:
        offspring.judge.sendall(frames.pack({"plan": request, "run_dir": run_dir}))
        supervisor.run(connection)
        rundir.remove_old(os.path.dirname(run_dir))


def _refuse(connection: socket.socket, kind: str, error: Exception) -> None:
    with contextlib.suppress(OSError):
        connection.sendall(greeting({"error": {"kind": kind, "message": str(error), "hint": ""}}))
