"""What a notebook saved under a name: references, test cases and custom inputs. Gone with the kernel, as its variables are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbeval_jupyter import sources
from kbeval_jupyter.errors import RequestError, unknown_name
from kbeval_jupyter.model.request import EvaluationRequest, Source
from kbeval_jupyter.problems.cases import parse_cases
from kbeval_jupyter.problems.loading import FORMATS, find_format, parse_reference

if TYPE_CHECKING:
    from collections.abc import Mapping


class SavedProblems:
    """Names to sources. A name that is not saved may be a file's; the saved one comes first."""

    def __init__(self) -> None:
        self.references: dict[str, Source] = {}
        self.cases: dict[str, list[dict[str, Any]]] = {}
        self.inputs: dict[str, Source] = {}
        self.formats: dict[str, str] = {}

    def save_reference(self, name: str, source: Source) -> str:
        """Check a reference without running it, keep it, and return its format; raises RequestError."""
        module = parse_reference(source)
        fmt = find_format(module)
        if not fmt.can_load(module) and not module.open_ended:
            # Names what is missing; test cases may still come, so a whole reference is not loaded here.
            fmt.load(module, EvaluationRequest(implementation=source, reference=source))
        self.references[name] = source
        self.formats[name] = fmt.name
        return fmt.name

    def save_cases(self, name: str, source: Source) -> int:
        """Check and keep test cases; returns how many; raises RequestError."""
        self.cases[name] = parse_cases(source)
        return len(self.cases[name])

    def save_inputs(self, name: str, source: Source) -> None:
        """Check and keep custom inputs; raises RequestError."""
        module = parse_reference(source)
        functions = sorted({function for fmt in FORMATS.values() for function in fmt.input_functions})
        if not any(module.may_define(function) for function in functions):
            found = ", ".join(module.public_names()[:8]) or "nothing"
            raise RequestError(f"{source.name} defines none of {', '.join(functions)}; found {found}")
        self.inputs[name] = source

    def reference(self, name: str | None) -> tuple[Source, str]:
        """The reference that ``--ref`` means, and the problem's name; raises RequestError."""
        if name is None:
            if len(self.references) == 1:
                name = next(iter(self.references))
            elif self.references:
                raise RequestError(f"which reference? give --ref with one of: {', '.join(self.references)}, or a file")
            else:
                raise RequestError("no reference is saved: save a cell with %%kernelref NAME, or give --ref FILE")
        if name in self.references:
            return self.references[name], name
        source = _file("reference", name, self.references, "--ref", "%%kernelref")
        return source, source.name.removesuffix(".py")

    def find_cases(self, name: str) -> list[dict[str, Any]]:
        """The test cases that ``--cases`` means; raises RequestError."""
        return (
            self.cases[name] if name in self.cases else parse_cases(_file("cases", name, self.cases, "--cases", "%%kernelcases"))
        )

    def find_inputs(self, name: str) -> Source:
        """The custom inputs that ``--inputs`` means; raises RequestError."""
        return self.inputs[name] if name in self.inputs else _file("inputs", name, self.inputs, "--inputs", "%%kernelinputs")


def _file(what: str, name: str, saved: Mapping[str, Any], option: str, magic: str) -> Source:
    """The file of this name, where nothing is saved under it."""
    looks_like_a_file = "." in name or "/" in name or Path(name).exists()
    if looks_like_a_file:
        return sources.from_path(name)
    raise RequestError(f"{option}: {unknown_name(what, name, saved)} (saved with {magic}), or a file")
