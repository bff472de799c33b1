"""The static check itself: what an implementation is made of, and whether that is the language that was named."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kbeval_jupyter.model.static_report import Finding, StaticReport

from .cpp import Kernel, Program
from .habits import fallbacks, habits
from .languages import TITLES, title
from .project import Project
from .python_code import Compilation, PythonCode
from .reachability import Reachability, is_dynamic
from .text import Place, Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .languages import Backend

_FINDINGS_LIMIT = 200
_CPP_SUFFIXES = (".cu", ".cuh", ".hip", ".cpp", ".cc", ".h", ".hpp", ".c", ".ptx", ".inl")
_CPP_MARKS = ("__global__", "<<<", "#include", "hipLaunchKernelGGL", ".visible .entry")
_LIBRARY_LANGUAGES = {"cutlass": "cutlass::"}  # what one instantiates of it is an implementation in it


@dataclass
class _Evidence:
    """All that decides: kernels by language, why others do not count, and what could not be seen."""

    kernels: list[tuple[str, frozenset[str], Place]] = field(default_factory=list)
    idle: list[tuple[str, frozenset[str], Place]] = field(default_factory=list)  # with the reason in place of the name
    unseen: list[tuple[str, Place]] = field(default_factory=list)
    translated: Place | None = None  # a source with CUDA's names, which torch turns into HIP
    findings: dict[tuple[str, str, Place], Finding] = field(default_factory=dict)

    def add(self, kind: str, name: str, place: Place, text: str) -> None:
        finding = Finding(kind, name, place.file, place.line, text)  # type: ignore[arg-type]  # one of FindingKind
        self.findings.setdefault((kind, name, place), finding)


def check(backend: Backend, entry: str, main: str, files: Mapping[str, str]) -> StaticReport:
    """The report on an implementation whose ``entry`` stands in file ``main`` of ``files`` (path to text).

    Refused is only what surely is no implementation in the language: no device code in it that the entry reaches.
    """
    project = Project.of(main, files)
    _read_executed_strings(project, entry)
    graph = Reachability(project)
    live = graph.live(entry)
    code = PythonCode(project, graph, live)
    evidence = _Evidence()
    _python_kernels(code, live, entry, evidence)
    _cpp(code, project, live, entry, evidence)
    _operations(code, evidence)
    _habits(code, project, entry, evidence)
    evidence.unseen += code.unseen()
    if not _is_defined_here(project, entry):
        evidence.unseen.append((f"what defines {entry}", _entry_place(project, entry, main)))
    if backend == "hip" and evidence.translated is not None:
        evidence.add("warning", "hipify", evidence.translated, "has CUDA's names, which torch translates on AMD devices")
    is_backend, reason = _decide(backend, evidence, _entry_place(project, entry, main), main)
    return StaticReport(backend, is_backend, reason, _sorted(evidence.findings.values(), main))


def _read_executed_strings(project: Project, entry: str) -> None:
    """Take code that is run with exec into the project, at the lines where it is written."""
    graph = Reachability(project)
    code = PythonCode(project, graph, graph.live(entry))
    dynamic = any(True for _ in code.unseen())
    texts = [
        *code.exec_sources(),
        *(code.strings_with("@triton", "triton.jit", "@cute", "@tilelang", "@T.prim") if dynamic else ()),
    ]
    for text in texts:
        module = project.add_python(text.places[0].file, text.value)
        if module is not None:
            for node in ast.walk(module.tree):
                if hasattr(node, "lineno"):
                    node.lineno = text.place(node.lineno - 1).line
            module.lines = next(m.lines for m in project.modules if m.file == module.file)


def _python_kernels(code: PythonCode, live: set[str], entry: str, evidence: _Evidence) -> None:
    for kernel in code.kernels:
        if kernel.owner not in live and not is_dynamic(live):
            reason = f"{title(kernel.languages)} kernel {kernel.name} is never launched from {entry}"
        elif kernel.empty:
            reason = f"{title(kernel.languages)} kernel {kernel.name} does nothing"
        else:
            evidence.kernels.append((kernel.name, kernel.languages, kernel.at))
            evidence.add("own_kernel", kernel.name, kernel.at, f"{title(kernel.languages)} kernel {kernel.name}")
            continue
        evidence.idle.append((reason, kernel.languages, kernel.at))
        evidence.add("warning", kernel.name, kernel.at, reason)


def _cpp(code: PythonCode, project: Project, live: set[str], entry: str, evidence: _Evidence) -> None:
    """Everything that is compiled from C++."""
    compilations = list(code.compilations())
    hidden = [c.at for c in compilations if c.sources is None]
    others = list(code.other_compilers())
    evidence.unseen += [("source that is put together at run time", at) for at in hidden]
    loose: list[Text] = []
    if hidden or others:  # anything that looks like a source may be what they compile
        loose = [*code.strings_with(*_CPP_MARKS), *(t for f, t in project.texts.items() if f.endswith(_CPP_SUFFIXES))]
        if not loose:
            evidence.unseen += [("code that another program builds", at) for at in others]
    extension = [c.sources for c in compilations if c.sources and c.kind == "extension"]
    runtime = [c for c in compilations if c.sources and c.kind == "runtime"]
    called = None if is_dynamic(live) or loose else code.attribute_names()
    found = _program(_with_includes([*extension, *loose], project), called, entry, evidence)
    found |= _runtime_program(runtime, project, evidence)
    _unused_sources(code, found, entry, evidence)


def _program(texts: list[Text], called: set[str] | None, entry: str, evidence: _Evidence) -> set[Place]:
    """Sources with host code of their own; gives the places of all kernels in them."""
    program = Program.of(texts)
    if not texts:
        return set()
    live = program.live(called)
    languages = program.languages()
    kernels = list(program.kernels(live))
    for kernel in kernels:
        _cpp_kernel(kernel, f"{kernel.idle} from {entry}" if kernel.idle.endswith("launched") else kernel.idle, evidence)
    for token in program.device_lambdas(live):
        evidence.kernels.append(("a __device__ function", languages, token.place))
        evidence.add("own_kernel", "__device__", token.place, f"{title(languages)} device function given to a library's kernel")
    for use in program.uses(live):
        evidence.add(use.kind, use.name, use.at.place, f"calls {use.name}")
        if use.name.startswith("cutlass::"):
            evidence.kernels.append((use.name, frozenset({"cutlass"} | ({"cute"} & languages)), use.at.place))
    for unit in program.units:
        for include in unit.includes:
            if include.text.startswith("kittens") and not kernels and any(d.kind == "host" for d in live):
                evidence.kernels.append((include.text, frozenset({"thunderkittens"}), include.place))
                evidence.add("own_kernel", "kittens", include.place, "kernel made of ThunderKittens' templates")
    if program.needs_translation_for_hip:
        evidence.translated = texts[0].places[0]
    return {kernel.at.place for kernel in kernels}


def _runtime_program(compilations: list[Compilation], project: Project, evidence: _Evidence) -> set[Place]:
    """Sources that are compiled at run time; Python launches their kernels by name."""
    places = set()
    for compilation in compilations:
        assert compilation.sources is not None
        if compilation.is_snippet:
            evidence.kernels.append(("a kernel of CuPy", frozenset({"cuda", "hip"}), compilation.at))
            evidence.add("own_kernel", "cupy", compilation.at, "CUDA or HIP kernel made by CuPy")
            continue
        program = Program.of(_with_includes([compilation.sources], project))
        for kernel in program.kernels(None):
            _cpp_kernel(kernel, kernel.idle, evidence)
            places.add(kernel.at.place)
        if ".entry" in compilation.sources.value and ".visible" in compilation.sources.value:
            evidence.kernels.append(("PTX", frozenset({"cuda"}), compilation.sources.places[0]))
            evidence.add("own_kernel", "PTX", compilation.sources.places[0], "CUDA kernel in PTX")
    return places


def _cpp_kernel(kernel: Kernel, idle: str, evidence: _Evidence) -> None:
    what = f"{title(kernel.languages & {'cuda', 'hip'} or kernel.languages)} kernel {kernel.name}"
    if idle:
        evidence.idle.append((idle, kernel.languages, kernel.at.place))
        evidence.add("warning", kernel.name, kernel.at.place, idle)
    else:
        evidence.kernels.append((kernel.name, kernel.languages, kernel.at.place))
        evidence.add("own_kernel", kernel.name, kernel.at.place, what)


def _with_includes(texts: list[Text], project: Project) -> list[Text]:
    """The sources, each once, and the files of the project that they include."""
    from .tokens import read

    found: dict[tuple[Place, str], Text] = {}
    pending = list(texts)
    while pending:
        text = pending.pop()
        key = (text.places[0], text.value)
        if key in found:
            continue
        found[key] = text
        names = [include.text for include in read(text).includes]
        pending += [t for f, t in project.texts.items() if any(f == n or f.endswith("/" + n) for n in names)]
    return list(found.values())


def _unused_sources(code: PythonCode, found: set[Place], entry: str, evidence: _Evidence) -> None:
    """Kernels in strings that nothing compiles, or whose module the entry does not use: said, so that nobody wonders."""
    for text in code.all_strings_with("__global__"):
        program = Program.of([text])
        for kernel in program.kernels(None):
            if kernel.at.place not in found:
                reason = f"kernel {kernel.name} is in a string that {entry} never compiles or uses"
                evidence.idle.append((reason, kernel.languages, kernel.at.place))
                evidence.add("warning", kernel.name, kernel.at.place, reason)


def _operations(code: PythonCode, evidence: _Evidence) -> None:
    for operation in code.operations():
        text = f"calls {operation.name}" if operation.name != "@" else "multiplies matrices with @"
        evidence.add(operation.kind, operation.name, operation.at, text)
        if operation.name.startswith(("cutlass.op.", "cutlass.Gemm", "cutlass_cppgen.")):
            evidence.kernels.append((operation.name, frozenset({"cutlass"}), operation.at))


def _habits(code: PythonCode, project: Project, entry: str, evidence: _Evidence) -> None:
    for name, what, node in habits(project, code.nodes, entry):
        evidence.add("warning", name, code.place(node), what)
    operators = {
        Place(f.file, f.line): f.name for f in evidence.findings.values() if f.kind in ("torch_operator", "library_call")
    }
    own = {name for name, _, _ in evidence.kernels} | code.attribute_names()
    if evidence.kernels:
        for name, what, node in fallbacks(code.nodes, own, operators, code.place):
            evidence.add("warning", name, code.place(node), what)


def _decide(backend: Backend, evidence: _Evidence, entry_at: Place, main: str) -> tuple[bool, str]:
    """Whether it is an implementation in the language, and the sentence that says why not."""
    if any(backend in languages for _, languages, _ in evidence.kernels):
        return True, ""
    name = TITLES[backend]
    if evidence.unseen:
        what, at = evidence.unseen[0]
        text = f"no {name} kernel was seen, but {what} ({_where(at, main)}) cannot be read without running it"
        evidence.add("warning", "unseen", at, text)
        return True, text
    idle = [(reason, at) for reason, languages, at in evidence.idle if backend in languages]
    if idle:
        return False, f"not a {name} implementation: {idle[0][0]} ({_where(idle[0][1], main)})"
    if evidence.kernels:
        kernel, languages, at = evidence.kernels[0]
        hint = next((b for b in TITLES if b in languages), "")
        return False, (
            f"not a {name} implementation: its kernel {kernel} ({_where(at, main)}) is {title(_main_language(languages))}; "
            f"for that give --backend {hint}"
        )
    used = [f for f in _sorted(evidence.findings.values(), main) if f.kind in ("torch_operator", "library_call")]
    work = ", ".join(f"{f.name} ({_where(Place(f.file, f.line), main)})" for f in used[:3])
    more = f"; it uses {work}" if work else ""
    return False, f"not a {name} implementation: {_entry_words(entry_at, main)} reaches no {name} kernel{more}"


def _main_language(languages: frozenset[str]) -> frozenset[str]:
    """CUDA where a source is that and could also be translated to HIP."""
    return languages - {"hip"} if "cuda" in languages else languages


def _entry_words(at: Place, main: str) -> str:
    return f"the entry ({_where(at, main)})"


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
    classes = (n.name for module in project.modules for n in ast.walk(module.tree) if isinstance(n, ast.ClassDef))
    return entry in project.functions or entry in project.bindings or entry in classes


def _sorted(findings: Iterable[Finding], main: str) -> list[Finding]:
    return sorted(findings, key=lambda f: (f.file != main, f.file, f.line, f.kind, f.name))[:_FINDINGS_LIMIT]
