"""Correctness: every case, several trials each, fresh inputs every time, everything compared."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .. import wire
from ..exchange.encoding import CannotTravelError
from ..exchange.materialise import build_outputs
from ..judging.answers import judge_answer
from ..judging.outputs import Comparison
from ..judging.pending import PendingTrials
from ..judging.reference import InvalidReference
from ..judging.saved_tensors import file_name, save_tensors
from ..judging.workers import WorkerDied, WorkerFailed
from ..report import CaseReport, Verdict
from .base import StageOutcome
from .problem_check import ProblemCheck

if TYPE_CHECKING:
    from ..judging.trials import Answer, Trial
    from ..judging.workers import Worker
    from ..report import StageName
    from .base import StageContext

HEATMAPS = 8  # failed trials that keep theirs: one can take half a megabyte of the result


@dataclass
class _Tally:
    """What the stage knows so far; the first failure decides the verdict."""

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
        self.pending = PendingTrials(context.trials, context.selected_trials())
        tally = _Tally()
        total = len(self.pending)
        while self.pending:
            batch: list[Trial] = []
            try:
                batch = self.pending.next()
                alive = self._run(batch, tally, total)
            except CannotTravelError as error:
                if len(batch) < 2:
                    raise InvalidReference(f"the inputs cannot be used: {error}") from error
                alive = self._again(batch)
            if not alive:
                break
        if tally.verdict is not None:
            return StageOutcome("failed", tally.reason, tally.verdict)
        if not tally.compared:
            return StageOutcome("failed", "nothing was compared: there is no trial", "not_checked")
        return StageOutcome("passed", f"{tally.compared} trials passed")

    def _again(self, batch: list[Trial]) -> bool:
        """A batch whose message or answer is too large: one by one instead."""
        self.pending.put_back(batch)
        self.pending.one_by_one()
        return True

    def _run(self, batch: list[Trial], tally: _Tally, total: int) -> bool:
        """Run and judge a batch, say how it went; False: the implementation's process is gone."""
        context = self.context
        warnings = [self.problem_check.warnings(trial) for trial in batch]
        worker = context.crew.implementation()
        events: list[Any] = []
        try:
            try:
                answers, failure = context.trials.call_all(worker, batch)
            except WorkerFailed as failed:
                if len(batch) > 1:
                    return self._again(batch)
                answers, failure = [], failed
            for trial, answer, said in zip(batch, answers, warnings):
                events.append(self._judged(worker, trial, answer, said, tally))
        except WorkerDied as end:
            context.emit(*events)
            self._failed(batch[max(len(events), end.position)], f"the implementation's process {end.reason}", tally)
            return False
        if failure is not None:
            context.emit(*events)
            events = []
            raised = batch[len(answers)]
            reason = failure.summary if failure.kind == "wrong" else f"the implementation raised {failure.summary}"
            self._failed(raised, reason, tally, failure)
            self.pending.put_back(batch[len(answers) + 1 :])
            self.pending.drop(raised.case)
        done = total - len(self.pending)
        context.emit(*events, wire.Progress("correctness", done, total, batch[-1].case.name))
        return True

    def _judged(self, worker: Worker, trial: Trial, answer: Answer, warnings: list[str], tally: _Tally) -> wire.CaseChecked:
        result = judge_answer(self.context.trials, worker, trial, answer, self.rules)
        tally.compared += 1
        if not result.passed:
            self.problem_check.before_blaming(trial)
            tally.fail("incorrect", self._placed(trial, result.reason))
            if tally.failures > HEATMAPS:
                result.reports = [dataclasses.replace(report, heatmap=None) for report in result.reports]
        if self.context.plan.replay is not None or (not result.passed and not tally.saved):
            tally.saved = True
            assert worker.outputs is not None
            self._save(trial, build_outputs(answer.output, worker.outputs))
        return _report(trial, result, warnings)

    def _placed(self, trial: Trial, reason: str) -> str:
        several = len(self.context.problem.cases) > 1
        return f"case {trial.case.name}, trial {trial.number}: {reason}" if several else f"trial {trial.number}: {reason}"

    def _failed(self, trial: Trial, reason: str, tally: _Tally, failure: WorkerFailed | None = None) -> None:
        if failure is not None and failure.traceback:
            self.context.emit(wire.Log("implementation", failure.traceback))
        verdicts: dict[str, Verdict] = {"build": "compile_failed", "wrong": "incorrect"}
        tally.fail(verdicts.get(failure.kind if failure else "", "crashed"), self._placed(trial, reason))
        self.context.emit(_report(trial, Comparison(reason=reason), []))
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


def _report(trial: Trial, result: Comparison, warnings: list[str]) -> wire.CaseChecked:
    return wire.CaseChecked(
        CaseReport(
            trial.case.name,
            trial.case.params,
            trial.number,
            "passed" if result.passed else "failed",
            result.reason,
            [*warnings, *result.warnings],
            result.reports,
        )
    )
