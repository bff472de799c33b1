"""The publisher against a recording of what it sends; a small reader plays the page."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from kbeval_jupyter.widgets.log_buffer import LogBuffer
from kbeval_jupyter.widgets.publisher import BATCH_CHARACTERS, Publisher


class Page:
    """Puts messages together as the page does: no gap but after a replay."""

    def __init__(self) -> None:
        self.lines: dict[int, str] = {}
        self.next = 0
        self.partial: list[tuple[str, str]] = []
        self.times: list[float] = []
        self.states: list[float] = []
        self.changed = threading.Condition()

    def send(self, message: dict[str, Any]) -> None:
        json.dumps(message)
        with self.changed:
            self.times.append(time.monotonic())
            if message["from"] > self.next:
                assert message.get("replay"), "a gap that nobody explained"
                self.next = message["from"]
            for number, (_source, text) in enumerate(message["lines"], message["from"]):
                self.lines[number] = text
            self.next = max(self.next, message["from"] + len(message["lines"]))
            self.partial = message["partial"]
            self.changed.notify_all()

    def set_state(self) -> None:
        with self.changed:
            self.states.append(time.monotonic())
            self.changed.notify_all()

    def wait(self, condition: Any) -> None:
        with self.changed:
            assert self.changed.wait_for(condition, 10)


@pytest.fixture
def page() -> Page:
    return Page()


def publisher(log: LogBuffer, page: Page) -> Publisher:
    made = Publisher(log, page.send, page.set_state)
    made.start()
    return made


def test_fifty_thousand_lines_arrive_in_few_messages(page: Page) -> None:
    log = LogBuffer()
    view = publisher(log, page)
    for start in range(0, 50_000, 500):
        log.add("implementation", "".join(f"line {i} {'x' * 70}\n" for i in range(start, start + 500)))
        view.log_changed()
    page.wait(lambda: page.next == 50_000)
    view.close()
    assert page.lines == {i: f"line {i} {'x' * 70}" for i in range(50_000)}
    assert len(page.times) < 60
    assert all(later - earlier > 0.02 for earlier, later in zip(page.times, page.times[1:-1], strict=False))


def test_an_unfinished_line_is_shown_and_then_finished(page: Page) -> None:
    log = LogBuffer()
    view = publisher(log, page)
    log.add("build", "50 %")
    view.log_changed()
    page.wait(lambda: page.partial == [("build", "50 %")])
    log.add("build", "\r100 %\n")
    view.log_changed()
    page.wait(lambda: page.lines == {0: "50 %\r100 %"} and page.partial == [])
    view.close()


def test_a_reloaded_page_gets_every_line_again(page: Page) -> None:
    log = LogBuffer()
    view = publisher(log, page)
    log.add("judge", "".join(f"{i}\n" for i in range(1000)))
    view.log_changed()
    page.wait(lambda: page.next == 1000)
    page.lines.clear()
    page.next = 0
    view.replay(0)
    page.wait(lambda: len(page.lines) == 1000)
    view.close()


def test_a_page_of_an_evaluation_that_printed_nothing_gets_its_answer(page: Page) -> None:
    view = publisher(LogBuffer(), page)
    view.replay(0)
    page.wait(lambda: len(page.times) == 1)
    view.close()


def test_lines_that_are_gone_are_explained(page: Page) -> None:
    log = LogBuffer(capacity_lines=100)
    log.add("judge", "".join(f"{i}\n" for i in range(1000)))
    view = publisher(log, page)
    view.log_changed()
    page.wait(lambda: page.next == 1000)
    view.close()
    assert min(page.lines) > 800


def test_states_come_at_most_ten_times_a_second_and_the_last_one_always(page: Page) -> None:
    view = publisher(LogBuffer(), page)
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        view.state_changed()
    view.close()
    assert 3 <= len(page.states) <= 7
    assert page.states[-1] >= end


def test_closing_sends_what_is_left_at_once(page: Page) -> None:
    log = LogBuffer()
    view = publisher(log, page)
    log.add("judge", ("x" * 1000 + "\n") * (4 * BATCH_CHARACTERS // 1000))
    view.log_changed()
    view.close()
    assert page.next == log.end
    view.close()
