"""Honest implementations pass, whatever their habits look like."""

from pathlib import Path

import pytest

from kbeval_jupyter import evaluate
from tests.corpus_file import Specimen, read
from tests.hostile.problems import PROBLEMS

SPECIMENS = read(Path(__file__).with_name("implementations.txt"))


def test_there_are_enough() -> None:
    assert len({specimen.name for specimen in SPECIMENS}) == len(SPECIMENS) >= 40


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_passes(specimen: Specimen) -> None:
    result = evaluate(specimen.code, PROBLEMS[specimen.problem], defensive=True, trials=2, no_sync_artifacts=True)
    checks = result.defense.checks if result.defense else []
    failed = {check.name: check.message for check in checks if not check.passed}
    assert (result.verdict, failed) == ("passed", {}), (result.reason, result.log_tail)
    assert len({check.name for check in checks}) == len(checks) > 15
