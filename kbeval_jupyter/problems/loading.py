"""From a request to a Problem: find the format, check both sides without running them, gather the files."""

from __future__ import annotations

import base64
import dataclasses
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Literal

from kbeval_jupyter.errors import RequestError, unknown_name
from kbeval_jupyter.model.problem import Problem
from kbeval_jupyter.model.request import portable
from kbeval_jupyter.model.result import NoteReport
from kbeval_jupyter.runner.wire import PlanFile, ProblemSpec, Rival

from . import task_files
from .base import Format, absence
from .functional import Functional
from .kernelbench import KernelBench
from .names import Module, SourceSyntaxError, file_bytes, parse
from .sidecars import find_sidecars

if TYPE_CHECKING:
    from kbeval_jupyter.model.request import EvaluationRequest, RivalSource, Source

FORMATS: dict[str, Format] = {fmt.name: fmt for fmt in (KernelBench(), Functional())}


def load(request: EvaluationRequest) -> Problem:
    """The problem of a request; raises RequestError where the request, not the implementation, is wrong."""
    reference = parse_reference(request.reference)
    fmt = find_format(reference, request.format)
    functional = isinstance(fmt, Functional)
    task = task_files.find(request.reference) if functional else None
    said = []
    if task is not None and request.cases is None:
        cases, text = task_files.cases_of(task)
        request = dataclasses.replace(request, cases=cases)
        said.append(NoteReport("cases", text))
    spec = fmt.load(reference, request)
    fault, notes = _check_implementation(request.implementation, fmt)
    folders = _Folders(request, task, shares=functional)
    spec = dataclasses.replace(
        spec,
        name=spec.name or request.reference.name.removesuffix(".py"),
        reference=dataclasses.replace(spec.reference, module=folders.reference_module),
        implementation=dataclasses.replace(spec.implementation, module=folders.implementation_module),
    )
    if request.inputs is not None:
        spec = _override_inputs(spec, request.inputs, fmt, folders)
    rivals = [_add_rival(rival, number, spec, fmt, folders) for number, rival in enumerate(request.rivals, 1)]
    return Problem(spec, folders.files(), [*said, *notes, *folders.notes], fault, rivals=rivals)


def parse_reference(source: Source) -> Module:
    """The module of a reference or of custom inputs; raises RequestError where its syntax is wrong."""
    try:
        return parse(source)
    except SourceSyntaxError as error:
        raise RequestError(str(error)) from error


def find_format(reference: Module, forced: str | None = None) -> Format:
    """The format of a reference; raises RequestError that names what each format must define."""
    if forced is not None:
        if forced not in FORMATS:
            raise RequestError(unknown_name("format", forced, FORMATS))
        return FORMATS[forced]
    whole = [fmt for fmt in FORMATS.values() if fmt.can_load(reference)]
    if len(whole) > 1:
        raise RequestError(
            f"{reference.source.name} fits several formats: {', '.join(fmt.name for fmt in whole)}",
            f"say which with --format {whole[0].name}",
        )
    partly = [fmt for fmt in FORMATS.values() if reference.defines_any(fmt.typical)]
    if whole or len(partly) == 1:
        return (whole or partly)[0]
    swapped = [fmt for fmt in FORMATS.values() if fmt.implementation in reference.definitions]
    if swapped:
        raise RequestError(
            f"{reference.source.name} is an implementation (it defines {swapped[0].implementation}), not a reference",
            f"a reference defines {swapped[0].reference_form}; give this file with --impl",
        )
    found = ", ".join(reference.public_names()[:8]) or "nothing"
    forms = ", or ".join(f"{fmt.reference_form} ({fmt.name})" for fmt in FORMATS.values())
    raise RequestError(f"{reference.source.name} is no reference: it must define {forms}; found {found}")


def _check_implementation(source: Source, fmt: Format) -> tuple[str, list[NoteReport]]:
    """Why it cannot be run ("" where nothing was found), and remarks."""
    try:
        module = parse(source)
    except SourceSyntaxError as error:
        return str(error), []
    if not module.may_define(fmt.implementation):
        return _missing(module, fmt), []
    ignored = [name for name in fmt.input_functions if name in module.definitions]
    if not ignored:
        return "", []
    text = f"the implementation defines {' and '.join(ignored)} too: ignored, inputs come from the reference"
    return "", [NoteReport("ignored_inputs", text)]


def _add_rival(rival: RivalSource, number: int, spec: ProblemSpec, fmt: Format, folders: _Folders) -> Rival:
    """Lay a rival's files down; raises RequestError where it is none."""
    role = f"baseline/{number}"
    if rival.source is None:
        return Rival(role, rival.label, "reference", spec.reference, compiled=True)
    fault, _ = _check_implementation(rival.source, fmt)
    if fault:
        raise RequestError(f"{rival.label}: {fault}")
    module = folders.add_rival(rival.source, number, rival.files)
    return Rival(role, rival.label, role, dataclasses.replace(spec.implementation, module=module))


def _missing(module: Module, fmt: Format) -> str:
    message = absence(module, fmt.implementation)
    for other in FORMATS.values():
        if other is not fmt and other.implementation in module.definitions:
            return (
                f"{message}. That is the {other.name} format and the reference has the {fmt.name} format: "
                f"define {fmt.implementation_form}, or give --ref a file with {other.reference_form}"
            )
    return message


def _override_inputs(spec: ProblemSpec, inputs: Source, fmt: Format, folders: _Folders) -> ProblemSpec:
    module = parse_reference(inputs)
    if not any(module.may_define(name) for name in fmt.input_functions):
        what = " or ".join(f"{name}()" for name in fmt.input_functions)
        raise RequestError(f"custom inputs: {absence(module, fmt.input_functions[0])}", f"they must define {what}")
    init = "get_init_inputs" if "get_init_inputs" in module.definitions else spec.init_inputs_function
    return dataclasses.replace(spec, inputs_module=folders.add_inputs(inputs), init_inputs_function=init)


class _Folders:
    """The two folders of the run directory: what only the judge sees, and what the implementation's workers see."""

    def __init__(self, request: EvaluationRequest, task: Path | None, *, shares: bool) -> None:
        self._shares = shares  # modules of the problem that an implementation imports
        self.notes: list[NoteReport] = []
        self._reference: dict[PurePosixPath, bytes] = {}
        self._implementation: dict[PurePosixPath, bytes] = {}
        self.reference_module = self._add_source(self._reference, request.reference, "reference.py")
        if task is not None:
            self._add_from_elsewhere(task_files.modules_elsewhere(task))
        self._rivals: dict[int, dict[PurePosixPath, bytes]] = {}
        # The reference itself never goes to the implementation's side, whatever its text names.
        self._hidden = [source.path for source in (request.reference, request.inputs) if source and source.path]
        self.implementation_module = self._add_source(
            self._implementation, request.implementation, "implementation.py", request.files, self._hidden
        )
        self._add_shared(self._implementation, self.implementation_module)

    def add_inputs(self, source: Source) -> str:
        """Lay the custom inputs beside the reference; their path there."""
        return self._add_source(self._reference, source, "inputs.py")

    def add_rival(self, source: Source, number: int, patterns: tuple[str, ...]) -> str:
        """Lay a rival into a folder of its own; its path there."""
        folder = self._rivals.setdefault(number, {})
        module = self._add_source(folder, source, "implementation.py", patterns, self._hidden)
        self._add_shared(folder, module)
        return module

    def _add_from_elsewhere(self, modules: dict[str, Path]) -> None:
        """Modules of other folders that a task.yml puts beside the reference, where something imports them."""
        imported = {name for data in list(self._reference.values()) for name in task_files.imported_modules(data)}
        for name, path in modules.items():
            if name.removesuffix(".py") in imported:
                self._reference.setdefault(PurePosixPath(name), path.read_bytes())

    def _add_shared(self, folder: dict[PurePosixPath, bytes], module: str) -> None:
        """Modules of the problem that an implementation imports and does not bring itself."""
        if not self._shares:
            return
        own = folder[PurePosixPath(module)]
        for path, data in task_files.shared_modules(own, self._reference, PurePosixPath(self.reference_module)).items():
            folder.setdefault(path, data)

    def files(self) -> list[PlanFile]:
        """Everything, ready for the plan."""
        sides: dict[Literal["reference", "implementation"], dict[PurePosixPath, bytes]] = {
            "reference": self._reference,
            "implementation": self._implementation,
        }
        return [
            PlanFile(side, portable(str(path)), base64.b64encode(data).decode("ascii"))
            for side, files in sides.items()
            for path, data in files.items()
        ] + [
            PlanFile("baseline", f"{number}/{path}", base64.b64encode(data).decode("ascii"))
            for number, files in self._rivals.items()
            for path, data in files.items()
        ]

    def _add_source(
        self,
        folder: dict[PurePosixPath, bytes],
        source: Source,
        default_name: str,
        patterns: tuple[str, ...] = (),
        hidden: list[Path] | None = None,
    ) -> str:
        # A file keeps its name, by which the user knows it in tracebacks.
        name = PurePosixPath(portable(source.path.name) if source.path and source.path.suffix == ".py" else default_name)
        while name in folder:
            name = PurePosixPath("custom_" + name.name)
        folder[name] = file_bytes(source)
        found = find_sidecars(source, patterns, hidden or [])
        for path, data in found.files.items():
            folder.setdefault(path, data)
        self.notes += [NoteReport("file_left_out", text, "warning") for text in [*found.unsent, *found.withheld]]
        return str(name)
