"""Comparing a worker's output tree with the expected value: structure first, then every leaf; a report per tensor."""

from __future__ import annotations

import cmath
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from ..exchange.arena import Arena, dtype_name
from ..exchange.encoding import own_constant
from ..exchange.materialise import copy_tensor
from ..exchange.structure import Leaf, flatten, place_of, structure_problem
from ..exchange.tree import ConstNode, Node, TensorNode, leaves
from ..report import OutputReport
from ..wire import Tolerance as UserTolerance
from . import ties
from .analysis import Analysis, analyse, element_samples, unravel
from .compare import compare_floats, components, equal_bits, histogram
from .patterns import Pattern, find_pattern
from .tolerance import Tolerance, tolerance_for

if TYPE_CHECKING:
    from .oracle import Oracle


HISTOGRAM_ELEMENTS = 1 << 22  # of a larger output that passes, no histogram: it would take longer than all the rest


@dataclass
class Comparison:
    """What comparing one trial's outputs found. ``reason`` is empty where all passed."""

    reports: list[OutputReport] = field(default_factory=list)
    reason: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """True only if something was compared and nothing failed."""
        return not self.reason


@dataclass(frozen=True)
class Rules:
    """How values are judged: the user's tolerances and whether TF32 is allowed."""

    user: UserTolerance
    tf32: bool = False

    def tolerance(self, expected: Any) -> Tolerance | None:
        """The bounds for one expected tensor; None: equality."""
        return tolerance_for(dtype_name(expected.dtype), components(expected), self.user.rtol, self.user.atol, self.tf32)

    def same_constant(self, expected: Any, actual: Any) -> bool:
        """Whether a leaf that is no tensor is right: of equal type and value; floats, mostly float32's ``item()``, as float32."""
        expected, actual = own_constant(expected), own_constant(actual)
        if type(expected) is not type(actual):
            return False
        if expected == actual or (expected != expected and actual != actual):
            return True
        if not isinstance(expected, (float, complex)) or not (cmath.isfinite(expected) and cmath.isfinite(actual)):
            return False
        size, error = (math.hypot(value.real, value.imag) for value in (expected, actual - expected))
        bounds = tolerance_for("float32", torch.tensor([size], dtype=torch.float64), self.user.rtol, self.user.atol, self.tf32)
        return bounds is not None and error <= bounds.atol + bounds.rtol * size


def compare_outputs(
    expected: Any,
    actual: Node,
    arena: Arena,
    rules: Rules,
    oracle: Oracle | None = None,
    inputs: Any = None,
    root: str = "",
    may_be_empty: bool = False,
) -> Comparison:
    """Compare an expected value with a worker's checked tree.

    ``inputs`` (pristine) serve to recognise ties of selections. ``root`` is the path of what is compared: "" for the output.
    Without content there is nothing to compare, which is no pass, unless it ``may_be_empty``: something else is compared too.
    """
    result = Comparison()
    problem = structure_problem(expected, actual, root)
    if problem:
        result.reason = problem
        return result
    found = dict(leaves(actual, root))  # by path: the order of a dict's keys is free
    pairs = [(leaf, found[leaf.path]) for leaf in flatten(expected, root)]
    tensors = [(leaf, node) for leaf, node in pairs if isinstance(node, TensorNode)]
    if not may_be_empty and not any(_has_content(node) for _, node in pairs):
        result.reason = "there is nothing to compare: the reference's output holds no element"
        return result
    for leaf, node in pairs:
        if isinstance(node, TensorNode):
            _compare_tensor(result, leaf, node, arena, rules, oracle)
        elif isinstance(node, ConstNode) and not rules.same_constant(leaf.value, node.value):
            _fail(result, f"{place_of(leaf.path)} is {node.value!r}, expected {leaf.value!r}")
    if result.reason and inputs is not None:
        ties.forgive(result, tensors, arena, inputs)
    return result


def _has_content(leaf: Node) -> bool:
    return leaf.nbytes > 0 if isinstance(leaf, TensorNode) else not (isinstance(leaf, ConstNode) and leaf.value is None)


def _fail(result: Comparison, reason: str) -> None:
    result.reason = result.reason or reason


def _compare_tensor(result: Comparison, leaf: Leaf, node: TensorNode, arena: Arena, rules: Rules, oracle: Oracle | None) -> None:
    if node.offset is None:
        _fail(result, f"{place_of(leaf.path)} did not fit into the room for outputs")
        return
    expected = leaf.tensor
    tolerance = rules.tolerance(expected)
    memory = arena.view(node.dtype, node.shape, node.offset)
    quick = _quick(expected, memory, tolerance, leaf.path)
    if quick is not None:
        result.reports.append(quick)
        return
    actual = copy_tensor(node, arena)
    found = analyse(expected, actual, tolerance)
    if found.mismatched and tolerance is not None and oracle is not None:
        exact = oracle.exact(leaf.path, expected)
        if exact is not None:
            found = analyse(expected, actual, tolerance, exact)
        elif oracle.reason and oracle.reason not in result.warnings:
            result.warnings.append(oracle.reason)
    hint = precision_hint(found, expected, rules) if found.mismatched else ""
    report = full_report(expected, actual, tolerance, leaf.path, found, hint)
    result.reports.append(report)
    if report.mismatched:
        _fail(result, f"{describe(report)}. {hint}" if hint else describe(report))


def _bounds(tolerance: Tolerance | None) -> tuple[float | None, float | None]:
    return (None, None) if tolerance is None else (tolerance.rtol, tolerance.atol)


def _quick(expected: Any, memory: Any, tolerance: Tolerance | None, path: str) -> OutputReport | None:
    """The report of a tensor that passes in one cheap pass, else None."""
    shape, dtype, total = list(expected.shape), dtype_name(expected.dtype), expected.numel()
    rtol, atol = _bounds(tolerance)
    if tolerance is None:
        if not equal_bits(expected.reshape(-1), memory.reshape(-1)):
            return None
        zero = 0.0 if total else None
        counts = {"0": total} if total else {}
        return OutputReport(path, shape, dtype, None, None, zero, None, zero, zero, zero, 0, total, 0.0, counts)
    errors = compare_floats(components(expected), components(memory), tolerance, total <= HISTOGRAM_ELEMENTS)
    if not errors.within:
        return None
    parts = 2 if expected.is_complex() else 1
    at = unravel(errors.max_abs_at // parts, shape) if errors.max_abs else None
    return OutputReport(
        path, shape, dtype, rtol, atol, errors.max_abs if total else None, at, errors.sum_abs / errors.total if total else None,
        errors.max_rel if errors.nonzero else None, errors.sum_rel / errors.nonzero if errors.nonzero else None,
        0, total, 0.0, {} if errors.decades is None else histogram(errors.decades),
    )  # fmt: skip


def full_report(
    expected: Any, actual: Any, tolerance: Tolerance | None, path: str, found: Analysis, precision: str = ""
) -> OutputReport:
    """The report of an analysed tensor; ``precision`` is what is said where its errors have the size of a narrower type's."""
    shape, parts = list(expected.shape), 2 if expected.is_complex() else 1
    rtol, atol = _bounds(tolerance)
    total, mismatched = expected.numel(), found.mismatched
    samples = element_samples(expected.reshape(-1), actual.reshape(-1), shape, found.samples, parts)
    pattern: Pattern | None = None
    if found.evidence is not None:
        known = Pattern("precision", precision) if precision else None
        pattern = known or find_pattern(found.evidence, expected, actual, tolerance)
    return OutputReport(
        path=path,
        shape=shape,
        dtype=dtype_name(expected.dtype),
        rtol=rtol,
        atol=atol,
        max_abs=found.max_abs,
        max_abs_index=None if found.max_abs_at is None else unravel(found.max_abs_at // parts, shape),
        mean_abs=found.mean_abs,
        max_rel=found.max_rel,
        mean_rel=found.mean_rel,
        mismatched=mismatched,
        total=total,
        mismatched_pct=100.0 * mismatched / total if total else 0.0,
        histogram=found.histogram,
        pattern=pattern.sentence if pattern else None,
        samples=samples,
        heatmap=found.heatmap if pattern else None,
        pattern_kind=pattern.kind if pattern else None,
    )


def describe(report: OutputReport) -> str:
    """One sentence on a tensor that failed."""
    first = report.samples[0] if report.samples else None
    text = f"{place_of(report.path)}: {report.mismatched} of {report.total} elements are wrong ({report.mismatched_pct:.3g} %)"
    if report.max_abs is not None and report.max_abs_index is not None:
        text += f", the largest error is {report.max_abs:.4g} at {report.max_abs_index}"
    if first is not None:
        text += f"; first at {first.index}: {first.actual}, expected {first.expected}"
    return text


def precision_hint(found: Analysis, expected: Any, rules: Rules) -> str:
    """Where the errors of a float32 output have the size of TF32 or half precision: that, and the option that allows it."""
    share = found.error_share
    if dtype_name(expected.dtype) not in ("float32", "complex64") or share is None or not 3e-5 <= share < 2e-2:
        return ""
    if found.differing_share < 0.5:
        return ""
    if share < 1e-3:
        option = "" if rules.tf32 else " If that is allowed, use --precision tf32"
        return f"The errors have the size of TF32 or float16 rounding ({share:.1e} of the values).{option}"
    return f"The errors have the size of bfloat16 rounding ({share:.1e} of the values). If that is allowed, use --dtype bfloat16"
