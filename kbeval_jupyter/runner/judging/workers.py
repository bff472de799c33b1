"""The judge's side of one worker: requests and answers, and the ways in which they can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from ..exchange.arena import Arena
from ..exchange.channel import Channel, PeerGoneError, ProtocolBreachError, RequestTimeoutError
from ..exchange.encoding import CannotTravelError
from ..exchange.tree import Node, decode

if TYPE_CHECKING:
    from ..supervision.nursery import WorkerProcess

EXIT_CHANNEL_LOST = 74  # sysexits.h EX_IOERR: how a worker leaves that cannot answer any more
FIRST_OUTPUT_BYTES = 4 << 20
MAX_TEXT = 64 << 10
GRACE_S = 2.0  # a worker that closed its socket has this long to leave by itself


class WorkerDied(Exception):  # noqa: N818 - says what happened to the worker; an outcome rather than an error
    """The worker is gone or useless; ``reason`` says how it ended. Nothing more can be asked of it.

    ``position`` is the trial of the request in which it ended, as far as it said so itself.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = 0


class RequestTimedOut(WorkerDied):
    """The worker did not answer in time and was killed."""


class WorkerFailed(Exception):  # noqa: N818 - likewise
    """The user's code raised in the worker, which lives on. ``kind``: see ``usercode.failures.describe``."""

    def __init__(self, kind: str, summary: str, traceback: str, op: str) -> None:
        super().__init__(summary)
        self.kind = kind
        self.summary = summary
        self.traceback = traceback
        self.importing = op == "load"  # raised by the module itself, not by a call


def _text(value: Any, limit: int = MAX_TEXT) -> str:
    return value[:limit] if type(value) is str else ""


class Worker:
    """One worker process; ``role`` says whose code it holds, ``outputs`` is the arena that it writes."""

    def __init__(self, process: WorkerProcess, role: str) -> None:
        self.process = process
        self.role = role
        self.channel = Channel(process.sock)
        self.dead = False
        self.outputs: Arena | None = None
        self._inputs: Arena | None = None

    def share(self, inputs: Arena, output_bytes: int = 0) -> Arena:
        """See to it that the worker maps this input arena and an output arena of at least that size; returns the latter."""
        outputs = self.outputs
        if inputs is self._inputs and outputs is not None and output_bytes <= outputs.size:
            return outputs
        if outputs is None or output_bytes > outputs.size:
            if outputs is not None:
                outputs.close()
            outputs = Arena.create(max(output_bytes, FIRST_OUTPUT_BYTES))
        self._inputs, self.outputs = inputs, outputs
        self.request("arenas", {}, [inputs.fd, outputs.fd])
        return outputs

    def tree(self, message: Any) -> Node:
        """The checked tree in an answer, whose tensors lie in ``outputs``. Raises WorkerDied where it is malformed."""
        try:
            return decode(message, 0 if self.outputs is None else self.outputs.size)
        except ProtocolBreachError as error:
            raise self.breach(str(error)) from None

    def request(
        self, op: str, fields: dict[str, Any] | None = None, fds: Sequence[int] = (), timeout_s: float | None = None
    ) -> dict[str, Any]:
        """Ask and wait. Raises WorkerFailed (the user's code raised) or WorkerDied (gone, silent, or breaks the protocol)."""
        self.send(op, fields, fds)
        return self.receive(op, timeout_s)

    def send(self, op: str, fields: dict[str, Any] | None = None, fds: Sequence[int] = ()) -> None:
        """First half of ``request``: for work of the judge's while the worker works."""
        if self.dead:
            raise WorkerDied("is gone")
        try:
            self.channel.send({"op": op, **(fields or {})}, fds)
        except ProtocolBreachError as error:
            raise CannotTravelError(f"outside their tensors they are too large: {error}") from None
        except (PeerGoneError, OSError):
            raise self._ended() from None

    def receive(self, op: str, timeout_s: float | None = None) -> dict[str, Any]:
        """Second half of ``request``."""
        try:
            reply = self.channel.receive(timeout_s)
        except (PeerGoneError, OSError):
            raise self._ended() from None
        except RequestTimeoutError:
            self.kill()
            raise RequestTimedOut(f"gave no answer to {op!r} within {timeout_s:g} s") from None
        except ProtocolBreachError as error:
            raise self.breach(str(error)) from None
        if type(reply.get("ok")) is dict:
            answer: dict[str, Any] = reply["ok"]
            return answer
        raise self.failure(reply.get("error"), op)

    def failure(self, told: Any, op: str) -> WorkerFailed:
        """The exception of the user's code that a worker tells of. Raises WorkerDied where it tells nothing."""
        if type(told) is not dict:
            raise self.breach("neither an answer nor an error")
        return WorkerFailed(_text(told.get("kind"), 20), _text(told.get("summary")), _text(told.get("traceback")), op)

    def breach(self, what: str) -> WorkerDied:
        """Kill a worker whose answers are not of the protocol; returns the error to raise."""
        self.kill()
        return WorkerDied(f"gave an answer that breaks the protocol: {what}")

    def _ended(self) -> WorkerDied:
        reason = self.process.exit_reason(GRACE_S)
        self.kill()
        if reason.endswith(f"status {EXIT_CHANNEL_LOST}"):
            reason = "lost its connection to the judge: the code closed a file descriptor that is not its own"
        return WorkerDied(reason)

    def stop(self) -> None:
        """Stop the process and all its descendants, so that they cannot disturb another's timing."""
        self.process.stop()

    def resume(self) -> None:
        """Let them go on."""
        self.process.resume()

    def kill(self) -> None:
        """End the process and all its descendants. Idempotent."""
        if not self.dead:
            self.dead = True
            self.process.kill()
            self.channel.close()
            if self.outputs is not None:
                self.outputs.close()
