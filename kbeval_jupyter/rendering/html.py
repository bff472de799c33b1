"""The result as static html: no script, no outside resource, under 50 kB, the finding first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbeval_jupyter.rendering import findings, heatmap, units
from kbeval_jupyter.rendering import html_elements as el
from kbeval_jupyter.rendering.text import strip_control

if TYPE_CHECKING:
    from kbeval_jupyter.model.result import EvaluationResult
    from kbeval_jupyter.runner.report import (
        BenchmarkReport,
        CaseTiming,
        ComparisonReport,
        CorrectnessReport,
        DefenseReport,
        OutputReport,
        TimingStats,
    )

LIMIT_BYTES = 50_000
_COLOURS = {findings.GOOD: "#1a7f37", findings.BAD: "#cf222e", findings.DOUBTFUL: "#9a6700", findings.NEUTRAL: "#656d76"}
_BOLD = "font-weight:700"
_IMPLEMENTATION, _REFERENCE = "#3b82f6", "#8b949e"
# How many cases, log lines and samples are shown; the next entry is tried when the page is too large.
_BUDGETS = ((40, 50, 16), (15, 20, 8), (5, 5, 4))


def render(result: EvaluationResult) -> str:
    """The whole result; what does not fit in ``LIMIT_BYTES`` is left out, and the page says so."""
    page = ""
    for budget in _BUDGETS:
        page = _page(result, *budget)
        if len(page.encode()) < LIMIT_BYTES:
            break
    return page


def _page(result: EvaluationResult, case_limit: int, log_limit: int, sample_limit: int) -> str:
    colour = _COLOURS[findings.TONES[result.verdict]]
    body = [
        _head(result, colour),
        _wrong(result.correctness, sample_limit),
        _benchmark(result.benchmark, case_limit),
        _comparison(result.comparison, case_limit),
        _defense(result.defense),
        _notes(result),
        _folded(result, case_limit, log_limit),
    ]
    style = (
        "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5;max-width:860px;"
        f"border-left:4px solid {colour};padding:4px 0 4px 14px;margin:4px 0"
    )
    return el.div("".join(body), style)


def _head(result: EvaluationResult, colour: str) -> str:
    subject = " · ".join(el.text(part, 200) for part in findings.subject(result))
    first = el.div(f"{el.badge(findings.verdict_words(result.verdict), colour)} {el.quiet(subject, 'margin-left:6px')}")
    sentence = findings.speed_sentence(result.benchmark) if result.benchmark else None
    reason = el.text(findings.headline(result))
    if sentence and result.verdict in ("passed", "not_checked"):
        value, words = sentence.split(" ", 1)
        speed = el.span(el.text(value), "font-size:22px;font-weight:700;margin-right:6px") + el.text(words)
        finding = el.div(speed, "font-size:15px;margin-top:4px") + el.div(el.quiet(reason))
    else:
        finding = el.div(reason, "font-size:15px;font-weight:600;margin-top:4px;overflow-wrap:break-word")
        finding += el.div(el.text(sentence)) if sentence else ""
    more = findings.explanation(result)
    return first + finding + (el.preformatted(more[:30]) if more else "")


def _wrong(correctness: CorrectnessReport | None, sample_limit: int) -> str:
    wrong = findings.worst_output(correctness)
    if wrong is None:
        failed = findings.failed_trials(correctness)[:5]
        lines = (f"case {case.name}, trial {case.trial}: {case.reason}" for case in failed)
        return "".join(el.div(el.text(line)) for line in lines)
    parts = [
        el.heading("Where it is wrong"),
        el.div(el.text(wrong.output.pattern, 500), _BOLD) if wrong.output.pattern else "",
        el.div(el.text(wrong.place)),
        el.div(el.text(wrong.extent)),
        el.div(el.text(wrong.errors)),
        heatmap.html(wrong.output),
        _samples(wrong.output, sample_limit),
        _histogram(wrong.output),
    ]
    return "".join(parts)


def _samples(output: OutputReport, limit: int) -> str:
    if not output.samples:
        return ""
    rows = [
        [
            el.text(str(s.index), 60),
            el.text(s.expected, 40),
            el.span(el.text(s.actual, 40), "font-weight:700"),
            units.number(s.abs),
        ]
        for s in output.samples[:limit]
    ]
    return el.table(["index", "expected", "actual", "|error|"], rows, el.MONO)


def _histogram(output: OutputReport) -> str:
    if not output.histogram:
        return ""
    top = max(output.histogram.values()) or 1
    rows = []
    for decade, count in output.histogram.items():
        strip = el.div(el.bar(100 * count / top, 0, _REFERENCE, 8), "width:180px")
        rows.append([el.text(decade, 20), strip, f"{count:,}"])
    summary = el.quiet("|error| by decade")
    return el.details(summary, el.table(["|error|", "", "elements"], rows))


def _benchmark(benchmark: BenchmarkReport | None, limit: int) -> str:
    if benchmark is None or not benchmark.cases:
        return ""
    blocks = [_timing(case) for case in benchmark.cases[:limit]]
    hidden = len(benchmark.cases) - limit
    if hidden > 0:
        blocks.append(el.div(el.quiet(f"… and {units.counted(hidden, 'case')} more")))
    how = f"{benchmark.method}; {benchmark.stop_rule}. {findings.machine_sentence(benchmark)}"
    method = el.quiet(el.text(how, 1500), "font-size:12px")
    return (
        el.heading("Time per call: median, faint up to the third quartile") + "".join(blocks) + el.div(method, "margin-top:6px")
    )


def _comparison(report: ComparisonReport | None, limit: int) -> str:
    if report is None:
        return ""
    rows = [
        [
            el.text(case.name, 80),
            el.text(findings.median_and_spread(case.baseline, case.reason), 200),
            f"{units.ratio(case.speedup.estimate)} ({findings.interval(case.speedup)})" if case.speedup else "",
            findings.CLAIMS[case.speedup.claim] if case.speedup else "",
        ]
        for case in report.cases[:limit]
    ]
    heads = ["case", el.text(report.baseline, 60), "speedup", ""]
    table = el.table(heads, rows) if report.speedup else ""
    return (
        el.heading(el.text(f"Against {report.baseline}", 80)) + el.div(el.text(findings.comparison_sentence(report), 400)) + table
    )


def _timing(case: CaseTiming) -> str:
    longest_ms = max((s.q3_ms or s.median_ms or 0.0 for s in (case.implementation, case.reference) if s), default=0.0)
    title = el.span(el.text(case.name, 80), "font-weight:600")
    if case.params:
        title += " " + el.quiet(el.text(findings.params(case.params)), f"{el.MONO};font-size:11px")
    if case.speedup is not None:
        claim = f"{units.ratio(case.speedup.estimate)} {findings.CLAIMS[case.speedup.claim]}"
        title += f" · {el.span(el.text(claim), 'font-weight:600')} {el.quiet(el.text(f'({findings.interval(case.speedup)})'))}"
        title += f" · {findings.confirmation(case)}" if case.confirmed is not None else ""
    sides = _side("implementation", case.implementation, longest_ms, _IMPLEMENTATION, case.reason)
    sides += _side("reference", case.reference, longest_ms, _REFERENCE, case.reason if case.implementation else "")
    return el.div(el.div(title) + sides, "margin-top:6px")


def _side(name: str, stats: TimingStats | None, longest_ms: float, colour: str, reason: str) -> str:
    """One line where there is room; else the bar goes under the words."""
    words = ", ".join([findings.median_and_spread(stats, reason), *findings.timing_remarks(stats)])
    strip = ""
    if stats is not None and stats.median_ms is not None and longest_ms > 0:
        solid, faint = (100 * value / longest_ms for value in (stats.median_ms, stats.q3_ms or stats.median_ms))
        strip = el.div(el.bar(solid, faint, colour), "flex:1 1 260px")
    label = el.div(el.quiet(name), "flex:0 0 106px") + el.div(
        el.text(words, 200), "flex:0 0 200px" if strip else "flex:1 1 200px"
    )
    return el.div(label + strip, "display:flex;flex-wrap:wrap;align-items:center;font-size:12px")


def _defense(report: DefenseReport | None) -> str:
    """Folded where all checks passed."""
    if report is None:
        return ""
    *failed, count = findings.defense_lines(report)
    rows = [
        [el.text(check.name, 40), "passed" if check.passed else "failed", el.text(check.message, 300)] for check in report.checks
    ]
    content = el.table(["check", "", "finding"], rows)
    found = "".join(el.div(el.text(line, 500), _BOLD) for line in failed)
    return el.heading("Defense") + found + el.details(el.quiet(el.text(count, 500)), content)


def _notes(result: EvaluationResult) -> str:
    rows = [("⚠ " if note.level == "warning" else "") + note.text for note in findings.notes(result)]
    return (el.heading("Notes") + "".join(el.div(el.text(row, 500)) for row in rows[:20])) if rows else ""


def _folded(result: EvaluationResult, case_limit: int, log_limit: int) -> str:
    parts = []
    if result.log_tail:
        lines = [strip_control(line) for line in result.log_tail[-log_limit:]]
        summary = "Log" if len(lines) == 1 else f"Log: last {len(lines)} lines"
        parts.append(el.details(el.quiet(summary), el.preformatted(lines), opened=findings.log_explains(result)))
    if result.correctness is not None and result.correctness.cases:
        parts.append(_trials(result.correctness, case_limit))
    summary = " · ".join(findings.stage_words(result)) or "Environment"
    parts.append(el.details(el.quiet(el.text(summary)), _environment(result)))
    return el.div("".join(parts), "margin-top:10px;font-size:12px")


def _trials(correctness: CorrectnessReport, limit: int) -> str:
    ordered = sorted(correctness.cases, key=lambda case: case.status == "passed")
    rows = []
    for case in ordered[:limit]:
        largest = max((output.max_abs for output in case.outputs if output.max_abs is not None), default=None)
        wrong = sum(output.mismatched for output in case.outputs)
        rows.append([el.text(case.name, 60), str(case.trial), case.status, f"{wrong:,}", units.number(largest)])
    hidden = len(ordered) - limit
    more = el.div(el.quiet(f"… and {hidden:,} more")) if hidden > 0 else ""
    content = el.table(["case", "trial", "status", "wrong elements", "largest |error|"], rows) + more
    return el.details(el.quiet(el.text(findings.trials_sentence(correctness))), content)


def _environment(result: EvaluationResult) -> str:
    facts = [("id", result.id), ("format", result.format), ("seed", str(result.seed))]
    if result.target.device is not None:
        facts.append(("device", findings.device(result.target.device)))
    facts += [(name, value or units.DASH) for name, value in result.environment.items()]
    facts += [
        (f"isolation: {layer.name}", "active" if layer.active else f"not active: {layer.reason}") for layer in result.isolation
    ]
    facts += [(f"artifact: {item.name}", f"{item.path} ({units.size_bytes(item.bytes)})") for item in result.artifacts[:20]]
    return "".join(_fact(name, value) for name, value in facts)


def _fact(name: str, value: str) -> str:
    return el.div(f"{el.quiet(el.text(name, 60))}: {el.text(value, 300)}", "overflow-wrap:break-word")
