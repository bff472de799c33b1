"""The benchmark: how long reference and implementation take, and whether one is really faster."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from .. import wire
from ..exchange.encoding import CannotTravelError
from ..judging.artifacts import save_artifact
from ..judging.outputs import compare_outputs
from ..judging.reference import InvalidReference
from ..judging.workers import WorkerFailed
from ..report import CaseTiming
from ..timing.speedup import MIN_PROCESS_PAIRS
from ..timing.stopping import TIME_LIMIT, Side, StopRule
from ..timing.timed_crew import INPUT_SETS, TimedCrew
from ..timing.timed_pair import LONG_CALL_MS, Measured, ProcessPair
from ..timing.timed_worker import TimedCallFailed
from ..timing.timing_report import case_timing
from .base import StageOutcome
from .compile import failed as code_failed

if TYPE_CHECKING:
    from ..judging.trials import Trial
    from ..report import StageName, Verdict
    from .base import StageContext

PROCESS_PAIRS = MIN_PROCESS_PAIRS
MARGIN_S = 2.0  # kept back from the time limit for the end of the evaluation
PROGRESS_INTERVAL_S = 0.2
VERIFIED_MS = 1000.0  # the reference has to run once more to verify a timed output: not where that takes longer


class _WrongWhenTimed(Exception):  # noqa: N818 - an outcome of the stage
    """An implementation that passed gave a wrong output when it was timed."""


class BenchmarkStage:
    """Times both sides of every case."""

    name: StageName = "benchmark"

    def total(self, context: StageContext) -> int:
        """Cases in all process pairs."""
        return PROCESS_PAIRS * len(context.problem.cases)

    def run(self, context: StageContext) -> StageOutcome:
        """Measure, report every case, keep all samples as an artifact. Raises InvalidReference."""
        reason = why_not(context)
        return StageOutcome("skipped", reason) if reason else _Run(context).run()


def why_not(context: StageContext) -> str:
    """Why there can be no times here, or ""."""
    if context.crew.interpreted("implementation") or context.crew.interpreted("reference"):
        return "Triton runs in its interpreter; no times"
    if context.device.exclusive:
        return (
            "the GPU is in exclusive-process mode, but two processes must use it in turn (nvidia-smi -c DEFAULT ends that mode)"
        )
    return ""


class _Run:
    """One run of the stage. Lists are by case, in the problem's order."""

    def __init__(self, context: StageContext) -> None:
        self.context = context
        self.cases = context.problem.cases
        self.rule = StopRule(PROCESS_PAIRS)
        self.crew = TimedCrew(context, self.time_left_s)
        self.measured: list[list[Measured]] = [[] for _ in self.cases]
        self.steady_ms: list[tuple[float, float] | None] = [None for _ in self.cases]  # implementation, reference
        self.spent_s = 0.0  # of the budget
        self.last_progress = 0.0

    def time_left_s(self) -> float:
        return self.context.time_left_s() - MARGIN_S

    def run(self) -> StageOutcome:
        try:
            with self.crew.judge_elsewhere():
                self._time_all_pairs()
        except TimedCallFailed as failure:
            return self._failed(failure)
        except _WrongWhenTimed as wrong:
            return self._untimed(str(wrong), "incorrect")
        except CannotTravelError as error:
            return StageOutcome("failed", f"the inputs cannot be handed to a worker: {error}")
        timings = self._report()
        if any(timing.speedup is not None for timing in timings):
            return StageOutcome("passed")
        return StageOutcome("failed", f"no times: {_why_untimed(timings[0])}")

    def _time_all_pairs(self) -> None:
        longest_s = 0.0
        for number in range(PROCESS_PAIRS):
            if longest_s > self.time_left_s():
                return
            began = time.monotonic()
            with self.crew.pair(number) as pair:
                if number == 0:
                    self.context.emit(wire.BenchmarkStarted(*self._method()))
                for position in range(len(self.cases)):
                    self._time_case(pair, number, position)
                    if self.measured[position][-1].stop_reason == TIME_LIMIT:
                        return
            longest_s = max(longest_s, time.monotonic() - began)

    def _time_case(self, pair: ProcessPair, number: int, position: int) -> None:
        trials = self.crew.give_inputs(pair, self.cases[position], number)
        calls_ms = pair.warm_up(self.steady_ms[position])
        self.steady_ms[position] = calls_ms
        steps_done = number * len(self.cases) + position
        share_s = max(self.context.plan.budget_s - self.spent_s, 0.0) / (PROCESS_PAIRS * len(self.cases) - steps_done)
        began = time.monotonic()

        def report(implementation: Side, reference: Side) -> None:
            now = time.monotonic()
            if now - self.last_progress >= PROGRESS_INTERVAL_S:
                self.last_progress = now
                part = min((now - began) / share_s, 0.99) if share_s > 0 else 0.0
                self._progress(steps_done + part, position, implementation, reference)

        self.measured[position].append(pair.measure(self.rule, share_s, calls_ms, report))
        self.spent_s += time.monotonic() - began
        if (
            self.measured[position][-1].implementation
            and calls_ms[1] <= VERIFIED_MS
            and "correctness" in self.context.plan.stages
        ):
            self._verify(pair, trials[(len(self.measured[position][-1].implementation) - 1) % len(trials)])

    def _verify(self, pair: ProcessPair, trial: Trial) -> None:
        """Compare the output of the implementation's last timed call, which got the inputs of this trial."""
        context = self.context
        if context.problem.checker is not None or context.plan.backward:
            return  # both need more than an output: the correctness stage has done it
        context.trials.expect(trial)
        worker = pair.implementation.worker
        output = pair.implementation.output(context.crew.shared.arena, context.trials.room(trial))
        assert worker.outputs is not None
        pristine = context.crew.shared.pristine(trial.message)
        oracle = context.trials.oracle(trial)
        found = compare_outputs(
            trial.expected, output, worker.outputs, context.rules, oracle, pristine, may_be_empty=bool(trial.changed)
        )
        if not found.passed:
            raise _WrongWhenTimed(f"case {trial.case.name}: the output of the last timed call is wrong: {found.reason}")

    def _progress(self, done: float, position: int, implementation: Side, reference: Side) -> None:
        count = len(implementation.samples_ms) + sum(len(pair.implementation) for pair in self.measured[position])
        times = f"{implementation.median_ms:.4g} ms, reference {reference.median_ms:.4g} ms"
        text = f"{self.cases[position].name}: {count} samples, {times}"
        self.context.progress("benchmark", done, PROCESS_PAIRS * len(self.cases), text)

    def _method(self) -> tuple[str, int, str]:
        """How it is measured: method, bytes flushed, stop rule."""
        cpus = self.crew.cpus
        parts = [
            ("forward and backward: " if self.context.plan.backward else "") + self.context.device.timing_method,
            f"{PROCESS_PAIRS} pairs of processes made in alternating order, one call each in random order, the other stopped",
            f"one warm call before each (none where a call takes over {LONG_CALL_MS:g} ms), then the caches are flushed",
            f"{INPUT_SETS} input sets in turn",
            f"timed processes on CPU {_listing(cpus.workers)}, judge on CPU {_listing(cpus.judge)}",
        ]
        method = "; ".join([*parts, cpus.note] if cpus.note else parts)
        return method, self.crew.flush_bytes or 0, self.rule.describe(self.context.plan.budget_s)

    def _report(self) -> list[CaseTiming]:
        resolution_ns = self.context.device.resolution_ns
        timings = [case_timing(*pair, resolution_ns, PROCESS_PAIRS) for pair in zip(self.cases, self.measured)]
        for timing in timings:
            self.context.emit(wire.CaseTimed(timing))
            for remark in _remarks(timing):
                self.context.note("timing", f"{timing.name}: {remark}", "warning")
        data = json.dumps([_all_samples(*pair) for pair in zip((case.name for case in self.cases), self.measured)])
        self.context.emit(wire.ArtifactSaved(save_artifact(self.context.run_dir, "benchmark_samples.json", data.encode())))
        return timings

    def _failed(self, failure: TimedCallFailed) -> StageOutcome:
        if failure.late:
            return self._untimed(f"the {failure.role} gave no answer before the time limit, while it was timed", "timed_out")
        raised = failure.cause if isinstance(failure.cause, WorkerFailed) else None
        reason = f"{failure}, while it was timed"
        if failure.role == "reference":
            raise InvalidReference(reason, raised.traceback if raised else "")
        if raised is None:
            return self._untimed(reason, "crashed")
        outcome = code_failed(self.context, raised)  # a stage list without compile meets broken code here for the first time
        return self._untimed(reason if outcome.verdict == "crashed" else outcome.reason, outcome.verdict or "crashed")

    def _untimed(self, reason: str, verdict: Verdict) -> StageOutcome:
        for case in self.cases:
            self.context.emit(wire.CaseTimed(CaseTiming(case.name, case.params, None, None, None, reason=reason)))
        return StageOutcome("failed", reason, verdict)


def _listing(cpus: list[int]) -> str:
    return ", ".join(map(str, cpus)) if len(cpus) <= 4 else f"{cpus[0]} to {cpus[-1]} ({len(cpus)} of them)"


def _remarks(timing: CaseTiming) -> list[str]:
    """What a reader of the numbers has to know."""
    found = [timing.reason] if timing.reason and timing.speedup is not None else []
    for role, side in (("implementation", timing.implementation), ("reference", timing.reference)):
        if side is not None and side.modes > 1:
            found.append(f"the times of the {role} fall into two groups; the median may lie in either")
    return found


def _why_untimed(timing: CaseTiming) -> str:
    sides = [side.reason for side in (timing.implementation, timing.reference) if side is not None]
    return next(filter(None, sides), timing.reason)


def _all_samples(name: str, pairs: list[Measured]) -> dict[str, Any]:
    """Every sample of every process pair: the worker's clock and the judge's, milliseconds."""

    def both(pair: Measured, role: str) -> dict[str, list[float]]:
        samples = getattr(pair, role)
        return {"own_ms": [sample.own_ms for sample in samples], "wall_ms": [sample.wall_ms for sample in samples]}

    roles = ("implementation", "reference")
    return {"name": name, "process_pairs": [{role: both(pair, role) for role in roles} for pair in pairs]}
