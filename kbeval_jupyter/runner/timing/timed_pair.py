"""One process pair: reference and implementation side by side on the same CPUs, one call each, in random order."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Callable

from .stopping import TIME_LIMIT, Side, StopRule
from .timed_worker import Sample, TimedWorker

LONG_CALL_MS = 50.0  # a cold start of the processor is less than 1 % of such a call: it needs no warm call before it

_WARM_MAX_CALLS = 10
_WARM_MAX_S = 1.0  # after the first call, which may compile for minutes
_STEADY = (0.8, 1.25)  # a call between these multiples of the fastest so far shows nothing left to compile or to tune
_order = random.SystemRandom()  # neither side can foresee when it runs


@dataclass
class Measured:
    """What one process pair gave for one case; the n-th samples of both sides belong together."""

    implementation: list[Sample] = field(default_factory=list)
    reference: list[Sample] = field(default_factory=list)
    stop_reason: str = ""


@dataclass
class ProcessPair:
    """Two workers that hold the two sides."""

    implementation: TimedWorker
    reference: TimedWorker
    time_left_s: Callable[[], float]

    def warm_up(self, known_ms: tuple[float, float] | None) -> tuple[float, float]:
        """Call both sides until they are steady; milliseconds of a call of implementation and reference.

        ``known_ms`` are those of an earlier process pair: there is then no need to find out what a steady call takes.
        """
        known = known_ms or (None, None)
        return self._steady(self.implementation, known[0]), self._steady(self.reference, known[1])

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
        self, rule: StopRule, share_s: float, calls_ms: tuple[float, float], report: Callable[[Side, Side], None]
    ) -> Measured:
        """Sample both sides until the rule says stop. ``calls_ms``: how long a call of each side takes."""
        measured = Measured()
        sides = {"implementation": rule.new_side(), "reference": rule.new_side()}
        warm = {"implementation": calls_ms[0] < LONG_CALL_MS, "reference": calls_ms[1] < LONG_CALL_MS}
        order = list(sides)
        began = time.monotonic()
        if self._too_late(sum(calls_ms)):
            measured.stop_reason = TIME_LIMIT
        while not measured.stop_reason:
            started = time.monotonic()
            _order.shuffle(order)
            for role in order:
                worker: TimedWorker = getattr(self, role)
                samples: list[Sample] = getattr(measured, role)
                samples.append(worker.sample(len(samples), warm[role]))
                sides[role].add(samples[-1].own_ms)
            report(sides["implementation"], sides["reference"])
            now = time.monotonic()
            measured.stop_reason = rule.reason(list(sides.values()), now - began, share_s)
            if not measured.stop_reason and self._too_late((now - started) * 1e3):
                measured.stop_reason = TIME_LIMIT
        return measured

    def _too_late(self, needed_ms: float) -> bool:
        """Whether something that takes so long should not be begun any more."""
        return self.time_left_s() < 2e-3 * needed_ms
