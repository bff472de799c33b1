from __future__ import annotations

from kbeval_jupyter.widgets.log_buffer import LogBuffer


def test_lines_are_numbered_and_parts_are_joined_per_source() -> None:
    log = LogBuffer()
    log.add("implementation", "one\ntw")
    log.add("build", "a\n")
    log.add("implementation", "o\nthree")
    batch = log.read(0, 1000)
    assert batch.lines == [("implementation", "one"), ("build", "a"), ("implementation", "two")]
    assert (batch.first, batch.end, log.end) == (0, 3, 3)
    assert log.partial() == [("implementation", "three")]


def test_a_batch_is_bounded_but_never_empty_where_there_is_a_line() -> None:
    log = LogBuffer()
    log.add("judge", "x" * 100 + "\n" + "y" * 100 + "\n")
    assert len(log.read(0, 1).lines) == 1
    assert len(log.read(1, 1000).lines) == 1
    assert log.read(2, 1000).lines == []


def test_the_oldest_lines_go_and_the_numbers_stay() -> None:
    log = LogBuffer(capacity_lines=100)
    log.add("judge", "".join(f"{i}\n" for i in range(250)))
    batch = log.read(0, 1 << 20)
    assert batch.end == 250
    assert batch.first > 100
    assert batch.lines[0] == ("judge", str(batch.first))


def test_memory_is_bounded_by_characters_too() -> None:
    log = LogBuffer(capacity_characters=10_000)
    for _ in range(100):
        log.add("judge", "x" * 1000 + "\n")
    kept = log.read(0, 1 << 20)
    assert sum(len(text) for _source, text in kept.lines) <= 10_000
    assert kept.end == 100


def test_a_line_without_an_end_does_not_grow_for_ever() -> None:
    log = LogBuffer()
    for _ in range(100):
        log.add("implementation", "x" * 10_000)
    assert log.end > 0
    assert sum(len(text) for _source, text in log.partial()) <= 64 << 10
