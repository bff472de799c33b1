"""Statistics of timed samples: plain Python, milliseconds in and out. Quantiles are type 7 (linear), as numpy's default."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..report import TimingStats

if TYPE_CHECKING:
    from collections.abc import Sequence

MIN_SAMPLES = 10  # nvbench's minimum; fewer say nothing about spread
KEPT_SAMPLES = 1000  # in the result; all of them are in the artifact

_MODE_MIN_SAMPLES = 20
_MODE_MIN_SHARE = 0.15  # a smaller group is outliers, which are counted anyway
_MODE_MIN_SEPARATION = 3.0  # in spreads; the best split of normal, uniform and exponential samples stays near or under 2


def quantile(ordered: Sequence[float], p: float) -> float:
    """The type 7 quantile of samples in ascending order."""
    position = (len(ordered) - 1) * p
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def median(samples: Sequence[float]) -> float:
    """The median of samples in any order."""
    return quantile(sorted(samples), 0.5)


def relative_noise(ordered: Sequence[float]) -> float:
    """IQR / median of samples in ascending order; infinite where the median is 0."""
    middle = quantile(ordered, 0.5)
    return (quantile(ordered, 0.75) - quantile(ordered, 0.25)) / middle if middle > 0 else math.inf


def thin(samples: Sequence[float], limit: int) -> list[float]:
    """At most ``limit`` of the samples, evenly taken in their order, first and last included."""
    last = len(samples) - 1
    if last < limit:
        return list(samples)
    return [samples[round(i * last / (limit - 1))] for i in range(limit)]


def count_outliers(ordered: Sequence[float]) -> int:
    """How many samples lie beyond 1.5 IQR outside the quartiles."""
    q1, q3 = quantile(ordered, 0.25), quantile(ordered, 0.75)
    reach = 1.5 * (q3 - q1)
    return sum(sample < q1 - reach or sample > q3 + reach for sample in ordered)


def count_modes(samples: Sequence[float]) -> int:
    """2 where the samples fall into two groups that are far apart compared with the spread within each, else 1.

    The split is the one with the least variance within the two groups (Otsu 1979), of samples clipped to the 2 % and 98 %
    quantiles, so that single outliers do not attract it.
    """
    ordered = sorted(thin(samples, KEPT_SAMPLES))
    if len(ordered) < _MODE_MIN_SAMPLES:
        return 1
    low, high = quantile(ordered, 0.02), quantile(ordered, 0.98)
    clipped = [min(max(sample, low), high) for sample in ordered]
    cut = _best_split(clipped)
    left, right = clipped[:cut], clipped[cut:]
    if min(len(left), len(right)) < _MODE_MIN_SHARE * len(clipped):
        return 1
    distance = quantile(right, 0.5) - quantile(left, 0.5)
    spread = max(quantile(side, 0.75) - quantile(side, 0.25) for side in (left, right))
    # Timers tick: groups one tick apart have no spread at all, so they must also differ visibly.
    return 2 if distance > max(_MODE_MIN_SEPARATION * spread, 0.02 * quantile(clipped, 0.5)) else 1


def _best_split(ordered: Sequence[float]) -> int:
    """Where to cut ascending samples in two so that the variance between the parts is largest."""
    count, total = len(ordered), sum(ordered)
    best, best_between, left_sum = 1, -1.0, 0.0
    for cut in range(1, count):
        left_sum += ordered[cut - 1]
        gap = (total - left_sum) / (count - cut) - left_sum / cut
        between = cut * (count - cut) * gap * gap
        if between > best_between:
            best, best_between = cut, between
    return best


def summarise(samples_ms: Sequence[float], resolution_ms: float = 0.0, missing: str = "") -> TimingStats:
    """All statistics of one side of one case; None with the reason where the samples do not carry them.

    ``missing`` says why there are few samples, for the case that there are.
    """
    ordered = sorted(samples_ms)
    count = len(ordered)
    if count < MIN_SAMPLES:
        return _untold(samples_ms, f"{count} samples, at least {MIN_SAMPLES} are needed" + (f": {missing}" if missing else ""))
    middle = quantile(ordered, 0.5)
    if middle <= resolution_ms:
        return _untold(samples_ms, f"below the timer's resolution of {resolution_ms * 1e3:g} us")
    q1, q3 = quantile(ordered, 0.25), quantile(ordered, 0.75)
    mean = math.fsum(ordered) / count
    return TimingStats(
        samples_ms=thin(samples_ms, KEPT_SAMPLES),
        samples_total=count,
        median_ms=middle,
        q1_ms=q1,
        q3_ms=q3,
        iqr_ms=q3 - q1,
        mad_ms=median([abs(sample - middle) for sample in ordered]),
        mean_ms=mean,
        min_ms=ordered[0],
        max_ms=ordered[-1],
        std_ms=math.sqrt(math.fsum((sample - mean) ** 2 for sample in ordered) / (count - 1)),
        n=count,
        outliers=count_outliers(ordered),
        modes=count_modes(samples_ms),
    )


def _untold(samples_ms: Sequence[float], reason: str) -> TimingStats:
    return TimingStats(
        samples_ms=thin(samples_ms, KEPT_SAMPLES),
        samples_total=len(samples_ms),
        median_ms=None,
        q1_ms=None,
        q3_ms=None,
        iqr_ms=None,
        mad_ms=None,
        mean_ms=None,
        min_ms=None,
        max_ms=None,
        std_ms=None,
        n=len(samples_ms),
        outliers=0,
        reason=reason,
    )
