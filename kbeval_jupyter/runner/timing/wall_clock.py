"""A worker's own clock is a claim: it is published only while the judge's wall clock agrees with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .statistics import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .timed_worker import Sample

# Quantiles of the implementation's gaps, and those of the reference's that they must not exceed. A lie moves all gaps up, the low
# ones included, where other processes, which make single gaps very long, leave no trace.
_BOUNDS = ((0.1, 0.5), (0.25, 0.65), (0.5, 0.9))
_SLACK_MS = 0.02  # the scheduling of one message: below it nothing can be told apart from outside


def gaps_ms(samples: Sequence[Sample]) -> list[float]:
    """How much longer the judge's wall clock ran than the worker's, per sample: the cost of the request."""
    return [sample.wall_ms - sample.own_ms for sample in samples]


def disagreement(implementation: Sequence[Sample], reference: Sequence[Sample], name: str = "implementation") -> str:
    """Why the implementation's clock cannot be believed, or "" where it can; ``name`` is what the sentence calls it.

    The reference runs code we trust and shows what a request costs.
    """
    gaps, usual = sorted(gaps_ms(implementation)), sorted(gaps_ms(reference))
    middle = quantile(gaps, 0.5)
    if middle >= 0 and all(quantile(gaps, own) <= quantile(usual, bound) + _SLACK_MS for own, bound in _BOUNDS):
        return ""
    return (
        f"the {name}'s clock differs from the judge's by {middle:.3g} ms a call, the reference's by "
        f"{quantile(usual, 0.5):.3g} ms: times of the judge's wall clock are shown for both sides"
    )
