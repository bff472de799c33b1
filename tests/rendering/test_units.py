from __future__ import annotations

import pytest

from kbeval_jupyter.rendering import units


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, units.DASH),
        (1234.5, "1.23 s"),
        (12.0, "12.0 ms"),
        (1.2, "1.20 ms"),
        (0.9999, "1.00 ms"),
        (0.0123, "12.3 µs"),
        (0.00045, "450 ns"),
        (9.999, "10.0 ms"),
        (0, "0 ns"),
    ],
)
def test_time_uses_the_unit_that_fits(milliseconds: float | None, text: str) -> None:
    assert units.time_ms(milliseconds) == text


@pytest.mark.parametrize(("value", "text"), [(0.5, "500 ms"), (61.2, "61.2 s"), (125, "2 min 05 s")])
def test_seconds(value: float, text: str) -> None:
    assert units.seconds(value) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (999, "999 B"), (1500, "1.50 kB"), (85_899_345_920, "85.9 GB")])
def test_sizes(count: int, text: str) -> None:
    assert units.size_bytes(count) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0, "0 %"), (0.0001, "< 0.01 %"), (4.884, "4.88 %"), (99.999, "> 99.99 %"), (100, "100 %")]
)
def test_a_share_is_never_rounded_to_none_or_all(share: float, text: str) -> None:
    assert units.percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, units.DASH), (0, "0"), (1e-4, "1e-04"), (0.0123456, "0.0123"), (1.5, "1.5"), (123456789.0, "1.23e+08"), (250, "250")],
)
def test_errors_keep_three_digits(value: float | None, text: str) -> None:
    assert units.number(value) == text


def test_counts_and_ratios() -> None:
    assert units.counted(1, "element") == "1 element"
    assert units.counted(3201, "element") == "3,201 elements"
    assert units.ratio(2.3149) == f"2.31{units.TIMES}"
    assert units.ratio(0.9996) == f"1.00{units.TIMES}"
