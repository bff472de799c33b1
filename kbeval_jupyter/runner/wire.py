"""The plan that goes to a target and the events that come back: the single source of both.

An event travels as one line of strict JSON: ``{"kind": …, "seq": n, "t": seconds, …fields}``. ``seq`` counts from 0 without a
gap, ``t`` is seconds on a monotonic clock since the supervisor started. The judge's first event is ``started``, which carries the
wire version; the last event is ``finished``. Unknown kinds are kept and shown as notes by the client.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from .report import (
    Artifact,
    CaseReport,
    CaseTiming,
    ComparisonReport,
    DefenseCheck,
    DeviceInfo,
    DeviceState,
    Failure,
    IsolationLayer,
    StageName,
    StageStatus,
    Verdict,
)
from .typed_json import JsonTypeError, decode

WIRE_VERSION = 1


# --- the plan: what the client asks for -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlanFile:
    """A file to lay down before anything runs. ``data`` is base64; ``path`` is relative, POSIX, without "..".

    ``folder`` "reference" is seen by the judge only; "implementation" by the implementation's workers; "baseline" holds a folder
    for each rival, seen by that rival's workers.
    """

    folder: Literal["reference", "implementation", "baseline"]
    path: str
    data: str


@dataclass(frozen=True)
class Entry:
    """What to take from a module: a class that is constructed once and called, or a function that is called."""

    kind: Literal["class", "function"]
    module: str  # path of the file inside its folder, e.g. "implementation.py"
    name: str  # e.g. "ModelNew"


@dataclass(frozen=True)
class Rival:
    """What is timed beside the implementation: an earlier one, or the reference under ``torch.compile`` (``compiled``).

    ``role`` names it, e.g. "baseline/1"; its files lie in ``folder`` of the run directory: its role, or "reference".
    """

    role: str
    label: str
    folder: str
    entry: Entry
    compiled: bool = False


@dataclass(frozen=True)
class Case:
    """One set of arguments of a problem. ``params`` are the keyword arguments of the input function.

    ``checked``: the correctness stage makes all trials with it; ``timed``: the benchmark times it, after one trial at least.
    """

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    checked: bool = True
    timed: bool = True


@dataclass(frozen=True)
class ProblemSpec:
    """A problem of any format, in the words the runner understands; a new format costs one file that builds this.

    ``call`` "spread": the inputs are a list, a tuple (positional arguments) or a dict (keyword arguments);
    "single": whatever the input function returned is the one argument.
    """

    format: str
    name: str
    reference: Entry
    implementation: Entry
    call: Literal["spread", "single"]
    inputs_function: str  # get_inputs, generate_input
    init_inputs_function: str | None = None
    input_groups_function: str | None = None  # returns several input sets: several cases
    checker_function: str | None = None  # check_implementation(inputs, output) of the problem's own
    inputs_module: str | None = None  # a file in the reference folder that overrides the input functions
    cases: list[Case] = field(default_factory=list)  # empty: one case without parameters


@dataclass(frozen=True)
class Tolerance:
    """User-set tolerances; None means the default of the dtype."""

    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True)
class Limits:
    """Bounds on what an evaluation may use. A value of 0 means no limit."""

    log_bytes: int = 64 << 20
    line_bytes: int = 64 << 10
    run_dir_bytes: int = 8 << 30
    artifact_bytes: int = 256 << 20


@dataclass(frozen=True)
class Plan:
    """One evaluation, complete: pure data, printable (``--dry-run``), the same for every target."""

    id: str
    label: str
    problem: ProblemSpec
    files: list[PlanFile]
    stages: list[StageName]
    seed: int = 42
    tolerance: Tolerance = field(default_factory=Tolerance)
    trials: int = 3
    budget_s: float = 5.0
    timeout_s: float = 600.0
    build_timeout_s: float = 600.0
    precision: Literal["ieee", "tf32"] | None = None
    dtype: str | None = None
    backward: bool = False
    public_inputs: bool = False
    secret: str | None = None  # hex; only a replay sets it
    replay: tuple[str, int] | None = None  # (case name, trial): run that one trial and save its tensors
    rivals: list[Rival] = field(default_factory=list)  # timed together with implementation and reference
    confirm: bool = False  # measure once more, in fresh processes, where the implementation is claimed to be faster
    vendor: Literal["auto", "nvidia", "amd", "cpu"] = "auto"
    device_index: int | None = None
    environment: dict[str, str] = field(default_factory=dict)
    isolation: Literal["auto", "full", "basic"] = "auto"
    limits: Limits = field(default_factory=Limits)
    grace_s: float = 0.0  # how long to go on when the client is gone
    run_root: str | None = None  # where run directories are made; None: the runner's default
    wire: int = WIRE_VERSION


def trials_of(plan: Plan, checked: bool) -> int:
    """How many trials the correctness stage makes with a case: all, or the one that what is timed must pass."""
    return plan.trials if checked else int("benchmark" in plan.stages)


def files_below(plan: Plan, folder: str) -> list[tuple[str, str]]:
    """(path, base64 data) of the files in a folder of the run directory such as "reference" or "baseline/1"; paths within it."""
    prefix = f"{folder}/"
    named = ((f"{file.folder}/{file.path}", file.data) for file in plan.files)
    return [(path[len(prefix) :], data) for path, data in named if path.startswith(prefix)]


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """The plan as JSON data."""
    return dataclasses.asdict(plan)


def plan_from_json(data: Any) -> Plan:
    """The plan that ``plan_to_json`` wrote; raises ``JsonTypeError`` with the place of what is wrong."""
    version = data.get("wire") if isinstance(data, dict) else None
    if version != WIRE_VERSION:
        raise JsonTypeError(f"plan.wire: this runner speaks version {WIRE_VERSION}, the plan has {version!r}")
    plan: Plan = decode(Plan, data, "plan")
    return plan


# --- the events: what comes back ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Started:
    """First event."""

    kind: ClassVar[str] = "started"
    wire: int
    id: str
    run_dir: str
    device: DeviceInfo
    environment: dict[str, str | None]  # python, torch, triton, runner, platform, …
    isolation: list[IsolationLayer]


@dataclass(frozen=True)
class Note:
    """A remark that belongs to the result: what was changed from the defaults, what could not be done and why."""

    kind: ClassVar[str] = "note"
    code: str  # stable identifier, e.g. "triton_interpreter", "cuda_redirected", "weak_problem"
    text: str
    level: Literal["info", "warning"] = "info"


@dataclass(frozen=True)
class Log:
    """Text as it was printed: any number of lines, perhaps a part of one. Order within a source is exact."""

    kind: ClassVar[str] = "log"
    source: Literal["implementation", "reference", "judge", "build"]
    text: str


@dataclass(frozen=True)
class StageStarted:
    """A stage begins; ``total`` is the number of steps where it is known."""

    kind: ClassVar[str] = "stage_started"
    stage: StageName
    total: int | None = None


@dataclass(frozen=True)
class Progress:
    """Steps of a stage done so far."""

    kind: ClassVar[str] = "progress"
    stage: StageName
    done: float
    total: float | None = None
    message: str = ""


@dataclass(frozen=True)
class StageFinished:
    """A stage ended or was skipped."""

    kind: ClassVar[str] = "stage_finished"
    stage: StageName
    status: StageStatus
    seconds: float | None
    reason: str = ""


@dataclass(frozen=True)
class WeightsMatched:
    """How the implementation got its weights."""

    kind: ClassVar[str] = "weights"
    how: Literal["state_dict", "seed"]


@dataclass(frozen=True)
class CaseChecked:
    """One trial was compared."""

    kind: ClassVar[str] = "case_checked"
    report: CaseReport


@dataclass(frozen=True)
class DefenseChecked:
    """One check of the defense stage was made."""

    kind: ClassVar[str] = "defense_checked"
    check: DefenseCheck


@dataclass(frozen=True)
class BenchmarkStarted:
    """How the benchmark measures: method, flush and stop rule as they really are on this device."""

    kind: ClassVar[str] = "benchmark_started"
    method: str
    flush_bytes: int
    stop_rule: str
    precision: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DeviceObserved:
    """What the device did before the benchmark, or during it."""

    kind: ClassVar[str] = "device_observed"
    state: DeviceState


@dataclass(frozen=True)
class CaseTimed:
    """One case was timed."""

    kind: ClassVar[str] = "case_timed"
    timing: CaseTiming


@dataclass(frozen=True)
class Compared:
    """Two implementations that were timed together. The evaluated one against each rival comes first, then rivals in pairs."""

    kind: ClassVar[str] = "compared"
    comparison: ComparisonReport


@dataclass(frozen=True)
class ArtifactSaved:
    """A file lies in the run directory's ``artifacts`` folder."""

    kind: ClassVar[str] = "artifact"
    artifact: Artifact


@dataclass(frozen=True)
class Heartbeat:
    """Nothing to say, still alive."""

    kind: ClassVar[str] = "heartbeat"


@dataclass(frozen=True)
class Finished:
    """Last event, whatever happened. ``input_secret`` (hex) lets a replay make the same inputs again."""

    kind: ClassVar[str] = "finished"
    verdict: Verdict
    reason: str
    input_secret: str | None = None
    error: Failure | None = None


EVENTS: dict[str, type] = {
    cls.kind: cls
    for cls in (
        Started, Note, Log, StageStarted, Progress, StageFinished, WeightsMatched, CaseChecked,
        DefenseChecked, BenchmarkStarted, DeviceObserved, CaseTimed, Compared, ArtifactSaved, Heartbeat, Finished,
    )
}  # fmt: skip


def finite(value: Any) -> Any:
    """JSON data for a tree that may hold dataclasses; every number that is not finite becomes None."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    cls: Any = type(value)
    names = _field_names(cls)
    return value if names is None else {name: finite(getattr(value, name)) for name in names}


@functools.lru_cache(maxsize=None)
def _field_names(cls: Any) -> list[str] | None:
    return [f.name for f in dataclasses.fields(cls)] if dataclasses.is_dataclass(cls) else None


def event_fields(event: Any) -> dict[str, Any]:
    """The fields of an event dataclass as strict JSON data."""
    fields: dict[str, Any] = finite(event)
    return fields


def encode_event(kind: str, fields: dict[str, Any], seq: int, t: float) -> bytes:
    """An event as one line of strict JSON, newline included."""
    body = {"kind": kind, "seq": seq, "t": round(t, 6), **fields}
    return json.dumps(body, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
