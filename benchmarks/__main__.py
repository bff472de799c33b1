"""Measures the promised ratios and prints them; the exit status is 1 when one is missed.

Everything that is compared is measured in turn on the same machine, so that the ratios hold where the absolute times do not.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import handover, notebook_cell, small_cases

HERE = Path(__file__).parent
TRIVIAL = HERE / "trivial"
ROUNDS = 5
LATER_EVALUATIONS = 8


@dataclass(frozen=True)
class Bound:
    """A promise: the ratio of two medians (or another number with its unit), at least or at most so much."""

    name: str
    ratio: float
    limit: float
    at_least: bool
    unit: str = "x"

    @property
    def holds(self) -> bool:
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit

    def __str__(self) -> str:
        relation = "at least" if self.at_least else "at most"
        bound = f"({relation} {self.limit}{self.unit})"
        return f"{'ok    ' if self.holds else 'MISSED'} {self.ratio:7.2f}{self.unit}  {bound}  {self.name}"


def fresh_environment(home: Path) -> dict[str, str]:
    """An environment in which no server of ours runs yet and nothing is cached."""
    places = {
        "HOME": "home",
        "XDG_RUNTIME_DIR": "run",
        "XDG_CACHE_HOME": "cache",
        "XDG_DATA_HOME": "data",
        "XDG_STATE_HOME": "state",
    }
    for folder in places.values():
        (home / folder).mkdir(mode=0o700)
    return {**os.environ, **{variable: str(home / folder) for variable, folder in places.items()}}


def run(module: str, *arguments: str, environment: dict[str, str] | None = None) -> tuple[float, str]:
    """Seconds and output of a fresh Python that runs a module of this folder."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *arguments]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=HERE.parent, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return seconds, done.stdout


def evaluations() -> list[Bound]:
    """First, later and notebook evaluations of the trivial problem, against a script that does the same plainly."""
    plain: list[float] = []
    first: list[float] = []
    later: list[float] = []
    cells: list[float] = []
    run("plain", str(TRIVIAL))  # the file cache is warm for both sides
    for _ in range(ROUNDS):
        plain.append(run("plain", str(TRIVIAL))[0])
        with tempfile.TemporaryDirectory(prefix="kbb-") as home:
            environment = fresh_environment(Path(home))
            output = run("living", str(TRIVIAL), str(1 + LATER_EVALUATIONS), environment=environment)[1]
            seconds = json.loads(output.splitlines()[-1])
            cells += notebook_cell.measure(TRIVIAL, environment, LATER_EVALUATIONS)
        first.append(seconds[0])
        later += seconds[1:]
    plain_s, first_s, later_s, cell_s = map(statistics.median, (plain, first, later, cells))
    print(f"a fresh python that imports torch and checks plainly  {plain_s * 1e3:8.1f} ms")
    print(f"first evaluate() in a living process                  {first_s * 1e3:8.1f} ms")
    print(f"later evaluate() in the same process                  {later_s * 1e3:8.1f} ms")
    print(f"later notebook cell, to its frozen result             {cell_s * 1e3:8.1f} ms")
    return [
        Bound("a later evaluate() is faster than a fresh python", plain_s / later_s, 20, at_least=True),
        Bound("a later notebook cell is faster than a fresh python", plain_s / cell_s, 8, at_least=True),
        Bound("a first evaluate() is slower than a fresh python", first_s / plain_s, 1.3, at_least=False),
    ]


def handing_over() -> list[Bound]:
    """Two outputs of 256 MB, from a worker's memory to a complete comparison, against torch.allclose alone."""
    allclose_s, ours_s = handover.measure()
    print(f"torch.allclose on two tensors of 256 MB               {allclose_s * 1e3:8.1f} ms")
    print(f"handing both over and comparing them completely       {ours_s * 1e3:8.1f} ms")
    return [Bound("handing over and comparing, of torch.allclose alone", ours_s / allclose_s, 0.5, at_least=False)]


def analysing() -> list[Bound]:
    """The whole analysis of two wrong tensors of 8192 x 8192 in a fresh process, against torch.allclose alone."""
    allclose_s, ours_s, extra_bytes = json.loads(run("analysis")[1])
    print(f"torch.allclose on two tensors of 8192 x 8192          {allclose_s * 1e3:8.1f} ms")
    print(f"analysing them: statistics, heatmap, pattern          {ours_s * 1e3:8.1f} ms, {extra_bytes >> 20} MB beside them")
    return [
        Bound("the whole analysis, of torch.allclose alone", ours_s / allclose_s, 2, at_least=False),
        Bound("memory that the analysis needs beside the tensors", extra_bytes / 2**20, 64, at_least=False, unit=" MB"),
    ]


def many_small_cases() -> list[Bound]:
    """What an evaluation of 1,500 small cases adds to a plain loop over them."""
    loop_s, evaluation_s = small_cases.measure()
    count = len(small_cases.CASES)
    added_ms = (evaluation_s - loop_s) / count * 1e3
    print(f"a plain loop over {count:,} small cases                  {loop_s * 1e3:8.1f} ms")
    print(f"evaluate() with the same cases                        {evaluation_s * 1e3:8.1f} ms")
    return [Bound(f"each of {count:,} small cases adds to a plain loop", added_ms, 1.0, at_least=False, unit=" ms")]


def main() -> None:
    bounds = [*evaluations(), *handing_over(), *analysing(), *many_small_cases()]
    print(*bounds, sep="\n")
    sys.exit(not all(bound.holds for bound in bounds))


if __name__ == "__main__":
    main()
