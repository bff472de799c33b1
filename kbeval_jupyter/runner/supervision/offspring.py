"""The supervisor's two children, forked before it reads the request: the nursery, and the judge.

The nursery's memory never holds a plan; so neither does that of any worker it forks.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from typing import Any, Callable, NoReturn

from .. import wire
from . import frames, processes
from .logs import LogSource, output_pipe
from .nursery import Nursery, nursery_main

_HIGHEST_DESCRIPTOR = 4096


@dataclass(frozen=True)
class Parts:
    """The programs inside an evaluation: the judge, and what each worker runs on its socket."""

    judge: Callable[[wire.Plan, str, Nursery, SupervisorChannel], None]
    worker: Callable[[socket.socket], None]


class SupervisorChannel:
    """The judge's line to the supervisor."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock

    def emit(self, *events: Any) -> None:
        """Hand event dataclasses over, all at once; the supervisor numbers and stamps them."""
        self._send(*({"event": event.kind, "fields": wire.event_fields(event)} for event in events))

    def deadline(self, name: str, seconds: float, verdict: str, reason: str) -> None:
        """Have the evaluation ended with this verdict in ``seconds``, unless it is cleared; the same name starts anew."""
        self._send({"deadline": name, "seconds": seconds, "verdict": verdict, "reason": reason})

    def clear_deadline(self, name: str) -> None:
        """Take a deadline back."""
        self._send({"clear_deadline": name})

    def _send(self, *messages: dict[str, Any]) -> None:
        self._sock.sendall(b"".join(map(frames.pack, messages)))


@dataclass(frozen=True)
class Offspring:
    """What the supervisor holds of its children: process ids, its end of the judge's socket, read ends of the output pipes."""

    judge_pid: int
    judge: socket.socket
    outputs: dict[LogSource, int]


def fork_offspring(parts: Parts) -> Offspring:
    """Fork nursery and judge."""
    ours, judges = socket.socketpair()
    nursery_end, judge_end = socket.socketpair()
    sources: tuple[LogSource, ...] = ("implementation", "reference", "judge")
    pipes = {source: output_pipe() for source in sources}
    nothing = os.open(os.devnull, os.O_RDWR)
    writes = {source: pipe[1] for source, pipe in pipes.items()}

    if os.fork() == 0:
        outputs = {"implementation": writes["implementation"], "reference": writes["reference"], "timing": nothing}
        with _never_returning():
            _become("nursery", nothing, nothing, [nursery_end.fileno(), *outputs.values()])
            nursery_main(nursery_end, outputs, parts.worker)

    judge_pid = os.fork()
    if judge_pid == 0:
        with _never_returning():
            _become("judge", nothing, writes["judge"], [judges.fileno(), judge_end.fileno()])
            _judge_process(parts.judge, judges, judge_end)

    for end in (judges, nursery_end, judge_end):
        end.close()
    for fd in (nothing, *writes.values()):
        os.close(fd)
    return Offspring(judge_pid, ours, {source: pipe[0] for source, pipe in pipes.items()})


class _never_returning(contextlib.AbstractContextManager[None]):  # noqa: N801 - reads as a statement
    """The body runs in a forked child, whose stack must not unwind into the parent's code."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> NoReturn:
        if error is not None:
            traceback.print_exception(type(error), error, error.__traceback__)
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(1 if error is not None else 0)


def _become(name: str, standard_input: int, output: int, keep: list[int]) -> None:
    """Make this fork a process of its own: its descriptors, its name, an end together with the supervisor."""
    processes.die_with_parent()
    processes.set_name(f"kbeval-{name}")
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(standard_input, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    previous = 2
    for fd in sorted(set(keep)):
        os.closerange(previous + 1, fd)
        previous = fd
    os.closerange(previous + 1, _HIGHEST_DESCRIPTOR)


def _judge_process(judge: Callable[..., None], sock: socket.socket, nursery: socket.socket) -> None:
    workers = Nursery(nursery)
    try:
        message = frames.receive(sock)
    except EOFError:  # no valid request came
        return
    judge(wire.plan_from_json(message["plan"]), message["run_dir"], workers, SupervisorChannel(sock))
