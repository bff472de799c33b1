"""The judge's side of a worker that is being timed: one sample at a time, stopped in between."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from ..judging.workers import RequestTimedOut, Worker, WorkerDied, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..exchange.arena import Arena
    from ..exchange.tree import Node
    from ..judging.trials import Trial

MIN_ANSWER_S = 1.0  # a worker gets so long even when the time limit has come


class TimedCallFailed(Exception):  # noqa: N818 - says what happened to one side; an outcome rather than an error
    """One side raised, died or did not answer while it was timed; the text is a sentence about it."""

    def __init__(self, role: str, cause: WorkerFailed | WorkerDied) -> None:
        if isinstance(cause, WorkerFailed):
            self.what = f"it raised {cause.summary}"
            super().__init__(f"the {role} raised {cause.summary}")
        else:
            self.what = f"its process {cause.reason}"
            super().__init__(f"the {role}'s process {cause.reason}")
        self.role = role
        self.cause = cause
        self.late = isinstance(cause, RequestTimedOut)  # it did not answer before the time limit


@dataclass(frozen=True)
class Sample:
    """One timed call: what the worker's clock says, and what the judge's wall clock around the request says (milliseconds).

    ``interrupted``: the worker says that another process got its CPU meanwhile.
    """

    own_ms: float
    wall_ms: float
    interrupted: bool = False


class TimedWorker:
    """One side of a process group. ``time_left_s`` bounds every answer; the process is stopped between calls."""

    def __init__(self, worker: Worker, call: dict[str, Any], time_left_s: Callable[[], float]) -> None:
        self.worker = worker
        self.call = call  # what is called: "style", "backward", "parameters"
        self._time_left_s = time_left_s
        self._trials: list[Trial] = []

    def take_inputs(self, arena: Arena, trials: Sequence[Trial]) -> None:
        """Take the inputs of these trials, which lie in ``arena``, in turn from now on."""
        self._trials = list(trials)
        self.worker.resume()
        self.worker.share(arena)
        self._request("timing_inputs", {"inputs": [trial.message for trial in trials]})
        self.worker.stop()

    def trial(self, number: int) -> Trial:
        """The trial whose inputs call ``number`` gets."""
        return self._trials[number % len(self._trials)]

    def sample(self, number: int, warm: bool, flush: bool = True) -> Sample:
        """One timed call on inputs ``number`` (modulo their count), after a ``warm`` call and a cache flush if asked.

        Raises:
            TimedCallFailed: with the role of this side.
        """
        fields = {"set": number % len(self._trials), "seed": self.trial(number).forward_seed, "warm": warm, "flush": flush}
        self.worker.resume()
        self._request("timing_ready", {**self.call, **fields})
        start = time.perf_counter_ns()
        reply = self._request("timing_call")
        wall_ns = time.perf_counter_ns() - start
        self.worker.stop()
        elapsed_ns = reply.get("ns")
        if type(elapsed_ns) is not int or elapsed_ns < 0:
            raise TimedCallFailed(self.worker.role, self.worker.breach("a time that is no number of nanoseconds"))
        return Sample(elapsed_ns / 1e6, wall_ns / 1e6, reply.get("interruptions") not in (0, None))

    def output(self, arena: Arena, room_bytes: int) -> Node:
        """The checked tree of the last timed call's output; its tensors lie in the worker's output arena."""
        self.worker.resume()
        try:
            self.worker.share(arena, room_bytes)
            return self.worker.tree(self._request("timing_output").get("output"))
        except WorkerDied as cause:
            raise TimedCallFailed(self.worker.role, cause) from None
        finally:
            self.worker.stop()

    def _request(self, op: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
        limit_s = max(self._time_left_s(), MIN_ANSWER_S)
        try:
            return self.worker.request(op, fields, timeout_s=limit_s)
        except (WorkerFailed, WorkerDied) as cause:
            raise TimedCallFailed(self.worker.role, cause) from None
