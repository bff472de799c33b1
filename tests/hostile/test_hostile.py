"""Every implementation that is not what it seems gets the verdict and the check that it must get."""

from pathlib import Path

import pytest

from kbeval_jupyter import evaluate
from tests.corpus_file import Specimen, read
from tests.hostile.problems import PROBLEMS

SPECIMENS = read(Path(__file__).with_name("implementations.txt"))


def test_there_are_enough() -> None:
    assert len({specimen.name for specimen in SPECIMENS}) == len(SPECIMENS) >= 40


@pytest.mark.parametrize("specimen", SPECIMENS, ids=lambda specimen: specimen.name)
def test_caught(specimen: Specimen) -> None:
    result = evaluate(specimen.code, PROBLEMS[specimen.problem], defensive=True, no_sync_artifacts=True)
    checks = result.defense.checks if result.defense else []
    failed = {check.name: check.message for check in checks if not check.passed}
    assert result.verdict == specimen.verdict, (result.reason, failed, result.log_tail)
    if specimen.verdict == "rejected":
        assert specimen.checks & set(failed), failed
        assert result.reason in failed.values() or any(result.reason.startswith(message) for message in failed.values())
        assert result.stages["defense"].status == "failed"
    else:
        assert not checks  # it never came so far
