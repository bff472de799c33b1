from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from typing import Any

import pytest

from kbeval_jupyter.errors import Cancelled
from kbeval_jupyter.notebook import hybrid
from tests.rendering.examples import EXAMPLES

CALL = "get_ipython().run_cell_magic('kernelbench', '--ref x', 'body')"
AWAITED = "await get_ipython().run_cell_magic('_kernelbench_awaited', '--ref x', 'body')"


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (f"{CALL}\n", f"{AWAITED}\n"),
        (f"été = 'é'; x = {CALL}\n", f"été = 'é'; x = {AWAITED}\n"),
        (f"{CALL}\ny = 1\n{CALL}\n", f"{AWAITED}\ny = 1\n{AWAITED}\n"),
        (f"{CALL}; {CALL}\n", f"{AWAITED}; {AWAITED}\n"),
        ("x = get_ipython().run_line_magic('kernelbench', '--impl k.py')\n",
         "x = await get_ipython().run_line_magic('_kernelbench_awaited', '--impl k.py')\n"),
    ],
)  # fmt: skip
def test_top_level_statements_await(cell: str, expected: str) -> None:
    assert "".join(hybrid.with_await(cell.splitlines(keepends=True), lambda _line: True)) == expected


@pytest.mark.parametrize(
    "cell",
    [
        f"def f():\n    return {CALL}\n",
        f"if True:\n    {CALL}\n",
        f'text = """\n{CALL}\n"""\n',
        "get_ipython().run_cell_magic('time', '', 'get_ipython().run_cell_magic(\\'kernelbench\\', ...)')\n",
        f"{CALL}\nsyntax error\n",
        "print('kernelbench')\n",
        "get_ipython().run_cell_magic('kernelbench', '', '')\n",
        f"{CALL}\nx = {'(' * 5000}1{')' * 5000}\n",
    ],
)
def test_everything_else_stays(cell: str) -> None:
    assert "".join(hybrid.with_await(cell.splitlines(keepends=True), lambda _line: True)) == cell


def test_commands_stay() -> None:
    cell = ["get_ipython().run_line_magic('kernelbench', 'history')\n"]
    assert hybrid.with_await(cell, lambda line: line != "history") == cell


class Running:
    """An evaluation that ends when it is told to, or never."""

    def __init__(self, *, obeys: bool = True) -> None:
        self.future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self.cancelled = threading.Event()
        self._obeys = obeys

    def cancel(self) -> None:
        self.cancelled.set()
        if self._obeys:
            self.future.set_result(EXAMPLES["cancelled"])


def test_the_result_comes_through_both_ways() -> None:
    running = Running()
    running.future.set_result(EXAMPLES["passed"])
    assert hybrid.wait_blocking(running, lambda: None) is EXAMPLES["passed"]
    assert asyncio.run(hybrid.wait_awaiting(running, lambda: None)) is EXAMPLES["passed"]


def test_the_pump_runs_while_waiting() -> None:
    running = Running()
    calls = iter((lambda: None, lambda: running.future.set_result(EXAMPLES["passed"])))
    assert hybrid.wait_blocking(running, lambda: next(calls)()) is EXAMPLES["passed"]


@pytest.mark.parametrize("obeys", [True, False])
def test_an_interrupt_stops_the_evaluation_and_ends_in_time(*, obeys: bool) -> None:
    running = Running(obeys=obeys)

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(Cancelled, match=r"^evaluation cancelled by interrupt after \d\.\d s$"):
        hybrid.wait_blocking(running, interrupt)
    assert running.cancelled.is_set()


@pytest.mark.parametrize("obeys", [True, False])
def test_cancelling_the_awaiting_task_stops_the_evaluation(*, obeys: bool) -> None:
    running = Running(obeys=obeys)

    async def cell() -> None:
        task = asyncio.create_task(hybrid.wait_awaiting(running, lambda: None))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(Cancelled, match="by interrupt"):
        asyncio.run(cell())
    assert running.cancelled.is_set()


def test_cancelled_by_the_button() -> None:
    running = Running()
    running.cancel()
    with pytest.raises(Cancelled, match=r"^evaluation cancelled after"):
        hybrid.wait_blocking(running, lambda: None)


def test_what_the_evaluation_raised_is_raised() -> None:
    running = Running()
    running.future.set_exception(OSError("broken"))
    with pytest.raises(OSError, match="broken"):
        asyncio.run(hybrid.wait_awaiting(running, lambda: None))
