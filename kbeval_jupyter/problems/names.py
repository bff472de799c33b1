"""Which names a module defines at its top level, read from its syntax tree without running it."""

from __future__ import annotations

import ast
import tokenize
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbeval_jupyter.model.request import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

Definition = ast.stmt


class SourceSyntaxError(ValueError):
    """One line: where, what, and the line's text."""


@dataclass(frozen=True)
class Module:
    """A source with its tree and the statements that define its top-level names (the last one wins).

    ``open_ended`` where names can come from a star import or through ``globals()``: then a missing name proves nothing.
    """

    source: Source
    tree: ast.Module
    definitions: dict[str, Definition]
    open_ended: bool

    def may_define(self, name: str) -> bool:
        """False only where the module surely does not define ``name``."""
        return name in self.definitions or self.open_ended

    def defines_any(self, names: tuple[str, ...]) -> bool:
        """Whether one of these names is defined for all to see."""
        return any(name in self.definitions for name in names)

    def public_names(self) -> list[str]:
        """Classes and functions, then the rest, as a reader would list them; imports are left out."""
        shown = {
            n: d for n, d in self.definitions.items() if not n.startswith("_") and not isinstance(d, ast.Import | ast.ImportFrom)
        }
        return sorted(shown, key=lambda n: not isinstance(shown[n], ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef))

    def nested_definition(self, name: str) -> ast.stmt | None:
        """A class or function of this name that is not at the top level."""
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        nested = (node for node in ast.walk(self.tree) if isinstance(node, kinds) and node.name == name)
        return next(nested, None) if name not in self.definitions else None


def file_text(source: Source) -> str:
    """The text as it is written to a file: line numbers equal what the user sees."""
    return "# the cell's magic\n" * (source.first_line - 1) + source.text


def file_bytes(source: Source) -> bytes:
    """The file's content in the encoding that its own coding line announces, UTF-8 without one."""
    text = file_text(source)
    try:
        lines = (line.encode() for line in text.splitlines(keepends=True))
        encoding, _ = tokenize.detect_encoding(lambda: next(lines, b""))
        return text.encode(encoding)
    except (SyntaxError, UnicodeEncodeError):
        return text.encode("utf-8", "replace")


def parse(source: Source) -> Module:
    """Read a module; raises SourceSyntaxError."""
    text = file_text(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are the target's to report
            tree = ast.parse(text)
    except SyntaxError as error:
        raise SourceSyntaxError(_syntax_message(source, text, error)) from error
    except (ValueError, RecursionError, MemoryError) as error:  # null bytes; nesting that the parser refuses
        raise SourceSyntaxError(f"{source.name} cannot be parsed: {error}") from error
    definitions = dict(_definitions(tree.body))
    return Module(source, tree, definitions, any(_is_open_ended(node) for node in ast.walk(tree)))


def _syntax_message(source: Source, text: str, error: SyntaxError) -> str:
    number = error.lineno or source.first_line
    lines = text.splitlines()
    line = lines[number - 1].strip() if 0 < number <= len(lines) else ""
    shown = f": {line[:120]}" if line else ""
    return f"syntax error in {source.name}, line {number}: {error.msg}{shown}"


def _definitions(body: list[ast.stmt]) -> Iterator[tuple[str, Definition]]:
    for statement in body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name, statement
            continue
        for name in _bound_names(statement):
            yield name, statement
        if not _never_runs_on_import(statement):
            for block in _blocks(statement):
                yield from _definitions(block)
        elif isinstance(statement, ast.If):
            yield from _definitions(statement.orelse)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists inside if, try, with, for, while and match."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for part in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
        yield part.body


def _never_runs_on_import(statement: ast.stmt) -> bool:
    """``if __name__ == "__main__"`` and ``if TYPE_CHECKING``."""
    if not isinstance(statement, ast.If):
        return False
    condition = ast.unparse(statement.test)
    return condition in ("TYPE_CHECKING", "typing.TYPE_CHECKING", "__name__ == '__main__'", "'__main__' == __name__")


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    """Names that a simple statement, or the head of a compound one, binds."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target] if statement.value else []
    elif isinstance(statement, ast.For | ast.AsyncFor):
        targets = [statement.target]
    elif isinstance(statement, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in statement.items if item.optional_vars]
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names if alias.name != "*")
    for target in targets:
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))


def _is_open_ended(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return any(alias.name == "*" for alias in node.names)
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "globals"
