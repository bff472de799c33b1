from typing import Any

import pytest
import torch

from kbeval_jupyter.runner.judging.outputs import Rules
from kbeval_jupyter.runner.judging.selfcheck import difference
from kbeval_jupyter.runner.wire import Tolerance

RULES = Rules(Tolerance())
FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_equal_and_different_values_of_every_float_dtype(dtype: Any) -> None:
    value = torch.tensor([1.0, -2.0, 4.0]).to(dtype)
    assert difference(value, value.clone(), RULES) is None
    assert difference([value], [torch.tensor([1.0, -2.0, 5.0]).to(dtype)], RULES) == "output[0] has other values"


def test_infinities_and_nan_agree_with_themselves() -> None:
    value = torch.tensor([float("inf"), float("-inf"), float("nan"), 1.0])
    assert difference(value, value.clone(), RULES) is None
    assert difference(value, value.flip(0), RULES) is not None


def test_small_values_are_compared_by_their_own_size() -> None:
    value = torch.randn(100) * 1e-8
    assert difference(value, value * 1.5, RULES) is not None
    assert difference(value, value * (1 + 1e-6), RULES) is None
