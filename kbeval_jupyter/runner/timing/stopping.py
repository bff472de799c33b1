"""When a case has been timed long enough. The rule is nvbench's "stdrel", with IQR / median as the noise."""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter, deque
from dataclasses import dataclass

from .statistics import MIN_SAMPLES, quantile, relative_noise

LOW_NOISE = 0.005
LOW_NOISE_MEASURED_S = 0.5
STABLE_WINDOW = 64  # noise values looked at
STABLE_VARIATION = 0.05  # standard deviation / mean of those values
_NOISE_MIN_SAMPLES = 5  # nvbench: a noise of fewer samples is not looked at

NOISE_LOW = f"noise at most {LOW_NOISE * 100:g} %"
NOISE_STABLE = "noise stable"
BUDGET_SPENT = "budget spent"
TIME_LIMIT = "time limit of the evaluation reached"


class Side:
    """The samples of one side (milliseconds), kept sorted, with the history of their noise."""

    def __init__(self, window: int) -> None:
        self.samples_ms: list[float] = []
        self._ordered: list[float] = []
        self._history: deque[float] = deque(maxlen=window)

    def add(self, sample_ms: float) -> None:
        """Take one more sample."""
        self.samples_ms.append(sample_ms)
        insort(self._ordered, sample_ms)
        if len(self._ordered) >= _NOISE_MIN_SAMPLES:
            self._history.append(relative_noise(self._ordered))

    @property
    def median_ms(self) -> float:
        """Median so far."""
        return quantile(self._ordered, 0.5)

    def noise_is_low(self, measured_s: float) -> bool:
        """Whether the noise is small and at least ``measured_s`` were measured."""
        return bool(self._history) and self._history[-1] <= LOW_NOISE and sum(self.samples_ms) >= measured_s * 1e3

    def noise_is_stable(self) -> bool:
        """Whether more samples would not change the noise: its last ``window`` values hardly vary."""
        values = self._history
        if len(values) < (values.maxlen or 0):
            return False
        mean = math.fsum(values) / len(values)
        if not math.isfinite(mean):
            return False
        deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
        return deviation <= STABLE_VARIATION * mean


@dataclass(frozen=True)
class StopRule:
    """The rule for one case in one of ``groups`` process groups, which share minimum, window and measured time between them."""

    groups: int

    @property
    def min_samples(self) -> int:
        """Samples of each side in one process group, whatever the budget."""
        return math.ceil(MIN_SAMPLES / self.groups)

    def new_side(self) -> Side:
        """An empty side with this rule's share of the window."""
        return Side(max(2, STABLE_WINDOW // self.groups))

    def reason(self, sides: list[Side], spent_s: float, share_s: float) -> str:
        """Why to stop now, or "" to go on. ``spent_s`` of ``share_s`` seconds of the budget are gone."""
        if any(len(side.samples_ms) < self.min_samples for side in sides):
            return ""
        if all(side.noise_is_low(LOW_NOISE_MEASURED_S / self.groups) for side in sides):
            return NOISE_LOW
        if all(side.noise_is_stable() for side in sides):
            return NOISE_STABLE
        return BUDGET_SPENT if spent_s >= share_s else ""

    def describe(self, budget_s: float) -> str:
        """The rule as a sentence of the result."""
        return (
            f"at least {MIN_SAMPLES} samples a side; ends when IQR/median is at most {LOW_NOISE * 100:g} % with "
            f"{LOW_NOISE_MEASURED_S:g} s measured, or varies by less than {STABLE_VARIATION * 100:g} % over the last "
            f"{STABLE_WINDOW} samples, or the budget of {budget_s:g} s for all cases is spent"
        )


def summarise_reasons(reasons: list[str]) -> str:
    """Why the process groups of a case stopped, in one phrase."""
    counts = Counter(reasons)
    if len(counts) <= 1:
        return next(iter(counts), "")
    return ", ".join(f"{reason} ({count} of {len(reasons)} process groups)" for reason, count in counts.most_common())
