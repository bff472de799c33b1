"""Time several implementations together in one interleaved run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from . import api, sources
from .errors import RequestError
from .model.comparison import REFERENCE, ComparisonResult, from_evaluation
from .model.request import TORCH_COMPILE, RivalSource
from .options import BY_KEYWORD, build_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from .model.request import EvaluationRequest, Source

STAGES = ("compile", "benchmark")  # the benchmark checks all sides alike


def compare(
    implementations: Mapping[str, Path | str] | Iterable[Path | str], reference: Path | str, **options: Any
) -> ComparisonResult:
    """The matrix of claims over implementations (a dict by label, or a list) and the reference, re-timed in one interleaved run.

    A Path is a file, a str is source text, or "torch.compile" for the reference compiled. Options are those of ``evaluate``.
    Raises what ``evaluate`` raises.
    """
    sides = [side(label, value) for label, value in _labelled(implementations)]
    request = comparison_request(sides, sources.from_value(reference, "reference"), options)
    return from_evaluation(api.wait(api.start(request)))


def comparison_request(
    sides: Sequence[RivalSource],
    reference: Source,
    options: Mapping[str, Any],
    base: EvaluationRequest | None = None,
    problem_name: str = "",
) -> EvaluationRequest:
    """The request that times all sides together; ``base`` gives what ``options`` leave open; raises RequestError."""
    if len(sides) < 2:
        raise RequestError("a comparison takes at least two implementations")
    labels = [one.label for one in sides]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice is not None or REFERENCE in labels:
        raise RequestError(f"two sides of the comparison are called {twice or REFERENCE!r}", "give them different names")
    first = next((one for one in sides if one.source is not None), None)
    if first is None or first.source is None:
        raise RequestError(f"only {TORCH_COMPILE} was given to compare: name an implementation too")
    made = build_request(first.source, reference, options, problem_name=problem_name)
    if base is not None:
        fields = (BY_KEYWORD[keyword].field for keyword, value in options.items() if value is not None)
        made = dataclasses.replace(base, **{field: getattr(made, field) for field in fields if field})
    return dataclasses.replace(
        made,
        implementation=first.source,
        reference=reference,
        files=first.files,
        label=first.label,
        rivals=tuple(one for one in sides if one is not first),
        stages=STAGES,
        backend=None,
        confirm=False,
        replay=None,
        secret=None,
    )


def _labelled(implementations: Mapping[str, Path | str] | Iterable[Path | str]) -> list[tuple[str, Path | str]]:
    """Labels for all of them; a list's texts are called v1, v2 and so on by their place, its files by their names."""
    if isinstance(implementations, str):
        raise RequestError("a comparison takes a list of implementations or a dict by label, got one text")
    if isinstance(implementations, Mapping):
        return list(implementations.items())
    values = enumerate(implementations, 1)
    return [(f"v{number}" if isinstance(value, str) and value != TORCH_COMPILE else "", value) for number, value in values]


def side(label: str, value: Path | str) -> RivalSource:
    """One side: a file, source text, or torch.compile; without a label it is called by its name."""
    if str(value) == TORCH_COMPILE:
        return RivalSource(label or TORCH_COMPILE, None)
    source = sources.from_value(value, label or "implementation")
    return RivalSource(label or source.name, source)
