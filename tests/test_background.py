from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import signal
import subprocess
import sys
import threading

import pytest

from kbeval_jupyter import background

variable = contextvars.ContextVar("variable", default="unset")


async def where() -> tuple[str, str]:
    return threading.current_thread().name, variable.get()


def test_it_runs_on_one_thread_in_an_empty_context() -> None:
    token = variable.set("the cell's")
    first, second = background.run(where), background.run(where)
    variable.reset(token)
    assert first == second == ("kbeval-jupyter", "unset")


def test_errors_come_to_the_caller() -> None:
    async def fail() -> None:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        background.run(fail)


def test_cancel_from_another_thread_waits_for_the_clean_up() -> None:
    started = threading.Event()
    cleaned = []

    async def work() -> None:
        try:
            started.set()
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.05)
            cleaned.append(True)

    job = background.submit(work)
    assert started.wait(5)
    job.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        job.future.result(5)
    assert cleaned


def test_an_interrupt_cancels_and_goes_on_to_the_caller() -> None:
    cleaned = []

    async def work() -> None:
        try:
            asyncio.get_running_loop().call_later(0.2, os.kill, os.getpid(), signal.SIGINT)  # while the caller waits
            await asyncio.sleep(1000)
        finally:
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt):
        background.run(work)
    assert cleaned


SCRIPT = """
import asyncio, sys
from kbeval_jupyter import background
async def work():
    try:
        process = await asyncio.create_subprocess_exec("sleep", "1000")
        started.set()
        await asyncio.sleep(1000)
    finally:
        process.kill()
        await process.wait()
        print("cleaned")
async def close():
    print("closed")
import threading
started = threading.Event()
background.at_exit(close)
background.submit(work)
started.wait()
"""


def test_the_interpreter_ends_cleanly_with_work_under_way() -> None:
    result = subprocess.run([sys.executable, "-W", "error", "-X", "dev", "-c", SCRIPT], capture_output=True, timeout=20)
    assert result.stdout.decode().split() == ["cleaned", "closed"]
    assert result.stderr == b""
    assert result.returncode == 0


FORK = """
import os
from kbeval_jupyter import background
async def pid():
    return os.getpid()
assert background.run(pid) == os.getpid()
child = os.fork()
if child == 0:
    assert background.run(pid) == os.getpid()
    raise SystemExit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert background.run(pid) == os.getpid()
"""


def test_a_forked_child_gets_a_thread_of_its_own() -> None:
    result = subprocess.run([sys.executable, "-W", "error", "-c", FORK], capture_output=True, timeout=20)
    assert (result.returncode, result.stderr) == (0, b"")


def test_waiting_on_the_loop_itself_is_told() -> None:
    async def inside() -> bool:
        return background.on_loop()

    assert background.run(inside)
    assert not background.on_loop()
