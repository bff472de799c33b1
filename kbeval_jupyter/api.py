"""Evaluate from Python. Magics and command are thin over the same requests."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from . import planning, sources
from .errors import Cancelled, RequestError
from .model.evaluation import Evaluation
from .model.result import EvaluationResult, TargetInfo
from .options import build_request
from .problems.loading import load
from .running import Prepared, RunningEvaluation
from .static_check.problem import checked
from .targets.config import load_configuration

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from .model.request import EvaluationRequest

CANCEL_WAIT_S = 0.8  # an interrupt ends within a second, whether or not the target answers


def evaluate(implementation: Path | str, reference: Path | str, **options: Any) -> EvaluationResult:
    """The finished result of one evaluation; a Path is a file, a str is source text.

    Options are those of ``%%kernelbench`` with underscores: ``evaluate(…, target="h100", benchmark=True, trials=5)``.
    A failing implementation is a verdict, never an exception. Raises RequestError and ConfigurationError where the request is
    wrong, TargetError, ConnectionLostError and ProtocolError where the target failed, Cancelled when interrupted.
    """
    request = _request(implementation, reference, options)
    if options.get("dry_run"):
        return dry_run(request)
    return wait(start(request))


async def aevaluate(implementation: Path | str, reference: Path | str, **options: Any) -> EvaluationResult:
    """The same as ``evaluate``, awaited; cancelling the awaiting task stops the evaluation."""
    request = _request(implementation, reference, options)
    if options.get("dry_run"):
        return dry_run(request)
    running = start(request)
    try:
        return await asyncio.shield(asyncio.wrap_future(running.future))
    except asyncio.CancelledError:
        running.cancel()
        raise


async def astream(implementation: Path | str, reference: Path | str, **options: Any) -> AsyncIterator[dict[str, Any]]:
    """The events as they come, as JSON objects, "finished" last; leaving the loop early stops the evaluation."""
    if options.get("dry_run"):
        raise RequestError("a dry run has no events", "use evaluate(…, dry_run=True): the plan is the result's log_tail")
    loop = asyncio.get_running_loop()
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def forward(event: dict[str, Any]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed: nobody listens any more
            loop.call_soon_threadsafe(events.put_nowait, event)

    running = start(_request(implementation, reference, options), forward)
    try:
        while True:
            event = await events.get()
            yield event
            if event["kind"] == "finished":
                break
        await asyncio.wrap_future(running.future)  # raises what went wrong, if that is not the implementation's
    finally:
        running.cancel()


def start(request: EvaluationRequest, on_event: Callable[[dict[str, Any]], None] | None = None) -> RunningEvaluation:
    """Begin an evaluation in the background; what is wrong with the request is raised here.

    ``on_event`` is called in the background thread, after the fold has taken the event; the last one is "finished", always.
    """
    return RunningEvaluation.start(prepare(request), on_event)


def wait(running: RunningEvaluation) -> EvaluationResult:
    """Block until it is finished; an interrupt stops it and raises Cancelled."""
    try:
        return running.future.result()
    except KeyboardInterrupt:
        running.cancel()
        with contextlib.suppress(Exception):
            running.future.result(CANCEL_WAIT_S)
        raise Cancelled("cancelled by interrupt") from None


def prepare(request: EvaluationRequest) -> Prepared:
    """All that can be known without the target: problem, settings, plan; raises RequestError and ConfigurationError."""
    settings = load_configuration().resolve(request.target)
    problem = load(request)
    if request.backend is not None:
        problem = checked(problem, request.backend, request.implementation.name)
    return Prepared(
        request=request,
        settings=settings,
        problem=problem,
        plan=planning.plan(request, problem, settings.capabilities(), planning.new_id()),
    )


def dry_run(request: EvaluationRequest) -> EvaluationResult:
    """A result that ran nothing; its log is the plan."""
    prepared = prepare(request)
    settings = prepared.settings
    problem = prepared.problem
    evaluation = Evaluation(prepared.plan, TargetInfo(settings.name, settings.kind), problem.notes, problem.static)
    text = planning.describe(prepared.plan, f"{settings.name} ({settings.kind})")
    evaluation.apply({"kind": "log", "source": "judge", "text": text})
    reason = problem.fault or "dry run: nothing was run"
    evaluation.apply({"kind": "finished", "verdict": "not_checked", "reason": reason})
    return evaluation.result()


def _request(implementation: Path | str, reference: Path | str, options: dict[str, Any]) -> EvaluationRequest:
    return build_request(
        sources.from_value(implementation, "implementation"), sources.from_value(reference, "reference"), options
    )
