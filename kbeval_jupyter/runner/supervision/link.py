"""The link: JSON lines on its standard streams, many evaluations at once. Standard library only, quick to start.

It holds no state that matters: events are read from each evaluation's file, so a new link goes on where an old one ended,
and a client that reads slowly only makes the link wait.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import struct
import sys

from ..identity import RUNNER
from .following import Following, GoneError

TYPE_CHECKING = False  # see main.py
if TYPE_CHECKING:
    from typing import Any

    from .launch import StartingServer

_OUT_LIMIT_BYTES = 1 << 20
_REQUEST_LIMIT_BYTES = 1 << 30
_CANCELLED = (
    b'{"kind":"finished","seq":0,"t":0.0,"verdict":"cancelled","reason":"cancelled before it started",'
    b'"input_secret":null,"error":null}'
)
_ID = re.compile(r"[A-Za-z0-9_.-]{1,80}\Z")


class Link:
    """The event loop over the client's streams, the server that is being started, and every evaluation."""

    def __init__(self) -> None:
        # Whatever prints by mistake must not break the protocol.
        self._out_fd = os.dup(1)
        os.dup2(2, 1)
        os.set_blocking(self._out_fd, False)
        self._out = bytearray()
        self._in = bytearray()
        self._selector = selectors.DefaultSelector()
        self._selector.register(0, selectors.EVENT_READ, self._on_client)
        self._writing = False
        self._evaluations: dict[str, Following] = {}
        self._plans: dict[str, bytes] = {}  # framed; kept until the supervisor has greeted
        self._retried: set[str] = set()
        self._starting: StartingServer | None = None
        self._server: str | None = None
        self._open = True

    def run(self) -> None:
        """Serve until the client closes our standard input."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # a server that leaves while we live is no zombie
        self._say({"kind": "hello", "runner": RUNNER, "python": sys.version.split()[0], "executable": sys.executable,
                   "user": os.environ.get("USER", str(os.geteuid())), "cpus": len(os.sched_getaffinity(0))})  # fmt: skip
        while self._open:
            more = self._pump()
            for key, _ in self._selector.select(0 if more else None):
                key.data()

    # --- the client -----------------------------------------------------------------------------------------------------

    def _on_client(self) -> None:
        data = os.read(0, 1 << 18)
        if not data:
            self._open = False
            return
        self._in += data
        while True:
            line, newline, rest = self._in.partition(b"\n")
            if not newline:
                break
            self._in = rest
            self._take(bytes(line))
        if len(self._in) > _REQUEST_LIMIT_BYTES:
            self._open = False

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
            operation, evaluation_id = message["op"], message["id"]
            if not _ID.match(evaluation_id):
                raise ValueError(evaluation_id)
        except (ValueError, KeyError, TypeError) as error:
            self._say({"kind": "failed", "id": None, "error": _error("protocol", f"not understood: {line[:100]!r} ({error})")})
            return
        if operation == "run" and evaluation_id not in self._evaluations:
            body = json.dumps(message.get("plan")).encode()
            self._plans[evaluation_id] = struct.pack("<I", len(body)) + body
            self._evaluations[evaluation_id] = Following(evaluation_id)
            self._submit(evaluation_id)
        elif operation == "follow" and evaluation_id not in self._evaluations:
            self._follow(evaluation_id, str(message.get("run_dir")), int(message.get("after", -1)))
        elif operation == "cancel":
            self._cancel(evaluation_id)
        else:
            self._fail(evaluation_id, _error("protocol", f"cannot {operation!r} evaluation {evaluation_id} now"))

    def _follow(self, evaluation_id: str, run_dir: str, after: int) -> None:
        following = Following(evaluation_id, after)
        try:
            following.attach(run_dir)
        except OSError as error:
            self._fail(evaluation_id, _error("gone", f"no evaluation to follow in {run_dir}: {error.strerror}"))
            return
        self._evaluations[evaluation_id] = following
        following.hungry = True
        if following.connection is not None:
            self._selector.register(following.connection, selectors.EVENT_READ, lambda: self._on_supervisor(following))

    def _cancel(self, evaluation_id: str) -> None:
        following = self._evaluations.get(evaluation_id)
        if following is None:
            return  # has ended meanwhile
        if following.connection is None and not following.run_dir:  # the server is still starting
            self._out += following.prefix + _CANCELLED + b"\n"
            self._forget(evaluation_id)
        following.cancel()

    # --- the server -----------------------------------------------------------------------------------------------------

    def _submit(self, evaluation_id: str) -> None:
        from .launch import server_socket

        following = self._evaluations[evaluation_id]
        try:
            self._server = self._server or server_socket()
            following.submit(self._server, self._plans[evaluation_id])
        except (FileNotFoundError, ConnectionRefusedError):
            self._start_server(evaluation_id)
        except OSError as error:
            self._lost(evaluation_id, error)
        else:
            assert following.connection is not None
            self._selector.register(following.connection, selectors.EVENT_READ, lambda: self._on_supervisor(following))

    def _lost(self, evaluation_id: str, error: OSError | None = None) -> None:
        """A server that is just leaving may drop a connection; a second time there is something wrong."""
        if evaluation_id not in self._retried:
            self._retried.add(evaluation_id)
            self._submit(evaluation_id)
            return
        cause = f": {error}" if error else ""
        self._fail(evaluation_id, _error("server_failed", f"the server of {sys.executable} did not take the evaluation{cause}"))

    def _start_server(self, evaluation_id: str) -> None:
        from .launch import StartingServer

        assert self._server is not None
        if self._starting is None:
            try:
                self._starting = StartingServer(self._server)
            except OSError as error:
                self._fail(evaluation_id, _error("server_failed", f"the server could not be started: {error}"))
                return
            self._selector.register(self._starting.fd, selectors.EVENT_READ, self._on_server)
        self._starting.waiting.append(evaluation_id)

    def _on_server(self) -> None:
        starting = self._starting
        assert starting is not None
        self._selector.unregister(starting.fd)
        outcome = starting.outcome()
        if outcome is None:
            self._selector.register(starting.fd, selectors.EVENT_READ, self._on_server)
            return
        self._starting = None
        for evaluation_id in starting.waiting:
            if evaluation_id not in self._evaluations:
                continue  # cancelled meanwhile
            if "error" in outcome:
                self._fail(evaluation_id, outcome["error"])
            else:
                self._submit(evaluation_id)

    # --- evaluations ----------------------------------------------------------------------------------------------------

    def _on_supervisor(self, following: Following) -> None:
        connection = following.connection
        assert connection is not None
        try:
            greeting = following.on_readable()
        except GoneError:
            self._selector.unregister(connection)
            self._lost(following.id)
            return
        if following.connection is None:
            self._selector.unregister(connection)
        if greeting is not None:
            self._plans.pop(following.id, None)
            if "error" in greeting:
                self._fail(following.id, greeting["error"])
            else:
                self._say({"kind": "accepted", "id": following.id, "run_dir": greeting["run_dir"]})

    def _pump(self) -> bool:
        """Move event lines into the output while the client takes them; the files are the buffer for what it does not.

        Whether there is more that it would take now: nothing but us would then wake the loop.
        """
        while len(self._out) < _OUT_LIMIT_BYTES:
            hungry = [following for following in self._evaluations.values() if following.hungry]
            if not hungry:
                break
            for following in hungry:
                self._out += following.read()
                if following.finished:
                    self._forget(following.id)
                elif following.abandoned:
                    self._fail(following.id, _error("supervisor_died", "the evaluation's supervisor was killed"))
        self._flush()
        return not self._writing and any(following.hungry for following in self._evaluations.values())

    def _fail(self, evaluation_id: str, error: dict[str, str]) -> None:
        self._say({"kind": "failed", "id": evaluation_id, "error": error})
        self._forget(evaluation_id)

    def _forget(self, evaluation_id: str) -> None:
        following = self._evaluations.pop(evaluation_id, None)
        self._plans.pop(evaluation_id, None)
        self._retried.discard(evaluation_id)
        if following is not None:
            if following.connection is not None:
                self._selector.unregister(following.connection)
            following.close()

    # --- out ------------------------------------------------------------------------------------------------------------

    def _say(self, message: dict[str, Any]) -> None:
        self._out += b"- " + json.dumps(message).encode() + b"\n"
        self._flush()

    def _flush(self) -> None:
        try:
            while self._out:
                del self._out[: os.write(self._out_fd, self._out[: 1 << 18])]
        except BlockingIOError:
            pass
        except OSError:  # nobody reads any more
            self._open = False
            self._out.clear()
        if bool(self._out) != self._writing:
            self._writing = bool(self._out)
            if self._writing:
                self._selector.register(self._out_fd, selectors.EVENT_WRITE, self._flush)
            else:
                self._selector.unregister(self._out_fd)


def _error(kind: str, message: str, hint: str = "") -> dict[str, str]:
    return {"kind": kind, "message": message, "hint": hint}
