"""Correctness: every case, several trials each, fresh inputs every time, everything compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import wire
from ..exchange.encoding import CannotTravelError
from ..exchange.materialise import build_outputs
from ..exchange.structure import place_of
from ..exchange.transfer import move
from ..exchange.tree import without_data
from ..judging.checker import CheckerRaised, check_reference, complaint
from ..judging.outputs import Comparison
from ..judging.reference import InvalidReference
from ..judging.saved_tensors import file_name, save_tensors
from ..judging.workers import WorkerDied, WorkerFailed
from ..report import CaseReport, Verdict
from .base import StageOutcome
from .problem_check import ProblemCheck

if TYPE_CHECKING:
    from ..judging.reference import CaseInput
    from ..judging.trials import Answer, Trial
    from ..judging.workers import Worker
    from ..report import StageName
    from .base import StageContext


@dataclass
class _Tally:
    """What the stage knows so far; the first failure decides the verdict."""

    done: int = 0
    compared: int = 0
    failures: int = 0
    reason: str = ""
    verdict: Verdict | None = None
    saved: bool = False

    def fail(self, verdict: Verdict, reason: str) -> None:
        self.failures += 1
        if self.verdict is None:
            self.verdict, self.reason = verdict, reason


class CorrectnessStage:
    """The stage."""

    name: StageName = "correctness"

    def total(self, context: StageContext) -> int | None:
        """Number of trials."""
        return len(context.selected_trials())

    def run(self, context: StageContext) -> StageOutcome:
        """Passed when at least one trial was compared and all passed. Raises InvalidReference."""
        self.context = context
        self.rules = context.rules
        self.problem_check = ProblemCheck(context)
        tally = _Tally()
        selected = context.selected_trials()
        crashed: set[str] = set()
        for case, number in selected:
            if case.name not in crashed:
                try:
                    alive = self._trial(case, number, tally)
                except CannotTravelError as error:
                    raise InvalidReference(f"the inputs cannot be used: {error}") from error
                if alive is None:
                    break
                if not alive:
                    crashed.add(case.name)
            tally.done += 1
            context.progress("correctness", tally.done, len(selected), case.name)
        if tally.verdict is not None:
            return StageOutcome("failed", tally.reason, tally.verdict)
        if not tally.compared:
            return StageOutcome("failed", "nothing was compared: there is no trial", "not_checked")
        return StageOutcome("passed", f"{tally.compared} trials passed")

    def _trial(self, case: CaseInput, number: int, tally: _Tally) -> bool | None:
        """One trial; False: the implementation raised, None: its process is gone."""
        context, trials = self.context, self.context.trials
        trial = trials.prepare(case, number)
        trials.expect(trial)
        warnings = self.problem_check.warnings(trial)
        worker = context.crew.implementation()
        try:
            answer = trials.call(worker, trial)
            result = self._judge(worker, trial, answer)
        except WorkerFailed as failure:
            self._crashed(trial, f"the implementation raised {failure.summary}", tally, failure)
            return False
        except WorkerDied as end:
            self._crashed(trial, f"the implementation's process {end.reason}", tally)
            return None
        tally.compared += 1
        if not result.passed:
            tally.fail("incorrect", self._placed(trial, result.reason))
        self._report(trial, result, warnings)
        if context.plan.replay is not None or (not result.passed and not tally.saved):
            tally.saved = True
            assert worker.outputs is not None
            self._save(trial, build_outputs(answer.output, worker.outputs))
        return True

    def _judge(self, worker: Worker, trial: Trial, answer: Answer) -> Comparison:
        trials, problem = self.context.trials, self.context.problem
        if problem.checker is None or self.context.plan.backward:
            return trials.compare(worker, trial, answer, self.rules)
        assert worker.outputs is not None
        missing = without_data(answer.output)
        if missing is not None:
            return Comparison(reason=f"{place_of(missing)} is far larger than the reference's output")
        shared = self.context.crew.shared
        output = move(build_outputs(answer.output, worker.outputs), problem.device, None)
        try:
            reason = complaint(problem, trial.fresh_inputs(shared, problem.device), output)
        except CheckerRaised as error:
            check_reference(problem, trial.fresh_inputs(shared, problem.device), trial.expected)
            reason = f"{problem.spec.checker_function} stumbled over the output: {error}"
        compared = trials.compare(worker, trial, answer, self.rules)
        return Comparison(compared.reports, reason, [])

    def _placed(self, trial: Trial, reason: str) -> str:
        several = len(self.context.problem.cases) > 1
        return f"case {trial.case.name}, trial {trial.number}: {reason}" if several else f"trial {trial.number}: {reason}"

    def _report(self, trial: Trial, result: Comparison, warnings: list[str]) -> None:
        status: Any = "passed" if result.passed else "failed"
        self.context.emit(
            wire.CaseChecked(
                CaseReport(
                    trial.case.name,
                    trial.case.params,
                    trial.number,
                    status,
                    result.reason,
                    [*warnings, *result.warnings],
                    result.reports,
                )
            )
        )

    def _crashed(self, trial: Trial, reason: str, tally: _Tally, failure: WorkerFailed | None = None) -> None:
        if failure is not None and failure.traceback:
            self.context.emit(wire.Log("implementation", failure.traceback))
        build = failure is not None and failure.kind == "build"
        tally.fail("compile_failed" if build else "crashed", self._placed(trial, reason))
        self._report(trial, Comparison(reason=reason), [])
        if self.context.plan.replay is not None:
            self._save(trial, None)

    def _save(self, trial: Trial, actual: Any) -> None:
        context = self.context
        values = {
            "inputs": trial.fresh_inputs(context.crew.shared, "cpu"),
            "expected": trial.expected,
            "actual": actual,
            "case": trial.case.name,
            "trial": trial.number,
        }
        name = file_name("replay" if context.plan.replay else "failed", trial.case.name, trial.number)
        saved = save_tensors(context.run_dir, name, values, context.plan.limits.artifact_bytes)
        if isinstance(saved, str):
            context.note("tensors_not_saved", saved)
        else:
            context.emit(wire.ArtifactSaved(saved))
