"""Makes the process groups of a benchmark: new processes for all sides, on the same CPUs, stopped until they are timed."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Callable, Iterator, Sequence

from ..judging.workers import WorkerDied, WorkerFailed
from .timed_group import ProcessGroup
from .timed_worker import MIN_ANSWER_S, TimedCallFailed, TimedWorker

if TYPE_CHECKING:
    from ..judging.crew import Role
    from ..judging.reference import CaseInput
    from ..judging.trials import Trial
    from ..judging.workers import Worker
    from ..stages.base import StageContext

INPUT_SETS = 3  # taken in turn, so that no call sees the inputs of the one before
INPUT_BYTES = 1 << 30  # fewer sets where they would be larger


class TimedCrew:
    """``cpus`` says where judge and timed workers run, ``flush_bytes`` (None before the first group) what is flushed.

    ``roles`` are the sides of every group from the next one on.
    """

    def __init__(self, context: StageContext, roles: Sequence[Role], time_left_s: Callable[[], float]) -> None:
        self.roles = roles
        self.cpus = context.device.timing_cpus()
        self.flush_bytes: int | None = None
        self._context = context
        self._time_left_s = time_left_s

    @contextlib.contextmanager
    def judge_elsewhere(self) -> Iterator[None]:
        """Keep the judge off the CPUs of the timed workers, and the worker of the other stages still."""
        before = os.sched_getaffinity(0)
        judged = self._context.crew.implementation()
        judged.stop()
        os.sched_setaffinity(0, self.cpus.judge)
        try:
            yield
        finally:
            os.sched_setaffinity(0, before)
            judged.resume()

    @contextlib.contextmanager
    def group(self, number: int) -> Iterator[ProcessGroup]:
        """Process group ``number``.

        Odd ones are made in the order opposite to the one before, because the process made first is often the slower one.

        Raises:
            TimedCallFailed: a side's code could not be loaded once more.
        """
        workers: dict[Role, Worker] = {}
        try:
            for role in creation_order(self.roles, number):
                workers[role] = self._new_worker(role)
                workers[role].stop()
            call = {
                "style": self._context.problem.spec.call,
                "backward": self._context.plan.backward,
                "parameters": self._context.trials.with_parameters,
            }
            timed = {role: TimedWorker(worker, call, self._time_left_s) for role, worker in workers.items()}
            yield ProcessGroup(timed, self._time_left_s)
        finally:
            for worker in workers.values():
                worker.kill()

    def _new_worker(self, role: Role) -> Worker:
        """A worker that holds one side's code, its clock bound before that code was imported."""
        crew = self._context.crew
        worker = crew.spawn(role, "timing", self.cpus.workers)
        limit_s = max(self._time_left_s(), MIN_ANSWER_S)
        fields = {"device": self._context.device.worker_fields(), "threads": len(self.cpus.workers)}
        try:
            opened = worker.request("timing_open", fields, timeout_s=limit_s)
            worker.request("load", crew.load_fields(role), timeout_s=limit_s)
            crew.construct(worker, role, self._context.problem, limit_s)
        except BaseException as error:
            worker.kill()
            if isinstance(error, (WorkerFailed, WorkerDied)):
                raise TimedCallFailed(role, error) from None
            raise
        if role == "reference":  # the code we trust
            self.flush_bytes = int(opened["flush_bytes"])
        return worker

    def give_inputs(self, group: ProcessGroup, case: CaseInput, number: int) -> list[Trial]:
        """Hand fresh inputs of a case to all sides; they lie in memory that all read."""
        first = self._context.plan.trials + number * INPUT_SETS  # trials of their own, after those of the correctness stage
        trials = self._context.trials.prepare_several(case, first, INPUT_SETS, INPUT_BYTES)
        for side in group.workers.values():
            side.take_inputs(self._context.crew.shared.arena, trials)
        return trials


def creation_order(roles: Sequence[Role], number: int) -> list[Role]:
    """Who is made first in process group ``number``: every side is early as often as late in each two groups that follow."""
    turn = number // 2 % len(roles)
    order = [*roles[turn:], *roles[:turn]]
    return order if number % 2 == 0 else order[::-1]
