"""Judging what a worker answered for a trial: by comparison, or by the problem's own checker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exchange.materialise import build_outputs
from ..exchange.structure import place_of
from ..exchange.transfer import move
from ..exchange.tree import without_data
from .checker import CheckerRaised, check_reference, complaint
from .outputs import Comparison

if TYPE_CHECKING:
    from .outputs import Rules
    from .trials import Answer, Trial, Trials
    from .workers import Worker


def judge_answer(trials: Trials, worker: Worker, trial: Trial, answer: Answer, rules: Rules) -> Comparison:
    """What is wrong with an answer. Raises InvalidReference where the checker does not accept the reference either."""
    problem, shared = trials.problem, trials.crew.shared
    if problem.checker is None or trials.backward:
        return trials.compare(worker, trial, answer, rules)
    assert worker.outputs is not None
    missing = without_data(answer.output)
    if missing is not None:
        return Comparison(reason=f"{place_of(missing)} is far larger than the reference's output")
    output = move(build_outputs(answer.output, worker.outputs), problem.device, None)
    try:
        reason = complaint(problem, trial.fresh_inputs(shared, problem.device), output)
    except CheckerRaised as error:
        check_reference(problem, trial.fresh_inputs(shared, problem.device), trial.expected)
        reason = f"{problem.spec.checker_function} stumbled over the output: {error}"
    compared = trials.compare(worker, trial, answer, rules)
    return Comparison(compared.reports, reason, [])
