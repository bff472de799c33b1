"""The static check of a problem that was asked for with a backend."""

from __future__ import annotations

import base64
import dataclasses
from collections import defaultdict
from typing import TYPE_CHECKING, cast

from kbeval_jupyter.model.result import NoteReport

from .check import check

if TYPE_CHECKING:
    from kbeval_jupyter.model.problem import Problem
    from kbeval_jupyter.model.static_report import Finding, FindingKind, StaticReport

    from .languages import Backend

_TITLES: dict[FindingKind, str] = {
    "own_kernel": "own kernels",
    "library_call": "library calls",
    "torch_operator": "torch operators",
}
_SHOWN = 6


def checked(problem: Problem, backend: str, shown_name: str) -> Problem:
    """The problem with its report; one that is no implementation in ``backend`` has that as its fault, so it is not run.

    ``shown_name`` is what the user knows the implementation's source by. ``backend`` is one of BACKENDS.
    """
    if problem.fault:
        return problem
    files = {
        file.path: base64.b64decode(file.data).decode("utf-8", "replace")
        for file in problem.files
        if file.folder == "implementation"
    }
    entry = problem.spec.implementation
    main = entry.module if shown_name in files else shown_name
    files = {main: files.pop(entry.module), **files}
    report = check(cast("Backend", backend), entry.name, main, files)
    fault = "" if report.is_backend else report.reason
    return dataclasses.replace(problem, static=report, fault=fault, notes=[*problem.notes, *notes(report, main)])


def notes(report: StaticReport, main: str) -> list[NoteReport]:
    """What the report found, in one note, and what there is to think about, in another."""
    contents = [
        f"{title}: {_listed([(f.name, f) for f in report.findings if f.kind == kind], main)}"
        for kind, title in _TITLES.items()
        if any(f.kind == kind for f in report.findings)
    ]
    doubts = [(f.text, f) for f in report.findings if f.kind == "warning"]
    found = [NoteReport("static_check", f"static check: {'; '.join(contents)}")] if contents else []
    if doubts:
        found.append(NoteReport("static_warnings", f"static check: {_listed(doubts, main)}", "warning"))
    return found


def _listed(items: list[tuple[str, Finding]], main: str) -> str:
    """``torch.matmul (lines 3, 8), @ (k.py, line 4)``: each thing once, with its lines."""
    lines: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for words, finding in items:
        lines[words][finding.file].append(finding.line)
    parts = []
    for words, files in lines.items():
        where = "; ".join(
            ("" if file == main else f"{file}, ")
            + ("line " if len(numbers) == 1 else "lines ")
            + ", ".join(str(number) for number in sorted(set(numbers))[:_SHOWN])
            for file, numbers in files.items()
        )
        parts.append(f"{words} ({where})")
    more = f" and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
    return ", ".join(parts[:_SHOWN]) + more
