"""Results read back from saved notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import RequestError
from .model.result import MIME_TYPE, EvaluationResult
from .sources import read_notebook

if TYPE_CHECKING:
    from pathlib import Path


def saved_results(path: Path) -> list[EvaluationResult]:
    """The results in a notebook's outputs, in order; raises RequestError where one is damaged."""
    found = []
    for number, cell in enumerate(read_notebook(path).cells, 1):
        for output in cell.get("outputs", []):
            data: Any = output.get("data", {}).get(MIME_TYPE)
            if data is None:
                continue
            try:
                found.append(EvaluationResult.from_json(data))
            except ValueError as error:
                raise RequestError(f"{path}, cell {number}: the saved result is damaged: {error}") from error
    return found
