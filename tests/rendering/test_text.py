from __future__ import annotations

import dataclasses

import pytest

from kbeval_jupyter.rendering import text
from kbeval_jupyter.rendering.units import TIMES
from tests.rendering.examples import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_verdict_and_the_reason_come_first(name: str) -> None:
    example = EXAMPLES[name]
    first, second, *_rest = text.render(example).splitlines()
    assert first.split("  ")[0].endswith(example.verdict.replace("_", " ").upper())
    assert second.strip() == example.reason
    assert text.short(example).count("\n") == 0


def test_a_wrong_result_says_where_and_how_much() -> None:
    shown = text.render(EXAMPLES["incorrect"])
    assert "3,201 of 65,536 elements wrong (4.88 %); tolerance: rtol 1e-04, atol 1e-04" in shown
    assert "|error| at most 0.482 at [3, 511], mean 0.0112" in shown
    assert "case default, trial 1" in shown
    assert "[17, 511]  0.0071208   nan" in shown


def test_a_benchmark_gives_medians_spread_and_interval() -> None:
    shown = text.render(EXAMPLES["passed_benchmark"])
    assert f"1.64{TIMES} the reference's speed over 3 cases: 2 faster, 1 no difference; worst: large" in shown
    (row,) = (line for line in shown.splitlines() if line.startswith("  small"))
    assert "6.21 µs (IQR 124 ns, n 240)" in row
    assert f"1.90{TIMES} [1.87{TIMES} to 1.92{TIMES}]" in row
    assert row.endswith("faster")


def test_an_untimed_case_says_why() -> None:
    (row,) = (line for line in text.render(EXAMPLES["not_checked"]).splitlines() if line.startswith("  tiny"))
    assert "below the timer's resolution (0.5 µs)" in row


def test_the_compilers_output_is_shown_where_it_is_the_evidence() -> None:
    assert "float e = expf_(row[j] - peak);" in text.render(EXAMPLES["compile_failed"])
    assert "block size 64" not in text.render(EXAMPLES["incorrect"])


def test_control_sequences_do_not_reach_the_terminal() -> None:
    hostile = dataclasses.replace(EXAMPLES["crashed"], log_tail=["\x1b[31mred\x1b[0m \x1b]0;title\x07end\x00", "10 %\r99 %\r"])
    shown = text.render(hostile)
    assert "red end" in shown
    assert "99 %" in shown
    assert "10 %" not in shown
    assert not any(ord(character) < 32 for character in shown.replace("\n", ""))
