"""One process per evaluation that cannot be talked out of its duties: events, output, limits, and the end of everything.

It runs no code of a user and nothing of torch. Whatever happens to the judge, the last event is ``finished``.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import socket
import time
import traceback
from typing import Any

from .. import wire
from . import frames, processes, rundir
from .clients import Clients
from .endings import Deadlines, Ending
from .event_file import EventFile
from .logs import LogBudget, LogPipe, LogSource
from .offspring import Offspring, SupervisorChannel

__all__ = ["Supervisor", "SupervisorChannel"]

HEARTBEAT_S = 5.0
LOG_PAUSE_S = 0.004  # from the first byte in a pipe until it is drained: a fast writer makes few large events
SIZE_CHECK_S = 0.25
KILL_LIMIT_S = 10.0
_READ_BYTES = 1 << 18


class Supervisor:
    """The event loop of one evaluation."""

    def __init__(self, plan: wire.Plan, run_dir: str, offspring: Offspring, started_at: float) -> None:
        self._plan = plan
        self._run_dir = run_dir
        self._offspring = offspring
        self._ending: Ending | None = None
        self._frames = frames.FrameReader()
        self._open_stages: list[str] = []
        self._events = EventFile(run_dir, started_at)
        self._budget = LogBudget(plan.limits.log_bytes)
        self._selector = selectors.DefaultSelector()
        self._clients = Clients(self._selector, run_dir, self._on_cancel, self._on_alone)
        self._pipes = [LogPipe(source, fd, self._log) for source, fd in offspring.outputs.items()]
        for pipe in self._pipes:
            pipe.start(plan.limits.line_bytes)
        self._waiting: dict[LogPipe, float] = {}
        self._next_size_check = started_at + SIZE_CHECK_S
        self._deadlines = Deadlines()
        if plan.timeout_s:
            late = Ending("timed_out", f"the evaluation did not end within {plan.timeout_s:g} s (--timeout)")
            self._deadlines.set("evaluation", started_at + plan.timeout_s, late)

    def run(self, connection: socket.socket) -> None:
        """From the first client to the final event."""
        try:
            self._watch(connection)
            while self._ending is None:
                for key, _ in self._selector.select(self._patience()):
                    key.data()
                self._check_time()
        except Exception as error:
            traceback.print_exc()
            self._ending = Ending.of_exception(error)
        try:
            self._finish(self._ending)
        finally:
            self._clients.close()

    # --- what wakes us --------------------------------------------------------------------------------------------------

    def _watch(self, connection: socket.socket) -> None:
        wake, waker = socket.socketpair()
        wake.setblocking(False)
        waker.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        self._waker = waker
        self._selector.register(wake, selectors.EVENT_READ, lambda: self._on_child(wake))
        self._offspring.judge.setblocking(False)
        self._selector.register(self._offspring.judge, selectors.EVENT_READ, self._on_judge)
        for pipe in self._pipes:
            self._register(pipe)
        self._clients.add(connection)
        self._on_child(wake)  # a child may have ended before the signal was watched

    def _register(self, pipe: LogPipe) -> None:
        self._selector.register(pipe.fd, selectors.EVENT_READ, lambda: self._on_output(pipe))

    def _on_output(self, pipe: LogPipe) -> None:
        self._selector.unregister(pipe.fd)
        self._waiting[pipe] = time.monotonic() + LOG_PAUSE_S

    def _on_judge(self) -> None:
        try:
            data = self._offspring.judge.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except ConnectionError:
            data = b""
        # What was printed before the judge spoke comes before what it said.
        for pipe in self._pipes:
            pipe.drain()
        for message in self._frames.feed(data):
            self._take(message)
        self._clients.ring()
        if not data:
            self._selector.unregister(self._offspring.judge)

    def _on_child(self, wake: socket.socket) -> None:
        with contextlib.suppress(BlockingIOError):
            wake.recv(4096)
        code = processes.reap().get(self._offspring.judge_pid)
        if code is not None:
            self._judge_ended(code)

    def _on_cancel(self) -> None:
        self._end(Ending("cancelled", "cancelled by the user"))

    def _on_alone(self, alone: bool) -> None:
        if alone:
            gone = Ending("cancelled", "the client went away")
            self._deadlines.set("client gone", time.monotonic() + self._plan.grace_s, gone)
        else:
            self._deadlines.clear("client gone")

    # --- time -----------------------------------------------------------------------------------------------------------

    def _patience(self) -> float:
        now = time.monotonic()
        wake_at = min(
            self._deadlines.next(),
            self._events.last_at + HEARTBEAT_S,
            self._next_size_check,
            *self._waiting.values(),
        )
        return max(0.0, wake_at - now)

    def _check_time(self) -> None:
        now = time.monotonic()
        for pipe in [pipe for pipe, until in self._waiting.items() if until <= now]:
            del self._waiting[pipe]
            pipe.drain()
            if pipe.open:
                self._register(pipe)
        if now >= self._events.last_at + HEARTBEAT_S:
            self._emit(wire.Heartbeat())
        if now >= self._next_size_check:
            self._check_size(now)
        ending = self._deadlines.expired(now)
        if ending is not None:
            self._end(ending)

    def _check_size(self, now: float) -> None:
        limit = self._plan.limits.run_dir_bytes
        if limit and rundir.size_bytes(".", limit) > limit:
            self._end(Ending("crashed", f"the run directory grew past its limit of {limit} bytes"))
        # Counting a large tree must not become the main work.
        self._next_size_check = now + max(SIZE_CHECK_S, 20 * (time.monotonic() - now))

    # --- what the judge says ----------------------------------------------------------------------------------------------

    def _take(self, message: dict[str, Any]) -> None:
        if "event" in message:
            self._take_event(message["event"], message["fields"])
        elif "deadline" in message:
            ending = Ending(message["verdict"], message["reason"])
            self._deadlines.set(f"judge: {message['deadline']}", time.monotonic() + message["seconds"], ending)
        else:
            self._deadlines.clear(f"judge: {message['clear_deadline']}")

    def _take_event(self, kind: str, fields: dict[str, Any]) -> None:
        if kind == wire.Finished.kind:
            self._end(Ending(**fields))
            return
        if kind == wire.StageStarted.kind:
            self._open_stages.append(fields["stage"])
        elif kind == wire.StageFinished.kind and fields["stage"] in self._open_stages:
            self._open_stages.remove(fields["stage"])
        self._events.append(kind, fields)  # the bell rings once for all that came with it

    def _judge_ended(self, code: int) -> None:
        self._read_rest()
        words = processes.exit_reason(code)
        hint = "the reference runs in that process, look there first; the last output is in the log"
        self._end(Ending.fault("judge_died", f"the judge process {words} before it gave a verdict", hint))

    def _read_rest(self) -> None:
        """What the judge had sent before it ended."""
        with contextlib.suppress(OSError):
            while True:
                data = self._offspring.judge.recv(_READ_BYTES)
                if not data:
                    break
                for message in self._frames.feed(data):
                    self._take(message)

    # --- out --------------------------------------------------------------------------------------------------------------

    def _end(self, ending: Ending) -> None:
        """The first reason to end is the one that counts."""
        if self._ending is None:
            self._ending = ending

    def _emit(self, event: Any) -> None:
        self._events.append(event.kind, wire.event_fields(event))
        self._clients.ring()

    def _log(self, source: LogSource, text: str) -> None:
        if self._budget.admit(source, text):
            self._emit(wire.Log(source, text))

    def _finish(self, ending: Ending) -> None:
        all_dead, _ = processes.end_descendants(KILL_LIMIT_S)
        try:
            self._last_words(ending, all_dead)
            self._emit(wire.Finished(**vars(ending)))
        except OSError as error:
            # Most likely the disk is full: what the workers wrote may go, the final event may not.
            rundir.clean(self._run_dir)
            self._emit(wire.Finished(**vars(ending if ending.verdict == "error" else Ending.of_exception(error))))
        rundir.clean(self._run_dir)
        self._events.close()

    def _last_words(self, ending: Ending, all_dead: bool) -> None:
        self._read_rest()
        for pipe in self._pipes:
            pipe.drain()  # all writers are dead: one pipe full at most
            pipe.close()
        tail = self._budget.tail()
        if tail:
            limit = self._plan.limits.log_bytes
            text = f"{self._budget.dropped_bytes} bytes of output were left out after the first {limit}; the end of it follows"
            self._emit(wire.Note("log_cut", text, "warning"))
            for source, piece in tail:
                self._emit(wire.Log(source, piece))
        for stage in self._open_stages:
            self._emit(wire.StageFinished(stage, "failed", None, ending.reason))  # type: ignore[arg-type]  # named by the judge
        if not all_dead:
            self._emit(wire.Note("survivors", f"processes did not end within {KILL_LIMIT_S:g} s of SIGKILL", "warning"))
