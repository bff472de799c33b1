"""Comparison, and the published wrong answers of other evaluators with the right ones."""

import enum
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from kbeval_jupyter.runner.exchange.arena import Arena
from kbeval_jupyter.runner.exchange.encoding import encode_outputs
from kbeval_jupyter.runner.exchange.tree import decode
from kbeval_jupyter.runner.judging.compare import CHUNK_ELEMENTS
from kbeval_jupyter.runner.judging.outputs import Comparison, Rules, compare_outputs
from kbeval_jupyter.runner.wire import Tolerance

NAN, INF = float("nan"), float("inf")


class Color(enum.IntEnum):
    RED = 1


def compared(expected: Any, actual: Any, rtol: float | None = None, atol: float | None = None, **options: Any) -> Comparison:
    arena = Arena.create(64 << 20)
    node = decode(encode_outputs(actual, arena), arena.size)
    result = compare_outputs(expected, node, arena, Rules(Tolerance(rtol, atol)), **options)
    arena.close()
    return result


def passes(expected: Any, actual: Any, **options: Any) -> bool:
    return compared(expected, actual, **options).passed


def test_equal_tensors() -> None:
    result = compared(torch.randn(300, 700), torch.randn(300, 700))
    assert not result.passed
    x = torch.randn(300, 700)
    result = compared(x, x.clone())
    assert result.passed
    (report,) = result.reports
    assert (report.mismatched, report.total, report.max_abs, report.mean_abs) == (0, 210_000, 0.0, 0.0)
    assert report.histogram == {"0": 210_000}
    assert report.max_abs_index is None


@pytest.mark.parametrize("where", [0, CHUNK_ELEMENTS - 1, CHUNK_ELEMENTS, 3 * CHUNK_ELEMENTS + 17])
def test_statistics_of_one_wrong_element(where: int) -> None:
    expected = torch.full((4 * CHUNK_ELEMENTS,), 2.0)
    actual = expected.clone()
    actual[where] = 2.5
    (report,) = compared(expected.reshape(4, -1), actual.reshape(4, -1)).reports
    assert report.mismatched == 1
    assert report.mismatched_pct == pytest.approx(100 / expected.numel())
    assert report.max_abs == 0.5
    assert report.max_abs_index == [where // CHUNK_ELEMENTS, where % CHUNK_ELEMENTS]
    assert report.mean_abs == pytest.approx(0.5 / expected.numel())
    assert report.max_rel == 0.25
    assert report.mean_rel == pytest.approx(0.25 / expected.numel())
    assert report.histogram == {"0": expected.numel() - 1, "1e-1": 1}
    (sample,) = report.samples
    assert (sample.index, sample.expected, sample.actual, sample.abs) == (report.max_abs_index, "2", "2.5", 0.5)


def test_quick_and_full_statistics_agree() -> None:
    expected = torch.randn(3, CHUNK_ELEMENTS)
    expected[0, :100] = 0.0
    actual = expected + 1e-6 * torch.randn_like(expected)
    quick = compared(expected, actual).reports[0]
    full = compared(expected, actual, rtol=0.0, atol=1e-7).reports[0]
    assert quick.mismatched == 0
    assert full.mismatched > 0
    assert quick.max_abs == pytest.approx(full.max_abs)
    assert quick.max_abs_index == full.max_abs_index
    assert quick.mean_abs == pytest.approx(full.mean_abs, rel=1e-5)
    assert quick.max_rel == pytest.approx(full.max_rel, rel=1e-5)
    assert quick.mean_rel == pytest.approx(full.mean_rel, rel=1e-4)
    assert sum(quick.histogram.values()) == sum(full.histogram.values()) == expected.numel()


def test_samples_are_the_first_and_the_worst() -> None:
    expected = torch.zeros(10_000) + 1
    actual = expected.clone()
    actual[5] += 0.01
    for i in range(1, 10):
        actual[1000 * i] += i
    (report,) = compared(expected, actual).reports
    assert [sample.index for sample in report.samples] == [[5], [9000], [8000], [7000], [6000]]


def test_decades_of_the_histogram() -> None:
    expected = torch.full((6,), 1.0, dtype=torch.float64)
    errors = torch.tensor([0.0, 1e-3, 9.9e-3, 0.5, 20.0, NAN], dtype=torch.float64)
    (report,) = compared(expected, expected + errors).reports
    assert sum(report.histogram.values()) == 6
    assert report.histogram == {"0": 1, "1e-3": report.histogram["1e-3"], "1e-1": 1, "1e1": 1, "not finite": 1} | (
        {"1e-4": 1} if "1e-4" in report.histogram else {}
    )


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ([NAN], [NAN], True),
        ([NAN, 1.0], [NAN, 1.0], True),
        ([NAN], [1e30], False),
        ([1.0], [NAN], False),
        ([INF], [INF], True),
        ([INF], [-INF], False),
        ([INF], [1e38], False),
        ([1.0], [INF], False),
        ([0.0], [-0.0], True),
        ([1.0], [1.00015], True),
        ([1.0], [1.00025], False),
    ],
)
def test_nan_and_infinity(expected: list[float], actual: list[float], right: bool) -> None:
    padding = [1.0] * 5
    assert passes(torch.tensor(expected + padding), torch.tensor(actual + padding)) is right


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float64])
def test_other_float_types(dtype: torch.dtype) -> None:
    expected = torch.linspace(1, 2, 1000).to(dtype)
    assert passes(expected, expected.clone())
    wrong = expected.clone()
    wrong[500] = torch.tensor(7.0).to(dtype)
    result = compared(expected, wrong)
    assert result.reports[0].mismatched == 1
    assert result.reports[0].max_abs_index == [500]


def test_complex_by_components() -> None:
    expected = torch.complex(torch.ones(100), torch.full((100,), 1e-3))
    wrong = expected.clone()
    wrong[7] = complex(1.0, 2e-3)  # 0.1 % of the modulus, 100 % of the component
    result = compared(expected, wrong)
    assert result.reports[0].mismatched == 1
    assert result.reports[0].max_abs_index == [7]
    assert result.reports[0].total == 100
    assert passes(expected.conj(), expected.conj())


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool, torch.uint16])
def test_integers_are_exact(dtype: torch.dtype) -> None:
    expected = (torch.arange(1000) % 2).to(dtype)
    assert passes(expected, expected.clone())
    wrong = expected.clone()
    wrong[3] = 0
    assert compared(expected, wrong, rtol=1.0, atol=10.0).reports[0].mismatched == 1


# --- published wrong answers ------------------------------------------------------------------------------------------------


def test_identical_tuples_pass() -> None:
    value = (torch.ones(3), [torch.zeros(2), {"k": torch.arange(3)}])
    assert passes(value, value)


def test_zeros_do_not_pass_for_a_softmax_of_many_columns() -> None:
    expected = torch.softmax(torch.randn(16, 39_321), dim=1)
    assert passes(expected, torch.softmax(torch.zeros(1).expand_as(expected) + expected.log(), dim=1))
    assert not passes(expected, torch.zeros_like(expected))
    assert not passes(expected, expected.mean(1, keepdim=True).expand_as(expected))


def test_large_integers_that_differ_by_one() -> None:
    for big in (2**24 + 1, 2**53 + 1, 2**62 + 1):
        result = compared(torch.tensor([big]), torch.tensor([big - 1]))
        assert result.reports[0].mismatched == 1
        assert result.reports[0].max_abs == 1.0
        assert result.reports[0].samples[0].expected == str(big)


def test_no_broadcast_and_no_cut() -> None:
    assert "[1000]" in compared(torch.ones(1), torch.ones(1000)).reason
    assert not passes(torch.ones(1000), torch.ones(1))
    assert not passes(torch.ones(4), torch.ones(4, 1))
    assert not passes((torch.ones(1),), (torch.ones(1), torch.ones(1)))


def test_uint8_does_not_wrap() -> None:
    result = compared(torch.tensor([0], dtype=torch.uint8), torch.tensor([255], dtype=torch.uint8), atol=1.0)
    assert result.reports[0].max_abs == 255


def test_bool_outputs_compare() -> None:
    assert passes(torch.tensor([True, False]), torch.tensor([True, False]))
    result = compared(torch.tensor([True, False]), torch.tensor([True, True]))
    assert result.reports[0].mismatched == 1
    assert result.reports[0].samples[0].actual == "True"


def test_dtype_is_compared() -> None:
    for dtype in (torch.float16, torch.float64, torch.int32):
        assert not passes(torch.ones(3), torch.ones(3).to(dtype))


def test_nan_reference_does_not_accept_garbage() -> None:
    assert not passes(torch.full((4,), NAN), torch.full((4,), 1e30))


def test_one_wrong_element_in_a_thousand_fails() -> None:
    expected = torch.randn(10_000)
    actual = expected.clone()
    actual[:99] = 1e6
    assert compared(expected, actual).reports[0].mismatched == 99


def test_tiny_constant_does_not_pass_against_a_small_reference() -> None:
    assert not passes(torch.full((100,), 1e-3), torch.full((100,), 1e-9))


def test_user_tolerances_are_not_ignored() -> None:
    assert not passes(torch.tensor([1.0]), torch.tensor([1.005]), rtol=1e-9, atol=1e-9)
    assert passes(torch.tensor([1.0]), torch.tensor([1.005]), rtol=1e-2, atol=0.0)


def test_tensor_subclass_does_not_pass() -> None:
    evil = torch.ones(2).as_subclass(type("AlwaysEqual", (torch.Tensor,), {"__eq__": lambda *_: True}))
    assert "AlwaysEqual" in compared(torch.ones(2), evil).reason


def test_half_precision_shortcut_is_named_with_its_option() -> None:
    x, w = torch.randn(64, 512), torch.randn(512, 64)
    result = compared(x @ w, (x.half() @ w.half()).float())
    assert not result.passed
    assert "--precision tf32" in result.reason
    result = compared(x @ w, (x.bfloat16() @ w.bfloat16()).float())
    assert "bfloat16" in result.reason
    broken = x @ w
    broken[0] = 0
    assert "--precision" not in compared(x @ w, broken).reason


# --- structure --------------------------------------------------------------------------------------------------------------


@dataclass
class Out:
    y: Any
    n: int = 1


class Named(NamedTuple):
    values: Any
    indices: Any


X = torch.ones(2)


@pytest.mark.parametrize(
    ("expected", "actual", "right"),
    [
        ((X, X), (X, X), True),
        ((X, X), [X, X], False),
        ([X], [X], True),
        (Named(X, X), (X, X), True),
        ({"a": X, "b": X}, {"b": X, "a": X}, True),
        ({"a": X}, {"b": X}, False),
        ({1: X}, {"1": X}, False),
        (Out(X), Out(X), True),
        (Out(X), Out(X, 2), False),
        (Out(X), {"y": X, "n": 1}, False),
        ([X, None, "s", 3], [X, None, "s", 3], True),
        ([X, 3], [X, 3.0], False),
        ([X, 3], [X, True], False),
        ([X, NAN], [X, NAN], True),
        ([X, 0.5], [X, 0.5000001], True),
        ([X, 0.5], [X, 0.501], False),
        ([X, None], [X, X], False),
        (X, None, False),
        (X, X.numpy(), False),
        (X.numpy(), X.numpy(), True),
        (torch.tensor(1.0), 1.0, False),
    ],
)
def test_structures(expected: Any, actual: Any, right: bool) -> None:
    result = compared(expected, actual)
    assert result.passed is right
    assert bool(result.reason) is not right


def test_paths_and_places() -> None:
    result = compared([{"y": (torch.ones(2), torch.ones(3))}], [{"y": (torch.ones(2), torch.zeros(3))}])
    assert [report.path for report in result.reports] == ["[0]['y'][0]", "[0]['y'][1]"]
    assert result.reason.startswith("output[0]['y'][1]: 3 of 3 elements are wrong (100 %)")


@pytest.mark.parametrize("value", [-307.00717, 1e-20, 1e300, 3 - 4j])
def test_plain_floats_have_the_tolerance_of_float32(value: Any) -> None:
    assert compared([value], [value * (1 + 1e-6)]).passed
    assert not compared([value], [value * 1.001], atol=0).passed
    assert not compared([value], [-value]).passed
    assert not compared([value], [value * float("inf")]).passed
    assert not compared([value], [value * (1 + 1e-6)], rtol=0, atol=0).passed
    assert compared([value], [value * 1.001], rtol=0.01, atol=0).passed
    assert not compared([value * float("inf")], [value]).passed


@pytest.mark.parametrize("value", [np.float64(0.5), Color.RED, np.float64("nan"), True])
def test_constants_of_subclasses_equal_themselves(value: Any) -> None:
    assert compared([value], [value]).passed
    assert not compared([value], [value + 1 if value == value else 0.0]).passed


@pytest.mark.parametrize("value", [None, [None, None], [], {}, torch.ones(0, 3), [torch.ones(0), None]])
def test_nothing_to_compare_is_no_pass(value: Any) -> None:
    assert "nothing to compare" in compared(value, value).reason
    assert compared(value, value, may_be_empty=True).passed


@pytest.mark.parametrize("value", [0, "", [None, 1.5], [torch.ones(0), torch.ones(1)]])
def test_plain_values_are_something_to_compare(value: Any) -> None:
    assert compared(value, value).passed


# --- ties -------------------------------------------------------------------------------------------------------------------


def test_indices_that_select_equal_values() -> None:
    x = torch.randint(0, 3, (5, 30)).float()
    values, indices = torch.topk(x, 6, dim=1)
    other = x.shape[1] - 1 - torch.argsort(x.flip(1), dim=1, descending=True, stable=True)[:, :6]
    result = compared((values, indices), (x.gather(1, other), other), inputs=[x])
    assert result.passed
    assert "ties" in result.warnings[0]
    assert result.reports[1].mismatched == 0
    repeated = other[:, :1].expand(-1, 6)
    assert not passes((values, indices), (values, repeated), inputs=[x])
    assert not passes((values, indices), (values, other + 30), inputs=[x])
    assert not passes((values, indices), (values, (other + 1) % 30), inputs=[x])
    assert not passes((values, indices), (values * 2, other), inputs=[x])


def test_argmax_ties_without_values() -> None:
    x = torch.tensor([[1.0, 5.0, 5.0], [7.0, 0.0, 7.0]])
    assert passes(torch.tensor([1, 0]), torch.tensor([2, 2]), inputs=[x])
    assert not passes(torch.tensor([1, 0]), torch.tensor([0, 2]), inputs=[x])


def test_counts_are_no_indices() -> None:
    x = torch.tensor([0.0, 0.0, 1.0, 1.0])
    assert not passes(torch.tensor([2, 1]), torch.tensor([3, 0]), inputs=[x])
