import tracemalloc

import pytest

from kbeval_jupyter.model.log_tail import LINE_CHARACTERS, LogTail


def tail(*pieces: str) -> list[str]:
    log = LogTail(lines=3)
    for piece in pieces:
        log.add("implementation", piece)
    return log.lines()


@pytest.mark.parametrize(
    ("pieces", "lines"),
    [
        (["a\nb\n"], ["a", "b"]),
        (["a\nb\nc\nd\ne\n"], ["c", "d", "e"]),
        (["he", "llo\nwor", "ld"], ["hello", "world"]),
        (["a\n\nb\n"], ["a", "", "b"]),
        (["10%\r50%\r100%\ndone\n"], ["100%", "done"]),
        (["10%\r", "50%\r", "100%", "\n"], ["100%"]),
        (["50%\r"], ["50%"]),
        (["50%\r", "\n"], ["50%"]),
        (["windows\r\nlines\r", "\n"], ["windows", "lines"]),
        ([""], []),
        (["\n"], [""]),
    ],
)
def test_lines_as_a_terminal_shows_them(pieces: list[str], lines: list[str]) -> None:
    assert tail(*pieces) == lines


def test_one_piece_may_hold_more_lines_than_are_kept() -> None:
    assert tail("first", "\n".join(map(str, range(1000))) + "\nlast") == ["998", "999", "last"]


def test_sources_do_not_mix_within_a_line() -> None:
    log = LogTail()
    log.add("implementation", "one ")
    log.add("reference", "two\n")
    log.add("implementation", "half\n")
    assert log.lines() == ["two", "one half"]


def test_a_line_without_end_takes_bounded_memory() -> None:
    log = LogTail()
    tracemalloc.start()
    for _ in range(200):
        log.add("implementation", "z" * (1 << 20))
        log.add("reference", "step\r" * 1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20
    assert log.lines() == ["z" * LINE_CHARACTERS + "…", "step"]
