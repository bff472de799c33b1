"""The text that a Python expression stands for, put together as far as that is possible without running it."""

from __future__ import annotations

import ast
import itertools
import re
from typing import TYPE_CHECKING

from .text import Text, concatenated, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .project import Project

_KEEPS_TEXT = {
    "format", "format_map", "strip", "lstrip", "rstrip", "encode", "decode", "substitute", "safe_substitute", "render",
    "expandtabs", "removeprefix", "removesuffix", "lower", "upper", "splitlines",
    "resolve", "absolute",
}  # fmt: skip
_READS = {"read", "read_text", "read_bytes"}
_WRAPPERS = {
    "textwrap.dedent", "textwrap.indent", "inspect.cleandoc", "str", "bytes", "string.Template", "jinja2.Template", "list",
    "tuple", "open", "io.open", "pathlib.Path", "ctypes.c_char_p", "itertools.chain",
}  # fmt: skip
_UNKNOWN = "unknown_value"
_BRACES = re.compile(r"\{\{|\}\}|\{[^{}\n]*\}")
_DEPTH_LIMIT = 40


class Strings:
    """Evaluates string expressions of a project. Where a name has several values, the text is all of them, one after another."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._visiting: set[int] = set()
        self._known: dict[ast.expr, Text | None] = {}

    def text(self, expression: ast.expr | None) -> Text | None:
        """The text, or None where nothing of it is known."""
        if expression is None or id(expression) in self._visiting or len(self._visiting) > _DEPTH_LIMIT:
            return None
        if expression not in self._known:
            self._visiting.add(id(expression))
            self._known[expression] = self._text(expression)
            self._visiting.discard(id(expression))
        return self._known[expression]

    def files(self, expression: ast.expr) -> list[Text]:
        """The files of the project, not in Python, that strings inside an expression name."""
        names = {name for name in self._constants(expression, set()) if name}
        return [
            text
            for file, text in self._project.texts.items()
            if any(file == name.removeprefix("./") or file.endswith("/" + name) or name.endswith("/" + file) for name in names)
        ]

    def _text(self, node: ast.expr) -> Text | None:
        if isinstance(node, ast.Constant):
            return self._literal(node)
        if isinstance(node, ast.JoinedStr):
            return self._formatted(node)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Name):
            return joined(self._all(self._project.bindings.get(node.id, [])))
        if isinstance(node, ast.Attribute):
            values = self._project.attributes.get(node.attr, []) + self._project.bindings.get(node.attr, [])
            return joined(self._all(values))
        return joined(self._all(_parts(node)))

    def _literal(self, node: ast.Constant) -> Text | None:
        value = node.value.decode("utf-8", "replace") if isinstance(node.value, bytes) else node.value
        if not isinstance(value, str):
            return None
        module = self._project.file_of[node]
        return Text.of_literal(value, module.file, node.lineno, node.end_lineno or node.lineno, module.lines)

    def _formatted(self, node: ast.JoinedStr) -> Text:
        """An f-string; what it inserts is its text where that is known, else a name that says so."""
        pieces: list[Text | str] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                pieces.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                inserted = self.text(part.value)
                # Whole lines of another string keep the place where they were written.
                whole_lines = inserted is not None and "\n" in inserted.value
                pieces.append(inserted if inserted and whole_lines else inserted.value if inserted else _UNKNOWN)
        parts = [self._at(node, "")]
        for _, group in itertools.groupby(pieces, lambda piece: isinstance(piece, Text)):
            members = list(group)
            texts = [piece for piece in members if isinstance(piece, Text)]
            parts += texts or [self._at(node, "".join(map(str, members)))]
        return concatenated(parts)

    def _at(self, node: ast.expr, value: str) -> Text:
        """A part of an f-string with the lines in which it stands."""
        module = self._project.file_of[node]
        return Text.of_literal(value, module.file, node.lineno, node.end_lineno or node.lineno, module.lines)

    def _operation(self, node: ast.BinOp) -> Text | None:
        left = self.text(node.left)
        if not isinstance(node.op, ast.Add):
            return left
        right = self.text(node.right)
        return left + right if left and right else left or right

    def _call(self, call: ast.Call) -> Text | None:
        names = self._project.qualified(call.func)
        if isinstance(call.func, ast.Attribute):
            base, method = call.func.value, call.func.attr
            if method == "join" and call.args and not names & {"os.path.join"}:
                return self.text(call.args[0])
            if method == "replace":
                return self._replaced(self.text(base), call)
            if method in _READS:
                return joined(self.files(base))
            if method in _KEEPS_TEXT:
                text = self.text(base)
                return text.with_value(_BRACES.sub(_unescaped, text.value)) if text and method == "format" else text
        if names & _WRAPPERS and call.args:
            return joined(self.files(call)) or self.text(call.args[0])
        functions = [f for name in names for f in self._project.functions.get(name.rpartition(".")[2], [])]
        returned = [n.value for f in functions for n in ast.walk(f) if isinstance(n, ast.Return) and n.value]
        return joined(self._all(returned))

    def _replaced(self, text: Text | None, call: ast.Call) -> Text | None:
        if text is None or len(call.args) < 2:
            return text
        old, new = self._project.constant(call.args[0]), self._project.constant(call.args[1])
        return text if not old else text.with_value(text.value.replace(old, _UNKNOWN if new is None else new))

    def _all(self, expressions: list[ast.expr]) -> Iterator[Text]:
        for expression in expressions:
            text = self.text(expression)
            if text is not None:
                yield text

    def _constants(self, expression: ast.AST, seen: set[str]) -> Iterator[str]:
        """Strings in an expression and in what its names are bound to."""
        for node in ast.walk(expression):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None
            if name and name not in seen:
                seen.add(name)
                for value in [*self._project.bindings.get(name, []), *self._project.attributes.get(name, [])]:
                    yield from self._constants(value, seen)


def _parts(node: ast.expr) -> list[ast.expr]:
    """Expressions out of which one is taken, or all: elements, values, branches."""
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return node.elts
    if isinstance(node, ast.Dict):
        return node.values
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.Subscript | ast.NamedExpr | ast.Starred):
        return [node.value]
    if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
        return [node.elt, *(generator.iter for generator in node.generators)]
    return []


def _unescaped(match: re.Match[str]) -> str:
    return {"{{": "{", "}}": "}"}.get(match.group(), _UNKNOWN)
