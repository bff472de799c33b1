"""Ten real KernelBench-style problems pass against themselves and fail against a broken twin."""

from pathlib import Path

import pytest

from kbeval_jupyter import evaluate

CORPUS = Path(__file__).parent / "corpus"
PROBLEMS = sorted(path.stem for path in CORPUS.glob("*.py") if path.stem != "__init__")


def source(name: str) -> tuple[Path, str, str]:
    """The reference file, an implementation that is the reference itself, and the broken twin."""
    path = CORPUS / f"{name}.py"
    text = path.read_text()
    namespace: dict[str, str] = {}
    exec(text[text.index("BROKEN = ") :], namespace)
    same = text[: text.index("BROKEN = ")] + "\nModelNew = Model\n"
    return path, same, namespace["BROKEN"]


def test_there_are_ten() -> None:
    assert len(PROBLEMS) == 10


@pytest.mark.parametrize("name", PROBLEMS)
def test_passes_against_itself(name: str) -> None:
    reference, same, _ = source(name)
    result = evaluate(same, reference)
    assert (result.verdict, result.reason) == ("passed", result.reason), result.reason
    assert result.passed is True
    assert result.correctness is not None
    assert result.correctness.cases_passed == result.correctness.cases_total == 3
    assert result.correctness.score == 1.0
    assert all(output.mismatched == 0 and output.total > 0 for case in result.correctness.cases for output in case.outputs)


@pytest.mark.parametrize("name", PROBLEMS)
def test_broken_twin_fails(name: str) -> None:
    reference, _, broken = source(name)
    result = evaluate(broken, reference)
    assert result.verdict == "incorrect", result.reason
    assert result.passed is False
    assert result.correctness is not None
    assert result.correctness.cases_passed == 0
    wrong = [output for case in result.correctness.cases for output in case.outputs if output.mismatched]
    assert wrong
    assert all(output.max_abs is not None and output.max_abs_index is not None and output.samples for output in wrong)


def test_weights_come_from_the_reference() -> None:
    reference, same, _ = source("rnn_cell")
    result = evaluate(same, reference)
    assert result.correctness is not None
    assert result.correctness.weights == "state_dict"
