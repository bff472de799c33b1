"""The judge: conducts one evaluation. It holds the input secret, the reference, the expected values and the verdict."""

from __future__ import annotations

import os
import platform
import time
from importlib import metadata
from typing import TYPE_CHECKING, Any

import torch

from . import identity, wire
from .devices import Device, DeviceNotFoundError, detect
from .exchange.encoding import CannotTravelError
from .judging.crew import Crew
from .judging.custom_inputs import RequestRefused
from .judging.reference import InvalidReference, ReferenceProblem
from .judging.trials import Trials
from .judging.workers import WorkerDied
from .report import Failure
from .stages.base import Stage, StageContext, StageOutcome
from .stages.benchmark import BenchmarkStage
from .stages.compile import CompileStage
from .stages.correctness import CorrectnessStage
from .stages.defense import DefenseStage
from .supervision.nursery import Nursery, SpawnError
from .usercode import redirect
from .usercode.randomness import InputSecret
from .working.worker_load import set_precision

if TYPE_CHECKING:
    from .report import StageName, Verdict
    from .supervision.offspring import SupervisorChannel

STAGES: dict[str, Stage] = {stage.name: stage for stage in (CompileStage(), CorrectnessStage(), DefenseStage(), BenchmarkStage())}
INTERPRETER_NOTE = "no GPU here: Triton code ran in Triton's interpreter, which is correct but says nothing about speed"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


# Looked up once in the server, which imports this before it forks.
ENVIRONMENT: dict[str, str | None] = {
    "python": platform.python_version(),
    "torch": torch.__version__,
    "triton": _version("triton"),
    "numpy": _version("numpy"),
    "cuda": torch.version.cuda,
    "hip": getattr(torch.version, "hip", None),
    "platform": platform.platform(),
    "runner": identity.RUNNER,
}


class _End(Exception):  # noqa: N818 - carries the final event
    def __init__(self, verdict: Verdict, reason: str, error: Failure | None = None) -> None:
        super().__init__(reason)
        self.verdict = verdict
        self.reason = reason
        self.error = error


def run(plan: wire.Plan, run_dir: str, nursery: Nursery, channel: SupervisorChannel) -> None:
    """Evaluate a plan; every event of it, the final one included, goes through ``channel``."""
    torch.set_num_threads(1)  # the worker loads its code meanwhile
    secret = InputSecret.make(plan.seed, plan.public_inputs, plan.secret)
    try:
        device = detect(plan.vendor, plan.device_index)
        os.environ.update(device.visible_environment())
        crew = Crew(plan, run_dir, nursery, device)
        try:
            verdict, reason = _evaluate(plan, run_dir, crew, channel, secret)
            error = None
        finally:
            crew.close()
    except _End as end:
        verdict, reason, error = end.verdict, end.reason, end.error
    except DeviceNotFoundError as missing:
        verdict, reason, error = "error", missing.message, Failure("target", missing.message, missing.hint)
    except SpawnError as refused:
        verdict, reason, error = "error", str(refused), Failure("target", str(refused))
    channel.emit(wire.Finished(verdict, reason, secret.hex, error))


def _evaluate(plan: wire.Plan, run_dir: str, crew: Crew, channel: SupervisorChannel, secret: InputSecret) -> tuple[Verdict, str]:
    device = crew.device
    worker = crew.implementation()
    info = device.describe()
    channel.emit(wire.Started(plan.wire, plan.id, run_dir, info, ENVIRONMENT, crew.layers()))
    died = None
    try:
        worker.send("load", crew.load_fields("implementation"))
    except WorkerDied as end:
        died = end
    problem = ReferenceProblem(plan, run_dir, device.torch_device, secret, crew.redirected("reference"))
    context = StageContext(plan, run_dir, device, channel.emit, secret, problem, crew, Trials(problem, crew, plan.backward))
    _say_what_differs(context, device)
    try:
        _load_reference(context)
        if died is not None:
            return "crashed", f"the implementation's process {died.reason}"
        return _stages(context)
    except InvalidReference as invalid:
        if invalid.traceback:
            channel.emit(wire.Log("reference", invalid.traceback))
        raise _End("invalid_reference", invalid.reason) from invalid
    except RequestRefused as refused:
        raise _End("error", refused.message, Failure("request", refused.message, refused.hint)) from refused
    except CannotTravelError as error:
        raise _End("invalid_reference", f"the inputs cannot be used: {error}") from error


def _say_what_differs(context: StageContext, device: Device) -> None:
    """Notes on everything that was changed from the defaults, or that this machine makes different."""
    plan, crew = context.plan, context.crew
    for remark in device.remarks:
        context.note("device", remark, "warning")
    if crew.interpreted("implementation") or crew.interpreted("reference"):
        context.note("triton_interpreter", INTERPRETER_NOTE)
    if crew.redirected("implementation") or crew.redirected("reference"):
        context.note(redirect.NOTE_CODE, redirect.NOTE_TEXT)
    for folder in crew.builds.values():
        if folder.note:
            context.note("build_folder", folder.note)
    changed = [
        f"rtol {plan.tolerance.rtol:g}" if plan.tolerance.rtol is not None else "",
        f"atol {plan.tolerance.atol:g}" if plan.tolerance.atol is not None else "",
        f"precision {plan.precision}" if plan.precision else "",
        f"dtype {plan.dtype}" if plan.dtype else "",
        "backward" if plan.backward else "",
        "public inputs: they follow from the seed alone" if plan.public_inputs else "",
    ]
    text = ", ".join(filter(None, changed))
    if text:
        context.note("changed_defaults", f"asked for: {text}")


def _load_reference(context: StageContext) -> None:
    crew, problem = context.crew, context.problem
    os.environ.update({k: v for k, v in crew.environment("reference").items() if k not in ("HOME", "TMPDIR")})
    if context.plan.precision:
        set_precision(context.plan.precision)
    if crew.redirected("reference"):
        redirect.install()
    os.chdir(problem.folder)  # as in the workers, see working/worker_load.py
    problem.load()
    for code, text in problem.notes:
        context.note(code, text)


def _stages(context: StageContext) -> tuple[Verdict, str]:
    """Run the plan's stages in order; one that fails stops the others."""
    stopped = ""
    verdict: Verdict | None = None
    reason = ""
    for name in context.plan.stages:
        outcome = StageOutcome("skipped", stopped) if stopped else _stage(context, name)
        if stopped:
            context.emit(wire.StageFinished(name, "skipped", None, stopped))
        if outcome.status == "failed" and outcome.stops:
            stopped = f"{name} failed"
        if verdict is None and outcome.verdict is not None:
            verdict, reason = outcome.verdict, outcome.reason
        elif verdict is None and name == "correctness":
            reason = outcome.reason
    if verdict is not None:
        return verdict, reason
    if "correctness" in context.plan.stages:
        return "passed", reason
    return "not_checked", "correctness was not asked for"


def _stage(context: StageContext, name: StageName) -> StageOutcome:
    stage: Any = STAGES.get(name)
    if stage is None:
        reason = f"this runner has no stage {name!r}"
        context.emit(wire.StageFinished(name, "skipped", None, reason))
        return StageOutcome("skipped", reason)
    context.emit(wire.StageStarted(name, stage.total(context)))
    start = time.perf_counter()
    try:
        outcome: StageOutcome = stage.run(context)
    except (InvalidReference, RequestRefused) as error:
        context.emit(wire.StageFinished(name, "failed", time.perf_counter() - start, str(error)))
        raise
    context.emit(wire.StageFinished(name, outcome.status, time.perf_counter() - start, outcome.reason))
    return outcome
