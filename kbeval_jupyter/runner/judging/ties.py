"""Selections with ties (top-k, sort, argmax): other indices than the reference's are right where they select equal values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch

from ..exchange.encoding import distinct_tensors
from ..exchange.materialise import copy_tensor

if TYPE_CHECKING:
    from ..exchange.arena import Arena
    from ..exchange.structure import Leaf
    from ..exchange.tree import TensorNode
    from ..report import OutputReport
    from .outputs import Comparison


def forgive(result: Comparison, tensors: list[tuple[Leaf, TensorNode]], arena: Arena, inputs: Any) -> None:
    """Turn the failure of integer outputs into a warning where all of them are indices that differ only in ties."""
    by_path = {leaf.path: (leaf, node) for leaf, node in tensors}
    failing = [report for report in result.reports if report.mismatched]
    if not failing or len(result.reports) != len(tensors):
        return
    sources = [t.detach().cpu() for t in distinct_tensors(inputs) if t.is_floating_point() or not t.is_complex()]
    values = [leaf.tensor for leaf, _ in tensors]
    for report in failing:
        leaf, node = by_path[report.path]
        if leaf.tensor.dtype not in (torch.int64, torch.int32):
            return
        expected, actual = leaf.tensor.long(), copy_tensor(node, arena).long()
        siblings = [v for v in values if v is not expected and v.shape == expected.shape]
        if not any(_selects_equal(source, expected, actual, siblings) for source in sources):
            return
    paths = ", ".join(f"output{report.path}" for report in failing)
    result.warnings.append(f"{paths}: other indices than the reference's, but they select equal values (ties); accepted")
    result.reports = [_accepted(report) if report.mismatched else report for report in result.reports]
    result.reason = ""


def _accepted(report: OutputReport) -> OutputReport:
    return dataclasses.replace(
        report, mismatched=0, mismatched_pct=0.0, samples=[], pattern=None, pattern_kind=None, heatmap=None
    )


def _selects_equal(source: Any, expected: Any, actual: Any, siblings: list[Any]) -> bool:
    """Whether both index tensors take the same values from ``source`` along some dimension, which was a selection."""
    for dim in range(source.dim()):
        e, a = (expected, actual) if expected.dim() == source.dim() else (_kept(expected, dim), _kept(actual, dim))
        sizes = [size for i, size in enumerate(source.shape) if i != dim]
        if e.dim() != source.dim() or [size for i, size in enumerate(e.shape) if i != dim] != sizes:
            continue
        if not e.numel() or not _in_range(e, source.shape[dim]) or not _in_range(a, source.shape[dim]):
            continue
        taken = source.gather(dim, e)
        if not torch.equal(taken, source.gather(dim, a)) or _repeats(a, dim) > _repeats(e, dim):
            continue
        if _is_selection(source, taken, dim) or any(_same_values(s, taken.reshape(s.shape)) for s in siblings):
            return True
    return False


def _kept(index: Any, dim: int) -> Any:
    return index.unsqueeze(dim) if dim <= index.dim() else index


def _in_range(index: Any, size: int) -> bool:
    return int(index.min()) >= 0 and int(index.max()) < size


def _repeats(index: Any, dim: int) -> int:
    ordered = index.sort(dim).values
    return int((ordered.diff(dim=dim) == 0).sum())


def _same_values(sibling: Any, taken: Any) -> bool:
    return bool(sibling.dtype == taken.dtype and torch.equal(sibling, taken))


def _is_selection(source: Any, taken: Any, dim: int) -> bool:
    """Whether these are the largest or the smallest values along the dimension, in order."""
    count = taken.shape[dim]
    return any(
        bool(torch.equal(taken, source.sort(dim, descending=descending).values.narrow(dim, 0, count)))
        for descending in (True, False)
    )
