"""One magic, two ways to wait.

A cell that blocks the kernel keeps the page's messages (the Cancel button) from being handled. IPython has no asynchronous
magics, so a ``%%kernelbench`` that is a top-level statement of its cell is rewritten to ``await`` a twin; inside ``%%time``,
``%%capture`` or a call from code, where nothing can be awaited, the plain magic blocks. Both end within a second when they are
interrupted or cancelled.
"""

from __future__ import annotations

import ast
import asyncio
import concurrent.futures
import time
from typing import TYPE_CHECKING, Any, Protocol

from kbeval_jupyter.errors import Cancelled

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbeval_jupyter.model.result import EvaluationResult

MAGIC = "kernelbench"
AWAITED_TWIN = "_kernelbench_awaited"
HEARTBEAT_S = 0.05  # ipykernel's interrupt of an awaited cell takes effect at the loop's next wake-up
_GRACE_S = 0.7  # for the evaluation to say that it ended, once it was told to
_MAGIC_CALLS = ("run_cell_magic", "run_line_magic")


class Waitable(Protocol):
    """What is waited for: a running evaluation."""

    future: concurrent.futures.Future[EvaluationResult]

    def cancel(self) -> None:
        """Stop it; any thread."""


def wait_blocking(running: Waitable, pump: Callable[[], None]) -> EvaluationResult:
    """Wait on the calling thread; KeyboardInterrupt stops the evaluation. Raises Cancelled, or what the evaluation raised."""
    start = time.monotonic()
    try:
        while not concurrent.futures.wait([running.future], HEARTBEAT_S).done:
            pump()
    except KeyboardInterrupt:
        running.cancel()
        concurrent.futures.wait([running.future], _GRACE_S)
        raise _cancelled("by interrupt", start) from None
    return _outcome(running, start)


async def wait_awaiting(running: Waitable, pump: Callable[[], None]) -> EvaluationResult:
    """Wait on the kernel's loop, which handles messages meanwhile. Nothing here may block: it could not be interrupted."""
    start = time.monotonic()
    try:
        while not running.future.done():
            await asyncio.sleep(HEARTBEAT_S)
            pump()
    except asyncio.CancelledError:
        running.cancel()
        give_up = time.monotonic() + _GRACE_S
        while not running.future.done() and time.monotonic() < give_up:  # noqa: ASYNC110 - see HEARTBEAT_S
            await asyncio.sleep(HEARTBEAT_S / 5)
        raise _cancelled("by interrupt", start) from None
    return _outcome(running, start)


def _outcome(running: Waitable, start: float) -> EvaluationResult:
    try:
        result = running.future.result()
    except concurrent.futures.CancelledError:
        raise _cancelled("", start) from None
    if result.verdict == "cancelled":
        raise _cancelled("", start)
    return result


def _cancelled(how: str, start: float) -> Cancelled:
    words = f"evaluation cancelled {how}".rstrip()
    return Cancelled(f"{words} after {time.monotonic() - start:.1f} s")


class CellDepth:
    """Whether code is transformed as a whole cell or from inside one (``%%time`` and ``%%capture`` run cells of their own)."""

    def __init__(self, shell: Any) -> None:
        self._depth = 1  # %load_ext itself runs in a cell
        self._events = shell.events
        self._events.register("pre_run_cell", self._enter)
        self._events.register("post_run_cell", self._leave)

    @property
    def outside(self) -> bool:
        """No cell is running: what is transformed now is a cell of its own."""
        return self._depth == 0

    def close(self) -> None:
        """Take the hooks out."""
        self._events.unregister("pre_run_cell", self._enter)
        self._events.unregister("post_run_cell", self._leave)

    def _enter(self, _info: Any = None) -> None:
        self._depth += 1

    def _leave(self, _result: Any = None) -> None:
        self._depth = max(0, self._depth - 1)


def with_await(lines: list[str], runs_evaluation: Callable[[str], bool]) -> list[str]:
    """A transformed cell whose top-level evaluation statements await the twin; other cells come back as they are.

    ``runs_evaluation`` tells for the magic's argument line whether it evaluates; ``%kernelbench history`` does not.
    """
    if not any(f"magic('{MAGIC}'" in line for line in lines):
        return lines
    try:
        tree = compile("".join(lines), "<cell>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return lines  # the cell's own error message is better than ours
    calls = [node.value for node in tree.body if isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Call)]
    rows = [line.encode() for line in lines]  # the tree counts columns in bytes
    for call in reversed([call for call in calls if _is_evaluation(call, runs_evaluation)]):
        name = call.args[0]
        row = rows[name.lineno - 1]
        row = row[: name.col_offset] + repr(AWAITED_TWIN).encode() + row[name.end_col_offset :]
        rows[name.lineno - 1] = row[: call.col_offset] + b"await " + row[call.col_offset :]
    return [row.decode() for row in rows]


def _is_evaluation(call: ast.Call, runs_evaluation: Callable[[str], bool]) -> bool:
    """``get_ipython().run_cell_magic('kernelbench', 'arguments', …)`` on one line, as IPython writes it."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and function.attr in _MAGIC_CALLS and len(call.args) >= 2):
        return False
    name, arguments, *body = call.args
    if body and isinstance(body[0], ast.Constant) and not body[0].value:
        return False  # an empty cell: IPython's message about it should name the magic that the user wrote
    if not (isinstance(name, ast.Constant) and name.value == MAGIC and name.lineno == name.end_lineno == call.lineno):
        return False
    return isinstance(arguments, ast.Constant) and isinstance(arguments.value, str) and runs_evaluation(arguments.value)
