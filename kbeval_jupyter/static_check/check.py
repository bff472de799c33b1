"""The static check itself: what an implementation is made of, and whether that is the language that was named."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from kbeval_jupyter.model.static_report import Finding, StaticReport

from . import compiled
from .evidence import Evidence
from .habits import fallbacks, habits
from .languages import BACKENDS, TITLES, title
from .project import Project
from .python_code import PythonCode
from .reachability import Reachability, is_dynamic
from .text import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .languages import Backend

_FINDINGS_LIMIT = 200


def check(backend: Backend, entry: str, main: str, files: Mapping[str, str]) -> StaticReport:
    """The report on an implementation whose ``entry`` stands in file ``main`` of ``files`` (path to text).

    Refused is only what surely is no implementation in the language: no device code in it that the entry reaches.
    """
    try:
        return _check(backend, entry, main, files)
    except RecursionError:
        text = f"{main}, line 1: nested too deeply to be read"
        return StaticReport(backend, True, text, [Finding("warning", "unseen", main, 1, text)])


def _check(backend: Backend, entry: str, main: str, files: Mapping[str, str]) -> StaticReport:
    project = Project.of(main, files)
    graph = Reachability(project)
    live = graph.live(entry)
    code = PythonCode(project, graph, live)
    if _read_executed_strings(project, code):
        graph = Reachability(project)
        live = graph.live(entry)
        code = PythonCode(project, graph, live)
    evidence = Evidence()
    _python_kernels(code, live, entry, evidence)
    compiled.examine(code, project, live, entry, evidence)
    _operations(code, evidence)
    _habits(code, project, entry, evidence)
    evidence.unseen += code.unseen()
    if not _is_defined_here(project, entry):
        evidence.unseen.append((f"what defines {entry}", _entry_place(project, entry, main)))
    if backend == "hip" and evidence.translated is not None:
        evidence.add("warning", "hipify", evidence.translated, "has CUDA's names, which torch translates on AMD devices")
    is_backend, reason = _decide(backend, evidence, f"{entry} ({_where(_entry_place(project, entry, main), main)})", main)
    return StaticReport(backend, is_backend, reason, _sorted(evidence.findings.values(), main))


def _read_executed_strings(project: Project, code: PythonCode) -> bool:
    """Take code that is run with exec into the project, at the lines where it is written; whether there was any."""
    texts = list(code.exec_sources())
    if any(True for _ in code.unseen()):  # it may write a module to a file and import that, as Triton wants it
        texts += code.strings_with("@triton", "triton.jit", "@cute", "@tilelang", "@T.prim")
    read = False
    for text in texts:
        module = project.add_python(text.places[0].file, text.value)
        if module is not None:
            read = True
            for node in ast.walk(module.tree):
                if hasattr(node, "lineno"):
                    node.lineno = text.place(node.lineno - 1).line
            module.lines = next(m.lines for m in project.modules if m.file == module.file)
    return read


def _python_kernels(code: PythonCode, live: set[str], entry: str, evidence: Evidence) -> None:
    for kernel in code.kernels:
        if kernel.owner not in live and not is_dynamic(live):
            reason = f"{title(kernel.languages)} kernel {kernel.name} is never launched from {entry}"
        elif kernel.empty:
            reason = f"{title(kernel.languages)} kernel {kernel.name} does nothing"
        else:
            evidence.add_kernel(kernel.name, kernel.languages, kernel.at, f"{title(kernel.languages)} kernel {kernel.name}")
            continue
        evidence.add_idle(kernel.name, kernel.languages, kernel.at, reason)


def _operations(code: PythonCode, evidence: Evidence) -> None:
    for operation in code.operations():
        text = f"calls {operation.name}" if operation.name != "@" else "multiplies matrices with @"
        evidence.add(operation.kind, operation.name, operation.at, text)
        if operation.name.startswith(("cutlass.op.", "cutlass.Gemm", "cutlass_cppgen.")):
            evidence.kernels.append((operation.name, frozenset({"cutlass"}), operation.at))


def _habits(code: PythonCode, project: Project, entry: str, evidence: Evidence) -> None:
    for name, what, node in habits(project, code.nodes, entry):
        evidence.add("warning", name, code.place(node), what)
    operators = {
        Place(f.file, f.line): f.name for f in evidence.findings.values() if f.kind in ("torch_operator", "library_call")
    }
    own = {name for name, _, _ in evidence.kernels} | code.attribute_names()
    if evidence.kernels:
        for name, what, node in fallbacks(code.nodes, own, operators, code.place):
            evidence.add("warning", name, code.place(node), what)


def _decide(backend: Backend, evidence: Evidence, entry: str, main: str) -> tuple[bool, str]:
    """Whether it is an implementation in the language, and the sentence that says why not."""
    if any(backend in languages for _, languages, _ in evidence.kernels):
        return True, ""
    name = TITLES[backend]
    if evidence.unseen:
        what, at = evidence.unseen[0]
        text = f"no {name} kernel was seen, but {what} cannot be read without running it"
        evidence.add("warning", "unseen", at, text)
        return True, f"{text} ({_where(at, main)})"
    idle = [(reason, at) for reason, languages, at in evidence.idle if backend in languages]
    if idle:
        return False, f"not a {name} implementation: {idle[0][0]} ({_where(idle[0][1], main)})"
    if evidence.kernels:
        kernel, languages, at = evidence.kernels[0]
        fitting = next((b for b in BACKENDS if b in languages), None)
        hint = f"; for that give --backend {fitting}" if fitting else ""
        what = title(_main_language(languages))
        return False, f"not a {name} implementation: its kernel {kernel} ({_where(at, main)}) is {what}{hint}"
    used = [f for f in _sorted(evidence.findings.values(), main) if f.kind in ("torch_operator", "library_call")]
    work = ", ".join(f"{f.name} ({_where(Place(f.file, f.line), main)})" for f in used[:3])
    more = f"; it uses {work}" if work else ""
    return False, f"not a {name} implementation: {entry} reaches no {name} kernel{more}"


def _main_language(languages: frozenset[str]) -> frozenset[str]:
    """CUDA where a source is that and could also be translated to HIP."""
    return languages - {"hip"} if "cuda" in languages else languages


def _where(place: Place, main: str) -> str:
    return f"line {place.line}" if place.file == main else f"{place.file}, line {place.line}"


def _entry_place(project: Project, entry: str, main: str) -> Place:
    module = project.modules[0] if project.modules else None
    for node in module.tree.body if module else []:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == entry:
            return Place(main, node.lineno)
    return Place(main, 1)


def _is_defined_here(project: Project, entry: str) -> bool:
    """Whether a definition of the entry stands in the files; else it comes from a module that is not among them."""
    return any(entry in names for names in (project.classes, project.functions, project.bindings))


def _sorted(findings: Iterable[Finding], main: str) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.file != main, f.file, f.line, f.kind, f.name))[:_FINDINGS_LIMIT]
