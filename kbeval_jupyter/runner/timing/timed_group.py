"""One process group: reference, implementation and rivals side by side on the same CPUs, one call each, in random order."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Callable, Mapping

from ..judging.crew import Role
from .stopping import TIME_LIMIT, Side, StopRule
from .timed_worker import Sample, TimedWorker

LONG_CALL_MS = 50.0  # a cold start of the processor is less than 1 % of such a call: it needs no warm call before it

_WARM_MAX_CALLS = 10
_WARM_MAX_S = 1.0  # after the first call, which may compile for minutes
_STEADY = (0.8, 1.25)  # a call between these multiples of the fastest so far shows nothing left to compile or to tune
_order = random.SystemRandom()  # no side can foresee when it runs


@dataclass
class Measured:
    """What one process group gave for one case, by role; the n-th samples of all sides belong together."""

    samples: dict[Role, list[Sample]] = field(default_factory=dict)
    stop_reason: str = ""

    def of(self, role: Role) -> list[Sample]:
        """The samples of one side."""
        return self.samples.get(role, [])

    @property
    def rounds(self) -> int:
        """How often every side was timed."""
        return min(map(len, self.samples.values()), default=0)


@dataclass
class ProcessGroup:
    """A worker for every side."""

    workers: dict[Role, TimedWorker]
    time_left_s: Callable[[], float]

    def warm_up(self, known_ms: Mapping[Role, float]) -> dict[Role, float]:
        """Call every side until it is steady; milliseconds of a call of each.

        ``known_ms`` are those of an earlier process group: there is then no need to find out what a steady call takes.
        """
        return {role: self._steady(worker, known_ms.get(role)) for role, worker in self.workers.items()}

    def _steady(self, side: TimedWorker, known_ms: float | None) -> float:
        fastest, steady, began = known_ms, 0, 0.0
        for number in range(_WARM_MAX_CALLS):
            current = side.sample(number, warm=False, flush=False).own_ms
            steady = steady + 1 if fastest is not None and _STEADY[0] * fastest <= current <= _STEADY[1] * fastest else 0
            fastest = current if fastest is None else min(fastest, current)
            if steady >= (1 if current > LONG_CALL_MS else 2) or self._too_late(current):
                break
            began = began or time.monotonic()
            if number > 0 and time.monotonic() - began > _WARM_MAX_S:
                break
        return fastest or 0.0

    def measure(
        self, rule: StopRule, share_s: float, calls_ms: Mapping[Role, float], report: Callable[[Mapping[Role, Side]], None]
    ) -> Measured:
        """Sample all sides until the rule says stop. ``calls_ms``: how long a call of each side takes."""
        measured = Measured({role: [] for role in self.workers})
        sides = {role: rule.new_side() for role in self.workers}
        order = list(sides)
        began = time.monotonic()
        if self._too_late(sum(calls_ms.values())):
            measured.stop_reason = TIME_LIMIT
        while not measured.stop_reason:
            started = time.monotonic()
            _order.shuffle(order)
            for role in order:
                samples = measured.samples[role]
                samples.append(self.workers[role].sample(len(samples), warm=calls_ms[role] < LONG_CALL_MS))
                sides[role].add(samples[-1].own_ms)
            report(sides)
            now = time.monotonic()
            measured.stop_reason = rule.reason(list(sides.values()), now - began, share_s)
            if not measured.stop_reason and self._too_late((now - started) * 1e3):
                measured.stop_reason = TIME_LIMIT
        return measured

    def _too_late(self, needed_ms: float) -> bool:
        """Whether something that takes so long should not be begun any more."""
        return self.time_left_s() < 2e-3 * needed_ms
