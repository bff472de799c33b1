"""The problem is tried too: is the reference sound, do the inputs vary, does the output say anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..exchange.encoding import distinct_tensors
from ..judging.checker import check_reference
from ..judging.reference import InvalidReference
from ..judging.selfcheck import difference, weakness

if TYPE_CHECKING:
    from ..judging.trials import Trial
    from .base import StageContext

CHECKED_CASES = 100  # of more, only those whose trials fail
KEPT_ELEMENTS = 1 << 24  # a larger expected output is not kept for comparison with the next trial's
FINGERPRINT_ELEMENTS = 4096
CONSTANT_INPUTS = "the inputs are the same in every trial: the input function sets its own seed, or nothing in it is random"


class ProblemCheck:
    """Looks at the first two trials of the first cases. Each kind of remark enters the result once."""

    def __init__(self, context: StageContext) -> None:
        self.context = context
        self._first: dict[str, tuple[list[float], Any]] = {}  # per case: fingerprint of the inputs, expected value
        self._second: set[str] = set()
        self._noted: set[str] = set()

    def warnings(self, trial: Trial) -> list[str]:
        """Warnings for a trial whose expected value is known. Raises InvalidReference."""
        name = trial.case.name
        if name not in self._first and len(self._first) >= CHECKED_CASES:
            found = []
        elif name not in self._first:
            found = self._sound(trial)
            kept = trial.expected if _elements(trial.expected) <= KEPT_ELEMENTS else None
            self._first[name] = _fingerprint(trial.fresh_inputs(self.context.crew.shared, "cpu")), kept
        elif name not in self._second:
            self._second.add(name)
            found = self._varies(trial, *self._first[name])
            self._first[name] = [], None
        else:
            found = []
        return [self._remark(trial, code, text) for code, text in found]

    def before_blaming(self, trial: Trial) -> None:
        """See to it that the reference of a trial that failed was checked. Raises InvalidReference."""
        if trial.case.name not in self._first:
            self._sound(trial)

    def _sound(self, trial: Trial) -> list[tuple[str, str]]:
        context, problem = self.context, self.context.problem
        if problem.checker is not None:
            check_reference(problem, trial.fresh_inputs(context.crew.shared, problem.device), trial.expected)
            return []
        found = difference(trial.expected, context.trials.again(trial), context.rules)
        if found:
            raise InvalidReference(f"the reference differs from itself on the same inputs: {found}{self._in_case(trial)}")
        weak = weakness(trial.expected, context.rules)
        return [("weak_problem", f"the problem is weak: {weak}")] if weak else []

    def _varies(self, trial: Trial, fingerprint: list[float], expected: Any) -> list[tuple[str, str]]:
        inputs = _fingerprint(trial.fresh_inputs(self.context.crew.shared, "cpu"))
        if inputs and inputs == fingerprint:
            return [("constant_inputs", CONSTANT_INPUTS)]
        if expected is None or self.context.problem.checker is not None or not inputs:
            return []
        if difference(expected, trial.expected, self.context.rules) is None:
            return [("weak_problem", "the problem is weak: its output does not depend on the inputs' values")]
        return []

    def _remark(self, trial: Trial, code: str, text: str) -> str:
        if code not in self._noted:
            self._noted.add(code)
            self.context.note(code, f"{text}{self._in_case(trial)}", "warning")
        return text

    def _in_case(self, trial: Trial) -> str:
        return f" (case {trial.case.name})" if len(self.context.problem.cases) > 1 else ""


def _elements(value: Any) -> int:
    return sum(tensor.numel() for tensor in distinct_tensors(value))


def _fingerprint(inputs: Any) -> list[float]:
    """A number per tensor that differs between random tensors."""
    heads = [t.detach().reshape(-1)[:FINGERPRINT_ELEMENTS] for t in distinct_tensors(inputs) if t.numel()]
    return [float((head.abs() if head.is_complex() else head).double().abs().sum()) for head in heads]
