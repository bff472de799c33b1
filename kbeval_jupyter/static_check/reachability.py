"""Which parts of an implementation can run when its entry is constructed and called.

A graph over names: an edge from a to b says that what a stands for uses b. It is a little too large (names are not told apart by
scope, any object may have any method that is called by its name), so that what it leaves out surely does not run.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from typing import TYPE_CHECKING

from .languages import SOURCE_ARGUMENTS
from .project import Function, Project

if TYPE_CHECKING:
    from collections.abc import Iterable

IMPORT = "<import>"  # runs when the module is imported, whatever is used of it later
_DYNAMIC = "<dynamic>"
_CHOOSERS = {"operator.attrgetter", "operator.methodcaller", "inspect.getmembers"}

# Methods that a framework calls by itself; others must be named somewhere.
_CALLED_BY_FRAMEWORKS = {"forward", "backward", "setup_context", "jvp", "vmap", "reset_parameters", "_load_from_state_dict"}
_PLAIN_BASES = {"torch.nn.Module", "torch.autograd.Function", "object", "typing.NamedTuple", "enum.Enum", "abc.ABC"}
_LOOKS_ONLY = {"print", "isinstance", "hasattr", "id", "type", "repr", "str", "callable", "len", "issubclass", "dir", "help"}
_METADATA = {
    "__name__",
    "__doc__",
    "__module__",
    "__qualname__",
    "best_config",
    "src",
    "cache",
    "signature",
    "arg_names",
    "params",
}
_NEVER_REGISTERS = {
    "triton", "torch", "functools", "staticmethod", "classmethod", "property", "contextlib", "dataclasses", "cutlass", "tilelang",
    "numba", "cupyx", "cupy", "typing", "abc", "helion", "override", "overload", "warp", "taichi",
}  # fmt: skip


class Reachability:
    """The graph of a project. ``nodes_of`` gives the syntax that belongs to each owner; ``live`` the owners that can run."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.nodes_of: dict[str, list[ast.AST]] = defaultdict(list)
        self.owner_of_function: dict[ast.AST, str] = {}
        self._edges: dict[str, set[str]] = defaultdict(set)
        self._methods: dict[str, dict[str, str]] = defaultdict(dict)  # class -> method -> owner
        self._open_classes: set[str] = set()
        self._local_modules = project.local_modules
        for module in project.modules:
            _Builder(self).block(module.tree.body)

    def live(self, entry: str) -> set[str]:
        """Owners and names that can be reached from ``entry`` (and from what importing runs)."""
        seen: set[str] = set()
        pending = [entry, IMPORT]
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            pending += self._edges.get(name, ())
            pending += [target.rpartition(".")[2] for target in self.project.imports.get(name, ()) if self.is_local(target)]
            everything = _DYNAMIC in seen
            for cls in self._methods if name == _DYNAMIC or name.startswith(".") else [name]:
                if cls in seen:
                    pending += self._reached_methods(cls, seen, everything=everything)
        return seen

    def edge(self, source: str, target: str) -> None:
        """What ``source`` stands for uses ``target``."""
        self._edges[source].add(target)

    def add_method(self, cls: str, method: str) -> str:
        """The owner of a method's body."""
        owner = f"{cls}.{method}"
        self._methods[cls][method] = owner
        return owner

    def open_class(self, cls: str) -> None:
        """A class whose base may call any of its methods."""
        self._open_classes.add(cls)

    def _reached_methods(self, cls: str, seen: set[str], *, everything: bool) -> list[str]:
        every = everything or cls in self._open_classes
        return [
            owner
            for method, owner in self._methods.get(cls, {}).items()
            if every or method in _CALLED_BY_FRAMEWORKS or method.startswith("__") or f".{method}" in seen
        ]

    def is_local(self, qualified: str) -> bool:
        """Whether a full name is one of the project's own files'."""
        parts = qualified.split(".")
        return bool(set(parts[:-1]) & self._local_modules) or len(parts) == 1


class _Builder:
    """Fills the graph from statements."""

    def __init__(self, graph: Reachability) -> None:
        self._graph = graph
        self._project = graph.project
        self._locals: dict[str, set[str]] = {}

    # --- module level --------------------------------------------------------------------------------------------------

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._top(statement)

    def _top(self, statement: ast.stmt) -> None:
        if isinstance(statement, Function):
            self._function(statement, statement.name, IMPORT)
        elif isinstance(statement, ast.ClassDef):
            self._class(statement, IMPORT)
        elif isinstance(statement, ast.Assign):
            self._assign_top(statement.targets, statement.value)
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value is not None:
            self._assign_top([statement.target], statement.value)
        elif isinstance(statement, ast.Expr):
            self._expression_top(statement.value)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            self._graph.nodes_of[IMPORT].append(statement)
        else:  # if, try, with, for: what is inside stands at module level too
            for _, value in ast.iter_fields(statement):
                self._compound_field(statement, value)

    def _compound_field(self, statement: ast.stmt, value: object) -> None:
        if isinstance(value, list):
            for item in value:
                if isinstance(item, ast.stmt):
                    self._top(item)
                elif isinstance(item, ast.ExceptHandler | ast.match_case):
                    self.block(item.body)
                elif isinstance(item, ast.AST):
                    self._uses(item, IMPORT)
        elif isinstance(value, ast.expr) and not _is_look(value):
            if isinstance(statement, ast.For) and value is statement.iter:
                self._assign_top([statement.target], value)
            else:
                self._uses(value, IMPORT)

    def _assign_top(self, targets: list[ast.expr], value: ast.expr) -> None:
        for target in _leaves(targets):
            owner = self._target_owner(target)
            self._uses(value, owner)
            if any(
                isinstance(n, ast.Call) and self._project.qualified(n.func) & SOURCE_ARGUMENTS.keys() for n in ast.walk(value)
            ):
                self._graph.edge(".ops", owner)  # what it builds may register operators
            if isinstance(target, ast.Attribute):
                self._graph.nodes_of[owner].append(target)
                self._graph.edge(f".{target.attr}", owner)

    def _target_owner(self, target: ast.expr) -> str:
        """The name whose meaning an assignment changes; import where that is not a name of ours."""
        base = target
        while isinstance(base, ast.Attribute | ast.Subscript | ast.Starred):
            base = base.value
        if isinstance(base, ast.Name):
            return IMPORT if base is not target and base.id in self._project.imports else base.id
        if isinstance(target, ast.Subscript) and isinstance(base, ast.Call):  # globals()["name"] = …
            return self._project.constant(target.slice) or IMPORT
        return IMPORT

    def _expression_top(self, value: ast.expr) -> None:
        """A call at module level changes what it is called on: ``REGISTRY.append(kernel)`` makes REGISTRY use kernel."""
        if not isinstance(value, ast.Call):
            return
        owner = f"<line {value.lineno}>"
        self._uses(value, owner)
        anchors = [value.func, *(value.args[:1] if isinstance(value.func, ast.Name) and value.func.id == "setattr" else [])]
        names = {node.id for anchor in anchors for node in ast.walk(anchor) if isinstance(node, ast.Name)}
        launches = isinstance(value.func, ast.Subscript)
        for name in names:
            external = name in self._project.imports or hasattr(builtins, name)
            full = self._project.qualified(value.func)
            if any(".library." in f for f in full):
                self._graph.edge(".ops", owner)
            elif external and not launches:
                self._graph.edge(IMPORT, owner)
            else:
                self._graph.edge(name, owner)

    # --- definitions ---------------------------------------------------------------------------------------------------

    def _class(self, node: ast.ClassDef, outer: str) -> None:
        graph = self._graph
        for expression in [*node.bases, *(keyword.value for keyword in node.keywords)]:
            self._uses(expression, node.name)
        known = {name for base in node.bases for name in self._project.qualified(base)}
        if any(name not in _PLAIN_BASES and name not in self._project.classes for name in known):
            graph.open_class(node.name)
        self._decorators(node, node.name, outer)
        graph.nodes_of[node.name].append(node)
        for statement in node.body:
            if isinstance(statement, Function):
                self._function(statement, graph.add_method(node.name, statement.name), node.name, method=True)
            elif isinstance(statement, ast.ClassDef):
                self._class(statement, node.name)
            else:
                self._executed(statement, node.name)
                if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                    for name in (target.id for target in targets if isinstance(target, ast.Name)):
                        graph.edge(f".{name}", name)  # a class's names are reached as attributes

    def _function(self, node: Function, owner: str, outer: str, *, method: bool = False) -> None:
        graph = self._graph
        graph.owner_of_function[node] = owner
        self._decorators(node, owner, outer, method=method)
        for default in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self._uses(default, owner)
        declared = {name for n in ast.walk(node) if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        for name in declared:
            graph.edge(name, owner)  # the name is what this function makes of it
        stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self._locals[owner] = (stored | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}) - declared
        for statement in node.body:
            self._executed(statement, owner)

    def _decorators(self, node: Function | ast.ClassDef, owner: str, outer: str, *, method: bool = False) -> None:
        for decorator in node.decorator_list:
            self._uses(decorator, owner)
            for name in self._project.qualified(decorator.func if isinstance(decorator, ast.Call) else decorator):
                if ".library." in name:
                    self._graph.edge(".ops", owner)
                elif name.partition(".")[0] not in _NEVER_REGISTERS and not method:
                    self._graph.edge(outer, owner)  # it may keep the function somewhere

    # --- code that runs as part of an owner --------------------------------------------------------------------------

    def _executed(self, node: ast.AST, owner: str) -> None:
        if isinstance(node, Function):
            self._function(node, node.name, owner)
        elif isinstance(node, ast.ClassDef):
            self._class(node, owner)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Name | ast.Attribute | ast.Constant):
            pass  # says a name, uses nothing
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            self._assignment(node, owner)
        elif isinstance(node, ast.NamedExpr):
            self._alias([node.target], node.value, owner)
            self._uses(node.value, owner)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            self._alias([node.target], node.iter, owner)
            self._children(node, owner)
        elif isinstance(node, ast.If | ast.While | ast.Assert) and _is_look(node.test):
            self._children(node, owner, skip=node.test)
        elif isinstance(node, ast.expr):
            self._uses(node, owner)
        else:
            self._children(node, owner)

    def _children(self, node: ast.AST, owner: str, skip: ast.AST | None = None) -> None:
        self._graph.nodes_of[owner].append(node)
        for child in ast.iter_child_nodes(node):
            if child is not skip:
                self._executed(child, owner)

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, owner: str) -> None:
        """``y = f(x)`` runs f; ``y = f`` only gives f another name, which counts where y is used."""
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else [node.target]
        assert node.value is not None
        self._graph.nodes_of[owner].append(node)
        self._alias(targets, node.value, owner)
        for target in _leaves(targets):
            if isinstance(target, ast.Attribute | ast.Subscript):
                self._uses(target.value, owner)
            if isinstance(target, ast.Subscript):
                self._graph.nodes_of[owner].append(target)
                self._uses(target.slice, owner)
        if _only_names(node.value) and not any(isinstance(target, ast.Subscript) for target in _leaves(targets)):
            self._graph.nodes_of[owner] += [n for n in ast.walk(node.value) if not isinstance(n, ast.Name)]
        else:
            self._uses(node.value, owner)

    def _alias(self, targets: list[ast.expr], value: ast.expr, owner: str) -> None:
        for target in _leaves(targets):
            if isinstance(target, ast.Name):
                name = target.id
            elif isinstance(target, ast.Attribute):
                name = f".{target.attr}"
            else:
                name = self._target_owner(target)
                if name not in self._locals.get(owner, ()):
                    self._graph.edge(name, owner)  # what the name holds is this code's doing
            for used in _names_in(value):
                self._graph.edge(name, used)

    def _uses(self, expression: ast.AST, owner: str) -> None:
        """All that evaluating an expression reaches."""
        self._graph.nodes_of[owner].append(expression)
        if isinstance(expression, ast.Name):
            self._graph.edge(owner, expression.id)
        elif isinstance(expression, ast.Attribute):
            if expression.attr in _METADATA and isinstance(expression.value, ast.Name):
                return
            self._graph.edge(owner, _DYNAMIC if expression.attr == "__dict__" else f".{expression.attr}")
            bases = self._project.qualified(expression.value)
            if not bases or any("sys.modules" in base or self._graph.is_local(f"{base}.{expression.attr}") for base in bases):
                self._graph.edge(owner, expression.attr)
        elif isinstance(expression, ast.Call):
            self._call(expression, owner)
            return
        for child in ast.iter_child_nodes(expression):
            if isinstance(child, ast.NamedExpr | ast.comprehension):
                self._executed(child, owner)
            elif isinstance(child, ast.expr | ast.keyword | ast.arguments | ast.FormattedValue):
                self._uses(child, owner)

    def _call(self, call: ast.Call, owner: str) -> None:
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        self._uses(call.func, owner)
        if function in ("getattr", "setattr") and len(call.args) > 1:
            name = self._project.constant(call.args[1])
            self._graph.edge(owner, f".{name}" if name else _DYNAMIC)
        elif function in ("globals", "locals", "vars", "eval", "exec") or self._project.qualified(call.func) & _CHOOSERS:
            self._graph.edge(owner, _DYNAMIC)
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]:
            if not (function in _LOOKS_ONLY and isinstance(argument, ast.Name | ast.Attribute)):
                self._uses(argument, owner)


def is_dynamic(live: set[str]) -> bool:
    """Whether live code picks names at run time, so that nothing is surely unused."""
    return _DYNAMIC in live


def _is_look(test: ast.expr) -> bool:
    """``if kernel:``, ``if kernel is not None``: looks at a name without using it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_look(test.operand)
    if isinstance(test, ast.Compare):
        return all(isinstance(op, ast.Is | ast.IsNot) for op in test.ops) and isinstance(test.left, ast.Name | ast.Attribute)
    return isinstance(test, ast.Name)


def _only_names(value: ast.expr) -> bool:
    """An expression that gives what exists another name and runs nothing."""
    allowed = (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.Tuple, ast.List, ast.Dict, ast.Constant, ast.expr_context)
    return all(isinstance(node, allowed) for node in ast.walk(value))


def _names_in(value: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return names | {f".{node.attr}" for node in ast.walk(value) if isinstance(node, ast.Attribute)}


def _leaves(targets: Iterable[ast.expr]) -> list[ast.expr]:
    """Single targets: the elements of tuples and lists."""
    found: list[ast.expr] = []
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            found += _leaves(target.elts)
        else:
            found.append(target)
    return found
