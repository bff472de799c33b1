"""A heatmap made smaller, and drawn with nothing but coloured blocks."""

from __future__ import annotations

import dataclasses
from itertools import groupby
from typing import TYPE_CHECKING

from kbeval_jupyter.rendering import html_elements as el
from kbeval_jupyter.rendering import units

if TYPE_CHECKING:
    from kbeval_jupyter.runner.report import Heatmap, OutputReport

_CELLS, _FEWER_CELLS = 32, 16  # per side
_MOST_RUNS = 350  # of cells of one colour; about 50 bytes each
_SIDE_PX = 256
# Opacity of the colour from these shares of the largest |error| on; below, a cell counts as right.
_LEVELS = ((0.5, "1"), (0.1, ".7"), (0.01, ".45"), (0.001, ".25"))
_NOT_FINITE = "#8250df"


def reduced(heatmap: Heatmap, cells: int) -> Heatmap:
    """At most ``cells`` per side: the maxima of neighbours, None (not finite) where one of them is."""
    tall, wide = -(-heatmap.rows // cells), -(-heatmap.cols // cells)
    if tall == wide == 1:
        return heatmap
    lines = [heatmap.data[start : start + heatmap.cols] for start in range(0, len(heatmap.data), heatmap.cols)]
    data: list[float | None] = []
    for top in range(0, heatmap.rows, tall):
        for left in range(0, heatmap.cols, wide):
            block = [value for line in lines[top : top + tall] for value in line[left : left + wide]]
            numbers = [value for value in block if value is not None]
            data.append(max(numbers) if len(numbers) == len(block) else None)
    rows, cols = -(-heatmap.rows // tall), -(-heatmap.cols // wide)
    steps = heatmap.row_step * tall, heatmap.col_step * wide
    return dataclasses.replace(heatmap, rows=rows, cols=cols, data=data, row_step=steps[0], col_step=steps[1])


def html(output: OutputReport) -> str:
    """The picture with its legend; "" where there is none."""
    if output.heatmap is None:
        return ""
    heatmap = reduced(output.heatmap, _CELLS)
    lines = _runs(heatmap)
    if sum(map(len, lines)) > _MOST_RUNS:
        heatmap = reduced(output.heatmap, _FEWER_CELLS)
        lines = _runs(heatmap)
    width, height = (max(3, min(12, _SIDE_PX // count)) for count in (heatmap.cols, heatmap.rows))
    rows = "".join(el.div("".join(_run(*run, width) for run in line), f"display:flex;height:{height}px") for line in lines)
    picture = el.div(rows, f"width:{width * heatmap.cols}px;background-color:{el.TRACK};margin-top:6px")
    return picture + el.div(el.quiet(el.text(_legend(output, heatmap))), "font-size:11px")


def _legend(output: OutputReport, heatmap: Heatmap) -> str:
    columns = output.shape[-1] if output.shape else 1
    rows = output.total // max(columns, 1)
    largest = max((value for value in heatmap.data if value is not None), default=0.0)
    odd = "; violet: not finite" if None in heatmap.data else ""
    across = f"{units.counted(rows, 'row')} by {units.counted(columns, 'column')}"
    return f"largest |error| in each part of {across}; strongest: {units.number(largest)}{odd}"


def _runs(heatmap: Heatmap) -> list[list[tuple[str, int]]]:
    """Per line the colours with the number of neighbouring cells that have them."""
    largest = max((value for value in heatmap.data if value is not None), default=0.0)
    colours = [_colour(value, largest) for value in heatmap.data]
    lines = [colours[start : start + heatmap.cols] for start in range(0, len(colours), heatmap.cols)]
    return [[(colour, len(list(cells))) for colour, cells in groupby(line)] for line in lines]


def _colour(value: float | None, largest: float) -> str:
    if value is None:
        return _NOT_FINITE
    opacity = next((opacity for share, opacity in _LEVELS if value and value >= share * largest), "")
    return f"rgba(207,34,46,{opacity})" if opacity else ""


def _run(colour: str, count: int, width_px: int) -> str:
    style = f"width:{count * width_px}px"
    return el.div("", f"{style};background-color:{colour}" if colour else style)
