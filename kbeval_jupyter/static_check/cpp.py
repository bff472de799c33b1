"""What C++ sources compute with: kernels of their own that something launches, libraries, operators of torch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from . import cpp_names as known
from .cpp_definitions import OPERATOR, Definition, before_template_arguments, definitions, matching
from .tokens import Token, Unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_EXPORTERS = {"def", "impl", "op"}


@dataclass(frozen=True)
class Kernel:
    """A ``__global__`` function with a body. ``idle`` says why it does nothing for the result; empty where it may."""

    name: str
    at: Token
    languages: frozenset[str]
    idle: str = ""


@dataclass(frozen=True)
class Use:
    """A call into a library or an operator of torch, from code that can be reached."""

    kind: Literal["library_call", "torch_operator"]
    name: str
    at: Token


@dataclass
class Program:
    """All sources that are compiled for one implementation, as one: a kernel may be launched from another source."""

    units: list[Unit] = field(default_factory=list)
    by_name: dict[str, list[Definition]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Program:
        """The program of these sources."""
        program = cls()
        for unit in units:
            program.units.append(unit)
            for definition in definitions(unit):
                program.by_name[definition.name].append(definition)
        return program

    def languages(self) -> frozenset[str]:
        """What the sources are written in: cuda and hip where both compilers take them, and the libraries of templates."""
        included = [include.text for unit in self.units for include in unit.includes]
        words = {token.text for unit in self.units for token in unit.tokens if token.kind == "name"}
        words |= {token.text for unit in self.units for body in unit.macros.values() for token in body if token.kind == "name"}
        found = set()
        hip = any(name.startswith(known.HIP_INCLUDES) for name in included) or any(w.startswith(known.HIP_WORDS) for w in words)
        cuda = any(name.startswith(known.CUDA_INCLUDES) for name in included) or any(
            w.startswith(known.CUDA_WORDS) for w in words
        )
        nvidia = any(name.startswith(known.NVIDIA_INCLUDES) for name in included) or bool(words & known.NVIDIA_WORDS)
        if not hip or cuda or nvidia:
            found.add("cuda")
        if hip or not nvidia:
            found.add("hip")  # torch and ROCm translate CUDA's names
        for language, (includes, names) in known.TEMPLATE_LIBRARIES.items():
            if any(name.startswith(includes) for name in included) or words & names:
                found.add(language)
        return frozenset(found)

    @property
    def needs_translation_for_hip(self) -> bool:
        """Whether it speaks CUDA only, which torch's hipify turns into HIP."""
        words = {token.text for unit in self.units for token in unit.tokens if token.kind == "name"}
        return any(w.startswith(known.CUDA_WORDS) for w in words) and not any(w.startswith(known.HIP_WORDS) for w in words)

    def exported(self) -> dict[str, list[str]]:
        """What bindings offer to Python: the name there, and the C++ names behind it."""
        found: dict[str, list[str]] = defaultdict(list)
        for binding in self._bindings():
            for name, inner in _exports(binding.tokens):
                found[name] += [token.text for token in inner if token.kind == "name"]
        return found

    def live(self, called: set[str] | None) -> list[Definition]:
        """The definitions that run where Python calls the names ``called``; None: whatever it likes to."""
        exported = self.exported()
        if called is None:
            pending = [*self.by_name, *(name for names in exported.values() for name in names)]
        else:
            pending = [name for name in called if name in self.by_name]
            pending += [name for python_name in called for name in exported.get(python_name, [])]
        for binding in self._bindings():
            pending += [token.text for token in _outside_exports(binding.tokens) if token.kind == "name"]
        pending.append(OPERATOR)  # used without being named
        seen: set[str] = set()
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                pending += [t.text for d in self.by_name.get(name, []) for t in d.tokens if t.kind == "name"]
        return [definition for name in seen for definition in self.by_name.get(name, [])]

    def kernels(self, live: list[Definition] | None) -> Iterator[Kernel]:
        """Every kernel; ``live`` None: all are launched by name from Python."""
        languages = self.languages()
        host = [*(d for d in live or [] if d.kind != "device"), *self._bindings()]
        launched = {name for d in host for name in _launched(d.tokens)}
        # A launch of something else (a parameter, a pointer) may be of any kernel named there.
        kernel_names = {name for name, group in self.by_name.items() if any(d.kind == "kernel" for d in group)}
        if launched - kernel_names or any(_launches_indirectly(d.tokens) for d in host):
            launched |= {t.text for d in host for t in d.tokens if t.kind == "name"}
        for name, group in list(self.by_name.items()):
            for definition in group:
                if definition.kind == "kernel":
                    idle = "" if live is None or name in launched else f"kernel {name} is never launched"
                    if {t.text for t in definition.tokens} <= {"return", ";"}:
                        idle = f"kernel {name} does nothing"
                    yield Kernel(name, definition.at, languages, idle)
                elif definition.kind == "macro" and {"__global__", "{"} <= {t.text for t in definition.tokens}:
                    idle = "" if live is None or launched else f"kernel of macro {name} is never launched"
                    yield Kernel(name, definition.at, languages, idle)

    def uses(self, live: list[Definition]) -> Iterator[Use]:
        """Calls into libraries and torch from live host code."""
        for definition in live:
            if definition.kind not in ("kernel", "device"):
                yield from _uses(definition.tokens)

    def device_functors(self, live: list[Definition]) -> Iterator[Token]:
        """Device code that a library's kernel runs: a lambda or functor given to thrust, CUTLASS and the like."""
        words = {token.text for unit in self.units for token in unit.tokens}
        for definition in live if words & known.LAUNCHING_LIBRARIES else []:
            if definition.kind != "kernel":
                yield from [token for token in definition.tokens if token.text in known.DEVICE_WORDS][:1]

    def instantiations(self, live: list[Definition]) -> Iterator[Token]:
        """Where live host code names a library whose templates become device code in this very source."""
        for definition in live:
            if definition.kind not in ("kernel", "device"):
                yield from (t for t in definition.tokens if t.kind == "name" and t.text in known.KERNEL_TEMPLATES)

    def _bindings(self) -> Iterator[Definition]:
        for group in self.by_name.values():
            yield from (definition for definition in group if definition.kind == "binding")


def _exports(tokens: list[Token]) -> Iterator[tuple[str, list[Token]]]:
    """``def("name", &function)`` and the like in a binding: the name in Python and the tokens behind it."""
    for index, token in enumerate(tokens[:-2]):
        if token.text in _EXPORTERS and tokens[index + 1].text == "(" and tokens[index + 2].kind == "string":
            schema = tokens[index + 2].text
            yield schema.partition("(")[0].rpartition("::")[2].strip(), tokens[index + 3 : matching(tokens, index + 1)]


def _outside_exports(tokens: list[Token]) -> Iterator[Token]:
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in _EXPORTERS and index + 2 < len(tokens) and tokens[index + 2].kind == "string":
            index = matching(tokens, index + 1)
        else:
            yield token
        index += 1


def _launched(tokens: list[Token]) -> Iterator[str]:
    """Names of kernels before ``<<<``; "" where an expression stands there."""
    for index, token in enumerate(tokens):
        if token.text == "<<<" and token.kind == "operator":
            before = before_template_arguments(tokens, index)
            yield tokens[before].text if before >= 0 and tokens[before].kind == "name" else ""
            if before >= 0 and tokens[before].kind == "name":
                yield from _alias_targets(tokens, tokens[before].text)


def _alias_targets(tokens: list[Token], alias: str) -> Iterator[str]:
    """Names in ``auto alias = …;`` of the same function."""
    for index, token in enumerate(tokens[:-1]):
        if token.text == alias and tokens[index + 1].text == "=":
            for following in tokens[index + 2 :]:
                if following.text == ";":
                    break
                if following.kind == "name":
                    yield following.text


def _launches_indirectly(tokens: list[Token]) -> bool:
    return any(token.text in known.LAUNCH_CALLS for token in tokens if token.kind == "name")


def _uses(tokens: list[Token]) -> Iterator[Use]:
    for index, token in enumerate(tokens):
        if token.kind != "name":
            continue
        following = tokens[index + 1].text if index + 1 < len(tokens) else ""
        before = tokens[index - 1].text if index else ""
        if before == "::" and index > 1 and tokens[index - 2].text in ("at", "torch", "F", "functional", "aten"):
            if following in ("(", "<") and token.text not in known.NOT_COMPUTE and token.text.islower():
                yield Use("torch_operator", f"{tokens[index - 2].text}::{token.text}", token)
        elif before in (".", "->") and following == "(" and token.text in known.TENSOR_METHODS:
            yield Use("torch_operator", f".{token.text}", token)
        elif following == "(" and (library := known.library_of(token.text)):
            yield Use("library_call", f"{token.text} ({library})" if library != token.text else token.text, token)
        elif following == "::" and before != "::" and token.text in known.LIBRARY_NAMESPACES:
            name = _qualified(tokens, index)
            if token.text != "cutlass" or name.startswith(known.CUTLASS_OPERATIONS):
                yield Use("library_call", name, token)


def _qualified(tokens: list[Token], index: int) -> str:
    words = []
    while index < len(tokens) and (tokens[index].kind == "name" or tokens[index].text == "::"):
        words.append(tokens[index].text)
        index += 1
    return "".join(words)
