"""Checking the rivals of a benchmark before they are timed: a baseline that is wrong must not be beaten in silence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import wire
from ..judging.answers import judge_answer
from ..judging.workers import WorkerDied, WorkerFailed
from .timing_report import Remark

if TYPE_CHECKING:
    from ..judging.crew import Role
    from ..stages.base import StageContext


def check_side(context: StageContext, role: Role, label: str) -> Remark:
    """One call for every case, on fresh inputs, judged as the implementation's are. ``right`` is None where it cannot run."""
    worker = context.crew.spawn(role)
    limit_s = max(min(context.plan.build_timeout_s, context.time_left_s()), 1.0)
    try:
        worker.request("load", context.crew.load_fields(role), timeout_s=limit_s)
        context.crew.construct(worker, role, context.problem, limit_s)
        for case in context.problem.cases:
            trial = context.trials.prepare(case, context.plan.trials)  # inputs that no trial of another stage had
            context.trials.expect(trial)
            answer = context.trials.call(worker, trial, limit_s)
            found = judge_answer(context.trials, worker, trial, answer, context.rules)
            if not found.passed:
                return Remark(right=False, text=f"{label} is wrong: case {case.name}: {found.reason}")
    except WorkerFailed as failure:
        if failure.traceback:
            context.emit(wire.Log("implementation", failure.traceback))
        return Remark(text=f"{label} raised {failure.summary}")
    except WorkerDied as end:
        return Remark(text=f"the process of {label} {end.reason}")
    finally:
        worker.kill()
    return Remark(right=True)
