"""The Python files of an implementation as one: what their names are bound to, and what they mean in full."""

from __future__ import annotations

import ast
import warnings
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from .pruning import prune
from .text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_DEPTH_LIMIT = 12
_MEANINGS_LIMIT = 200
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Module:
    """A parsed file."""

    file: str
    tree: ast.Module
    lines: list[str]


@dataclass
class Project:
    """All files. One name space holds the names of all of them: a name may mean any of the things it is bound to anywhere.

    ``attributes`` holds what is assigned to an attribute of this name, of whatever object.
    """

    alone: bool = True  # there is one Python file
    modules: list[Module] = field(default_factory=list)
    texts: dict[str, Text] = field(default_factory=dict)  # files in other languages
    imports: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    bindings: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    attributes: dict[str, list[ast.expr]] = field(default_factory=lambda: defaultdict(list))
    functions: dict[str, list[Function]] = field(default_factory=lambda: defaultdict(list))
    file_of: dict[ast.AST, Module] = field(default_factory=dict)
    classes: set[str] = field(default_factory=set)
    _meanings: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, main: str, files: Mapping[str, str]) -> Project:
        """The project of these files, ``main`` first; those that do not parse as Python are kept as text."""
        project = cls(alone=not any(file.endswith(".py") for file in files if file != main))
        project.add_python(main, files[main])
        for file, content in files.items():
            if file != main and not (file.endswith(".py") and project.add_python(file, content)):
                project.texts[file] = Text.of_file(file, content)
        return project

    def add_python(self, file: str, content: str) -> Module | None:
        """Take another file, or code from a string; None where it is no Python."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = prune(ast.parse(content), alone=self.alone)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        module = Module(file, tree, content.split("\n"))
        self._meanings.clear()
        self.modules.append(module)
        for node in ast.walk(tree):
            self.file_of[node] = module
            self._collect(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                self._bind_parameters(node, self.functions.get(node.func.id, []))
        return module

    @property
    def local_modules(self) -> set[str]:
        """Names under which files of the project can be imported."""
        paths = [PurePosixPath(module.file) for module in self.modules]
        return {path.stem for path in paths} | {path.parts[0] for path in paths if len(path.parts) > 1}

    def qualified(self, expression: ast.AST | None, depth: int = 0) -> set[str]:
        """Full names that an expression may stand for: ``t.jit`` is ``triton.jit`` after ``import triton as t``."""
        if expression is None or depth > _DEPTH_LIMIT:
            return set()
        if isinstance(expression, ast.Name):
            return self._qualified_name(expression.id, depth)
        if isinstance(expression, ast.Attribute):
            return {f"{base}.{expression.attr}" for base in self.qualified(expression.value, depth + 1)}
        if isinstance(expression, ast.Call):
            return self._qualified_call(expression, depth)
        if isinstance(expression, ast.IfExp):
            return self.qualified(expression.body, depth + 1) | self.qualified(expression.orelse, depth + 1)
        if isinstance(expression, ast.Subscript) and isinstance(expression.value, ast.Attribute | ast.Name):
            key = self.constant(expression.slice)
            bases = self.qualified(expression.value, depth + 1)
            return {str(key)} if key and "sys.modules" in bases else set()
        return set()

    def constant(self, expression: ast.expr | None, depth: int = 0) -> str | None:
        """A string that an expression surely is; sums and names with one meaning are followed."""
        if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
            return expression.value
        if depth > _DEPTH_LIMIT:
            return None
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
            left, right = self.constant(expression.left, depth + 1), self.constant(expression.right, depth + 1)
            return None if left is None or right is None else left + right
        if isinstance(expression, ast.Name) and len(self.bindings.get(expression.id, ())) == 1:
            return self.constant(self.bindings[expression.id][0], depth + 1)
        return None

    def _qualified_name(self, name: str, depth: int) -> set[str]:
        if name in self._meanings:
            return self._meanings[name]
        self._meanings[name] = {name}  # where it is bound to something of itself: x = x.view(…)
        found = set(self.imports.get(name, ()))
        for value in self.bindings.get(name, ()):
            found |= self.qualified(value, depth + 1)
        self._meanings[name] = set(sorted(found)[:_MEANINGS_LIMIT]) or {name}
        return self._meanings[name]

    def _qualified_call(self, call: ast.Call, depth: int) -> set[str]:
        functions = self.qualified(call.func, depth + 1)
        if functions & {"getattr", "builtins.getattr"} and len(call.args) > 1:
            name = self.constant(call.args[1])
            return {f"{base}.{name}" for base in self.qualified(call.args[0], depth + 1)} if name else set()
        if functions & {"importlib.import_module", "__import__", "builtins.__import__", "import_module"} and call.args:
            name = self.constant(call.args[0])
            return {name} if name else set()
        return {f"{function}()" for function in functions}

    def _collect(self, node: ast.AST) -> None:
        """Note what one node binds."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imports[alias.asname or alias.name.partition(".")[0]].add(
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self.imports[alias.asname or alias.name].add(f"{node.module}.{alias.name}" if node.module else alias.name)
        elif isinstance(node, ast.ClassDef):
            self.classes.add(node.name)
        elif isinstance(node, Function):
            self.functions[node.name].append(node)
        elif isinstance(node, ast.Assign):
            self._bind(node.targets, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            self._bind([node.target], node.value)
        elif isinstance(node, ast.For | ast.comprehension):
            self._bind([node.target], node.iter)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            self._bind([node.optional_vars], node.context_expr)

    def _bind_parameters(self, call: ast.Call, functions: list[Function]) -> None:
        """A parameter may be what it is called with."""
        for function in functions:
            for parameter, argument in zip(function.args.args, call.args, strict=False):
                self.bindings[parameter.arg].append(argument)
            names = {parameter.arg for parameter in [*function.args.args, *function.args.kwonlyargs]}
            for keyword in call.keywords:
                if keyword.arg in names:
                    self.bindings[str(keyword.arg)].append(keyword.value)

    def _bind(self, targets: Iterable[ast.expr], value: ast.expr) -> None:
        for target in targets:
            if isinstance(target, ast.Tuple | ast.List):
                same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
                for index, element in enumerate(target.elts):
                    self._bind([element], value.elts[index] if same else value)  # type: ignore[attr-defined]  # same says so
            elif isinstance(target, ast.Name):
                self.bindings[target.id].append(value)
            elif isinstance(target, ast.Attribute):
                self.attributes[target.attr].append(value)
