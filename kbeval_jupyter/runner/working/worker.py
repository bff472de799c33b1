"""What runs beside the implementation: answers the judge's requests. Untrusted as a whole; never sees a secret or a verdict.

A request is ``{"op": name, …fields}``; the answer is ``{"ok": {…}}`` or ``{"error": {kind, summary, traceback}}``.
Operations are functions of (state, fields, descriptors) in ``OPERATIONS``; other modules may add theirs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable

from ..exchange.channel import Channel, PeerGoneError, ProtocolBreachError
from ..judging.workers import EXIT_CHANNEL_LOST
from ..usercode import failures
from . import device_start, worker_call, worker_defense, worker_load, worker_timing
from .worker_state import WorkerState

if TYPE_CHECKING:
    import socket

Operation = Callable[[WorkerState, dict[str, Any], list[int]], dict[str, Any]]

OPERATIONS: dict[str, Operation] = {
    **device_start.OPERATIONS,
    **worker_load.OPERATIONS,
    **worker_call.OPERATIONS,
    **worker_timing.OPERATIONS,
    **worker_defense.OPERATIONS,
}


def _answer(state: WorkerState, message: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    try:
        operation = OPERATIONS[str(message["op"])]
        return {"ok": operation(state, message, fds)}
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the user's code are answers too
        return {"error": failures.describe(error, state.folder)}


def serve(sock: socket.socket) -> None:
    """Answer requests until the judge closes the connection, then leave the process. Never returns."""
    channel = Channel(sock)
    state = WorkerState()
    send, leave = channel.send, os._exit  # bound before the user's code can patch them
    while True:
        try:
            message, fds = channel.receive_with_fds()
        except (PeerGoneError, ProtocolBreachError, OSError):
            leave(EXIT_CHANNEL_LOST)
        reply = _answer(state, message, fds)
        try:
            send(reply)
        except ProtocolBreachError as error:
            summary = f"OverflowError: the result is too large outside its tensors: {error}"
            send({"error": {"kind": "raise", "summary": summary, "traceback": ""}})
        except (PeerGoneError, OSError):
            leave(EXIT_CHANNEL_LOST)
