"""What a GPU MODE problem keeps beside its reference: a task.yml with the cases, and modules that both sides import."""

from __future__ import annotations

import ast
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.model.request import Source

from . import task_yml
from .cases import PURPOSE, PURPOSES, parse_cases

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

NAME = "task.yml"
ANSWERS = {"ref_kernel", "check_implementation"}  # a module that defines one of these stays with the judge


def find(reference: Source) -> Path | None:
    """The task.yml in the folder of a reference that is a file."""
    path = reference.path.parent / NAME if reference.path else None
    return path if path and path.is_file() else None


def cases_of(path: Path) -> tuple[list[dict[str, Any]], str]:
    """The cases of a task.yml, and a sentence on them; raises RequestError."""
    cases = parse_cases(Source(_text(path), path.name))
    counts = {purpose: sum(case.get(PURPOSE) == purpose for case in cases) for purpose in PURPOSES}
    words = [f"{count} {purpose if count > 1 else purpose[:-1]}" for purpose, count in counts.items() if count]
    return cases, f"cases from {path.name} beside the reference: {' and '.join(words)}"


def modules_elsewhere(path: Path) -> dict[str, Path]:
    """Python files that a task.yml takes from other folders (``{"name": "utils.py", "source": "../utils.py"}``), by name."""
    text = task_yml.section(_text(path), "files")
    try:
        entries = [] if text is None else task_yml.read_list(text)
    except task_yml.NotReadError:
        return {}
    named = {
        str(entry["name"]): str(entry["source"])
        for entry in entries
        if isinstance(entry, dict) and entry.keys() >= {"name", "source"}
    }
    found = {name: path.parent / source for name, source in named.items() if name.endswith(".py") and "/" not in name}
    return {name: place for name, place in found.items() if ".." in Path(named[name]).parts and place.is_file()}


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def shared_modules(text: bytes, files: Mapping[PurePosixPath, bytes], reference: PurePosixPath) -> dict[PurePosixPath, bytes]:
    """Those of the reference's files that code imports, directly or through each other: never one that holds the answer."""
    taken: dict[PurePosixPath, bytes] = {}
    waiting = [text]
    while waiting:
        for name in imported_modules(waiting.pop()):
            for path, data in files.items():
                if path in taken or path == reference or path.parts[0] not in (name, f"{name}.py") or _answers(data, reference):
                    continue
                taken[path] = data
                waiting.append(data)
    return taken


def imported_modules(text: bytes) -> set[str]:
    """First names of the modules that code imports."""
    return {name for node in _nodes(text) for name in _names(node)}


def _answers(data: bytes, reference: PurePosixPath) -> bool:
    defined = {node.name for node in _nodes(data) if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assigned = {node.id for node in _nodes(data) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return bool(ANSWERS & (defined | assigned)) or reference.stem in imported_modules(data)


def _nodes(text: bytes) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module.partition(".")[0]]
    return []
