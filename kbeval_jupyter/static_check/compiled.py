"""The C++ side of the check: what is compiled, from which sources, and what of it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .cpp import Kernel, Program
from .languages import title
from .reachability import is_dynamic
from .tokens import Unit, read

if TYPE_CHECKING:
    from .evidence import Evidence
    from .project import Project
    from .python_code import Compilation, PythonCode
    from .text import Place, Text

_SUFFIXES = (".cu", ".cuh", ".hip", ".cpp", ".cc", ".h", ".hpp", ".c", ".ptx", ".inl")
_MARKS = ("__global__", "<<<", "#include", "hipLaunchKernelGGL", ".visible .entry")


def examine(code: PythonCode, project: Project, live: set[str], entry: str, evidence: Evidence) -> None:
    """Add what the compiled sources of an implementation hold."""
    compilations = list(code.compilations())
    hidden = [c.at for c in compilations if c.sources is None]
    others = list(code.other_compilers())
    evidence.unseen += [("source that is put together at run time", at) for at in hidden]
    loose: list[Text] = []
    if hidden or others:  # anything that looks like a source may be what they compile
        loose = [*code.strings_anywhere(*_MARKS), *(t for f, t in project.texts.items() if f.endswith(_SUFFIXES))]
        if not loose:
            evidence.unseen += [("code that another program builds", at) for at in others]
    extension = [c.sources for c in compilations if c.sources and c.kind == "extension"]
    called = None if is_dynamic(live) or loose else code.attribute_names()
    seen = _extension(_with_includes([*extension, *loose], project), called, entry, evidence)
    for compilation in compilations:
        if compilation.sources is not None and compilation.kind == "runtime":
            seen |= _runtime(compilation, compilation.sources, project, evidence)
    _unused_strings(code, seen, entry, evidence)


def _extension(units: list[Unit], called: set[str] | None, entry: str, evidence: Evidence) -> set[Place]:
    """Sources with host code of their own; gives the places of all kernels in them."""
    program = Program.of(units)
    live = program.live(called)
    languages = program.languages()
    kernels = list(program.kernels(live))
    for kernel in kernels:
        _add(kernel, f"{kernel.idle} from {entry}" if kernel.idle.endswith("launched") else kernel.idle, evidence)
    for token in program.device_functors(live):
        what = f"{title(languages)} device function given to a library's kernel"
        evidence.add_kernel("__device__", languages, token.place, what)
    for use in program.uses(live):
        evidence.add(use.kind, use.name, use.at.place, f"calls {use.name}")
    for token in program.instantiations(live):  # of templates that become device code by being used here
        evidence.kernels.append((token.text, languages, token.place))
    for include in (include for unit in units for include in unit.includes):
        if include.text.startswith("kittens") and not kernels and any(d.kind == "host" for d in live):
            what = "kernel made of ThunderKittens' templates"
            evidence.add_kernel("kittens", frozenset({"thunderkittens"}), include.place, what)
    if units and program.needs_translation_for_hip:
        evidence.translated = units[0].at
    return {kernel.at.place for kernel in kernels}


def _runtime(compilation: Compilation, sources: Text, project: Project, evidence: Evidence) -> set[Place]:
    """Sources that are compiled at run time; Python launches their kernels by name. Gives the places of the kernels."""
    if compilation.is_snippet:
        evidence.add_kernel("elementwise", frozenset({"cuda", "hip"}), compilation.at, "CUDA or HIP kernel made of an expression")
        return set()
    kernels = list(Program.of(_with_includes([sources], project)).kernels(None))
    for kernel in kernels:
        _add(kernel, kernel.idle, evidence)
    if ".entry" in sources.value and ".visible" in sources.value:
        evidence.add_kernel("PTX", frozenset({"cuda"}), sources.places[0], "CUDA kernel in PTX")
    return {kernel.at.place for kernel in kernels}


def _add(kernel: Kernel, idle: str, evidence: Evidence) -> None:
    if idle:
        evidence.add_idle(kernel.name, kernel.languages, kernel.at.place, idle)
    else:
        languages = kernel.languages & {"cuda", "hip"} or kernel.languages
        evidence.add_kernel(kernel.name, kernel.languages, kernel.at.place, f"{title(languages)} kernel {kernel.name}")


def _with_includes(texts: list[Text], project: Project) -> list[Unit]:
    """The sources, each once, and the files of the project that they include."""
    found: dict[tuple[Place, str], Unit] = {}
    pending = list(texts)
    while pending:
        text = pending.pop()
        key = (text.places[0], text.value)
        if key not in found:
            found[key] = read(text)
            names = [include.text for include in found[key].includes]
            pending += [t for f, t in project.texts.items() if any(f == n or f.endswith("/" + n) for n in names)]
    return list(found.values())


def _unused_strings(code: PythonCode, seen: set[Place], entry: str, evidence: Evidence) -> None:
    """Kernels in strings that nothing compiles, or whose module the entry does not use: said, so that nobody wonders."""
    for text in code.strings_anywhere("__global__"):
        if any(place in seen for place in text.places):
            continue
        for kernel in Program.of([read(text)]).kernels(None):
            reason = f"kernel {kernel.name} is in a string that {entry} never compiles or uses"
            evidence.add_idle(kernel.name, kernel.languages, kernel.at.place, reason)
