"""A problem of any format, read and checked as far as that goes without running it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kbeval_jupyter.runner.wire import PlanFile, ProblemSpec, Rival

from .result import NoteReport
from .static_report import StaticReport


@dataclass(frozen=True)
class Problem:
    """What the runner needs to know, and the files that travel.

    ``fault`` says in one sentence why the implementation cannot be run; empty where nothing was found. It makes a verdict,
    not an error.
    """

    spec: ProblemSpec
    files: list[PlanFile]
    notes: list[NoteReport] = field(default_factory=list)
    fault: str = ""
    static: StaticReport | None = None
    rivals: list[Rival] = field(default_factory=list)
