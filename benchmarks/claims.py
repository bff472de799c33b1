"""How often a claim is wrong, and how often a true difference is claimed: ``python -m benchmarks.claims``.

A is measured against A, and against an A that does exactly 5 % or 3 % less work, over and over. Without ``--full`` for about a
minute; with it at least 400 evaluations of each kind, which takes hours.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections import Counter
from dataclasses import dataclass

from kbeval_jupyter import evaluate

FULL = 400
SHORT_S = 60.0

# ``calls`` times the same operation: work that is exactly proportional to a number.
TEMPLATE = """
import torch
from torch import nn

class {name}(nn.Module):
    def forward(self, {arguments}):
        for _ in range({calls}):
            result = {operation}
        return result

def get_inputs():
    return [{inputs}]
"""


@dataclass(frozen=True)
class Kernel:
    """One operation. ``calls`` of the reference; of an implementation that is by so many percent faster, by percent."""

    name: str
    arguments: str
    operation: str
    inputs: str
    equal_calls: int
    faster_calls: dict[int, tuple[int, int]]

    def source(self, name: str, calls: int) -> str:
        """The text of one side."""
        return TEMPLATE.format(name=name, arguments=self.arguments, calls=calls, operation=self.operation, inputs=self.inputs)

    def sides(self, percent: int) -> tuple[str, str]:
        """Implementation and reference; the reference takes ``percent`` longer."""
        ours, theirs = self.faster_calls[percent] if percent else (self.equal_calls, self.equal_calls)
        return self.source("ModelNew", ours), self.source("Model", theirs)


KERNELS = (
    Kernel("matmul 160x160", "a, b", "a @ b", "torch.randn(160, 160), torch.randn(160, 160)", 1, {5: (20, 21), 3: (33, 34)}),
    Kernel("1 ms kernel", "x", "torch.sin(x)", "torch.randn(4096)", 100, {5: (100, 105), 3: (100, 103)}),
)


@dataclass
class Tally:
    """What was claimed of one kernel at one true difference."""

    kernel: Kernel
    percent: int
    claims: Counter[str]
    samples: list[int]
    widths: list[float]

    def evaluate(self, budget_s: float) -> None:
        """One evaluation."""
        implementation, reference = self.kernel.sides(self.percent)
        result = evaluate(implementation, reference, stages="benchmark", budget=budget_s)
        timing = result.benchmark.cases[0] if result.benchmark else None
        speedup = timing.speedup if timing else None
        self.claims[speedup.claim if speedup else f"none ({result.reason})"] += 1
        if timing and timing.implementation and speedup:
            self.samples.append(timing.implementation.n)
            self.widths.append(100 * (speedup.ci_high - speedup.ci_low) / speedup.estimate)

    def __str__(self) -> str:
        total = sum(self.claims.values())
        wrong = total - self.claims["SAME"] - self.claims["AMBIGUOUS"]
        right = self.claims["FASTER"]
        rate = f"{right:4} of {total:4} claimed" if self.percent else f"{wrong:4} of {total:4} falsely claimed"
        samples = statistics.median(self.samples) if self.samples else 0
        width = statistics.median(self.widths) if self.widths else float("nan")
        claims = ", ".join(f"{claim} {count}" for claim, count in sorted(self.claims.items()))
        return (
            f"{self.kernel.name:<15} {self.percent} % apart: {rate:<27} median of {samples:g} samples, "
            f"interval {width:.2f} % wide; {claims}"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.claims", description=__doc__)
    parser.add_argument("--full", action="store_true", help=f"{FULL} evaluations of each kind (hours)")
    parser.add_argument("--count", type=int, help="evaluations of each kind")
    parser.add_argument("--budget", type=float, default=5.0, metavar="S", help="of each evaluation (default 5, as for users)")
    given = parser.parse_args()
    count = FULL if given.full else given.count
    tallies = [Tally(kernel, percent, Counter(), [], []) for percent in (0, 5, 3) for kernel in KERNELS]
    ends = time.monotonic() + (float("inf") if count else SHORT_S)
    load = [os.getloadavg()[0]]
    rounds = 0
    while rounds != count and time.monotonic() < ends:
        for tally in tallies:  # in turn, so that all see the same machine
            if time.monotonic() < ends:
                tally.evaluate(given.budget)
        rounds += 1
        load.append(os.getloadavg()[0])
    print(f"{os.cpu_count()} CPUs, load average {min(load):.1f} to {max(load):.1f}, budget {given.budget:g} s")
    print(*tallies, sep="\n")


if __name__ == "__main__":
    main()
