"""What a result says, in words: the sentences that text and html share, most important first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.rendering import units
from kbeval_jupyter.runner.report import (
    BenchmarkReport,
    CaseReport,
    CaseTiming,
    Claim,
    ComparisonReport,
    CorrectnessReport,
    DefenseReport,
    DeviceInfo,
    DeviceState,
    OutputReport,
    Speedup,
    TimingStats,
    Verdict,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kbeval_jupyter.model.result import EvaluationResult, NoteReport

_SHOWN_PROCESSES = 6

GOOD, BAD, DOUBTFUL, NEUTRAL = "good", "bad", "doubtful", "neutral"

TONES: dict[Verdict, str] = {
    "passed": GOOD,
    "incorrect": BAD,
    "compile_failed": BAD,
    "crashed": BAD,
    "timed_out": BAD,
    "rejected": BAD,
    "invalid_reference": DOUBTFUL,
    "error": DOUBTFUL,
    "not_checked": NEUTRAL,
    "cancelled": NEUTRAL,
}
CLAIMS: dict[Claim, str] = {"FASTER": "faster", "SLOWER": "slower", "SAME": "no difference", "AMBIGUOUS": "not clear"}
_LOG_EXPLAINS: frozenset[Verdict] = frozenset({"compile_failed", "crashed", "timed_out", "invalid_reference", "error"})


@dataclass(frozen=True)
class WrongOutput:
    """The output that is worst among all trials, with the trial in which it was found."""

    case: CaseReport
    output: OutputReport

    @property
    def place(self) -> str:
        """Which output of which trial: ``output [0]['y'] (float32, 128x512) in case large, trial 1``."""
        name = f"output {self.output.path}" if self.output.path else "output"
        return f"{name} ({self.output.dtype}, {shape(self.output.shape)}) in case {self.case.name}, trial {self.case.trial}"

    @property
    def extent(self) -> str:
        """How much is wrong, and by which rule."""
        wrong = self.output
        rule = "" if wrong.rtol is None else f"; tolerance: rtol {units.number(wrong.rtol)}, atol {units.number(wrong.atol)}"
        share = units.percent(wrong.mismatched_pct)
        return f"{wrong.mismatched:,} of {units.counted(wrong.total, 'element')} wrong ({share}){rule}"

    @property
    def errors(self) -> str:
        """Largest and mean error, absolute and relative."""
        wrong = self.output
        worst = "" if wrong.max_abs_index is None else f" at {wrong.max_abs_index}"
        return (
            f"|error| at most {units.number(wrong.max_abs)}{worst}, mean {units.number(wrong.mean_abs)}; "
            f"relative at most {units.number(wrong.max_rel)}, mean {units.number(wrong.mean_rel)}"
        )


def verdict_words(verdict: Verdict) -> str:
    """The verdict as it is shown: ``COMPILE FAILED``."""
    return verdict.replace("_", " ").upper()


def headline(result: EvaluationResult) -> str:
    """The one sentence that says why the verdict is what it is."""
    return result.reason.split("\n", 1)[0] or verdict_words(result.verdict).capitalize()


def explanation(result: EvaluationResult) -> list[str]:
    """Further lines of the reason, and the hint of an error."""
    lines = result.reason.split("\n")[1:]
    if result.error is not None and result.error.hint:
        lines.append(result.error.hint)
    return [line for line in lines if line.strip()]


def subject(result: EvaluationResult) -> list[str]:
    """What was evaluated, where, and how long that took."""
    where = result.target.name
    if result.target.device is not None:
        where += f" ({result.target.device.name})"
    took = units.seconds(result.seconds) if result.seconds is not None else ""
    return [part for part in (result.problem, result.label, where, took) if part]


def device(info: DeviceInfo) -> str:
    """The device with what identifies it."""
    memory = units.size_bytes(info.memory_bytes) if info.memory_bytes else None
    driver = f"driver {info.driver}" if info.driver else None
    index = f"index {info.index}" if info.index is not None else None
    return ", ".join(part for part in (info.name, info.architecture, memory, driver, index) if part)


def shape(sizes: Iterable[int]) -> str:
    """``128x512``; a tensor without dimensions is a ``scalar``."""
    return units.TIMES.join(str(size) for size in sizes) or "scalar"


def params(arguments: dict[str, Any], limit: int = 80) -> str:
    """The arguments of a case on one line."""
    text = ", ".join(f"{name}={value}" for name, value in arguments.items())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def worst_output(correctness: CorrectnessReport | None) -> WrongOutput | None:
    """The output with the largest share of wrong elements, or None where no trial compared wrongly."""
    failed = [
        WrongOutput(case, output)
        for case in (correctness.cases if correctness else [])
        if case.status == "failed"
        for output in case.outputs
        if output.mismatched
    ]
    return max(failed, key=lambda wrong: wrong.output.mismatched_pct, default=None)


def failed_trials(correctness: CorrectnessReport | None) -> list[CaseReport]:
    """The trials that failed, in order."""
    return [case for case in (correctness.cases if correctness else []) if case.status == "failed"]


def trials_sentence(correctness: CorrectnessReport) -> str:
    """How many trials passed, and how the weights were made equal."""
    weights = {"state_dict": "; weights copied from the reference", "seed": "; weights made by seed", None: ""}
    cases = len({case.name for case in correctness.cases})
    over = f" over {cases} cases" if cases > 1 else ""
    trials = units.counted(correctness.cases_total, "trial")
    return f"{correctness.cases_passed} of {trials}{over} passed{weights[correctness.weights]}"


def speed_sentence(benchmark: BenchmarkReport) -> str | None:
    """The speedup in words, the number first, or None where nothing was timed on both sides."""
    speedups = [case.speedup for case in benchmark.cases if case.speedup is not None]
    if len(benchmark.cases) == len(speedups) == 1:
        only = speedups[0]
        return f"{units.ratio(only.estimate)} the reference's speed: {CLAIMS[only.claim]} (95 % interval {interval(only)})"
    if benchmark.geomean_speedup is None:
        return None
    counts = [(words, sum(speedup.claim == claim for speedup in speedups)) for claim, words in CLAIMS.items()]
    claims = ", ".join(f"{count} {words}" for words, count in counts if count)
    worst = f"; worst: {benchmark.worst_case}" if benchmark.worst_case else ""
    return f"{units.ratio(benchmark.geomean_speedup)} the reference's speed over {len(speedups)} cases: {claims}{worst}"


def comparison_sentence(report: ComparisonReport) -> str:
    """How the implementation does against its baseline, the number first; or why that is not known."""
    baseline = f"{report.baseline} (whose outputs are wrong)" if report.baseline_right is False else report.baseline
    speedup = report.speedup
    if speedup is None:
        why = (
            report.baseline_reason
            or next((case.reason for case in report.cases if case.reason), "")
            or "not all cases were timed"
        )
        return f"no comparison with {baseline}: {why}"
    over = f" over {len(report.cases)} cases" if len(report.cases) > 1 else ""
    claim = CLAIMS[speedup.claim]
    return f"{units.ratio(speedup.estimate)} the speed of {baseline}{over}: {claim} (95 % interval {interval(speedup)})"


def notes(result: EvaluationResult) -> list[NoteReport]:
    """The remarks, without those that repeat what text and html show in full."""
    return [note for note in result.notes if note.code not in ("comparison_claim", "confirmed")]


def machine_sentence(benchmark: BenchmarkReport) -> str:
    """What the device did and who else used it, most of it at the last look; "" where nothing could be read."""
    if not benchmark.states:
        return ""
    last: DeviceState = benchmark.states[-1]
    others = dict.fromkeys(name for state in benchmark.states for name in state.foreign_processes)
    reasons = dict.fromkeys(reason for state in benchmark.states for reason in state.throttled)
    parts = [
        f"{last.clock_mhz:,.0f} MHz" if last.clock_mhz is not None else "",
        f"{last.power_w:,.0f} W" if last.power_w is not None else "",
        f"{last.temperature_c:.0f} °C" if last.temperature_c is not None else "",
        f"governor {last.governor}" if last.governor else "",
        f"load average {last.load_average:.1f}" if last.load_average is not None else "",
        f"clocks held down: {', '.join(reasons)}" if reasons else "",
        f"other processes: {', '.join(list(others)[:_SHOWN_PROCESSES])}" if others else "",
    ]
    return "; ".join(filter(None, parts))


def confirmation(timing: CaseTiming) -> str:
    """What a second measurement said of a winner; "" where there was none."""
    return "" if timing.confirmed is None else "confirmed in fresh processes" if timing.confirmed else "not confirmed"


def interval(speedup: Speedup) -> str:
    """The confidence interval: ``1.87x to 1.92x``."""
    return f"{units.ratio(speedup.ci_low)} to {units.ratio(speedup.ci_high)}"


def median_and_spread(stats: TimingStats | None, reason: str = "") -> str:
    """``6.21 µs (IQR 124 ns, n 240)``, or why there is no time."""
    if stats is None or stats.median_ms is None:
        return (stats.reason if stats else "") or reason or units.DASH
    return f"{units.time_ms(stats.median_ms)} (IQR {units.time_ms(stats.iqr_ms)}, n {stats.n:,})"


def defense_lines(report: DefenseReport | None) -> list[str]:
    """The checks of the defense stage: what failed with its sentence, then how many passed."""
    if report is None:
        return []
    failed = [check for check in report.checks if not check.passed]
    passed = ", ".join(check.name for check in report.checks if check.passed)
    count = f"{len(report.checks) - len(failed)} of {units.counted(len(report.checks), 'check')} passed"
    return [*(f"{check.name}: {check.message}" for check in failed), f"{count}: {passed}" if failed and passed else count]


def timing_remarks(stats: TimingStats | None) -> list[str]:
    """What a reader must know before believing the median."""
    if stats is None:
        return []
    remarks = []
    if stats.modes > 1:
        remarks.append(f"{stats.modes} modes")
    if stats.throttled:
        remarks.append(f"{units.counted(stats.throttled, 'throttled sample')} dropped")
    return remarks


def stage_words(result: EvaluationResult) -> list[str]:
    """Every stage with its status and time: ``compile 310 ms``, ``benchmark skipped (not right)``."""
    words = []
    for name, stage in result.stages.items():
        status = "" if stage.status == "passed" else f" {stage.status}"
        took = f" {units.seconds(stage.seconds)}" if stage.seconds is not None else ""
        # The evaluation's reason, which stands above, is mostly that of the stage that failed.
        why = f" ({stage.reason})" if stage.reason not in ("", result.reason) and stage.status != "passed" else ""
        words.append(f"{name}{status}{took}{why}")
    return words


def log_explains(result: EvaluationResult) -> bool:
    """Whether the log holds the evidence (a compiler's output, a traceback) and is to be shown at once."""
    return result.verdict in _LOG_EXPLAINS and bool(result.log_tail)
