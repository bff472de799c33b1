"""Things that an honest implementation may do and a reader wants to know of: replaced functions, threads, streams, precision."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .project import Project
    from .text import Place

_SETTINGS = (
    "torch.backends.",
    "torch._inductor.",
    "torch._dynamo.",
    "torch.utils.",
    "triton.runtime.",
    "os.environ",
    "sys.",
    "warnings.",
)
_LOWER_PRECISION = (
    "allow_tf32",
    "fp32_precision",
    "allow_fp16_reduced_precision_reduction",
    "allow_bf16_reduced_precision_reduction",
)
_HALF = {"torch.float16", "torch.half", "torch.bfloat16", "torch.float8_e4m3fn", "torch.float8_e5m2"}
_CALLS = {
    "threading.Thread": "starts a thread",
    "_thread.start_new_thread": "starts a thread",
    "concurrent.futures.ThreadPoolExecutor": "starts threads",
    "concurrent.futures.ProcessPoolExecutor": "starts processes",
    "multiprocessing.Process": "starts a process",
    "multiprocessing.Pool": "starts processes",
    "os.fork": "starts a process",
    "torch.cuda.Stream": "works on a stream of its own",
    "torch.cuda.ExternalStream": "works on a stream of its own",
    "sys._getframe": "looks at its callers",
    "inspect.stack": "looks at its callers",
    "inspect.currentframe": "looks at its callers",
    "gc.get_objects": "looks through all objects of the process",
    "gc.get_referrers": "looks through all objects of the process",
    "torch.set_float32_matmul_precision": "changes the precision of float32 products",
    "torch.Tensor._make_subclass": "makes tensors of a class of its own",
    "torch.Tensor._make_wrapper_subclass": "makes tensors of a class of its own",
}  # fmt: skip
_LAZY_HOOKS = {"__torch_function__", "__torch_dispatch__"}


def habits(project: Project, nodes: list[ast.AST], entry: str) -> Iterator[tuple[str, str, ast.AST]]:
    """A name, a sentence's middle and the node, for everything of note in live code."""
    for node in nodes:
        if isinstance(node, ast.Call):
            yield from _call(project, node)
        elif isinstance(node, ast.ClassDef):
            yield from _class(project, node, entry)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield from _replaced(project, node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute):
                    yield from _replaced(project, target)
        elif isinstance(node, ast.Subscript) and _has_address(node.slice):
            yield "data_ptr", "keeps something by the address of a tensor", node


def fallbacks(
    nodes: list[ast.AST], own: set[str], operators: dict[Place, str], place: Callable[[ast.AST], Place]
) -> Iterator[tuple[str, str, ast.AST]]:
    """``try`` a kernel of one's own (named in ``own``), ``except`` an operator (named by its place)."""
    for node in (node for node in nodes if isinstance(node, ast.Try)):
        tried = (n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Name | ast.Attribute))
        if not any(_word(n) in own for n in tried):
            continue
        for handler in node.handlers:
            calls = (n for n in ast.walk(handler) if isinstance(n, ast.Call | ast.BinOp))
            fallback = next(((operators[place(n)], n) for n in calls if place(n) in operators), None)
            if fallback is not None:
                yield fallback[0], f"falls back to {fallback[0]} where its own kernel fails", fallback[1]


def _word(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _call(project: Project, call: ast.Call) -> Iterator[tuple[str, str, ast.AST]]:
    names = project.qualified(call.func)
    for name in sorted(names & _CALLS.keys()):
        yield name, _CALLS[name], call
    if names & {"setattr", "builtins.setattr"} and len(call.args) > 2:
        for base in project.qualified(call.args[0]):
            if _is_foreign(project, base) and not f"{base}.".startswith(_SETTINGS):
                full = f"{base}.{project.constant(call.args[1]) or '…'}"
                yield full, f"replaces {full}", call
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if method in ("half", "bfloat16") and not call.args:
        yield f".{method}", f"converts to {'float16' if method == 'half' else method}", call
    elif method == "to":
        for lower in sorted({name for argument in arguments for name in project.qualified(argument)} & _HALF):
            yield ".to", f"converts to {lower.removeprefix('torch.')}", call
    elif method in ("get", "setdefault") and any(_has_address(argument) for argument in call.args):
        yield "data_ptr", "keeps something by the address of a tensor", call
    if any(name.startswith(("subprocess.", "os.system", "pip.")) for name in names):
        words = [n.value for argument in call.args for n in ast.walk(argument) if isinstance(n, ast.Constant)]
        if any("pip" in str(word).split() or "install" in str(word).split() for word in words):
            yield "pip", "installs packages", call


def _class(project: Project, node: ast.ClassDef, entry: str) -> Iterator[tuple[str, str, ast.AST]]:
    bases = {name for base in node.bases for name in project.qualified(base)}
    methods = {statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)}
    if "torch.Tensor" in bases or methods & _LAZY_HOOKS:
        yield node.name, "makes tensors of a class of its own", node
    if node.name == entry and "forward" not in methods and "Model" in bases:
        yield node.name, "takes its forward from Model", node


def _replaced(project: Project, target: ast.Attribute) -> Iterator[tuple[str, str, ast.AST]]:
    for base in project.qualified(target.value):
        full = f"{base}.{target.attr}"
        if target.attr in _LOWER_PRECISION and full.startswith("torch.backends."):
            yield full, f"sets {full}", target
        elif _is_foreign(project, base) and not full.startswith(_SETTINGS):
            yield full, f"replaces {full}", target


def _is_foreign(project: Project, name: str) -> bool:
    """Whether a full name begins with something imported that is not ours."""
    imported = {full for fulls in project.imports.values() for full in fulls}
    foreign = any(name == full or name.startswith(full + ".") for full in imported)
    return foreign and not name.endswith(")") and not set(name.split(".")) & project.local_modules


def _has_address(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr in ("data_ptr", "untyped_storage") for n in ast.walk(node))
