"""1,500 cases of 16x16 to 63x63: an evaluation, against a loop in one process that makes inputs, runs both sides and compares."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

from kbeval_jupyter import evaluate

from .plain import load

PROBLEM = Path(__file__).parent / "small_cases_problem"
CASES = [{"rows": 16 + n % 48, "columns": 16 + n // 48} for n in range(1500)]
ROUNDS = 5


def evaluation() -> float:
    """Seconds of a whole evaluation, one trial a case."""
    start = time.perf_counter()
    result = evaluate(PROBLEM / "implementation.py", PROBLEM / "reference.py", cases=CASES, trials=1)
    seconds = time.perf_counter() - start
    if result.verdict != "passed" or result.correctness is None or result.correctness.cases_passed != len(CASES):
        sys.exit(f"{result.verdict}: {result.reason}")
    return seconds


def loop() -> float:
    """Seconds of the loop, loading both files included."""
    start = time.perf_counter()
    reference, implementation = load(PROBLEM / "reference.py"), load(PROBLEM / "implementation.py")
    for number, case in enumerate(CASES):
        torch.manual_seed(number)
        inputs = reference.generate_input(**case)
        copies = [tensor.clone() for tensor in inputs]
        assert torch.allclose(implementation.custom_kernel(inputs), reference.ref_kernel(copies), rtol=1e-4, atol=1e-4)
    return time.perf_counter() - start


def measure() -> tuple[float, float]:
    """Seconds of the loop and of the evaluation, each in its least disturbed round: five processes suffer more than one."""
    torch.set_num_threads(1)  # as in the judge; more are slower at this size
    rounds = [(loop(), evaluation()) for _ in range(1 + ROUNDS)]
    return min(alone for alone, _ in rounds), min(whole for _, whole in rounds)
