"""Who follows an evaluation: the connection that started it, and later ones through the control socket.

A client sends one byte (``CANCEL``) or goes; it gets one line of JSON, then a bell for each event.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import struct
from typing import Any, Callable

from . import processes
from .run_protocol import BELL, CANCEL, CONTROL


def peer(connection: socket.socket) -> tuple[int, int]:
    """Process id and user id at the other end of a unix socket."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", credentials)
    return pid, uid


def allowed(connection: socket.socket, ancestor: int) -> bool:
    """Whether the peer is this user (or root), and not below ``ancestor``: workers may not connect back."""
    pid, uid = peer(connection)
    return uid in (os.geteuid(), 0) and not processes.is_descendant(pid, ancestor)


def greeting(message: dict[str, Any]) -> bytes:
    """The first line that a client gets."""
    return json.dumps(message).encode() + b"\n"


class Clients:
    """All connections of one evaluation. ``on_cancel`` is called when one asks for the end, ``on_alone`` when the last went."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        run_dir: str,
        on_cancel: Callable[[], None],
        on_alone: Callable[[bool], None],
    ) -> None:
        self._selector = selector
        self._on_cancel = on_cancel
        self._on_alone = on_alone
        self._welcome = greeting({"run_dir": run_dir})
        self._connections: set[socket.socket] = set()
        # The supervisor's working directory is the run directory, so that no path is too long for a socket.
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(CONTROL)
        self._listener.listen(8)
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def add(self, connection: socket.socket) -> None:
        """Greet a client and listen to it."""
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            connection.send(self._welcome)
        self._connections.add(connection)
        self._selector.register(connection, selectors.EVENT_READ, lambda: self._read(connection))
        self._on_alone(False)

    def ring(self) -> None:
        """Tell every client that the event file has grown. A full buffer already holds bells enough."""
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.send(BELL)

    def close(self) -> None:
        """Let all clients go: the end of the connection says that the file is complete."""
        for connection in self._connections:
            connection.close()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ConnectionError):
            connection, _ = self._listener.accept()
            if allowed(connection, os.getpid()):
                self.add(connection)
            else:
                connection.close()

    def _read(self, connection: socket.socket) -> None:
        try:
            data = connection.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if CANCEL in data:
            self._on_cancel()
        if not data:
            self._selector.unregister(connection)
            self._connections.remove(connection)
            connection.close()
            if not self._connections:
                self._on_alone(True)
