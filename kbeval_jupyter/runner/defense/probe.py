"""Calls of one side, made in a worker of the stage's own, with all that the judge can see about them from outside."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..exchange.materialise import build_outputs
from ..exchange.tree import SequenceNode
from ..judging.answers import judge_answer
from ..judging.outputs import Comparison
from ..judging.trials import Answer
from ..supervision import families
from ..timing.timed_worker import MIN_ANSWER_S
from ..working import global_flags

if TYPE_CHECKING:
    from ..judging.reference import CaseInput
    from ..judging.trials import Trial
    from ..judging.workers import Worker
    from ..stages.base import StageContext

MARGIN_S = 3.0  # kept back from the time limit
MAX_TEXTS = 20


@dataclass
class Call:
    """One call. Times in milliseconds; ``cpu`` is what the main thread used in that phase, seen from outside."""

    own_ms: float
    wall_ms: float
    ready_cpu_ms: float
    read_cpu_ms: float
    found: Comparison
    value: Any  # a private copy of the output
    odd: list[str] = field(default_factory=list)  # what is not plain about its tensors


class Probe:
    """One side in a worker; a worker that died is replaced. Every call of the implementation is compared with the reference."""

    def __init__(self, context: StageContext, role: str, case: CaseInput) -> None:
        self.context = context
        self.role = role
        self.case = case
        self.cpus = context.device.timing_cpus().workers
        self.flags = global_flags.read()  # the judge's, which the reference's module has set
        self._worker: Worker | None = None

    @property
    def worker(self) -> Worker:
        """The worker, with the code loaded. Raises WorkerFailed, WorkerDied."""
        if self._worker is None or self._worker.dead:
            self._worker = self._open()
        return self._worker

    def _open(self) -> Worker:
        crew = self.context.crew
        worker = crew.spawn(self.role, "timing", self.cpus)
        fields = {"device": self.context.device.worker_fields(), "threads": len(self.cpus)}
        worker.request("timing_open", fields, timeout_s=self._limit_s())
        worker.request("defense_open", {"redirect_cuda": crew.redirected(self.role)}, timeout_s=self._limit_s())
        worker.request("load", crew.load_fields(self.role), timeout_s=self._limit_s())
        crew.construct(worker, self.role, self.context.problem, self._limit_s())
        return worker

    def _limit_s(self) -> float:
        return max(self.context.time_left_s() - MARGIN_S, MIN_ANSWER_S)

    def ask(self, op: str, fields: dict[str, Any] | None = None) -> dict[str, Any]:
        """One request. Raises WorkerFailed, WorkerDied."""
        return self.worker.request(op, fields, timeout_s=self._limit_s())

    def texts(self, value: Any) -> list[str]:
        """A list of texts out of an answer; anything else in it breaks the protocol."""
        if type(value) is not list or any(type(text) is not str for text in value):
            raise self.worker.breach("texts that are none")
        return [text[:200] for text in value[:MAX_TEXTS]]

    def call(self, trial: Trial, place: str = "new", at_return: bool = False) -> Call:
        """One call on a trial whose expected value is known; ``at_return``: outputs are read before the judge hears of it."""
        trials, worker = self.context.trials, self.worker
        worker.share(self.context.crew.shared.arena, trials.room(trial))
        how = {
            "style": trials.problem.spec.call,
            "backward": trials.backward,
            "parameters": trials.with_parameters,
            "wanted": trial.changed,
        }
        before = self.main_thread_ms()
        ready = {**how, "inputs": trial.message, "seed": trial.forward_seed, "place": place, "flags": self.flags}
        self.ask("defense_ready", ready)
        ready_cpu_ms = self.main_thread_ms() - before
        start = time.perf_counter_ns()
        reply = self.ask("defense_call" if at_return else "timing_call", how)
        wall_ms = (time.perf_counter_ns() - start) / 1e6
        elapsed_ns = reply.get("ns")
        if type(elapsed_ns) is not int or elapsed_ns < 0:
            raise worker.breach("a time that is no number of nanoseconds")
        before = self.main_thread_ms()
        answer = reply if at_return else self.ask("defense_output", how)
        read_cpu_ms = self.main_thread_ms() - before
        found, value = self._judge(trial, answer)
        return Call(elapsed_ns / 1e6, wall_ms, ready_cpu_ms, read_cpu_ms, found, value, self.texts(answer.get("odd")))

    def read_again(self, trial: Trial) -> Any:
        """The last call's output as it is now."""
        trials = self.context.trials
        answer = self.ask("defense_output", {"backward": trials.backward, "wanted": trial.changed})
        assert self.worker.outputs is not None
        return build_outputs(self.worker.tree(answer.get("output")), self.worker.outputs)

    def _judge(self, trial: Trial, reply: dict[str, Any]) -> tuple[Comparison, Any]:
        worker = self.worker
        inputs = worker.tree({"k": "list", "v": reply.get("inputs")})
        changed = reply.get("changed")
        if type(changed) is not list or any(type(i) is not int or i not in range(len(trial.input_paths)) for i in changed):
            raise worker.breach("numbers of changed inputs that do not exist")
        assert isinstance(inputs, SequenceNode)
        assert worker.outputs is not None
        answer = Answer(worker.tree(reply.get("output")), inputs, changed)
        found = judge_answer(self.context.trials, worker, trial, answer, self.context.rules)
        return found, build_outputs(answer.output, worker.outputs)

    def family(self) -> list[int]:
        """The worker and everything that it started."""
        found = [self.worker.process.pid]
        for pid in found:
            found += [child for child in families.children(pid) if child not in found]
        return found

    def wants_to_run(self) -> bool:
        """Whether a thread of the family runs or waits for a processor: a busy machine does not hide it."""
        return any(_state(pid, thread) == "R" for pid in self.family() for thread in _threads(pid))

    def main_thread_ms(self) -> float:
        """Processor time of the thread that answers the judge, milliseconds: not of a library's threads that wait by spinning."""
        pid = self.worker.process.pid
        try:
            with open(f"/proc/{pid}/task/{pid}/schedstat", encoding="ascii") as text:
                return int(text.read().split()[0]) / 1e6
        except (OSError, ValueError, IndexError):  # a kernel without scheduler statistics
            return 0.0

    def threads(self) -> int:
        """Number of threads of the worker itself."""
        return len(_threads(self.worker.process.pid))

    def close(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.kill()


def _threads(pid: int) -> list[str]:
    with contextlib.suppress(OSError):
        return os.listdir(f"/proc/{pid}/task")
    return []  # it has ended


def _state(pid: int, thread: str) -> str:
    """The kernel's letter for what a thread does; "X" where there is none any more."""
    try:
        with open(f"/proc/{pid}/task/{thread}/stat", encoding="ascii", errors="replace") as text:
            return text.read().rpartition(")")[2].split()[0]
    except OSError:
        return "X"
