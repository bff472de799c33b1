"""Ways of being wrong, each with the kind and the words that an engineer is to read."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from kbeval_jupyter.runner.judging.analysis import analyse
from kbeval_jupyter.runner.judging.outputs import Rules, full_report, precision_hint
from kbeval_jupyter.runner.report import OutputReport
from kbeval_jupyter.runner.wire import Tolerance

NAN, INF = float("nan"), float("inf")
RULES = Rules(Tolerance())
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]


def report(expected: Any, actual: Any) -> OutputReport:
    tolerance = RULES.tolerance(expected)
    found = analyse(expected, actual, tolerance)
    return full_report(expected, actual, tolerance, "", found, precision_hint(found, expected, RULES))


def values(*shape: int, seed: int = 0) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def noise_at(expected: Any, *where: Any) -> Any:
    """Wrong in the indexed part, by different amounts."""
    mask = torch.zeros_like(expected, dtype=torch.bool)
    mask[where] = True
    return torch.where(mask, expected + 3 + values(*expected.shape, seed=7).abs().to(expected.dtype), expected)


def framed(expected: Any) -> Any:
    inner = noise_at(expected)
    inner[..., 2:-2, 2:-2] = expected[..., 2:-2, 2:-2]
    return inner


def corner(expected: Any) -> Any:
    """Both the last 4 rows and the last 36 columns of 100x100."""
    wrong = noise_at(expected)
    wrong[..., :96, :64] = expected[..., :96, :64]
    return wrong


def some_tiles(expected: Any) -> Any:
    wrong = expected.clone()
    for row, col in ((0, 192), (32, 64), (128, 0)):
        wrong[row : row + 32, col : col + 32] = noise_at(expected)[row : row + 32, col : col + 32]
    return wrong


def scattered(expected: Any) -> Any:
    places = torch.randperm(expected.numel(), generator=torch.Generator().manual_seed(3))[:37]
    wrong = expected.clone().reshape(-1)
    wrong[places] = noise_at(expected).reshape(-1)[places]
    return wrong.reshape(expected.shape)


def after(index: int) -> Callable[[Any], Any]:
    def wrong(expected: Any) -> Any:
        flat = expected.clone().reshape(-1)
        flat[index:] = noise_at(expected).reshape(-1)[index:]
        return flat.reshape(expected.shape)

    return wrong


ALL = slice(None)
CASES: list[tuple[str, tuple[int, ...], Callable[[Any], Any], str, str]] = [
    ("all", (96, 96), lambda e: noise_at(e), "all", "All elements are wrong (9,216 of 9,216)."),
    (
        "tail of columns", (96, 96), lambda e: noise_at(e, ALL, slice(64, None)), "tail",
        "The last 32 columns are wrong: 96 is not a multiple of 64; is a tail tile not handled?",
    ),
    (
        "tail of rows", (1000, 40), lambda e: noise_at(e, slice(896, None)), "tail",
        "The last 104 rows are wrong: 1,000 is not a multiple of 128; is a tail tile not handled?",
    ),
    ("tail without a tile", (96, 100), lambda e: noise_at(e, ALL, slice(90, None)), "tail", "The last 10 columns are wrong."),
    (
        "tail of a vector", (1000,), lambda e: noise_at(e, slice(992, None)), "tail",
        "The last 8 elements are wrong: 1,000 is not a multiple of 16; is a tail tile not handled?",
    ),
    ("last element", (1000,), lambda e: noise_at(e, slice(999, None)), "tail", "The last element of 1,000 is wrong."),
    (
        "tail in memory order", (96, 96), after(5000), "tail",
        "Everything from the flat index 5,000 on is wrong, in memory order (4,216 elements).",
    ),
    ("tail of both", (100, 100), corner, "tail", "The last 4 rows and last 36 columns are wrong: 100 is not a multiple of"),
    ("a row", (64, 80), lambda e: noise_at(e, 17), "rows", "Only row 17 is wrong."),
    ("rows", (64, 80), lambda e: noise_at(e, torch.tensor([3, 10, 50])), "rows", "Only 3 rows (3, 10, 50) are wrong."),
    ("a column", (64, 80), lambda e: noise_at(e, ALL, 0), "columns", "Only column 0 is wrong."),
    (
        "a column of each tile", (64, 96), lambda e: noise_at(e, ALL, slice(31, None, 32)), "columns",
        "Only columns 31, 63, … (one in 32) are wrong.",
    ),
    ("a batch", (4, 3, 32, 32), lambda e: noise_at(e, 2), "slice", "Only index 2 of dimension 0 (size 4) is wrong."),
    ("a channel", (4, 3, 32, 32), lambda e: noise_at(e, ALL, 1), "slice", "Only index 1 of dimension 1 (size 3) is wrong."),
    ("a frame", (40, 50), framed, "boundary", "Only the boundary is wrong: a frame up to 2 wide"),
    ("frames of images", (2, 3, 40, 50), framed, "boundary", "Only the boundary is wrong: a frame up to 2 wide"),
    (
        "a tile", (256, 256), lambda e: noise_at(e, slice(32, 64), slice(64, 96)), "blocks",
        "One block of 32 x 32 elements is wrong: rows 32 to 63, columns 64 to 95, aligned to tiles of 32",
    ),
    ("tiles", (256, 256), some_tiles, "blocks", "3 of 64 tiles of 32x32 elements are wrong, aligned to multiples of 32 and 32"),
    ("a mask", (64, 64), lambda e: torch.where(values(64, 64).triu(1) != 0, noise_at(e), e), "triangle", "above the diagonal"),
    ("transposed", (50, 50), lambda e: e.t().contiguous(), "transposed", "rows and columns are swapped"),
    ("transposed, not square", (30, 50), lambda e: e.t().contiguous().view(30, 50), "transposed", "the transpose"),
    ("transposed images", (3, 30, 50), lambda e: e.mT.contiguous().view(3, 30, 50), "transposed", "last two dimensions"),
    ("shifted columns", (50, 70), lambda e: e.roll(1, 1), "shifted", "holds what is expected 1 column before it"),
    ("shifted rows", (50, 70), lambda e: e.roll(-4, 0), "shifted", "holds what is expected 4 rows after it"),
    ("shifted elements", (5000,), lambda e: e.roll(32), "shifted", "holds what is expected 32 elements before it"),
    ("factor", (50, 70), lambda e: e * 0.125, "factor", "are 0.125 (1/8) times what is expected"),
    ("offset", (50, 70), lambda e: e + 0.5, "offset", "differ from what is expected by +0.5"),
    ("sign", (50, 70), lambda e: -e, "sign", "have the wrong sign"),
    ("zeros", (50, 70), torch.zeros_like, "zeros", "hold 0 where values are expected: are they never written?"),
    ("constant", (50, 70), lambda e: torch.full_like(e, 3), "constant", "all hold 3"),
    ("nan", (50, 70), lambda e: e * NAN, "nan", "are NaN where finite values are expected"),
    ("scattered", (96, 96), scattered, "scattered", "Wrong elements are scattered: 37 of 9,216 in "),
    ("scattered in a vector", (9000,), scattered, "scattered", "Wrong elements are scattered: 37 of 9,000; no pattern"),
    ("one element", (96, 96), lambda e: noise_at(e, 3, 4), "scattered", "A single element of 9,216 is wrong."),
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "wrong", "kind", "words"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_pattern(shape: tuple[int, ...], wrong: Callable[[Any], Any], kind: str, words: str, dtype: torch.dtype) -> None:
    expected = values(*shape).to(dtype)
    found = report(expected, wrong(expected))
    assert found.pattern is not None
    assert (found.pattern_kind, words in found.pattern) == (kind, True), found.pattern


@pytest.mark.parametrize(
    ("expected", "wrong", "kind"),
    [
        (torch.arange(9216).view(96, 96), lambda e: e * 2, "factor"),
        (torch.arange(9216).view(96, 96), lambda e: e + 1, "offset"),
        (torch.arange(9216).view(96, 96), lambda e: e.t().contiguous(), "transposed"),
        (torch.arange(1, 9217, dtype=torch.int32).view(96, 96), torch.zeros_like, "zeros"),
        (values(96, 96) > 0, lambda e: torch.where(torch.arange(96) > 63, ~e, e), "tail"),
        (torch.complex(values(64, 64), values(64, 64, seed=1)), lambda e: -e, "sign"),
        (torch.complex(values(64, 64), values(64, 64, seed=1)), lambda e: noise_at(e, ALL, slice(60, None)), "tail"),
    ],
)  # fmt: skip
def test_pattern_of_other_types(expected: Any, wrong: Callable[[Any], Any], kind: str) -> None:
    assert report(expected, wrong(expected)).pattern_kind == kind


def test_a_place_comes_with_what_it_holds() -> None:
    expected = torch.softmax(values(64, 1000), 1)
    found = report(expected, torch.where(torch.arange(1000) >= 768, 0.0, expected))
    assert found.pattern_kind == "tail"
    assert found.pattern == (
        "The last 232 columns are wrong: 1,000 is not a multiple of 256; is a tail tile not handled? "
        "The wrong elements hold 0 where values are expected: are they never written?"
    )


def test_small_values_may_pass_in_a_wrong_place() -> None:
    expected = torch.softmax(3 * values(512, 1000), 1)
    found = report(expected, torch.where(torch.arange(1000) >= 768, 0.0, expected))
    assert found.mismatched < 0.5 * 512 * 232
    assert found.pattern_kind == "tail"


def test_rounding_of_a_narrower_type_keeps_its_own_message() -> None:
    a, b = values(128, 128), values(128, 128, seed=1)
    found = report(a @ b, a.bfloat16().float() @ b.bfloat16().float())
    assert found.pattern_kind == "precision"
    assert found.pattern is not None
    assert "bfloat16 rounding" in found.pattern


def test_a_right_tensor_has_no_pattern() -> None:
    found = report(values(10, 10), values(10, 10))
    assert (found.pattern, found.pattern_kind, found.heatmap) == (None, None, None)


@pytest.mark.parametrize("seed", range(20))
def test_chance_makes_no_pattern(seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    expected = values(200, 300, seed=seed)
    count = int(torch.randint(2, 300, (1,), generator=generator))
    places = torch.randperm(expected.numel(), generator=generator)[:count]
    actual = expected.clone()
    actual.view(-1)[places] += 1 + values(count, seed=seed + 1).abs()
    found = report(expected, actual)
    assert (found.pattern_kind, found.mismatched) == ("scattered", count), found.pattern
