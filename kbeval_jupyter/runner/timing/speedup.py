"""Is it really faster? Paired log ratios, a cluster bootstrap over process pairs and samples, and what may be claimed from it."""

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
MIN_PROCESS_PAIRS = 4  # fewer do not show how much one process differs from the next

_RESAMPLES = 1000
_RESAMPLED = 1000  # log ratios of all process pairs; more are thinned evenly, which can only widen the interval


def log_ratios(reference_ms: Sequence[float], implementation_ms: Sequence[float]) -> list[float]:
    """log(reference / implementation) of samples taken side by side; positive where the implementation is faster."""
    return [math.log(r / i) for r, i in zip(reference_ms, implementation_ms) if r > 0 and i > 0]


def paired_speedup(pairs: Sequence[Sequence[float]], seed: int = 0) -> Speedup | None:
    """Speedup from the log ratios of each process pair: their median, its 95 % interval, and the claim. None without ratios.

    With fewer than 4 process pairs nothing is claimed.
    """
    clusters = [pair for pair in pairs if pair]
    if not clusters:
        return None
    middle = median([ratio for pair in clusters for ratio in pair])
    low, high = _interval(clusters, seed)
    claim = claim_from(low, high) if len(clusters) >= MIN_PROCESS_PAIRS else "AMBIGUOUS"
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


def _interval(clusters: Sequence[Sequence[float]], seed: int) -> tuple[float, float]:
    """Percentile interval of the median: process pairs are drawn with replacement, then samples within each drawn pair."""
    kept = [thin(cluster, max(2, _RESAMPLED // len(clusters))) for cluster in clusters]
    count, width = len(kept), max(len(cluster) for cluster in kept)
    table = torch.zeros(count, width)
    for row, cluster in enumerate(kept):
        table[row, : len(cluster)] = torch.tensor(cluster)
    lengths = torch.tensor([len(cluster) for cluster in kept])
    generator = torch.Generator().manual_seed(seed)
    rows = torch.randint(count, (_RESAMPLES, count, 1), generator=generator)
    fractions = torch.rand(_RESAMPLES, count, width, generator=generator)
    columns = (fractions * lengths[rows]).long().clamp_(max=width - 1)
    medians = torch.take(table, columns.add_(rows * width)).view(_RESAMPLES, -1).median(dim=1).values
    tail = (1 - CONFIDENCE) / 2
    low, high = torch.quantile(medians.double(), torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return low, high


def geometric_mean(ratios: Sequence[float]) -> float | None:
    """The geometric mean, None of nothing."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else None
