"""The one private thread with an asyncio loop, on which everything asynchronous of ours runs.

A notebook kernel's own loop is not ours to use; on this one evaluations go on while cells come and go.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import contextvars
import os
import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

T = TypeVar("T")

_CANCEL_LIMIT_S = 5.0
_EXIT_LIMIT_S = 5.0


class Job(Generic[T]):
    """A coroutine on the loop. ``future`` is done when the coroutine is, its clean-up included."""

    def __init__(self, loop: asyncio.AbstractEventLoop, function: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self.future: concurrent.futures.Future[T] = concurrent.futures.Future()
        self.future.set_running_or_notify_cancel()  # only cancel() below ends it, so that clean-up is waited for
        self._loop = loop
        self._function = function
        self._task: asyncio.Task[T] | None = None
        # In an empty context: a notebook kernel keeps the cell's message there, and what is done later would be filed under it.
        contextvars.Context().run(loop.call_soon_threadsafe, self._start)

    def cancel(self) -> None:
        """Cancel it, from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nothing runs any more
            self._loop.call_soon_threadsafe(self._cancel)

    def wait(self) -> T:
        """Its result. An interrupt cancels it, waits shortly for the clean-up, and goes on to the caller."""
        try:
            return self.future.result()
        except KeyboardInterrupt:
            self.cancel()
            concurrent.futures.wait([self.future], timeout=_CANCEL_LIMIT_S)
            raise

    def _start(self) -> None:
        self._task = self._loop.create_task(self._function())
        self._task.add_done_callback(self._done)

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _done(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.future.set_exception(concurrent.futures.CancelledError())
        elif (error := task.exception()) is not None:
            self.future.set_exception(error)
        else:
            self.future.set_result(task.result())


class LoopThread:
    """A daemon thread that runs a loop until ``stop``."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.closers: list[Callable[[], Awaitable[None]]] = []
        self._thread = threading.Thread(target=self._run, name="kbeval-jupyter", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Cancel what runs, call the closers, end the thread."""
        with contextlib.suppress(concurrent.futures.CancelledError, concurrent.futures.TimeoutError):
            Job(self.loop, self._wind_up).future.result(_EXIT_LIMIT_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_EXIT_LIMIT_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    async def _wind_up(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for close in reversed(self.closers):
            await close()
        await self.loop.shutdown_asyncgens()


_lock = threading.Lock()
_current: LoopThread | None = None


def submit(function: Callable[[], Coroutine[Any, Any, T]]) -> Job[T]:
    """Run the coroutine that ``function`` makes on the loop; callable from any thread."""
    return Job(_loop_thread().loop, function)


def run(function: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run a coroutine on the loop and wait for it here; must not be called on the loop itself."""
    return submit(function).wait()


def at_exit(close: Callable[[], Awaitable[None]]) -> None:
    """Await ``close()`` on the loop when the interpreter ends; the last registered comes first."""
    _loop_thread().closers.append(close)


def on_loop() -> bool:
    """Whether the caller is on the loop's thread, where waiting would never end."""
    try:
        return _current is not None and asyncio.get_running_loop() is _current.loop
    except RuntimeError:
        return False


def _loop_thread() -> LoopThread:
    global _current
    with _lock:
        if _current is None:
            _current = LoopThread()
        return _current


def _stop() -> None:
    global _current
    with _lock:
        thread, _current = _current, None
    if thread is not None:
        thread.stop()


def _forget() -> None:
    """A forked child has no such thread; it gets its own when it needs one."""
    global _lock, _current
    _lock = threading.Lock()
    _current = None


atexit.register(_stop)
os.register_at_fork(after_in_child=_forget)
