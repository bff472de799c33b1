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


def test_what_belongs_to_the_reference_is_named() -> None:
    inherited = next(specimen for specimen in SPECIMENS if specimen.name == "inherited")
    result = evaluate(inherited.code, PROBLEMS[inherited.problem])
    assert result.reason.startswith("ModuleNotFoundError: No module named 'reference': reference belongs to the reference")


def test_times_of_a_rejected_implementation_are_shown() -> None:
    clock = next(specimen for specimen in SPECIMENS if specimen.name == "patched_clock")
    result = evaluate(clock.code, PROBLEMS[clock.problem], defensive=True, benchmark=True, budget=0.2, no_sync_artifacts=True)
    assert (result.verdict, result.stages["benchmark"].status) == ("rejected", "passed")
    assert result.benchmark is not None
    assert result.benchmark.cases[0].speedup is not None
    assert "rejected" in [note.code for note in result.notes]
