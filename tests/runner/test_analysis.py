"""The one pass: true maxima in every cell of the heatmap, exact counts, bounded memory."""

import subprocess
import sys
from typing import Any

import pytest
import torch

from kbeval_jupyter.runner.judging import analysis
from kbeval_jupyter.runner.judging.analysis import analyse
from kbeval_jupyter.runner.judging.heatmap import MAX_CELLS, Plane
from kbeval_jupyter.runner.judging.tolerance import Tolerance
from kbeval_jupyter.runner.report import Heatmap

TOLERANCE = Tolerance(1e-4, 1e-4)
SHAPES = [
    (), (1,), (7,), (1000,), (200_000,), (3, 5), (256, 256), (257, 300), (1, 70_001), (3, 66_000), (70_001, 3), (300_000, 1),
    (2, 3, 40, 50), (17, 1, 999), (1025, 513),
]  # fmt: skip


def cell_maxima(errors: Any, heatmap: Heatmap) -> list[list[float]]:
    """The plain way."""
    plane = errors.reshape(-1, errors.shape[-1]) if errors.dim() else errors.reshape(1, 1)
    rows = plane.split(heatmap.row_step)
    return [[float(cell.max()) for cell in band.split(heatmap.col_step, 1)] for band in rows]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int64])
def test_every_cell_holds_the_true_maximum(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(hash(shape) % 1000)
    expected = (torch.randn(shape, generator=generator) * 100).to(dtype)
    wrong = torch.rand(shape, generator=generator) < 0.3
    actual = torch.where(wrong, expected + (torch.randn(shape, generator=generator) * 100).to(dtype), expected)
    errors = (actual.double() - expected.double()).abs()
    found = analyse(expected, actual, None if dtype == torch.int64 else TOLERANCE)
    heatmap = found.heatmap
    assert heatmap is not None
    assert heatmap.rows <= MAX_CELLS
    assert heatmap.cols <= MAX_CELLS
    true = cell_maxima(errors, heatmap)
    assert (heatmap.rows, heatmap.cols) == (len(true), len(true[0]))
    assert heatmap.data == pytest.approx([value for row in true for value in row], rel=1e-3)
    failing = errors > (0 if dtype == torch.int64 else TOLERANCE.atol + TOLERANCE.rtol * expected.double().abs())
    assert found.mismatched == int(failing.sum())
    assert sum(found.histogram.values()) == expected.numel()
    if found.evidence is not None:
        plane = failing.reshape(-1, shape[-1]) if shape else failing.reshape(1, 1)
        assert found.evidence.rows[0].tolist() == plane.sum(1).tolist()
        assert found.evidence.cols[0].tolist() == plane.sum(0).tolist()
        assert bool(failing.reshape(-1)[found.evidence.places].all())


def test_what_is_not_finite_is_marked() -> None:
    expected = torch.ones(4, 4)
    actual = expected.clone()
    actual[1, 2], actual[3, 3], actual[0, 0] = float("nan"), float("inf"), 3.0
    heatmap = analyse(expected, actual, TOLERANCE).heatmap
    assert heatmap is not None
    assert heatmap.data == [2.0, 0, 0, 0, 0, 0, None, 0, 0, 0, 0, 0, 0, 0, 0, None]


def test_equal_nan_is_no_error() -> None:
    expected = torch.tensor([[float("nan"), float("inf")], [1.0, 2.0]])
    actual = expected.clone()
    actual[1, 1] = 5.0
    found = analyse(expected, actual, TOLERANCE)
    assert found.heatmap is not None
    assert (found.mismatched, found.heatmap.data) == (1, [0, 0, 0, 3.0])


@pytest.mark.parametrize("shape", SHAPES[1:])
@pytest.mark.parametrize("size", [64, 1000, 1 << 16])
def test_rectangles_cover_the_tensor_once_in_order(shape: tuple[int, ...], size: int) -> None:
    if torch.Size(shape).numel() // size > 10_000:
        return
    plane, at = Plane.of(list(shape)), 0
    for row, row_end, col, col_end in plane.rectangles(size):
        assert row * plane.cols + col == at
        assert (row_end - row == 1) or (col, col_end) == (0, plane.cols)
        assert (row_end - row) * (col_end - col) <= max(size, 1)
        at += (row_end - row) * (col_end - col)
    assert at == plane.rows * plane.cols


def test_rows_beyond_the_limit_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "MAX_COUNTS", 100)
    expected = torch.zeros(1000, 250)
    actual = expected.clone()
    actual[990:, 7] = 1.0
    found = analyse(expected, actual, TOLERANCE)
    assert found.evidence is not None
    (rows, row_bucket), (cols, col_bucket) = found.evidence.rows, found.evidence.cols
    assert (row_bucket, rows.tolist()) == (10, [0] * 99 + [10])
    assert (col_bucket, cols.tolist()[:4], int(cols.sum())) == (3, [0, 0, 10, 0], 10)


MEMORY = """
import torch
from benchmarks.analysis import outputs, peak_bytes, whole_analysis
torch.set_num_threads(1)
whole_analysis(*outputs(256))
expected, actual = outputs(4096)
before = peak_bytes()
report = whole_analysis(expected, actual)
assert report.mismatched == 32 * 4096, report.mismatched
print(peak_bytes() - before)
"""


def test_extra_memory_is_bounded() -> None:
    done = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 32 << 20
