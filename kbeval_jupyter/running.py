"""An evaluation under way in the background thread."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import artifacts, background
from .errors import ConfigurationError, ConnectionLostError, KernelBenchError, ProtocolError, RequestError, TargetError
from .model.evaluation import Evaluation
from .model.problem import Problem
from .model.request import EvaluationRequest
from .model.result import EvaluationResult, NoteReport, TargetInfo
from .runner import wire
from .targets.registry import TargetSettings

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .execution.base import Executor
    from .runner.report import Failure

CANCEL_WAIT_S = 0.5  # for the target to end the stream itself, with the last of the log
Listener = Callable[[dict[str, Any]], None]
ERRORS = {cls.kind: cls for cls in (RequestError, ConfigurationError, TargetError, ConnectionLostError, ProtocolError)}
logger = logging.getLogger(__name__)

# One executor a target and process: its connection and the warm server behind it are what makes the second evaluation fast.
# Touched in the background thread only.
_executors: dict[TargetSettings, Executor] = {}
os.register_at_fork(after_in_child=_executors.clear)  # they belong to the parent's loop


@dataclass(frozen=True)
class Prepared:
    """A request with everything looked up that does not need the target."""

    request: EvaluationRequest
    settings: TargetSettings
    problem: Problem
    plan: wire.Plan


class RunningEvaluation:
    """A started evaluation. ``future`` gives the result or raises our errors; any thread may look at ``evaluation``."""

    future: Future[EvaluationResult]

    def __init__(self, prepared: Prepared, on_event: Listener | None = None) -> None:
        self.id = prepared.plan.id
        self.request = prepared.request
        self.plan = prepared.plan
        target = TargetInfo(prepared.settings.name, prepared.settings.kind)
        self.evaluation = Evaluation(prepared.plan, target, prepared.problem.notes, prepared.problem.static)
        self._prepared = prepared
        self._on_event = on_event
        self._executor: Executor | None = None
        self._task: asyncio.Task[Any] | None = None

    @classmethod
    def start(cls, prepared: Prepared, on_event: Listener | None = None) -> RunningEvaluation:
        """Hand it to the background thread."""
        running = cls(prepared, on_event)
        running.future = background.submit(running._run).future
        return running

    def cancel(self) -> None:
        """Stop it, from any thread; returns at once. The future then gives a result whose verdict is "cancelled"."""
        if not self.future.done():
            background.submit(self._cancel)

    async def _run(self) -> EvaluationResult:
        self._task = asyncio.current_task()
        try:
            if self._prepared.problem.fault:
                self._refuse(self._prepared.problem.fault)
            else:
                await self._follow()
        except asyncio.CancelledError:
            self._end("cancelled", "cancelled before the target had answered")
        except KernelBenchError as error:
            self._end("error", error.message, {"kind": error.kind, "message": error.message, "hint": error.hint})
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            self._end("error", message, {"kind": "internal", "message": message, "hint": ""})
            raise
        result = self.evaluation.result()
        if result.verdict == "error":
            raise _error_from(result.error, result.reason)
        return await self._with_artifacts(result)

    async def _follow(self) -> None:
        settings = self._prepared.settings
        if settings not in _executors:
            _executors[settings] = settings.open()
            background.at_exit(_executors[settings].aclose)
        self._executor = _executors[settings]
        async with contextlib.aclosing(self._executor.run(self.plan)) as events:
            async for event in events:
                self._take(event)

    async def _cancel(self) -> None:
        """Ask the target, so that the stream ends properly; then cut it off."""
        task = self._task
        if task is None or task.done() or not self.evaluation.running:
            return
        if self._executor is not None:
            with contextlib.suppress(KernelBenchError, TimeoutError):
                async with asyncio.timeout(CANCEL_WAIT_S):
                    await self._executor.cancel(self.id)
                    await asyncio.wait({task})
        if self.evaluation.running:
            task.cancel()

    def _take(self, event: dict[str, Any]) -> None:
        self.evaluation.apply(event)
        if self._on_event is None:
            return
        try:
            self._on_event(event)
        except Exception:  # a view that fails must not stop what it shows
            logger.exception("a listener of evaluation %s failed", self.id)

    def _refuse(self, fault: str) -> None:
        """The verdict on an implementation that need not be run to be judged."""
        self._take({"kind": "stage_finished", "stage": "compile", "status": "failed", "seconds": None, "reason": fault})
        self._end("compile_failed", fault)

    def _end(self, verdict: str, reason: str, error: dict[str, str] | None = None) -> None:
        """The final event, where the target did not send it."""
        if self.evaluation.running:
            self._take({"kind": "finished", "verdict": verdict, "reason": reason, "error": error})

    async def _with_artifacts(self, result: EvaluationResult) -> EvaluationResult:
        """The result with its artifacts fetched; that this failed is a note, not a reason to lose the result."""
        if self._executor is None or not result.artifacts or not self.request.sync_artifacts:
            return result
        folder, note = artifacts.make_folder(self.id, self.request.artifacts)
        notes = [*result.notes, *([note] if note else [])]
        try:
            await self._executor.fetch_artifacts(self.id, folder, self.plan.limits.artifact_bytes)
        except KernelBenchError as error:
            notes.append(NoteReport("artifacts_missing", f"the artifacts could not be fetched: {error.message}", "warning"))
        return dataclasses.replace(result, notes=notes, local_artifacts=folder)


def _error_from(failure: Failure | None, reason: str) -> KernelBenchError:
    """The exception for an error that the target reported."""
    if failure is None:
        return TargetError(reason)
    return ERRORS.get(failure.kind, TargetError)(failure.message, failure.hint, kind=failure.kind)
