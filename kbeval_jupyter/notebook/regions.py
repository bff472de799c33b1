"""Any region of |error| at full resolution, read from the tensors that an evaluation saved."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.errors import RequestError, TargetError

if TYPE_CHECKING:
    from kbeval_jupyter.model.result import EvaluationResult

_STEP = re.compile(r"\[(\d+)\]|\['([^']*)'\]|\.(\w+)")
MOST_ELEMENTS = 1 << 22


@dataclass(frozen=True)
class SavedErrors:
    """|error| of one output in an artifact; the file is mapped and only what is asked for is read, which needs torch here.

    ``path`` is the output's, as in its report: "" for a lone tensor, ``[0]['y']``.
    """

    artifact: Path
    path: str = ""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows (all dimensions but the last) and columns."""
        cols: int = self._sides[0].shape[-1]
        return self._sides[0].shape[0], cols

    def region(self, rows: range, cols: range) -> list[list[float]]:
        """|error| of these rows and columns (NaN, infinity included), row by row; raises RequestError outside the tensor.

        At most 4 million elements at a time.
        """
        for name, wanted, size in (("rows", rows, self.shape[0]), ("columns", cols, self.shape[1])):
            if wanted.step != 1 or not 0 <= wanted.start < wanted.stop <= size:
                raise RequestError(f"{name} {wanted.start} to {wanted.stop - 1} are not in the tensor; it has {size:,} {name}")
        if len(rows) * len(cols) > MOST_ELEMENTS:
            raise RequestError(f"{len(rows):,} x {len(cols):,} elements are too many at once; at most {MOST_ELEMENTS:,}")
        expected, actual = (self._wide(side[rows.start : rows.stop, cols.start : cols.stop]) for side in self._sides)
        errors = (actual - expected).abs()
        equal = (actual == expected) | (actual.isnan() & expected.isnan())
        values: list[list[float]] = errors.masked_fill(equal, 0.0).tolist()
        return values

    @staticmethod
    def _wide(part: Any) -> Any:
        return part.to(_torch().complex128) if part.is_complex() else part.double()

    @cached_property
    def _sides(self) -> tuple[Any, Any]:
        saved = _torch().load(self.artifact, map_location="cpu", weights_only=True, mmap=True)
        expected, actual = (self._tensor(saved[name]) for name in ("expected", "actual"))
        if expected.shape != actual.shape:
            raise RequestError(f"the shapes differ: expected {list(expected.shape)}, actual {list(actual.shape)}")
        columns = expected.shape[-1] if expected.dim() else 1
        return expected.reshape(-1, columns), actual.reshape(-1, columns)

    def _tensor(self, value: Any) -> Any:
        at = 0
        for step in _STEP.finditer(self.path):
            index, key, name = step.groups()
            at = step.end()
            try:
                value = value[int(index)] if index else value[key if name is None else name]
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise RequestError(f"{self.artifact.name} holds no output {self.path}") from error
        if at != len(self.path) or not hasattr(value, "reshape"):
            raise RequestError(f"{self.artifact.name} holds no tensor output {self.path}".rstrip())
        return value


def saved_errors(result: EvaluationResult, path: str = "") -> SavedErrors:
    """Of the trial whose tensors were saved; raises TargetError where none were."""
    for artifact in result.artifacts:
        if artifact.name.endswith(".pt"):
            return SavedErrors(result.artifacts_dir / artifact.path, path)
    raise TargetError(f"{result.label} left no tensors (verdict {result.verdict})")


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise TargetError("reading saved tensors needs torch here", "pip install 'kbeval-jupyter[local]'") from error
    return torch
