"""The benchmark: how long reference, implementation and rivals take, and whether one is really faster."""

from __future__ import annotations

import dataclasses
import itertools
import json
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from .. import wire
from ..exchange.encoding import CannotTravelError
from ..judging.artifacts import save_artifact
from ..judging.reference import InvalidReference
from ..judging.workers import WorkerFailed
from ..report import CaseTiming
from ..timing.measurement import PROCESS_GROUPS, Measurement
from ..timing.rivals import check_side
from ..timing.stopping import StopRule
from ..timing.timed_crew import INPUT_SETS
from ..timing.timed_group import LONG_CALL_MS
from ..timing.timed_worker import TimedCallFailed
from ..timing.timing_report import Remark, TimedCase, case_timing, comparison
from ..working import global_flags
from .base import StageOutcome
from .compile import failed as code_failed

if TYPE_CHECKING:
    from ..judging.crew import Role
    from ..report import ComparisonReport, Speedup, StageName, Verdict
    from ..timing.timed_crew import TimedCrew
    from .base import StageContext


class BenchmarkStage:
    """Times all sides of every case."""

    name: StageName = "benchmark"

    def total(self, context: StageContext) -> int:
        """Cases in all process groups."""
        return PROCESS_GROUPS * len(context.problem.timed_cases)

    def run(self, context: StageContext) -> StageOutcome:
        """Measure, report every case, keep all samples as an artifact. Raises InvalidReference."""
        reason = why_not(context)
        return StageOutcome("skipped", reason) if reason else _Run(context).run()


def why_not(context: StageContext) -> str:
    """Why there can be no times here, or ""."""
    roles = ("implementation", "reference", *(rival.role for rival in context.plan.rivals))
    if any(context.crew.interpreted(role) for role in roles):
        return "Triton runs in its interpreter; no times"
    if context.device.exclusive:
        return (
            "the GPU is in exclusive-process mode, but two processes must use it in turn (nvidia-smi -c DEFAULT ends that mode)"
        )
    return ""


class _Run:
    """One run of the stage. ``remarks`` say, by role, what is known about the sides that this stage checks."""

    def __init__(self, context: StageContext) -> None:
        self.context = context
        plan = context.plan
        self.labels: dict[Role, str] = {"implementation": plan.label, "reference": "reference"}
        self.labels.update((rival.role, rival.label) for rival in plan.rivals)
        self.correct_before = "correctness" in plan.stages
        self.rivals: list[Role] = [rival.role for rival in plan.rivals]
        self.remarks: dict[Role, Remark] = {}
        self.said_how = False

    def run(self) -> StageOutcome:
        try:
            self._check()
            self._observe("before")
            measurement = self._measured()
            if "implementation" in measurement.wrong and self.correct_before:
                return self._untimed(measurement.wrong["implementation"], "incorrect")
            cases = measurement.timed_cases
            timings = [case_timing(case, PROCESS_GROUPS) for case in cases]
            if self.context.plan.confirm and any(_faster(timing) for timing in timings):
                timings = self._confirmed(timings)
        except TimedCallFailed as failure:
            return self._failed(failure)
        except CannotTravelError as error:
            return StageOutcome("failed", f"the inputs cannot be handed to a worker: {error}")
        self._report(timings, cases)
        if any(timing.speedup is not None for timing in timings):
            return StageOutcome("passed")
        return StageOutcome("failed", f"no times: {_why_untimed(timings[0])}")

    def _check(self) -> None:
        """Find out which sides are right, unless the correctness stage does; those that cannot run are not timed."""
        for role in [*([] if self.correct_before or not self.rivals else ["implementation"]), *self.rivals]:
            self.context.progress("benchmark", 0, None, f"checking {self.labels[role]}")
            self.remarks[role] = check_side(self.context, role, self.labels[role])
        for role in [role for role in self.rivals if self.remarks[role].right is None]:
            self.rivals.remove(role)

    def _measured(self) -> Measurement:
        """A measurement of all sides; a rival that fails in a later call is left out, and the others are measured again."""
        while True:
            verified = [*(["implementation"] if self.correct_before or self.rivals else []), *self.rivals]
            roles = ["reference", "implementation", *self.rivals]
            measurement = Measurement(
                self.context, roles, verified, self._progress, self._say_how, partial(self._observe, "during")
            )
            try:
                measurement.run()
            except TimedCallFailed as failure:
                if failure.role not in self.rivals:
                    raise
                self.rivals.remove(failure.role)
                self.remarks[failure.role] = Remark(text=f"{self.labels[failure.role]} failed while it was timed: {failure.what}")
                continue
            for role, wrong in measurement.wrong.items():
                if role in self.remarks and self.remarks[role].right:
                    self.remarks[role] = Remark(right=False, text=f"{self.labels[role]} is wrong: {wrong}")
            return measurement

    def _confirmed(self, timings: list[CaseTiming]) -> list[CaseTiming]:
        """The timings with what a second measurement in fresh processes says about the cases that are claimed to be faster."""
        again = self._measured()
        if "implementation" in again.wrong and self.correct_before:
            return [dataclasses.replace(timing, confirmed=False) if _faster(timing) else timing for timing in timings]
        confirmed = []
        for timing, case in zip(timings, again.timed_cases):
            second = case_timing(case, PROCESS_GROUPS)
            agrees = second.speedup is not None and second.speedup.claim == "FASTER"
            found = dataclasses.replace(timing, confirmed=agrees, confirmation=second.speedup)
            confirmed.append(found if _faster(timing) else timing)
        return confirmed

    # --- what is said ------------------------------------------------------------------------------------------------------

    def _observe(self, moment: Literal["before", "during"]) -> None:
        self.context.emit(wire.DeviceObserved(dataclasses.replace(self.context.device.observe(), moment=moment)))

    def _progress(self, done: float, text: str) -> None:
        self.context.progress("benchmark", done, PROCESS_GROUPS * len(self.context.problem.timed_cases), text)

    def _say_how(self, crew: TimedCrew) -> None:
        """How it is measured: method, bytes flushed, stop rule."""
        if self.said_how:
            return
        self.said_how = True
        plan, cpus = self.context.plan, crew.cpus
        processes = "pairs of processes" if len(crew.roles) == 2 else f"groups of {len(crew.roles)} processes"
        parts = [
            ("forward and backward: " if plan.backward else "") + self.context.device.timing_method,
            f"{PROCESS_GROUPS} {processes} made in alternating order, one call each in random order, the others stopped",
            f"one warm call before each (none where a call takes over {LONG_CALL_MS:g} ms), then the caches are flushed",
            f"{INPUT_SETS} input sets in turn",
            f"timed processes on CPU {_listing(cpus.workers)}, judge on CPU {_listing(cpus.judge)}",
        ]
        method = "; ".join([*parts, cpus.note] if cpus.note else parts)
        rule = StopRule(PROCESS_GROUPS).describe(plan.budget_s)
        precision = {name: str(value) for name, value in global_flags.read().items()}
        self.context.emit(wire.BenchmarkStarted(method, crew.flush_bytes or 0, rule, precision))

    def _report(self, timings: list[CaseTiming], cases: list[TimedCase]) -> None:
        for timing in timings:
            self.context.emit(wire.CaseTimed(timing))
            for remark in _remarks(timing):
                self.context.note("timing", f"{timing.name}: {remark}", "warning")
            if timing.confirmed:
                self.context.note(
                    "confirmed", f"{timing.name}: a second measurement in fresh processes confirms that it is faster"
                )
        for number, report in enumerate(self._comparisons(cases)):
            self.context.emit(wire.Compared(report))
            if number == 0 and report.speedup is not None:  # for views that show nothing else of a comparison
                self.context.note("comparison_claim", _claim(report.baseline, report.speedup))
        for checked in self.remarks.values():
            if checked.text:
                self.context.note("comparison", checked.text, "warning")
        data = json.dumps([_all_samples(case) for case in cases])
        self.context.emit(wire.ArtifactSaved(save_artifact(self.context.run_dir, "benchmark_samples.json", data.encode())))

    def _comparisons(self, cases: list[TimedCase]) -> list[ComparisonReport]:
        """The implementation against every rival, the rivals against each other, and all against the reference."""
        rivals = [rival.role for rival in self.context.plan.rivals]
        pairs = [*(("implementation", role) for role in rivals), *itertools.combinations(rivals, 2)]
        pairs += [(role, "reference") for role in ("implementation", *rivals) if rivals]
        return [comparison(cases, role, base, self.labels, self.remarks) for role, base in pairs]

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
        for case in self.context.problem.cases:
            self.context.emit(wire.CaseTimed(CaseTiming(case.name, case.params, None, None, None, reason=reason)))
        return StageOutcome("failed", reason, verdict)


def _faster(timing: CaseTiming) -> bool:
    return timing.speedup is not None and timing.speedup.claim == "FASTER"


def _claim(baseline: str, found: Speedup) -> str:
    words = {"FASTER": "faster", "SLOWER": "slower", "SAME": "no difference", "AMBIGUOUS": "not clear"}[found.claim]
    interval = f"{found.ci_low:.3g}x to {found.ci_high:.3g}x"
    return f"against {baseline}: {found.estimate:.3g}x its speed, {words} (95 % interval {interval})"


def _listing(cpus: list[int]) -> str:
    return ", ".join(map(str, cpus)) if len(cpus) <= 4 else f"{cpus[0]} to {cpus[-1]} ({len(cpus)} of them)"


def _remarks(timing: CaseTiming) -> list[str]:
    """What a reader of the numbers has to know."""
    found = [timing.reason] if timing.reason and timing.speedup is not None else []
    for role, side in (("implementation", timing.implementation), ("reference", timing.reference)):
        if side is not None and side.modes > 1:
            found.append(f"the times of the {role} fall into two groups; the median may lie in either")
    if timing.confirmed is False:
        found.append("a second measurement in fresh processes did not confirm that it is faster")
    return found


def _why_untimed(timing: CaseTiming) -> str:
    sides = [side.reason for side in (timing.implementation, timing.reference) if side is not None]
    return next(filter(None, sides), timing.reason)


def _all_samples(case: TimedCase) -> dict[str, Any]:
    """Every sample of every process group: the worker's clock and the judge's, milliseconds."""
    groups = [
        {
            role: {"own_ms": [sample.own_ms for sample in samples], "wall_ms": [sample.wall_ms for sample in samples]}
            for role, samples in group.samples.items()
        }
        for group in case.groups
    ]
    return {"name": case.case.name, "process_pairs": groups}
