"""Are the outputs right whatever the inputs, their addresses and their order, and as precise as they should be?"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, Any

import torch

from ..exchange.structure import flatten
from ..report import DefenseCheck
from .calls import change_one_element, expected_trial, same_values

if TYPE_CHECKING:
    from .bench import Bench

REPEAT_SHARE = 0.6  # a content that was seen before must not be done in less of the time of the fastest new one
REPEAT_GAIN_MS = 0.02
ROUNDING_SHARE = 3e-5  # errors from here on, relative to the values, have the size of TF32 or half precision
ROUNDING_FACTOR = 30.0


def fresh_inputs(bench: Bench) -> DefenseCheck:
    """Every timed call on contents and addresses that were never seen, fully verified."""
    calls = bench.survey.fresh
    wrong = [call for call in calls if not call.found.passed]
    evidence = {"calls": len(calls), "wrong": len(wrong)}
    if wrong:
        text = (
            f"{len(wrong)} of {len(calls)} timed calls on inputs never seen before gave a wrong output: {wrong[0].found.reason}"
        )
        return DefenseCheck("fresh_inputs", False, text, evidence)
    return DefenseCheck(
        "fresh_inputs", True, f"{len(calls)} timed calls on inputs never seen before: all outputs right", evidence
    )


def inputs_unchanged(bench: Bench) -> DefenseCheck:
    """The inputs after every timed call, compared with what was handed over: part of each verified call."""
    wrong = [c for c in [*bench.survey.fresh, *bench.survey.again] if "changed its inputs in place" in c.found.reason]
    if wrong:
        return DefenseCheck("inputs_unchanged", False, wrong[0].found.reason)
    return DefenseCheck("inputs_unchanged", True, "the inputs are as they were after every timed call")


def repeated_contents(bench: Bench) -> DefenseCheck:
    """A content seen before must take as long as a new one."""
    fresh = sorted(call.own_ms for call in bench.survey.fresh)
    again = sorted(call.own_ms for call in bench.survey.again)
    slow_repeat = again[len(again) * 3 // 4]
    evidence = {"new_ms": statistics.median(fresh), "seen_before_ms": statistics.median(again)}
    if slow_repeat < REPEAT_SHARE * fresh[0] and fresh[0] - slow_repeat > REPEAT_GAIN_MS:
        text = (
            f"inputs seen before take {evidence['seen_before_ms']:.3g} ms, new ones {evidence['new_ms']:.3g} ms: "
            "results are kept by content"
        )
        return DefenseCheck("repeated_contents", False, text, evidence)
    return DefenseCheck("repeated_contents", True, "inputs seen before take as long as new ones", evidence)


def determinism(bench: Bench) -> DefenseCheck:
    """The same inputs again give the same output, where the reference does."""
    wrong = [call for call in bench.survey.again if not call.found.passed]
    evidence = {"calls": len(bench.survey.again), "same_bits": bench.survey.same_bits}
    if wrong:
        text = f"inputs that were right once gave a wrong output the second time: {wrong[0].found.reason}"
        return DefenseCheck("determinism", False, text, evidence)
    if bench.survey.same_bits or not bench.survey.reference_same_bits:
        return DefenseCheck("determinism", True, "the same inputs give the same output", evidence)
    return DefenseCheck("determinism", True, "the same inputs give outputs that differ within the tolerance", evidence)


def plain_outputs(bench: Bench) -> DefenseCheck:
    """Outputs are plain tensors whose methods are torch's."""
    odd = sorted({text for call in bench.survey.fresh for text in call.odd})
    if odd:
        return DefenseCheck("plain_outputs", False, f"{odd[0]}: a tensor must not answer for itself", {"found": odd})
    return DefenseCheck("plain_outputs", True, "outputs are plain tensors")


def same_address(bench: Bench) -> DefenseCheck:
    """New contents at the addresses of the last call: a result kept by pointer, id or version is stale."""
    name, probe = "same_address", bench.probe
    first = probe.call(expected_trial(probe, bench.next_number()), "same")
    second = probe.call(expected_trial(probe, bench.next_number()), "same")
    stale = same_values(first.value, second.value)
    if first.found.passed and second.found.passed:
        return DefenseCheck(name, True, "new contents at the same addresses: outputs right")
    wrong = second if not second.found.passed else first
    kept = "the output is that of the call before: results are kept by address" if stale else wrong.found.reason
    return DefenseCheck(name, False, f"the inputs were changed in place, at the same addresses: {kept}", {"stale": stale})


def one_element(bench: Bench) -> DefenseCheck:
    """One element changed: a result kept by a fingerprint of part of the inputs is stale."""
    name, probe, trials = "one_element", bench.probe, bench.probe.context.trials
    if probe.context.plan.backward:
        return DefenseCheck(name, True, "not made with --backward")
    number = bench.next_number()
    plain = expected_trial(probe, number)
    first, expected = probe.call(plain, "same"), plain.expected
    generator = torch.Generator().manual_seed(probe.context.secret.seed("element", probe.case.name, number))
    changed: list[str] = []
    altered = trials.prepare_altered(probe.case, number, lambda inputs: changed.append(change_one_element(inputs, generator)))
    if not changed[0]:
        return DefenseCheck(name, True, "not made: there is no floating-point input")
    trials.expect(altered)
    if same_values(expected, altered.expected):
        return DefenseCheck(name, True, f"not conclusive: the output does not depend on {changed[0]}", {"changed": changed[0]})
    second = probe.call(altered, "same")
    if not second.found.passed and same_values(first.value, second.value):
        text = f"{changed[0]} was changed and the output stayed as before: results are kept by a part of the inputs"
        return DefenseCheck(name, False, text, {"changed": changed[0]})
    return DefenseCheck(name, True, f"{changed[0]} changed: the output follows", {"changed": changed[0]})


def precision(bench: Bench) -> DefenseCheck:
    """Errors against float64, beside those of the reference itself."""
    name, probe = "precision", bench.probe
    context = probe.context
    trial = expected_trial(probe, bench.next_number())
    call = probe.call(trial)
    if (
        any(value is not None for value in (context.plan.tolerance.rtol, context.plan.tolerance.atol))
        or context.problem.tf32_allowed
    ):
        return DefenseCheck(name, True, "not judged: a tolerance or TF32 was asked for")
    oracle = context.trials.oracle(trial)
    worst: dict[str, float] = {}
    for path, actual, expected in _float_leaves(call.value, trial.expected):
        exact = oracle.exact(path, expected)
        if exact is None:
            return DefenseCheck(name, True, f"not made: {oracle.reason or 'no exact value to compare with'}")
        size, own, usual = (_rms(x) for x in (exact.double(), actual.double() - exact, expected.double() - exact))
        if size > 0 and own / size > worst.get("error", -1.0):
            worst = {"error": own / size, "reference_error": usual / size}
    if not worst:
        return DefenseCheck(name, True, "not made: no float32 output")
    if worst["error"] >= ROUNDING_SHARE and worst["error"] > ROUNDING_FACTOR * worst["reference_error"]:
        text = (
            f"errors of {worst['error']:.2g} of the values, the reference's are {worst['reference_error']:.2g}: "
            "lower precision than the problem's (--precision tf32, --dtype or --rtol allow it)"
        )
        return DefenseCheck(name, False, text, worst)
    return DefenseCheck(name, True, "as precise as the problem asks for", worst)


def _float_leaves(actual: Any, expected: Any) -> list[tuple[str, Any, Any]]:
    found = {leaf.path: leaf for leaf in flatten(actual)}
    pairs = [(leaf.path, found.get(leaf.path), leaf) for leaf in flatten(expected) if isinstance(leaf.value, torch.Tensor)]
    return [(path, a.tensor, e.tensor) for path, a, e in pairs if a is not None and e.value.dtype == torch.float32]


def _rms(values: Any) -> float:
    return float(values.pow(2).mean().sqrt()) if values.numel() else 0.0
