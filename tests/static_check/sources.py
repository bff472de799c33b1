"""The cases of this folder's text files, and how one is checked."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kbeval_jupyter.model.static_report import StaticReport
from kbeval_jupyter.static_check.check import check

CELL = "<cell>"
RULE = "======== "


class Case(NamedTuple):
    """One implementation: the language that is named, what is special about it, further columns of its header, its source."""

    backend: str
    name: str
    columns: list[str]
    source: str


def read_cases(file: str) -> dict[str, Case]:
    """All cases of a file by a name that tells them apart."""
    _, *sections = ("\n" + Path(__file__).with_name(file).read_text()).split("\n" + RULE)
    cases = {}
    for section in sections:
        header, _, source = section.partition("\n")
        backend, name, *columns = header.split(" | ")
        assert f"{backend}: {name}" not in cases
        cases[f"{backend}: {name}"] = Case(backend, name, columns, source)
    return cases


def report(backend: str, source: str, files: Mapping[str, str] | None = None, entry: str = "ModelNew") -> StaticReport:
    """The check of a cell, with files that travel with it."""
    return check(backend, entry, CELL, {CELL: source, **(files or {})})  # type: ignore[arg-type]  # tables hold plain words


def line_of(source: str, words: str) -> int:
    """The number of the line in which the words stand first."""
    return next(number for number, line in enumerate(source.split("\n"), 1) if words in line)


def own_kernels(result: StaticReport) -> list[tuple[str, str, int]]:
    """Name, file and line of the kernels that were found."""
    return [(finding.name, finding.file, finding.line) for finding in result.findings if finding.kind == "own_kernel"]
