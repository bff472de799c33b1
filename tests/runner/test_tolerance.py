import pytest
import torch

from kbeval_jupyter.runner.judging.tolerance import Tolerance, default_tolerance, root_mean_square, tolerance_for


@pytest.mark.parametrize(
    ("dtype", "tf32", "expected"),
    [
        ("float32", False, 1e-4),
        ("float32", True, 1e-3),
        ("float16", False, 1e-2),
        ("bfloat16", True, 1e-2),
        ("float64", True, 1e-7),
        ("float8_e4m3fn", False, 0.1),
        ("float8_e5m2", False, 0.1),
        ("complex64", False, 1e-4),
        ("complex64", True, 1e-3),
        ("complex128", False, 1e-7),
        ("int64", False, None),
        ("uint8", False, None),
        ("bool", True, None),
    ],
)
def test_defaults(dtype: str, tf32: bool, expected: float | None) -> None:
    assert default_tolerance(dtype, tf32) == expected


def test_tiny_reference_scales_the_default_atol() -> None:
    tiny = torch.full((1000,), 1e-6)
    found = tolerance_for("float32", tiny, None, None, False)
    assert found is not None
    assert found.rtol == 1e-4
    assert found.atol == pytest.approx(2e-8)
    assert tolerance_for("float32", torch.ones(10), None, None, False) == Tolerance(1e-4, 1e-4)
    assert tolerance_for("float32", torch.zeros(10), None, None, False) == Tolerance(1e-4, 1e-4)


def test_what_the_user_set_is_taken_as_it_is() -> None:
    assert tolerance_for("float32", torch.full((10,), 1e-9), 0.5, 0.25, False) == Tolerance(0.5, 0.25)
    assert tolerance_for("float32", torch.ones(10), None, 0.0, False) == Tolerance(1e-4, 0.0)
    assert tolerance_for("int32", torch.ones(10, dtype=torch.int32), 0.5, 0.25, False) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3.0, 4.0], 12.5**0.5),
        ([float("nan"), 2.0, float("inf"), 2.0], 2.0),
        ([1e30, 1e30], 1e30),
        ([1e-30, 1e-30], 1e-30),
        ([0.0], 0.0),
    ],
)
def test_root_mean_square(values: list[float], expected: float) -> None:
    found = root_mean_square(torch.tensor(values))
    finite = sum(1 for v in values if v == v and abs(v) != float("inf"))
    assert found == pytest.approx(expected * (finite / len(values)) ** 0.5, rel=1e-5)
