"""From what was asked to what the target is told: pure, and printable with --dry-run."""

from __future__ import annotations

import base64
import re
import secrets
import time
from typing import TYPE_CHECKING, Any, get_args

from .errors import RequestError, unknown_name
from .runner import wire
from .runner.report import StageName

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model.capabilities import Capabilities
    from .model.problem import Problem
    from .model.request import EvaluationRequest

STAGES: tuple[StageName, ...] = ("compile", "correctness", "defense", "benchmark")  # in the order in which they run
ALL = "all"
NAME_CHARACTERS = 120
SHOWN_FILES = 20


def new_id() -> str:
    """A fresh evaluation id: sorts by time, and two of the same millisecond differ."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(4)}"


def resolve_stages(asked: Iterable[str]) -> list[StageName]:
    """The stages that run, in order; compile always does, since nothing can be run without it; raises RequestError."""
    names = [name for name in asked if name]
    if not names:
        raise RequestError("no stage was asked for", f"valid stages: {', '.join((*STAGES, ALL))}")
    for name in names:
        if name in (*STAGES, ALL):
            continue
        if name in get_args(StageName):
            raise RequestError(f"stage {name!r} is not in this version; valid: {', '.join((*STAGES, ALL))}")
        raise RequestError(unknown_name("stage", name, (*STAGES, ALL)))
    return [stage for stage in STAGES if stage in names or ALL in names or stage == "compile"]


def plan(request: EvaluationRequest, problem: Problem, capabilities: Capabilities, evaluation_id: str) -> wire.Plan:
    """The complete plan; raises RequestError where the request asks for what cannot be."""
    _check_numbers(request)
    return wire.Plan(
        id=evaluation_id,
        label=request.label or request.implementation.name,
        problem=problem.spec,
        files=problem.files,
        stages=resolve_stages(request.stages),
        seed=request.seed,
        tolerance=wire.Tolerance(request.rtol, request.atol),
        trials=request.trials,
        budget_s=request.budget_s,
        timeout_s=request.timeout_s,
        build_timeout_s=request.build_timeout_s,
        precision=_choice("precision", request.precision, ("ieee", "tf32")),
        dtype=request.dtype,
        backward=request.backward,
        public_inputs=request.public_inputs,
        secret=request.secret,
        replay=request.replay,
        rivals=problem.rivals,
        confirm=request.confirm,
        vendor=capabilities.vendor,
        device_index=_device_index(request, capabilities),
        environment=dict(capabilities.environment),
        isolation=capabilities.isolation,
        limits=_limits(request.limits),
        grace_s=capabilities.grace_s,
        run_root=capabilities.run_root,
    )


def describe(plan: wire.Plan, target: str) -> str:
    """The plan as text for people: what would run where, with which files."""
    spec = plan.problem
    tolerance = [
        f"{name} {value}" for name, value in (("rtol", plan.tolerance.rtol), ("atol", plan.tolerance.atol)) if value is not None
    ]
    rows: list[tuple[str, Any]] = [
        ("evaluation", plan.id),
        ("label", plan.label),
        ("target", f"{target}, {plan.vendor}" + (f", device {plan.device_index}" if plan.device_index is not None else "")),
        ("problem", f"{spec.name} ({spec.format})"),
        ("reference", f"{spec.reference.name} in {spec.reference.module}"),
        ("implementation", f"{spec.implementation.name} in {spec.implementation.module}"),
        ("inputs", f"{spec.input_groups_function or spec.inputs_function} in {spec.inputs_module or spec.reference.module}"),
        ("cases", ", ".join(case.name for case in spec.cases) or "one, without arguments"),
        ("stages", ", ".join(plan.stages)),
        *(("timed against", rival.label) for rival in plan.rivals),
        ("checks", f"{plan.trials} trials a case, seed {plan.seed}, " + (", ".join(tolerance) or "tolerances by dtype")),
        ("time limits", f"{plan.timeout_s:g} s in all, {plan.build_timeout_s:g} s to build, {plan.budget_s:g} s to measure"),
        *(("file", f"{file.folder}/{file.path}, {len(base64.b64decode(file.data))} bytes") for file in plan.files[:SHOWN_FILES]),
        *([("files", f"and {len(plan.files) - SHOWN_FILES} more")] if len(plan.files) > SHOWN_FILES else []),
    ]
    return "\n".join(f"{name:<15}{value}" for name, value in rows)


def _check_numbers(request: EvaluationRequest) -> None:
    """Zero trials or an empty time limit can never become a verdict, so they are refused here for every caller."""
    positive = {
        "trials": request.trials,
        "budget": request.budget_s,
        "timeout": request.timeout_s,
        "build_timeout": request.build_timeout_s,
    }
    for name, value in positive.items():
        if not 0 < value < float("inf"):
            raise RequestError(f"{name} must be above 0, got {value}")
    for name, tolerance in (("rtol", request.rtol), ("atol", request.atol)):
        if tolerance is not None and not 0 <= tolerance < float("inf"):
            raise RequestError(f"{name} must be a finite number of at least 0, got {tolerance}")
    if not re.fullmatch(rf"[^\x00-\x1f]{{0,{NAME_CHARACTERS}}}", request.label):
        raise RequestError(f"a name may have at most {NAME_CHARACTERS} characters on one line, got {request.label[:40]!r}…")


def _choice(what: str, value: str | None, valid: tuple[str, ...]) -> Any:
    if value is not None and value not in valid:
        raise RequestError(unknown_name(what, value, valid))
    return value


def _device_index(request: EvaluationRequest, capabilities: Capabilities) -> int | None:
    if request.gpu_id is None:
        return capabilities.gpu_ids[0] if capabilities.gpu_ids else None
    if capabilities.vendor == "cpu":
        raise RequestError(
            f"GPU {request.gpu_id} was asked for, but the target is configured as a CPU",
            'leave --gpu-id out, or change vendor = "cpu"',
        )
    if request.gpu_id < 0 or (capabilities.gpu_ids and request.gpu_id not in capabilities.gpu_ids):
        valid = ", ".join(map(str, capabilities.gpu_ids)) or "0 and above"
        raise RequestError(f"GPU {request.gpu_id} is not among the target's; valid: {valid}")
    return request.gpu_id


def _limits(changed: dict[str, int]) -> wire.Limits:
    valid = wire.Limits.__dataclass_fields__
    for name in changed:
        if name not in valid:
            raise RequestError(unknown_name("limit", name, valid))
    return wire.Limits(**changed)
