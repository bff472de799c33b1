"""What a finished or half-finished evaluation says: the data of the public contract, one definition for every language.

Produced in the judge (``dataclasses.asdict``), read by the client (``model.codec``), and turned into the JSON Schema and the
TypeScript types by ``model.schema``. Numbers are finite or None; field names carry their units.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Verdict = Literal[
    "passed",
    "incorrect",
    "compile_failed",
    "crashed",
    "timed_out",
    "rejected",
    "invalid_reference",
    "not_checked",
    "cancelled",
    "error",
]
StageName = Literal["compile", "correctness", "benchmark", "defense", "profile"]
StageStatus = Literal["passed", "failed", "skipped"]
PatternKind = Literal[
    "all",
    "boundary",
    "rows",
    "columns",
    "blocks",
    "triangle",
    "tail",
    "slice",
    "transposed",
    "shifted",
    "factor",
    "offset",
    "sign",
    "nan",
    "inf",
    "zeros",
    "constant",
    "precision",
    "scattered",
]
Claim = Literal["FASTER", "SLOWER", "SAME", "AMBIGUOUS"]


@dataclass(frozen=True)
class DeviceInfo:
    """The device that did the work."""

    vendor: Literal["nvidia", "amd", "cpu"]
    name: str
    architecture: str | None = None
    memory_bytes: int | None = None
    driver: str | None = None
    index: int | None = None


@dataclass(frozen=True)
class IsolationLayer:
    """One hardening layer of the worker processes: whether it was active, and if not why."""

    name: str
    active: bool
    reason: str = ""


@dataclass(frozen=True)
class StageReport:
    """How one stage ended."""

    status: StageStatus
    seconds: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class ElementSample:
    """One wrong element. Values are numbers as text ("nan", "inf" included), so that JSON stays strict."""

    index: list[int]
    expected: str
    actual: str
    abs: float | None


@dataclass(frozen=True)
class Heatmap:
    """Reduced picture of |error| over the tensor seen as two-dimensional; ``data`` is row-major, None where not finite.

    A cell stands for ``row_step`` rows (all dimensions but the last) and ``col_step`` columns; the last ones for what is left.
    """

    rows: int
    cols: int
    reduce: Literal["max"]
    data: list[float | None]
    row_step: int = 1
    col_step: int = 1


@dataclass(frozen=True)
class OutputReport:
    """The comparison of one leaf of the output tree, at ``path`` such as ``[0]['y']`` (empty for a lone tensor)."""

    path: str
    shape: list[int]
    dtype: str
    rtol: float | None
    atol: float | None
    max_abs: float | None
    max_abs_index: list[int] | None
    mean_abs: float | None
    max_rel: float | None
    mean_rel: float | None
    mismatched: int
    total: int
    mismatched_pct: float
    histogram: dict[str, int] = field(default_factory=dict)
    pattern: str | None = None
    samples: list[ElementSample] = field(default_factory=list)
    heatmap: Heatmap | None = None
    pattern_kind: PatternKind | None = None


@dataclass(frozen=True)
class CaseReport:
    """One trial of one case: fresh inputs, both sides run, all outputs compared."""

    name: str
    params: dict[str, Any]
    trial: int
    status: Literal["passed", "failed"]
    reason: str = ""
    warnings: list[str] = field(default_factory=list)
    outputs: list[OutputReport] = field(default_factory=list)


@dataclass(frozen=True)
class CorrectnessReport:
    """All trials of all cases. ``score`` is cases_passed / cases_total."""

    cases_passed: int
    cases_total: int
    score: float
    weights: Literal["state_dict", "seed"] | None
    cases: list[CaseReport] = field(default_factory=list)


@dataclass(frozen=True)
class TimingStats:
    """Statistics of one side of one case; quantiles are type 7. ``samples_ms`` holds at most 1,000, evenly taken."""

    samples_ms: list[float]
    samples_total: int
    median_ms: float | None
    q1_ms: float | None
    q3_ms: float | None
    iqr_ms: float | None
    mad_ms: float | None
    mean_ms: float | None
    min_ms: float | None
    max_ms: float | None
    std_ms: float | None
    n: int
    outliers: int
    modes: int = 1
    throttled: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Speedup:
    """Reference time / implementation time: above 1 the implementation is faster. Interval: 95 % cluster bootstrap."""

    estimate: float
    ci_low: float
    ci_high: float
    claim: Claim


@dataclass(frozen=True)
class CaseTiming:
    """Times of one case. Untimed sides are None with the reason."""

    name: str
    params: dict[str, Any]
    implementation: TimingStats | None
    reference: TimingStats | None
    speedup: Speedup | None
    stop_reason: str = ""
    reason: str = ""
    confirmed: bool | None = None  # whether a second measurement claims the same; None where there was none
    confirmation: Speedup | None = None  # of that measurement


@dataclass(frozen=True)
class DeviceState:
    """The device at one moment of the benchmark; None where that cannot be read. ``throttled`` says why clocks are held down."""

    moment: Literal["before", "during"] = "before"
    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    throttled: list[str] = field(default_factory=list)
    governor: str | None = None
    load_average: float | None = None
    foreign_processes: list[str] = field(default_factory=list)  # on a GPU those that use it, on a CPU those that run


@dataclass(frozen=True)
class BenchmarkReport:
    """The benchmark stage. ``method`` and ``stop_rule`` are sentences that say what really ran."""

    method: str
    flush_bytes: int
    stop_rule: str
    cases: list[CaseTiming] = field(default_factory=list)
    geomean_speedup: float | None = None
    worst_case: str | None = None
    states: list[DeviceState] = field(default_factory=list)
    precision: dict[str, str] = field(default_factory=dict)  # torch's settings that change precision or speed


@dataclass(frozen=True)
class CaseComparison:
    """One case of a comparison: the baseline's times, and how much faster than it the implementation is."""

    name: str
    baseline: TimingStats | None
    speedup: Speedup | None
    reason: str = ""


@dataclass(frozen=True)
class ComparisonReport:
    """An implementation against a baseline that was timed with it in the same process groups: above 1 it is faster.

    ``estimate`` to ``claim`` repeat ``speedup``: over all cases the geometric mean of their ratios; None where a case has none.
    ``…_right`` says whether a side's outputs passed when they were checked for this comparison, ``…_reason`` what is wrong; None
    where they could not be had, or where another stage checked them.
    """

    implementation: str
    baseline: str
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    claim: Claim | None
    speedup: Speedup | None
    implementation_right: bool | None = None
    implementation_reason: str = ""
    baseline_right: bool | None = None
    baseline_reason: str = ""
    cases: list[CaseComparison] = field(default_factory=list)
    worst_case: str | None = None


@dataclass(frozen=True)
class DefenseCheck:
    """One named check of the defense stage; it passes where it could not be made. ``evidence``: what was measured, by name."""

    name: str
    passed: bool
    message: str
    evidence: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class DefenseReport:
    """All checks of the defense stage, in the order in which they were made."""

    checks: list[DefenseCheck] = field(default_factory=list)


@dataclass(frozen=True)
class Artifact:
    """A file that the evaluation left, relative to the artifacts folder."""

    name: str
    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Failure:
    """Why an evaluation ended in verdict "error": ours or the host's fault, never the implementation's."""

    kind: str
    message: str
    hint: str = ""
