from pathlib import Path

import pytest
import torch

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.notebook.regions import SavedErrors


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    expected = torch.arange(240.0).reshape(2, 6, 20)
    actual = expected.clone()
    actual[1, 2, 3] += 0.5
    actual[1, 2, 4] = float("nan")
    path = tmp_path / "failed_default_0.pt"
    lone = torch.tensor([3 + 4j, 1j])
    values = {
        "expected": [{"y": expected}, lone, torch.tensor([7])],
        "actual": [{"y": actual}, torch.zeros_like(lone), torch.tensor([9])],
    }
    torch.save(values, path)
    return path


def test_a_region_at_full_resolution(artifact: Path) -> None:
    errors = SavedErrors(artifact, "[0]['y']")
    assert errors.shape == (12, 20)
    (first, row) = errors.region(range(7, 9), range(2, 6))
    assert first == [0, 0, 0, 0]
    assert row[:2] == [0, 0.5]
    assert row[2] != row[2]


def test_complex_and_integer_outputs(artifact: Path) -> None:
    assert SavedErrors(artifact, "[1]").region(range(1), range(2)) == [[5, 1]]
    assert SavedErrors(artifact, "[2]").region(range(1), range(1)) == [[2]]


@pytest.mark.parametrize("path", ["[4]", "[0]['z']", "[0]", "", "[1].real.x", "nonsense"])
def test_an_output_that_is_not_there(artifact: Path, path: str) -> None:
    with pytest.raises(RequestError, match="holds no"):
        _ = SavedErrors(artifact, path).shape


@pytest.mark.parametrize(("rows", "cols"), [(range(13), range(1)), (range(0), range(1)), (range(1), range(-1, 3))])
def test_a_region_outside_the_tensor(artifact: Path, rows: range, cols: range) -> None:
    with pytest.raises(RequestError, match="are not in the tensor; it has"):
        SavedErrors(artifact, "[0]['y']").region(rows, cols)
