from __future__ import annotations

import os
from typing import Any

import pytest

from kbeval_jupyter.runner.supervision.logs import TAIL_CHARACTERS, LogBudget, LogPipe, TextLines, output_pipe


def fed(lines: TextLines, *pieces: bytes) -> str:
    return "".join(map(lines.feed, pieces)) + lines.end()


@pytest.mark.parametrize("limit", [0, 100])
def test_characters_that_arrive_in_pieces_are_whole(limit: Any) -> None:
    data = "añ€😀\n".encode()
    assert fed(TextLines(limit), *(data[i : i + 1] for i in range(len(data)))) == "añ€😀\n"


@pytest.mark.parametrize("limit", [0, 100])
def test_what_is_no_utf8_is_replaced(limit: Any) -> None:
    assert fed(TextLines(limit), b"\xffa\xe2\x82", b"b\n\xe2\x82") == "\ufffda\ufffdb\n\ufffd"


def test_a_long_line_is_cut_and_says_by_how_much() -> None:
    lines = TextLines(10)
    assert fed(lines, b"12345", b"67890abc", b"def", b"\nnext\n") == "1234567890… [6 bytes cut]\nnext\n"


def test_a_long_line_that_never_ends_is_cut_too() -> None:
    assert fed(TextLines(4), b"123456") == "1234… [2 bytes cut]"


def test_a_character_on_the_limit_is_not_torn() -> None:
    assert fed(TextLines(4), "abc€def\n".encode()) == "abc… [5 bytes cut]\n"


def test_a_progress_bar_with_carriage_returns_is_many_short_lines() -> None:
    bar = b"12345678\r" * 100
    assert fed(TextLines(10), bar) == bar.decode()
    assert fed(TextLines(10), b"1234567890\r\nab\r", b"\ncd") == "1234567890\r\nab\r\ncd"


def test_the_budget_keeps_the_newest_and_counts_the_rest() -> None:
    budget = LogBudget(100)
    assert budget.admit("implementation", "a" * 90)
    assert not budget.admit("implementation", "b" * 20)
    assert not budget.admit("reference", "c")  # would fit, but something before it was left out
    for _ in range(100):
        assert not budget.admit("reference", "d" * 1000)
    assert budget.dropped_bytes == 20 + 1 + 100_000
    tail = budget.tail()
    assert sum(len(text) for _, text in tail) == TAIL_CHARACTERS
    assert {source for source, _ in tail} == {"reference"}
    assert budget.dropped_bytes == 100_021 - TAIL_CHARACTERS


def test_a_small_excess_arrives_whole_at_the_end() -> None:
    budget = LogBudget(3)
    assert not budget.admit("judge", "four")
    assert budget.tail() == [("judge", "four")]
    assert budget.dropped_bytes == 0


def test_no_limit() -> None:
    budget = LogBudget(0)
    assert budget.admit("judge", "x" * 1_000_000)
    assert budget.tail() == []


def test_a_pipe_is_drained_without_blocking_and_ends_with_its_writers() -> None:
    read_end, write_end = output_pipe()
    got = []
    pipe = LogPipe("judge", read_end, lambda source, text: got.append((source, text)))
    pipe.start(100)
    pipe.drain()
    assert got == []
    os.write(write_end, "one\ntwo ä".encode()[:-1])
    pipe.drain()
    assert got == [("judge", "one\ntwo ")]
    os.close(write_end)
    pipe.drain()
    assert not pipe.open
    pipe.close()
    pipe.close()
    assert got[1:] == [("judge", "\ufffd")]
