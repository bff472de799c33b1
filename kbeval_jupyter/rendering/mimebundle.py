"""What a notebook keeps of a result: text, static html, and our JSON, small enough to be saved and shared."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.model.comparison import ComparisonResult
from kbeval_jupyter.model.result import MIME_TYPE, EvaluationResult
from kbeval_jupyter.rendering import comparison, heatmap, html, text
from kbeval_jupyter.runner.report import Heatmap

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_BYTES = 230_000  # of the JSON; with html and text a result stays under 300 kB


def bundle(result: EvaluationResult) -> dict[str, Any]:
    """The representations by MIME type."""
    return {"text/plain": text.render(result), "text/html": html.render(result), MIME_TYPE: payload(result)}


def payload(result: EvaluationResult, limit_bytes: int = LIMIT_BYTES) -> dict[str, Any]:
    """``to_json()``, thinned where it is larger than ``limit_bytes``."""
    return thinned(result.to_json(), limit_bytes)


def thinned(data: dict[str, Any], limit_bytes: int) -> dict[str, Any]:
    """A result's JSON made smaller in place, least important things first, until it fits; a note then says what is missing."""
    dropped: list[str] = []
    for thin in _THINNERS:
        if _size_bytes(data) <= limit_bytes:
            break
        if said := thin(data):
            dropped.append(said)
    if dropped:
        text = f"shortened for the notebook ({', '.join(dropped)}); the artifacts hold everything"
        data["notes"] = [*data["notes"][:_NOTES_KEPT], {"code": "thinned", "text": text, "level": "info"}]
    return data


def register(shell: Any) -> None:
    """Teach an IPython shell to show results as this bundle."""
    formatter = shell.display_formatter.mimebundle_formatter
    formatter.for_type(EvaluationResult, lambda result, **_selection: bundle(result))
    formatter.for_type(ComparisonResult, lambda result, **_selection: comparison.bundle(result))


_NOTES_KEPT = 100


def _size_bytes(data: dict[str, Any]) -> int:
    return len(json.dumps(data, ensure_ascii=False).encode("utf-8", "replace"))


def _fewer_samples(keep: int) -> Callable[[dict[str, Any]], str]:
    def cut(side: dict[str, Any] | None) -> str:
        samples = (side or {}).get("samples_ms", [])
        if side is None or len(samples) <= keep:
            return ""
        side["samples_ms"] = [samples[i * len(samples) // keep] for i in range(keep)]
        return f"{keep} timing samples a case"

    def thin(data: dict[str, Any]) -> str:
        said = ""
        for case in (data.get("benchmark") or {}).get("cases", []):
            for side in ("implementation", "reference"):
                said = cut(case[side]) or said
        for report in filter(None, [data.get("comparison"), *data.get("further_comparisons", [])]):
            for case in report["cases"]:
                said = cut(case["baseline"]) or said
        return said

    return thin


def _smaller_heatmaps(cells: int) -> Callable[[dict[str, Any]], str]:
    def thin(data: dict[str, Any]) -> str:
        said = ""
        for case in (data.get("correctness") or {}).get("cases", []):
            for output in case["outputs"]:
                old = output.get("heatmap")
                if old and max(old["rows"], old["cols"]) > cells:
                    output["heatmap"] = dataclasses.asdict(heatmap.reduced(Heatmap(**old), cells))
                    said = f"heatmaps of {cells} cells a side"
        return said

    return thin


def _without_heatmaps(data: dict[str, Any]) -> str:
    said = ""
    for case in (data.get("correctness") or {}).get("cases", []):
        for output in case["outputs"]:
            if output.get("heatmap"):
                output["heatmap"] = None
                said = "no heatmaps"
    return said


def _fewer_trials(keep: int) -> Callable[[dict[str, Any]], str]:
    def thin(data: dict[str, Any]) -> str:
        report = data.get("correctness") or {}
        cases = report.get("cases", [])
        if len(cases) <= keep:
            return ""
        # Failed trials are what a reader looks for.
        report["cases"] = sorted(cases, key=lambda case: case["status"] == "passed")[:keep]
        return f"{keep} of {len(cases):,} trials, failed ones first"

    return thin


def _fewer_timed_cases(keep: int) -> Callable[[dict[str, Any]], str]:
    def thin(data: dict[str, Any]) -> str:
        report = data.get("benchmark") or {}
        cases = report.get("cases", [])
        if len(cases) <= keep:
            return ""
        report["cases"] = cases[:keep]
        return f"{keep} of {len(cases):,} timed cases"

    return thin


def _short_log(data: dict[str, Any]) -> str:
    data["log_tail"] = [line[:200] for line in data["log_tail"][-20:]]
    return "20 short log lines"


def _short_texts(data: dict[str, Any]) -> str:
    """Last resort: long strings anywhere (parameters, warnings, reasons) are cut."""

    def cut(value: Any) -> Any:
        if isinstance(value, str):
            return value if len(value) <= 300 else value[:299] + "…"
        if isinstance(value, list):
            return [cut(item) for item in value[:1000]]
        if isinstance(value, dict):
            return {key: cut(item) for key, item in value.items()}
        return value

    data.update(cut(data))
    return "long texts"


_THINNERS: tuple[Callable[[dict[str, Any]], str], ...] = (
    _fewer_samples(250),
    _fewer_samples(60),
    _smaller_heatmaps(64),
    _smaller_heatmaps(32),
    _without_heatmaps,
    _short_log,
    _fewer_trials(40),
    _fewer_samples(16),
    _short_texts,
    _fewer_trials(10),
    _fewer_timed_cases(40),
)
