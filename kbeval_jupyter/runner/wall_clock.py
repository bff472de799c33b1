"""A worker's own clock is a claim: it is published only while the judge's wall clock agrees with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .statistics import median, quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .timed_worker import Sample

_BOUND_QUANTILE = 0.95
_MIN_BOUND_MS = 0.02  # scheduling of one message; below it nothing can be told apart from outside


def gaps_ms(samples: Sequence[Sample]) -> list[float]:
    """How much longer the judge's wall clock ran than the worker's, per sample: the cost of the request."""
    return [sample.wall_ms - sample.own_ms for sample in samples]


def disagreement(implementation: Sequence[Sample], reference: Sequence[Sample]) -> str:
    """Why the implementation's clock cannot be believed, or "" where it can.

    The reference runs code we trust and shows what a request costs: the implementation's median gap must lie between 0 and the
    reference's 95 % quantile.
    """
    gap, usual = median(gaps_ms(implementation)), sorted(gaps_ms(reference))
    middle, bound = quantile(usual, 0.5), quantile(usual, _BOUND_QUANTILE)
    bound = max(bound, middle + _MIN_BOUND_MS)
    if 0 <= gap <= bound:
        return ""
    return (
        f"the implementation's clock differs from the judge's by {gap:.3g} ms a call, the reference's by {middle:.3g} ms "
        f"(at most {bound:.3g} ms): times of the judge's wall clock are shown for both sides"
    )
