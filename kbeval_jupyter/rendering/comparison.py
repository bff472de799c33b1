"""A comparison of several implementations as text and as static html: who is right, how long each takes, who beats whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbeval_jupyter.rendering import findings, units
from kbeval_jupyter.rendering import html_elements as el
from kbeval_jupyter.rendering.text import table

if TYPE_CHECKING:
    from kbeval_jupyter.model.comparison import ComparedSide, ComparisonResult

_SHOWN_CASES = 20


def bundle(result: ComparisonResult) -> dict[str, Any]:
    """The representations by MIME type."""
    return {"text/plain": text(result), "text/html": html(result), "application/json": result.to_json()}


def headline(result: ComparisonResult) -> str:
    """The one sentence."""
    if not result.sides:
        return f"{findings.verdict_words(result.verdict)}: {result.reason}"
    fastest = result.fastest()
    return f"{fastest} is faster than all others that are right" if fastest else "no implementation is faster than all others"


def text(result: ComparisonResult) -> str:
    """The whole comparison; no trailing newline."""
    lines = [headline(result)]
    if result.sides:
        lines += ["", *table(_times(result)), "", "  row against column; above 1 the row is faster", *table(_matrix(result))]
        lines += [f"  {side.reason}" for side in result.sides if side.reason]
        lines += ["", f"  {result.method}; {result.stop_rule}"]
    return "\n".join(lines)


def html(result: ComparisonResult) -> str:
    """The same without script or outside resource."""
    parts = [el.div(el.text(headline(result), 400), "font-size:15px;font-weight:600")]
    if result.sides:
        for rows in (_times(result), _matrix(result)):
            cells = [[el.text(cell, 120) for cell in row] for row in rows]
            parts.append(el.table(cells[0], cells[1:]))
        parts.append(el.div(el.quiet("row against column; above 1 the row is faster")))
        parts += [el.div(el.text(side.reason, 400)) for side in result.sides if side.reason]
        parts.append(el.div(el.quiet(el.text(f"{result.method}; {result.stop_rule}"), "font-size:12px")))
    return el.div("".join(parts), "font-family:system-ui,sans-serif;font-size:13px;line-height:1.5")


def _times(result: ComparisonResult) -> list[list[str]]:
    names = [case.name for case in result.sides[0].cases[:_SHOWN_CASES]]
    rows = [["", "outputs", *names]]
    for side in result.sides:
        times = [findings.median_and_spread(case.times) for case in side.cases[:_SHOWN_CASES]]
        rows.append([side.label, _rightness(side), *times])
    return rows


def _rightness(side: ComparedSide) -> str:
    return {True: "right", False: "wrong", None: "did not run"}[side.right]


def _matrix(result: ComparisonResult) -> list[list[str]]:
    labels = result.labels
    return [["", *labels], *([label, *(_claim(result, label, other) for other in labels)] for label in labels)]


def _claim(result: ComparisonResult, label: str, other: str) -> str:
    speedup = result.speedup(label, other)
    if label == other or speedup is None:
        return units.DASH
    return f"{units.ratio(speedup.estimate)} {findings.CLAIMS[speedup.claim]} [{findings.interval(speedup)}]"
