"""The one fold: events in, a live snapshot and the final result out."""

from __future__ import annotations

import json
import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from kbeval_jupyter.errors import ProtocolError
from kbeval_jupyter.runner import wire
from kbeval_jupyter.runner.report import (
    Artifact,
    BenchmarkReport,
    CaseReport,
    CaseTiming,
    ComparisonReport,
    CorrectnessReport,
    DefenseCheck,
    DefenseReport,
    DeviceState,
    StageName,
    StageReport,
)

from .codec import DecodeError, decode, encode
from .log_tail import LogTail
from .result import SCHEMA, EvaluationResult, NoteReport, TargetInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .static_report import StaticReport

NOTES_LIMIT = 200  # notes are few by nature; a target that sends more must not fill the client's memory


@dataclass(frozen=True)
class StageProgress:
    """Where one stage stands. ``done`` and ``total`` count its steps, ``total`` None where unknown."""

    stage: StageName
    status: Literal["waiting", "running", "passed", "failed", "skipped"] = "waiting"
    done: float = 0.0
    total: float | None = None
    message: str = ""
    seconds: float | None = None


@dataclass(frozen=True)
class Snapshot:
    """An evaluation at one moment. While it runs, ``result`` is what is known so far and its verdict is "not_checked"."""

    running: bool
    elapsed_s: float
    stages: list[StageProgress]
    result: EvaluationResult

    def to_json(self) -> dict[str, Any]:
        """Strict JSON data, as the widget's state."""
        data: dict[str, Any] = encode(self)
        return data


class Evaluation:
    """Applies an evaluation's events in order. One thread applies, any thread may look."""

    def __init__(
        self, plan: wire.Plan, target: TargetInfo, notes: Iterable[NoteReport] = (), static: StaticReport | None = None
    ) -> None:
        self._plan = plan
        self._target = target
        self._lock = threading.Lock()
        self._started: wire.Started | None = None
        self._finished: wire.Finished | None = None
        self._elapsed_s = 0.0
        self._progress: dict[str, StageProgress] = {stage: StageProgress(stage) for stage in plan.stages}
        self._stages: dict[str, StageReport] = {}
        self._weights: Literal["state_dict", "seed"] | None = None
        self._reports: list[CaseReport] = []
        self._defense: list[DefenseCheck] = []
        self._benchmark: wire.BenchmarkStarted | None = None
        self._states: list[DeviceState] = []
        self._timings: list[CaseTiming] = []
        self._comparisons: list[ComparisonReport] = []
        self._notes: list[NoteReport] = list(notes)
        self._static = static
        self._artifacts: list[Artifact] = []
        self._log = LogTail()

    def apply(self, event: dict[str, Any]) -> None:
        """Take the next event; raises ProtocolError where a known kind does not have its fields."""
        kind = event.get("kind")
        with self._lock:
            self._elapsed_s = max(self._elapsed_s, float(event.get("t", 0.0)))
            if kind == "log":  # by far the most frequent
                self._log.add(str(event.get("source")), str(event.get("text", "")))
                return
            cls = wire.EVENTS.get(str(kind))
            if cls is None:
                self._note(NoteReport(code=f"event:{kind}", text=json.dumps(event, ensure_ascii=False)[:1000]))
                return
            try:
                decoded: Any = decode(cls, event)
            except DecodeError as error:
                raise ProtocolError(f"the target sent a wrong {kind!r} event: {error}") from error
            _HANDLERS[cls](self, decoded)

    def snapshot(self) -> Snapshot:
        """What is known now; cheap enough to be taken ten times a second."""
        with self._lock:
            return Snapshot(
                running=self._finished is None,
                elapsed_s=self._elapsed_s,
                stages=list(self._progress.values()),
                result=self._result(),
            )

    def result(self) -> EvaluationResult:
        """The result so far; final once the ``finished`` event was applied."""
        with self._lock:
            return self._result()

    @property
    def running(self) -> bool:
        """Whether the final event is still to come."""
        return self._finished is None

    # --- what each event changes ---------------------------------------------------------------------------------------

    def _on_started(self, event: wire.Started) -> None:
        self._started = event

    def _note(self, note: NoteReport) -> None:
        if note not in self._notes and len(self._notes) < NOTES_LIMIT:
            self._notes.append(note)

    def _on_note(self, event: wire.Note) -> None:
        self._note(NoteReport(code=event.code, text=event.text, level=event.level))

    def _on_stage_started(self, event: wire.StageStarted) -> None:
        self._progress[event.stage] = StageProgress(event.stage, "running", total=event.total)

    def _on_progress(self, event: wire.Progress) -> None:
        total = event.total if event.total is not None else self._stage(event.stage).total
        self._progress[event.stage] = StageProgress(event.stage, "running", event.done, total, event.message)

    def _on_stage_finished(self, event: wire.StageFinished) -> None:
        before = self._stage(event.stage)
        self._progress[event.stage] = StageProgress(
            event.stage, event.status, before.done, before.total, event.reason, event.seconds
        )
        self._stages[event.stage] = StageReport(event.status, event.seconds, event.reason)

    def _stage(self, stage: StageName) -> StageProgress:
        return self._progress.get(stage) or StageProgress(stage)

    def _on_weights(self, event: wire.WeightsMatched) -> None:
        self._weights = event.how

    def _on_case_checked(self, event: wire.CaseChecked) -> None:
        self._reports.append(event.report)

    def _on_defense_checked(self, event: wire.DefenseChecked) -> None:
        self._defense.append(event.check)

    def _on_benchmark_started(self, event: wire.BenchmarkStarted) -> None:
        self._benchmark = event

    def _on_device_observed(self, event: wire.DeviceObserved) -> None:
        self._states.append(event.state)

    def _on_case_timed(self, event: wire.CaseTimed) -> None:
        self._timings.append(event.timing)

    def _on_compared(self, event: wire.Compared) -> None:
        self._comparisons.append(event.comparison)

    def _on_artifact(self, event: wire.ArtifactSaved) -> None:
        self._artifacts.append(event.artifact)

    def _on_heartbeat(self, event: wire.Heartbeat) -> None:
        """The time stamp was all it had to say."""

    def _on_finished(self, event: wire.Finished) -> None:
        self._finished = event
        for stage, progress in self._progress.items():
            if progress.status in ("waiting", "running"):
                status: Literal["failed", "skipped"] = "failed" if progress.status == "running" else "skipped"
                reason = f"ended with the evaluation: {event.verdict}" if status == "failed" else "not reached"
                self._progress[stage] = StageProgress(progress.stage, status, progress.done, progress.total, reason)
                self._stages[stage] = StageReport(status, None, reason)

    # --- the result ----------------------------------------------------------------------------------------------------

    def _result(self) -> EvaluationResult:
        plan, started, finished = self._plan, self._started, self._finished
        return EvaluationResult(
            schema=SCHEMA,
            id=plan.id,
            label=plan.label,
            problem=plan.problem.name,
            verdict=finished.verdict if finished else "not_checked",
            reason=finished.reason if finished else "",
            format=plan.problem.format,
            seed=plan.seed,
            target=TargetInfo(self._target.name, self._target.kind, started.device if started else None),
            environment=started.environment if started else {},
            isolation=started.isolation if started else [],
            stages=dict(self._stages),
            correctness=self._correctness(),
            benchmark=self._benchmark_report(),
            defense=DefenseReport(list(self._defense)) if self._defense else None,
            comparison=self._comparisons[0] if self._comparisons else None,
            further_comparisons=self._comparisons[1:],
            static=self._static,
            notes=list(self._notes),
            artifacts=list(self._artifacts),
            log_tail=self._log.lines(),
            input_secret=finished.input_secret if finished else None,
            seconds=self._elapsed_s if started and finished else None,
            error=finished.error if finished else None,
        )

    def _correctness(self) -> CorrectnessReport | None:
        """Every trial of every case counts once; those that were planned and not reached did not pass."""
        if not self._reports:
            return None
        plan = self._plan
        planned = 1 if plan.replay else sum(wire.trials_of(plan, case.checked) for case in plan.problem.cases) or plan.trials
        passed = sum(report.status == "passed" for report in self._reports)
        total = max(planned, len(self._reports))
        return CorrectnessReport(passed, total, passed / total, self._weights, list(self._reports))

    def _benchmark_report(self) -> BenchmarkReport | None:
        if self._benchmark is None:
            return None
        started, timings = self._benchmark, list(self._timings)
        stage = self._stages.get("benchmark")
        estimates = {timing.name: timing.speedup.estimate for timing in timings if timing.speedup}
        # A mean over the cases that happened to be timed would not be the mean that was asked for.
        complete = stage is not None and stage.status == "passed" and 0 < len(timings) == len(estimates)
        return BenchmarkReport(
            method=started.method,
            flush_bytes=started.flush_bytes,
            stop_rule=started.stop_rule,
            cases=timings,
            geomean_speedup=_geometric_mean(estimates.values()) if complete else None,
            worst_case=min(estimates, key=lambda name: estimates[name]) if estimates else None,
            states=list(self._states),
            precision=started.precision,
        )


_HANDLERS: dict[type, Callable[[Evaluation, Any], None]] = {
    cls: getattr(Evaluation, f"_on_{kind}") for kind, cls in wire.EVENTS.items() if kind != "log"
}


def _geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(math.fsum(logs) / len(logs))
