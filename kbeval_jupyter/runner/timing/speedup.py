"""Is it really faster? Paired log ratios, a cluster bootstrap over process groups and samples, and what may be claimed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from ..report import Speedup
from .statistics import median, thin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..report import Claim

BAND = 0.01  # differences within 1 % are called the same
CONFIDENCE = 0.95
MIN_PROCESS_GROUPS = 4  # fewer do not show how much one process differs from the next

_RESAMPLES = 1000
_RESAMPLED = 1000  # log ratios of all process groups; more are thinned evenly, which can only widen the interval


def log_ratios(reference_ms: Sequence[float], implementation_ms: Sequence[float]) -> list[float]:
    """log(reference / implementation) of samples taken side by side; positive where the implementation is faster."""
    return [math.log(r / i) for r, i in zip(reference_ms, implementation_ms) if r > 0 and i > 0]


def paired_speedup(groups: Sequence[Sequence[float]], seed: int = 0) -> Speedup | None:
    """Speedup from the log ratios of each process group: their median, its 95 % interval, and the claim. None without ratios.

    With fewer than 4 process groups nothing is claimed.
    """
    return mean_speedup([groups], seed)


def mean_speedup(cases: Sequence[Sequence[Sequence[float]]], seed: int = 0) -> Speedup | None:
    """The geometric mean of the cases' speedups, with its interval and claim. None where a case has no ratios."""
    timed = [[group for group in groups if group] for groups in cases]
    if not timed or not all(timed):
        return None
    middle = math.fsum(median([ratio for group in groups for ratio in group]) for groups in timed) / len(timed)
    low, high = _interval(timed, seed)
    claim = claim_from(low, high) if min(map(len, timed)) >= MIN_PROCESS_GROUPS else "AMBIGUOUS"
    # A percentile interval may miss its own centre by a hair when there are few samples.
    return Speedup(math.exp(middle), math.exp(min(low, middle)), math.exp(max(high, middle)), claim)


def claim_from(log_low: float, log_high: float) -> Claim:
    """FASTER or SLOWER only outside the band of 1 %, SAME only inside it, else AMBIGUOUS."""
    edge = math.log1p(BAND)
    if log_low > edge:
        return "FASTER"
    if log_high < -edge:
        return "SLOWER"
    return "SAME" if -edge <= log_low and log_high <= edge else "AMBIGUOUS"


def _interval(cases: Sequence[Sequence[Sequence[float]]], seed: int) -> tuple[float, float]:
    """Percentile interval of the mean of the cases' medians."""
    means = torch.stack([_resampled_medians(groups, seed, number) for number, groups in enumerate(cases)]).mean(dim=0)
    tail = (1 - CONFIDENCE) / 2
    low, high = torch.quantile(means, torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return low, high


def _resampled_medians(clusters: Sequence[Sequence[float]], seed: int, case: int) -> torch.Tensor:
    """Medians of resampled log ratios: process groups are drawn with replacement, then samples within each drawn group.

    The groups drawn are the same for all cases: a process that is slow is slow in all of them.
    """
    kept = [thin(cluster, max(2, _RESAMPLED // len(clusters))) for cluster in clusters]
    count, width = len(kept), max(len(cluster) for cluster in kept)
    table = torch.zeros(count, width)
    for row, cluster in enumerate(kept):
        table[row, : len(cluster)] = torch.tensor(cluster)
    lengths = torch.tensor([len(cluster) for cluster in kept])
    rows = torch.randint(count, (_RESAMPLES, count, 1), generator=torch.Generator().manual_seed(seed))
    fractions = torch.rand(_RESAMPLES, count, width, generator=torch.Generator().manual_seed(seed + 1 + case))
    columns = (fractions * lengths[rows]).long().clamp_(max=width - 1)
    return torch.take(table, columns.add_(rows * width)).view(_RESAMPLES, -1).median(dim=1).values.double()


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """The geometric mean, None of nothing."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None
