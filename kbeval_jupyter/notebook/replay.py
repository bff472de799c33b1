"""Run one trial of a finished evaluation again, with exactly its inputs, and hand its tensors to the notebook."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.errors import RequestError, TargetError, unknown_name
from kbeval_jupyter.model.result import EvaluationResult
from kbeval_jupyter.notebook.regions import SavedErrors
from kbeval_jupyter.rendering import text

if TYPE_CHECKING:
    from pathlib import Path

    from kbeval_jupyter.model.request import EvaluationRequest
    from kbeval_jupyter.runner.report import CaseReport

ARTIFACT_PREFIX = "replay_"  # the runner adds case and trial


@dataclasses.dataclass(frozen=True)
class ReplayedTrial:
    """One trial's tensors, on the CPU, read from the artifact when they are first asked for (that needs torch here)."""

    case: str
    trial: int
    result: EvaluationResult

    @property
    def inputs(self) -> Any:
        """What both sides were called with."""
        return self._tensors["inputs"]

    @property
    def expected(self) -> Any:
        """What the reference returned."""
        return self._tensors["expected"]

    @property
    def actual(self) -> Any:
        """What the implementation returned; None where it did not return."""
        return self._tensors["actual"]

    def errors(self, path: str = "") -> SavedErrors:
        """|error| of the output at ``path`` (as in its report), any region of it at full resolution."""
        return SavedErrors(self.path, path)

    @property
    def path(self) -> Path:
        """The artifact; raises TargetError where there is none."""
        for artifact in self.result.artifacts:
            if artifact.name.startswith(ARTIFACT_PREFIX):
                return self.result.artifacts_dir / artifact.path
        raise TargetError(f"the replay left no tensors: {text.short(self.result)}")

    @cached_property
    def _tensors(self) -> dict[str, Any]:
        try:
            import torch
        except ImportError as error:
            raise TargetError(f"reading {self.path} needs torch here", "pip install 'kbeval-jupyter[local]'") from error
        loaded: dict[str, Any] = torch.load(self.path, map_location="cpu", weights_only=True)
        return loaded

    def __repr__(self) -> str:
        """What it is and what it offers."""
        return f"{text.short(self.result)}\ncase {self.case}, trial {self.trial}: .inputs .expected .actual .errors()"


def replay_request(
    request: EvaluationRequest, result: EvaluationResult, case: str | None, trial: int | None
) -> EvaluationRequest:
    """The request that runs that trial alone (default: the first that failed, else the first); raises RequestError."""
    chosen = _choose(result, case, trial)
    if result.input_secret is None and not request.public_inputs:
        raise RequestError(f"{result.label} cannot be replayed: its inputs' secret was not kept (verdict {result.verdict})")
    return dataclasses.replace(
        request,
        stages=("compile", "correctness"),
        secret=result.input_secret,
        replay=(chosen.name, chosen.trial),
        label=f"{result.label} replayed",
    )


def _choose(result: EvaluationResult, case: str | None, trial: int | None) -> CaseReport:
    trials = result.correctness.cases if result.correctness else []
    if not trials:
        raise RequestError(f"{result.label} has no trials to replay (verdict {result.verdict})")
    names = dict.fromkeys(report.name for report in trials)
    if case is not None and case not in names:
        raise RequestError(unknown_name("case", case, names))
    fitting = [r for r in trials if case in (None, r.name) and trial in (None, r.trial)]
    if not fitting:
        valid = ", ".join(str(r.trial) for r in trials if case in (None, r.name))
        raise RequestError(f"unknown trial {trial}; valid: {valid}")
    return next((report for report in fitting if report.status == "failed"), fitting[0])
