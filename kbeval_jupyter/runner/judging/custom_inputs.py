"""Custom inputs (``--inputs``): functions that take the place of the reference's, checked against what those return."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator

import torch

from ..exchange.arena import dtype_name
from ..usercode import failures, loading

if TYPE_CHECKING:
    from ..wire import ProblemSpec


class RequestRefused(Exception):  # noqa: N818 - becomes the evaluation's error
    """What was asked for cannot be: the user's request, not the implementation, is wrong."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class CustomInputs:
    """The functions of the inputs module, by name."""

    path: str
    functions: dict[str, Any]
    function_name: str

    @classmethod
    def load(cls, spec: ProblemSpec, folder: str, reference: Any) -> CustomInputs:
        """Import the module; the reference's own names are visible in it. Raises RequestRefused."""
        path = str(spec.inputs_module)
        names = {name: value for name, value in vars(reference).items() if not name.startswith("__")}
        try:
            module = loading.load_module(folder, path, names)
        except BaseException as error:
            raise RequestRefused(f"custom inputs: {failures.describe(error, folder)['summary']}") from error
        wanted = [n for n in (spec.inputs_function, spec.init_inputs_function) if n]
        functions = {n: vars(module)[n] for n in wanted if n in vars(module) and vars(module)[n] is not names.get(n)}
        if not functions:
            raise RequestRefused(f"custom inputs: {path} defines no {' and no '.join(wanted)}")
        return cls(path, functions, spec.inputs_function)

    @contextlib.contextmanager
    def called(self, name: str, folder: str) -> Iterator[None]:
        """Around a call of one of the functions; raises RequestRefused where it fails."""
        try:
            yield
        except BaseException as error:  # the user's code may raise anything, SystemExit included
            found = failures.describe(error, folder)
            hint = found["traceback"].strip()
            raise RequestRefused(f"custom inputs: {name}() of {self.path} failed: {found['summary']}", hint) from error

    def check(self, original: Any, custom: Any) -> str:
        """A sentence on what the custom inputs change, "" for nothing; raises RequestRefused where they may not."""
        changes: list[str] = []
        self._compare(original, custom, "", changes)
        return f"inputs of {self.path}: {'; '.join(changes)}" if changes else ""

    def _compare(self, original: Any, custom: Any, path: str, changes: list[str]) -> None:
        place = f"{self.function_name}(){path}"
        if isinstance(original, torch.Tensor) or isinstance(custom, torch.Tensor):
            self._compare_tensors(original, custom, place, changes)
        elif isinstance(original, (list, tuple)) and isinstance(custom, (list, tuple)):
            if len(original) != len(custom):
                self._refuse(place, f"{len(custom)} values", f"{len(original)}")
            for i, (left, right) in enumerate(zip(original, custom)):
                self._compare(left, right, f"{path}[{i}]", changes)
        elif isinstance(original, dict) and isinstance(custom, dict):
            if set(original) != set(custom):
                self._refuse(place, f"the keys {sorted(map(str, custom))}", f"{sorted(map(str, original))}")
            for key in original:
                self._compare(original[key], custom[key], f"{path}[{key!r}]", changes)
        elif type(original) is not type(custom):
            self._refuse(place, _kind(custom), _kind(original))

    def _compare_tensors(self, original: Any, custom: Any, place: str, changes: list[str]) -> None:
        if not (isinstance(original, torch.Tensor) and isinstance(custom, torch.Tensor)):
            self._refuse(place, _kind(custom), _kind(original))
        if original.dtype != custom.dtype:
            self._refuse(place, f"dtype {dtype_name(custom.dtype)}", dtype_name(original.dtype))
        if original.dim() != custom.dim():
            self._refuse(
                place, f"{custom.dim()} dimensions {list(custom.shape)}", f"{original.dim()} (as {list(original.shape)})"
            )
        if original.shape != custom.shape:
            changes.append(f"{place} has shape {list(custom.shape)} instead of {list(original.shape)}")

    def _refuse(self, place: str, found: str, expected: str) -> None:
        raise RequestRefused(
            f"custom inputs: {place} of {self.path} has {found}; the reference's has {expected}",
            "shapes may change; count, type, dtype and number of dimensions may not",
        )


def _kind(value: Any) -> str:
    return "a tensor" if isinstance(value, torch.Tensor) else f"type {type(value).__name__}"
