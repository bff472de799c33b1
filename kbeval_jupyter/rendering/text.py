"""The result as plain text: for terminals, logs, and whatever shows nothing richer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbeval_jupyter.rendering import findings, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kbeval_jupyter.model.result import EvaluationResult
    from kbeval_jupyter.runner.report import BenchmarkReport, CaseTiming, ComparisonReport, CorrectnessReport

_MARKS = {findings.GOOD: "✓", findings.BAD: "✗", findings.DOUBTFUL: "!", findings.NEUTRAL: "○"}
_LABEL_WIDTH = 11
_LOG_LINES = 20
_FAILED_TRIALS = 5
_TIMED_CASES = 40
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f\x7f]")


def render(result: EvaluationResult) -> str:
    """The whole result, the verdict first; no trailing newline."""
    mark = _MARKS[findings.TONES[result.verdict]]
    lines = [f"{mark} {findings.verdict_words(result.verdict)}  {' · '.join(findings.subject(result))}"]
    lines += [f"  {line}" for line in (findings.headline(result), *findings.explanation(result))]
    lines += _wrong(result.correctness)
    lines += _benchmark(result.benchmark)
    lines += _comparison(result.comparison)
    lines.append("")
    if result.correctness is not None:
        lines += _labelled("trials", [findings.trials_sentence(result.correctness)])
    lines += _labelled("defense", findings.defense_lines(result.defense))
    lines += _labelled("stages", [" · ".join(findings.stage_words(result))] if result.stages else [])
    machine = findings.machine_sentence(result.benchmark) if result.benchmark else ""
    lines += _labelled("machine", [machine] if machine else [])
    lines += _labelled("notes", [note.text for note in findings.notes(result)])
    inactive = [f"{layer.name} ({layer.reason})" for layer in result.isolation if not layer.active]
    lines += _labelled("isolation", ["not active: " + ", ".join(inactive)] if inactive else [])
    if findings.log_explains(result):
        lines += _labelled("log", [strip_control(line) for line in result.log_tail[-_LOG_LINES:]])
    return "\n".join(lines).rstrip()


def short(result: EvaluationResult) -> str:
    """The result on one line."""
    sentence = findings.speed_sentence(result.benchmark) if result.verdict == "passed" and result.benchmark else None
    return f"{findings.verdict_words(result.verdict)}: {sentence or findings.headline(result)}"


def strip_control(line: str) -> str:
    """A line of the log without colours and other control sequences; what a carriage return overwrote is gone."""
    return _ANSI.sub("", line.rstrip("\r").rsplit("\r", 1)[-1])


def table(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """Rows with aligned columns; the first row is the head."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [(indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip() for row in rows]


def _labelled(label: str, lines: Iterable[str]) -> list[str]:
    labels = [label]
    return [f"  {labels.pop() if labels else '':<{_LABEL_WIDTH}}{line}" for line in lines]


def _wrong(correctness: CorrectnessReport | None) -> list[str]:
    wrong = findings.worst_output(correctness)
    if wrong is None:
        others = [f"case {case.name}, trial {case.trial}: {case.reason}" for case in findings.failed_trials(correctness)]
        return ["", *_labelled("failed", others[:_FAILED_TRIALS])] if others else []
    pattern = _labelled("pattern", [wrong.output.pattern] if wrong.output.pattern else [])
    lines = ["", *pattern, *_labelled("where", [wrong.place, wrong.extent]), *_labelled("errors", [wrong.errors])]
    if wrong.output.samples:
        rows = [("index", "expected", "actual", "|error|")]
        rows += [(str(s.index), s.expected, s.actual, units.number(s.abs)) for s in wrong.output.samples]
        lines += table(rows, " " * (_LABEL_WIDTH + 2))
    return lines


def _benchmark(benchmark: BenchmarkReport | None) -> list[str]:
    if benchmark is None or not benchmark.cases:
        return []
    sentence = findings.speed_sentence(benchmark)
    rows = [("case", "implementation", "reference", "speedup", "")]
    rows += [_timing_row(case) for case in benchmark.cases[:_TIMED_CASES]]
    hidden = len(benchmark.cases) - _TIMED_CASES
    more = [f"  … and {units.counted(hidden, 'case')} more"] if hidden > 0 else []
    return [*([f"  {sentence}"] if sentence else []), "", *table(rows), *more]


def _comparison(report: ComparisonReport | None) -> list[str]:
    if report is None:
        return []
    rows = [("case", report.baseline, "speedup", "")]
    for case in report.cases[:_TIMED_CASES]:
        speedup = f"{units.ratio(case.speedup.estimate)} [{findings.interval(case.speedup)}]" if case.speedup else ""
        claim = findings.CLAIMS[case.speedup.claim] if case.speedup else ""
        rows.append((case.name, findings.median_and_spread(case.baseline, case.reason), speedup, claim))
    return ["", f"  {findings.comparison_sentence(report)}", *(table(rows) if report.speedup else [])]


def _timing_row(case: CaseTiming) -> tuple[str, str, str, str, str]:
    remarks = [*findings.timing_remarks(case.implementation), *findings.timing_remarks(case.reference)]
    speedup = ""
    if case.speedup is not None:
        speedup = f"{units.ratio(case.speedup.estimate)} [{findings.interval(case.speedup)}]"
        remarks[:0] = [findings.CLAIMS[case.speedup.claim], *filter(None, [findings.confirmation(case)])]
    return (
        case.name,
        findings.median_and_spread(case.implementation, case.reason),
        findings.median_and_spread(case.reference, case.reason if case.implementation else ""),
        speedup,
        ", ".join(remarks),
    )
