"""Frames between judge and worker: a 4-byte little-endian length, then at most 4 MB of strict JSON.

The worker runs foreign code, so everything it sends is checked here for form and nothing it sends can raise anything but the
errors below. Non-finite numbers have no JSON form in this protocol; trees send floats as hexadecimal text.
"""

from __future__ import annotations

import array
import contextlib
import json
import math
import os
import socket
import struct
import time
from typing import Any, NoReturn, Sequence

MAX_FRAME_BYTES = 4 << 20
MAX_DIGITS = 40
MAX_FDS = 8
_LENGTH = struct.Struct("<I")


class ProtocolBreachError(Exception):
    """The peer sent something that is not a message of this protocol."""


class PeerGoneError(Exception):
    """The peer closed the connection."""


class RequestTimeoutError(Exception):
    """The peer did not answer in time."""


def _refuse_constant(text: str) -> NoReturn:
    raise ProtocolBreachError(f"{text} is no strict JSON")


def _parse_int(text: str) -> int:
    if len(text) > MAX_DIGITS:  # parsing is quadratic in the length
        raise ProtocolBreachError("an integer of more than 40 digits")
    return int(text)


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):  # 1e999 is valid JSON and becomes infinity
        raise ProtocolBreachError("a number that is not finite")
    return value


def decode(body: bytes) -> dict[str, Any]:
    """The JSON object in ``body``; raises ProtocolBreachError for anything else."""
    try:
        message = json.loads(body, parse_constant=_refuse_constant, parse_int=_parse_int, parse_float=_parse_float)
    except (ValueError, RecursionError) as error:
        raise ProtocolBreachError(f"not JSON: {error}") from None
    if type(message) is not dict:
        raise ProtocolBreachError("not a JSON object")
    return message


class Channel:
    """One end of the socket between judge and worker."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def send(self, message: dict[str, Any], fds: Sequence[int] = ()) -> None:
        """Send one message, descriptors with it (judge to worker only)."""
        body = json.dumps(message, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
        if len(body) > MAX_FRAME_BYTES:
            raise ProtocolBreachError(f"a message of {len(body)} bytes; at most {MAX_FRAME_BYTES} are allowed")
        frame = _LENGTH.pack(len(body)) + body
        try:
            self.sock.settimeout(None)
            sent = 0
            if fds:
                sent = self.sock.sendmsg([frame], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
            if sent < len(frame):
                self.sock.sendall(memoryview(frame)[sent:])
        except (BrokenPipeError, ConnectionResetError):
            raise PeerGoneError("the other side closed the connection") from None

    def receive(self, timeout_s: float | None = None) -> dict[str, Any]:
        """One message. Plain ``recv``: the kernel drops descriptors that a worker attaches."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline))
        if length > MAX_FRAME_BYTES:
            raise ProtocolBreachError(f"a message of {length} bytes; at most {MAX_FRAME_BYTES} are allowed")
        return decode(self._exactly(length, deadline))

    def receive_with_fds(self) -> tuple[dict[str, Any], list[int]]:
        """One message and the descriptors sent with it: the worker's side, which trusts the judge."""
        head, ancillary, _, _ = self.sock.recvmsg(_LENGTH.size, socket.CMSG_SPACE(4 * MAX_FDS), socket.MSG_CMSG_CLOEXEC)
        if not head:
            raise PeerGoneError("the judge closed the connection")
        if len(head) < _LENGTH.size:
            head += self._exactly(_LENGTH.size - len(head), None)
        fds = array.array("i")
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        return decode(self._exactly(_LENGTH.unpack(head)[0], None)), list(fds)

    def _exactly(self, count: int, deadline: float | None) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            try:
                self.sock.settimeout(None if deadline is None else max(deadline - time.monotonic(), 1e-6))
                piece = self.sock.recv(min(count - len(parts), 1 << 20))
            except socket.timeout:
                raise RequestTimeoutError("no answer in time") from None
            except ConnectionResetError:
                piece = b""
            if not piece:
                raise PeerGoneError("the other side closed the connection")
            parts += piece
        return bytes(parts)

    def close(self) -> None:
        """Close the socket; never raises."""
        with contextlib.suppress(OSError):
            self.sock.close()


def close_fds(fds: Sequence[int]) -> None:
    """Close descriptors, whatever state they are in."""
    for fd in fds:
        with contextlib.suppress(OSError):
            os.close(fd)
