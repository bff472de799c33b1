"""The whole analysis of two wrong float32 tensors of 8192 x 8192: time against torch.allclose alone, and extra memory."""

from __future__ import annotations

import json
import resource
import statistics
import time
from typing import TYPE_CHECKING

import torch

from kbeval_jupyter.runner import wire
from kbeval_jupyter.runner.judging.analysis import analyse
from kbeval_jupyter.runner.judging.outputs import Rules, full_report, precision_hint

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbeval_jupyter.runner.report import OutputReport

SIDE = 8192
WRONG_COLUMNS = 32
ROUNDS = 3


def outputs(side: int = SIDE) -> tuple[torch.Tensor, torch.Tensor]:
    """A reference's output, and one with rounding errors everywhere whose last columns are wrong; made without a spare copy."""
    generator = torch.Generator().manual_seed(0)
    expected = torch.randn(side, side, generator=generator)
    actual = torch.empty_like(expected)
    torch.mul(expected, 1 + 1e-7, out=actual)
    actual[:, -WRONG_COLUMNS:] += 1.0
    return expected, actual


def whole_analysis(expected: torch.Tensor, actual: torch.Tensor) -> OutputReport:
    """Statistics, heatmap, pattern and samples, as the judge makes them of an output that is wrong."""
    rules = Rules(wire.Tolerance())
    tolerance = rules.tolerance(expected)
    found = analyse(expected, actual, tolerance)
    return full_report(expected, actual, tolerance, "", found, precision_hint(found, expected, rules))


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def peak_bytes() -> int:
    """The most memory that this process ever held."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def measure() -> tuple[float, float, int]:
    """Median seconds of torch.allclose alone and of the analysis, in turn; bytes that the analysis needs beside the tensors."""
    expected, actual = outputs()
    small = outputs(256)
    whole_analysis(*small)  # loads what torch loads on first use
    before = peak_bytes()
    threads = torch.get_num_threads()
    report = whole_analysis(expected, actual)
    extra = peak_bytes() - before
    assert report.mismatched == SIDE * WRONG_COLUMNS, report.mismatched

    def allclose() -> None:
        torch.set_num_threads(threads)
        torch.allclose(actual, expected, rtol=1e-4, atol=1e-4)

    def ours() -> None:
        torch.set_num_threads(1)  # as in the judge
        whole_analysis(expected, actual)

    rounds = [(seconds(allclose), seconds(ours)) for _ in range(1 + ROUNDS)][1:]
    return statistics.median(alone for alone, _ in rounds), statistics.median(whole for _, whole in rounds), extra


if __name__ == "__main__":
    print(json.dumps(measure()))
