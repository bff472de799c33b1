"""A tensor seen as two-dimensional, cut into cache-sized rectangles, and its errors reduced to at most 256 x 256 cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterator

import torch

from ..report import Heatmap

MAX_CELLS = 256  # per side


@dataclass(frozen=True)
class Plane:
    """The last dimension gives the columns, all others the rows."""

    rows: int
    cols: int

    @classmethod
    def of(cls, shape: list[int]) -> Plane:
        """The plane of a tensor of ``shape`` that has elements."""
        cols = shape[-1] if shape else 1
        rows = 1
        for size in shape[:-1]:
            rows *= size
        return cls(rows, cols)

    @property
    def row_step(self) -> int:
        """Rows that one heatmap cell stands for."""
        return -(-self.rows // MAX_CELLS)

    @property
    def col_step(self) -> int:
        """Columns that one heatmap cell stands for."""
        return -(-self.cols // MAX_CELLS)

    def rectangles(self, size: int) -> Iterator[tuple[int, int, int, int]]:
        """(row, row end, column, column end) of pieces of about ``size`` elements, each contiguous in memory, in order.

        A piece of several rows holds either whole cells of the heatmap or a part of one row of cells, so that folding is cheap.
        """
        if self.cols > size:
            pieces = -(-self.cols // size)
            width = -(-self.cols // pieces)
            for row in range(self.rows):
                for col in range(0, self.cols, width):
                    yield row, row + 1, col, min(col + width, self.cols)
            return
        height, step = max(1, size // self.cols), self.row_step
        if height > step:
            height -= height % step
        row = 0
        while row < self.rows:
            end = row + height if height >= step else min(row + height, (row // step + 1) * step)
            end = min(end, self.rows)
            yield row, end, 0, self.cols
            row = end


def fold(values: Any, start: int, step: int, dim: int, reduce: Callable[[Any, int], Any]) -> Any:
    """``step`` neighbours along ``dim`` become one by ``reduce``; the first value has the index ``start`` in the whole tensor."""
    if step == 1:
        return values
    before, size = start % step, values.shape[dim]
    if before + size <= step:
        return reduce(values, dim).unsqueeze(dim)
    after = -(before + size) % step
    if before or after:
        values = torch.nn.functional.pad(values, [0, 0] * (values.dim() - dim - 1) + [before, after])
    return reduce(values.unflatten(dim, (-1, step)), dim + 1)


def _amax(values: Any, dim: int) -> Any:
    return values.amax(dim)


class Cells:
    """The largest |error| of every cell seen so far; NaN where one of them is not finite."""

    def __init__(self, plane: Plane, dtype: Any, device: Any) -> None:
        self.row_step, self.col_step = plane.row_step, plane.col_step
        shape = (-(-plane.rows // self.row_step), -(-plane.cols // self.col_step))
        self.values = torch.zeros(shape, dtype=dtype, device=device)

    def add(self, errors: Any, row: int, col: int) -> None:
        """Take in |error| of a rectangle that begins at (row, col)."""
        cells = fold(fold(errors, row, self.row_step, 0, _amax), col, self.col_step, 1, _amax)
        top, left = row // self.row_step, col // self.col_step
        target = self.values[top : top + cells.shape[0], left : left + cells.shape[1]]
        torch.maximum(target, cells, out=target)

    def heatmap(self) -> Heatmap:
        """The report's form, four significant digits; None stands for what is not finite."""
        rows, cols = self.values.shape
        flat = self.values.reshape(-1).double().nan_to_num(-1.0, -1.0).tolist()
        data = [None if value < 0 else value and float(f"{value:.4g}") for value in flat]
        return Heatmap(rows, cols, "max", data, self.row_step, self.col_step)
