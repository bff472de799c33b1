"""Compile: import, extension builds, construction, and one first call for what compiles when it is called."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from .. import wire
from ..exchange.encoding import CannotTravelError
from ..judging.reference import InvalidReference
from ..judging.workers import RequestTimedOut, Worker, WorkerDied, WorkerFailed
from .base import StageOutcome

if TYPE_CHECKING:
    from ..report import StageName
    from .base import StageContext

STEPS = 3
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


class CompileStage:
    """The stage. The judge has sent the "load" request already, so that the import runs while the reference loads."""

    name: StageName = "compile"

    def total(self, context: StageContext) -> int | None:
        """Import, construction, first call."""
        del context
        return STEPS

    def run(self, context: StageContext) -> StageOutcome:
        """Passed when the implementation can be called."""
        worker = context.crew.implementation()
        build_ends = time.monotonic() + context.plan.build_timeout_s
        try:
            self._prepare(context, worker, build_ends)
        except RequestTimedOut:
            return self._too_slow(context)
        except WorkerFailed as failure:
            return failed(context, failure)
        except WorkerDied as end:
            return StageOutcome("failed", f"the implementation's process {end.reason}, while it was loaded", "crashed")
        return self._first_call(context, worker, build_ends)

    def _prepare(self, context: StageContext, worker: Worker, build_ends: float) -> None:
        worker.receive("load", _left(build_ends))
        context.progress("compile", 1, STEPS)
        context.crew.construct(worker, "implementation", context.problem, _left(build_ends))
        if context.crew.weights is not None:
            context.emit(wire.WeightsMatched(context.crew.weights))
        context.progress("compile", 2, STEPS)

    def _first_call(self, context: StageContext, worker: Worker, build_ends: float) -> StageOutcome:
        trials = context.trials
        case, number = context.first_trial()
        try:
            trial = trials.prepare(case, number)
            trials.call(worker, trial, _left(build_ends))
        except RequestTimedOut:
            return self._too_slow(context)
        except WorkerFailed as failure:
            # What is no build failure belongs to the correctness stage, which names the case and goes on with the others.
            if failure.kind == "build" or "correctness" not in context.plan.stages:
                return failed(context, failure)
        except WorkerDied as end:
            return StageOutcome("failed", f"the implementation's process {end.reason}, in its first call", "crashed")
        except CannotTravelError as error:
            raise InvalidReference(f"the inputs cannot be used: {error}") from error
        context.progress("compile", STEPS, STEPS)
        return StageOutcome("passed")

    def _too_slow(self, context: StageContext) -> StageOutcome:
        reason = f"the build did not end within {context.plan.build_timeout_s:g} s (--build-timeout)"
        builds = context.crew.builds.get("implementation")
        locks = builds.locks() if builds is not None else []
        if locks:
            reason += f"; a lock file is held or was left by a killed build: {locks[0]}"
        return StageOutcome("failed", reason, "timed_out")


def failed(context: StageContext, failure: WorkerFailed) -> StageOutcome:
    """The outcome for code that raised: the traceback goes to the log, the summary into the reason."""
    if failure.traceback:
        context.emit(wire.Log("implementation", failure.traceback))
    if failure.kind in ("syntax", "missing", "build") or failure.importing:
        return StageOutcome("failed", failure.summary + _withheld(context, failure.summary), "compile_failed")
    return StageOutcome("failed", f"the implementation raised {failure.summary}", "crashed")


def _withheld(context: StageContext, summary: str) -> str:
    """What to add where the implementation imports a module that only the judge sees."""
    missing = _NO_MODULE.search(summary)
    path = os.path.join(context.problem.folder, *missing[1].split(".")) if missing else ""
    if not missing or not (os.path.isdir(path) or os.path.isfile(f"{path}.py")):
        return ""
    return f": {missing[1]} belongs to the reference, which is out of the implementation's reach; define in it what it needs"


def _left(ends: float) -> float:
    return max(ends - time.monotonic(), 0.05)
