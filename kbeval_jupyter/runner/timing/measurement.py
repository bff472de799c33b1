"""One measurement of all cases: process groups one after the other, each timing every case until its stop rule ends it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, Mapping, Sequence

from ..judging.outputs import compare_outputs
from .speedup import MIN_PROCESS_GROUPS
from .stopping import TIME_LIMIT, Side, StopRule
from .timed_crew import TimedCrew
from .timing_report import TimedCase

if TYPE_CHECKING:
    from ..judging.crew import Role
    from ..judging.trials import Trial
    from ..stages.base import StageContext
    from .timed_group import Measured, ProcessGroup

PROCESS_GROUPS = MIN_PROCESS_GROUPS
MARGIN_S = 2.0  # kept back from the time limit for the end of the evaluation
VERIFIED_MS = 1000.0  # the reference has to run once more to verify a timed output: not where that takes longer

_PROGRESS_INTERVAL_S = 0.2


class Measurement:
    """Times ``roles`` ("reference" and "implementation" among them) side by side.

    Lists are by case, in the problem's order. ``wrong`` holds, by role, what is wrong with an output of a timed call;
    only the outputs of ``verified`` roles are looked at.
    """

    def __init__(
        self,
        context: StageContext,
        roles: Sequence[Role],
        verified: Sequence[Role],
        progress: Callable[[float, str], None],
        opened: Callable[[TimedCrew], None],
        observe: Callable[[], None],
    ) -> None:
        self.context = context
        self.cases = context.problem.timed_cases
        self.wrong: dict[Role, str] = {}
        self._verified = verified
        self._say = progress
        self._opened = opened
        self._observe = observe
        self._rule = StopRule(PROCESS_GROUPS)
        self._crew = TimedCrew(context, roles, self.time_left_s)
        self._measured: list[list[Measured]] = [[] for _ in self.cases]
        self._steady_ms: list[dict[Role, float]] = [{} for _ in self.cases]
        self._spent_s = 0.0  # of the budget
        self._last_progress = 0.0

    @property
    def timed_cases(self) -> list[TimedCase]:
        """All samples so far."""
        resolution_ns = self.context.device.resolution_ns
        return [TimedCase(case, groups, resolution_ns) for case, groups in zip(self.cases, self._measured)]

    def time_left_s(self) -> float:
        """Seconds until a measurement has to end."""
        return self.context.time_left_s() - MARGIN_S

    def run(self) -> None:
        """Time all cases in all process groups, as far as the time limit allows. Raises TimedCallFailed."""
        longest_s = 0.0
        with self._crew.judge_elsewhere():
            for number in range(PROCESS_GROUPS):
                if longest_s > self.time_left_s():
                    return
                began = time.monotonic()
                with self._crew.group(number) as group:
                    if number == 0:
                        self._opened(self._crew)
                    for position in range(len(self.cases)):
                        self._time_case(group, number, position)
                        if self._measured[position][-1].stop_reason == TIME_LIMIT:
                            return
                    self._observe()
                longest_s = max(longest_s, time.monotonic() - began)

    def _time_case(self, group: ProcessGroup, number: int, position: int) -> None:
        trials = self._crew.give_inputs(group, self.cases[position], number)
        calls_ms = group.warm_up(self._steady_ms[position])
        self._steady_ms[position] = calls_ms
        steps_done = number * len(self.cases) + position
        share_s = max(self.context.plan.budget_s - self._spent_s, 0.0) / (PROCESS_GROUPS * len(self.cases) - steps_done)
        began = time.monotonic()

        def report(sides: Mapping[Role, Side]) -> None:
            now = time.monotonic()
            if now - self._last_progress >= _PROGRESS_INTERVAL_S:
                self._last_progress = now
                part = min((now - began) / share_s, 0.99) if share_s > 0 else 0.0
                self._progress(steps_done + part, position, sides)

        measured = group.measure(self._rule, share_s, calls_ms, report)
        self._measured[position].append(measured)
        self._spent_s += time.monotonic() - began
        if measured.rounds and calls_ms["reference"] <= VERIFIED_MS:
            self._verify(group, trials[(measured.rounds - 1) % len(trials)])

    def _verify(self, group: ProcessGroup, trial: Trial) -> None:
        """Compare the outputs of the last timed calls, which got the inputs of this trial."""
        context = self.context
        if context.problem.checker is not None or context.plan.backward or not self._verified:
            return  # the first two need more than an output: the correctness stage has done it
        context.trials.expect(trial)
        room, pristine = context.trials.room(trial), context.crew.shared.pristine(trial.message)
        for role in self._verified:
            output = group.workers[role].output(context.crew.shared.arena, room)
            outputs = group.workers[role].worker.outputs
            assert outputs is not None
            found = compare_outputs(
                trial.expected,
                output,
                outputs,
                context.rules,
                context.trials.oracle(trial),
                pristine,
                may_be_empty=bool(trial.changed),
            )
            if not found.passed:
                self.wrong.setdefault(role, f"case {trial.case.name}: the output of the last timed call is wrong: {found.reason}")

    def _progress(self, done: float, position: int, sides: Mapping[Role, Side]) -> None:
        count = len(sides["implementation"].samples_ms) + sum(group.rounds for group in self._measured[position])
        times = f"{sides['implementation'].median_ms:.4g} ms, reference {sides['reference'].median_ms:.4g} ms"
        self._say(done, f"{self.cases[position].name}: {count} samples, {times}")
