"""What the Python side of an implementation holds: kernels in Python languages, compiled sources, operators, things of note."""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from . import cpp_names
from .languages import (
    COMPUTING_NAMESPACES,
    INERT_LAYERS,
    KERNEL_MAKERS,
    LIBRARIES,
    NOT_COMPUTE,
    SNIPPETS,
    SOURCE_ARGUMENTS,
    TOOLS,
)
from .strings import Strings
from .text import CHARACTERS_LIMIT, Place, Text, joined

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .project import Function, Project
    from .reachability import Reachability

_COMPILER_PROCESSES = ("subprocess.", "os.system", "os.popen", "os.exec", "ctypes.", "setuptools.", "torch.ops.load_library",
                       "torch.utils.cpp_extension.CUDAExtension", "torch.classes.load_library", "distutils.")  # fmt: skip

_MODULE_LOADERS = ("ModuleLoad", "ModuleLoadData", "ModuleLoadDataEx", "LibraryLoadData", "LibraryLoadFromFile")


@dataclass(frozen=True)
class PythonKernel:
    """A function that a decorator or a call turns into device code."""

    name: str
    at: Place
    languages: frozenset[str]
    owner: str
    empty: bool


@dataclass(frozen=True)
class Compilation:
    """A call that compiles C++; ``sources`` None where they cannot be told without running it."""

    at: Place
    sources: Text | None
    kind: Literal["extension", "runtime"]
    is_snippet: bool = False


@dataclass(frozen=True)
class Operation:
    """Something that is called, by its full name."""

    kind: Literal["library_call", "torch_operator"]
    name: str
    at: Place


class PythonCode:
    """Looks through the live owners of a graph."""

    def __init__(self, project: Project, graph: Reachability, live: set[str]) -> None:
        self._project = project
        self._strings = Strings(project)
        self._owners = [owner for owner in graph.nodes_of if owner in live]
        self._graph = graph
        self.kernels = list(self._find_kernels())
        device_owners = {kernel.owner for kernel in self.kernels}
        self._nodes = [node for owner in self._owners if owner not in device_owners for node in graph.nodes_of[owner]]
        self._calls = [node for node in self._nodes if isinstance(node, ast.Call)]

    def place(self, node: ast.AST) -> Place:
        """Where a node stands."""
        return Place(self._project.file_of[node].file, getattr(node, "lineno", 1))

    @property
    def nodes(self) -> list[ast.AST]:
        """All live syntax outside device code."""
        return self._nodes

    def compilations(self) -> Iterator[Compilation]:
        """Live calls that compile C++ sources."""
        for call in self._calls:
            for name in self._project.qualified(call.func):
                known = SOURCE_ARGUMENTS.get(name) or SOURCE_ARGUMENTS.get(name.rpartition(".")[2].replace(" ", ""))
                if known is not None and (name in SOURCE_ARGUMENTS or "rtcCreateProgram" in name):
                    positions, keywords, kind = known
                    arguments = [call.args[i] for i in positions if i < len(call.args)]
                    arguments += [keyword.value for keyword in call.keywords if keyword.arg in keywords]
                    spread = [keyword.value for keyword in call.keywords if keyword.arg is None]
                    is_snippet = name in SNIPPETS
                    texts = [t for a in [*arguments, *spread] for t in self._source_texts(a, is_code=is_snippet)]
                    yield Compilation(self.place(call), joined(texts), kind, is_snippet)

    def other_compilers(self) -> Iterator[Place]:
        """Live calls through which code that we cannot follow may be built or loaded."""
        for call in self._calls:
            if any(name.startswith(_COMPILER_PROCESSES) for name in self._project.qualified(call.func)):
                yield self.place(call)

    def unseen(self) -> Iterator[tuple[str, Place]]:
        """What live code runs that cannot be read: other modules, and code made at run time."""
        for call in self._calls:
            names = self._project.qualified(call.func)
            if names & {"exec", "eval", "builtins.exec", "builtins.eval"}:
                source = self._strings.text(call.args[0]) if call.args else None
                if source is None or "unknown_value" in source.value:
                    yield "code that is made at run time", self.place(call)
            elif names & {"types.FunctionType", "marshal.loads", "types.CodeType", "pickle.loads"}:
                yield "code that is made at run time", self.place(call)
            elif names & {"importlib.import_module", "__import__"} and not self._project.qualified(call) - {""}:
                yield "a module chosen at run time", self.place(call)
            elif names & {"importlib.util.module_from_spec", "importlib.machinery.SourceFileLoader", "runpy.run_path"}:
                yield "a module loaded from a file", self.place(call)
            elif any(name == "triton.compile" or name.endswith(_MODULE_LOADERS) for name in names):
                yield "a kernel compiled elsewhere", self.place(call)
            elif any(name.startswith("torch.ops.") and not _computes(name) for name in names):
                yield "an operator registered elsewhere", self.place(call)
            else:
                yield from self._foreign_modules(call, names)

    def strings_with(self, *marks: str) -> Iterator[Text]:
        """Live string expressions that hold one of the marks."""
        used = {n.id for n in self._nodes if isinstance(n, ast.Name)}
        bound = [v for name, values in self._project.bindings.items() if name in used for v in values]
        attributes = {n.attr for n in self._nodes if isinstance(n, ast.Attribute)}
        bound += [v for name, values in self._project.attributes.items() if name in attributes for v in values]
        for node in [*self._nodes, *bound]:
            text = self._strings.text(node) if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp) else None
            if text is not None and any(mark in text.value for mark in marks):
                yield text

    def strings_anywhere(self, *marks: str) -> list[Text]:
        """Strings of the files that hold one of the marks, live or not; docstrings and parts of f-strings left out."""
        found: list[Text] = []
        room = CHARACTERS_LIMIT
        for module in self._project.modules:
            nodes = list(ast.walk(module.tree))
            left_out = {id(n) for node in nodes if isinstance(node, ast.JoinedStr) for n in ast.walk(node) if n is not node}
            left_out |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
            for node in nodes:
                if (
                    isinstance(node, ast.Constant | ast.JoinedStr)
                    and id(node) not in left_out
                    and room > 0
                    and _holds(node, marks)
                ):
                    text = self._strings.text(node)
                    found += [text] if text is not None else []
                    room -= len(text.value) if text is not None else 0
        return found

    def exec_sources(self) -> Iterator[Text]:
        """Constant code that live code runs with exec."""
        for call in self._calls:
            names = self._project.qualified(call.func)
            if names & {"exec", "eval", "builtins.exec", "builtins.eval"} and call.args:
                argument = call.args[0]
                if isinstance(argument, ast.Call) and "compile" in self._project.qualified(argument.func) and argument.args:
                    argument = argument.args[0]
                text = self._strings.text(argument)
                if text is not None:
                    yield text

    def attribute_names(self) -> set[str]:
        """Names by which live code may reach into what was compiled."""
        names = {node.attr for node in self._nodes if isinstance(node, ast.Attribute)}
        chosen = [self._project.constant(call.args[1]) for call in self._calls if _is_getattr(call)]
        return names | {name for name in chosen if name}

    def operations(self) -> Iterator[Operation]:
        """Operators of torch and calls into libraries."""
        layers = self._layers()
        for node in self._nodes:
            if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.MatMult):
                yield Operation("torch_operator", "@", self.place(node))
            elif isinstance(node, ast.Call):
                yield from self._operation(node, layers)

    # --- kernels -------------------------------------------------------------------------------------------------------

    def _find_kernels(self) -> Iterator[PythonKernel]:
        for functions in self._project.functions.values():
            for function in functions:
                languages = {lang for decorator in function.decorator_list for lang in self._made_by(decorator)}
                if languages:
                    owner = self._graph.owner_of_function.get(function, function.name)
                    yield PythonKernel(function.name, self.place(function), frozenset(languages), owner, _is_empty(function))
        for owner in self._graph.nodes_of:
            for node in self._graph.nodes_of[owner]:
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name | ast.Lambda):
                    languages = set(self._languages_of(node.func))
                    name = node.args[0].id if isinstance(node.args[0], ast.Name) else "lambda"
                    for function in self._project.functions.get(name, []) if languages else []:
                        inner = self._graph.owner_of_function.get(function, name)
                        if not {lang for decorator in function.decorator_list for lang in self._made_by(decorator)}:
                            yield PythonKernel(name, self.place(function), frozenset(languages), inner, _is_empty(function))

    def _made_by(self, decorator: ast.expr) -> set[str]:
        """Languages of a decorator, also of one that is partial(…), or a function of the implementation's that uses one."""
        found: set[str] = set()
        for node in ast.walk(decorator):
            found |= self._languages_of(node)
        names = {n.id for n in ast.walk(decorator) if isinstance(n, ast.Name)}
        for function in (f for name in names for f in self._project.functions.get(name, [])):
            if not function.decorator_list:
                for node in ast.walk(function):
                    found |= self._languages_of(node)
        return found

    def _languages_of(self, node: ast.AST) -> set[str]:
        if not isinstance(node, ast.Name | ast.Attribute | ast.Call):
            return set()
        return {lang for name in self._project.qualified(node) for lang in KERNEL_MAKERS.get(name, ())}

    # --- sources, modules, operators -------------------------------------------------------------------------------------

    def _source_texts(self, argument: ast.expr, *, is_code: bool) -> list[Text]:
        """Files that the argument names, and its own text where that is code and not a path."""
        direct = self._strings.text(argument)
        is_code = is_code or (direct is not None and any(mark in direct.value for mark in "{;#"))
        return [*self._strings.files(argument), *([direct] if direct is not None and is_code else [])]

    def _foreign_modules(self, call: ast.Call, names: set[str]) -> Iterator[tuple[str, Place]]:
        for name in names:
            top = name.partition(".")[0]
            imported = any(
                full == name or name.startswith(full + ".") for fulls in self._project.imports.values() for full in fulls
            )
            known = top in sys.stdlib_module_names or top in LIBRARIES or top in TOOLS
            if imported and not known and not self._graph.is_local(name):
                yield f"module {top}", self.place(call)

    def _layers(self) -> dict[str, str]:
        """Attributes that hold layers of torch.nn, with the layer's name."""
        found = {}
        for attribute, values in self._project.attributes.items():
            for value in values:
                if isinstance(value, ast.Call):
                    names = self._project.qualified(value.func)
                    layer = next((name for name in names if name.startswith("torch.nn.") and name.count(".") == 2), "")
                    if layer and layer.rpartition(".")[2] not in INERT_LAYERS:
                        found[attribute] = layer.removeprefix("torch.")
        return found

    def _operation(self, call: ast.Call, layers: dict[str, str]) -> Iterator[Operation]:
        at = self.place(call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in layers:
            yield Operation("torch_operator", layers[call.func.attr], at)
            return
        for name in sorted(self._project.qualified(call.func)):
            if name == "torch.compile" or _computes(name):
                yield Operation("torch_operator", name, at)
                return
            top = name.partition(".")[0]
            if top in LIBRARIES and self._is_import(name) and name not in SOURCE_ARGUMENTS and name not in KERNEL_MAKERS:
                yield Operation("library_call", name, at)
                return
            if name.startswith(("cutlass.op.", "cutlass.Gemm", "cutlass.emit")):
                yield Operation("library_call", name, at)
                return
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr in cpp_names.TENSOR_METHODS
        if is_method and not any(self._is_import(name) for name in self._project.qualified(call.func)):
            yield Operation("torch_operator", f".{call.func.attr}", at)  # type: ignore[attr-defined]  # is_method

    def _is_import(self, name: str) -> bool:
        return any(name == full or name.startswith(full + ".") for fulls in self._project.imports.values() for full in fulls)


def _holds(node: ast.Constant | ast.JoinedStr, marks: tuple[str, ...]) -> bool:
    """Whether a literal itself, not what it inserts, holds one of the marks."""
    parts = [node] if isinstance(node, ast.Constant) else [part for part in node.values if isinstance(part, ast.Constant)]
    return any(mark in str(part.value) for part in parts for mark in marks)


def _is_getattr(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1


def _computes(name: str) -> bool:
    if name.startswith(COMPUTING_NAMESPACES):
        return True
    prefix, _, function = name.rpartition(".")
    if prefix == "torch.Tensor":
        return function in cpp_names.TENSOR_METHODS
    hidden = function.startswith(("_", "is_", "set_", "get_")) and not function.startswith("_foreach_")
    return prefix == "torch" and not hidden and function not in NOT_COMPUTE and not function.endswith("()")


def _is_empty(function: Function) -> bool:
    """A body of docstring, pass and bare return only."""
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Return) and statement.value is None)
        for statement in function.body
    )
