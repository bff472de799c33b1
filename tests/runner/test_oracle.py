from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from kbeval_jupyter.runner.exchange.arena import Arena
from kbeval_jupyter.runner.exchange.encoding import encode_outputs
from kbeval_jupyter.runner.exchange.tree import decode
from kbeval_jupyter.runner.judging.oracle import Oracle, widen, widened_entry
from kbeval_jupyter.runner.judging.outputs import Comparison, Rules, compare_outputs
from kbeval_jupyter.runner.wire import Tolerance


def judged(
    reference: Callable[..., Any], implementation: Callable[..., Any], inputs: list[Any], seconds: float = 0.0
) -> tuple[Comparison, Oracle]:
    expected, actual = reference(*inputs), implementation(*inputs)
    oracle = Oracle(lambda: widened_entry(reference)(*widen(inputs)), inputs, seconds, "cpu")
    arena = Arena.create(64 << 20)
    node = decode(encode_outputs(actual, arena), arena.size)
    result = compare_outputs(expected, node, arena, Rules(Tolerance()), oracle)
    arena.close()
    return result, oracle


def naive_sum(x: torch.Tensor) -> torch.Tensor:
    """One running sum in float32: an error far above the tolerance for long rows of positive numbers."""
    total = torch.zeros(x.shape[0], dtype=x.dtype)
    for column in x.unbind(1):
        total = total + column
    return total


def test_more_accurate_implementation_passes() -> None:
    x = torch.rand(64, 20_000)
    x[:, ::2] *= -1
    x = torch.cat([x, -x.flip(1) + 1e-3 * torch.rand_like(x)], 1)  # cancels: the result is small, the error is not
    result, _ = judged(naive_sum, lambda x: x.double().sum(1).float(), [x])
    assert result.passed, result.reason
    assert result.reports[0].mismatched == 0


def test_half_precision_shortcut_does_not_pass() -> None:
    x, w = torch.randn(64, 256), torch.randn(256, 64)
    result, oracle = judged(lambda x, w: x @ w, lambda x, w: (x.half() @ w.half()).float(), [x, w])
    assert not result.passed
    assert oracle.reason == ""


def test_oracle_is_not_run_when_all_is_within_tolerance() -> None:
    runs: list[int] = []

    def reference(x: torch.Tensor) -> torch.Tensor:
        runs.append(1)
        return x * 2

    result, _ = judged(reference, lambda x: x + x, [torch.randn(100)])
    assert result.passed
    assert len(runs) == 1


def test_reference_that_overflows_does_not_reject_a_stable_one() -> None:
    x = torch.tensor([[100.0, 50.0, 1.0], [0.5, 0.25, 2.0]])
    result, _ = judged(lambda x: x.exp() / x.exp().sum(1, keepdim=True), lambda x: torch.softmax(x, 1), [x])
    assert result.passed, result.reason


def test_reference_that_cannot_run_in_float64_says_why() -> None:
    def strict(x: torch.Tensor) -> torch.Tensor:
        assert x.dtype == torch.float32, "float32 only"
        return x * 2

    result, oracle = judged(strict, lambda x: x * 3, [torch.randn(100)])
    assert not result.passed
    assert "float32 only" in oracle.reason
    assert result.warnings == [oracle.reason]


def test_too_slow_is_not_tried() -> None:
    result, oracle = judged(lambda x: x * 2, lambda x: x * 3, [torch.randn(100)], seconds=100.0)
    assert not result.passed
    assert "400 s in float64" in oracle.reason


def test_random_reference_is_not_trusted_in_float64() -> None:
    _, oracle = judged(lambda x: x + torch.randn(x.shape), lambda x: x, [torch.randn(100)])
    assert "something else" in oracle.reason


def test_module_is_copied_not_changed() -> None:
    model = nn.Linear(4, 4)
    result, _ = judged(model, lambda x: x, [torch.randn(2, 4)])
    assert not result.passed
    assert model.weight.dtype == torch.float32
    assert torch.get_default_dtype() == torch.float32


def test_widen() -> None:
    value = widen([torch.ones(1, dtype=torch.bfloat16), {"i": torch.ones(1, dtype=torch.int32)}, (torch.ones(1) * 1j,), "s"])
    assert value[0].dtype == torch.float64
    assert value[1]["i"].dtype == torch.int32
    assert value[2][0].dtype == torch.complex128
    assert value[3] == "s"
