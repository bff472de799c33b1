import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kbeval_jupyter.runner.exchange.channel import (
    MAX_FRAME_BYTES,
    Channel,
    PeerGoneError,
    ProtocolBreachError,
    RequestTimeoutError,
    close_fds,
    decode,
)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    left, right = socket.socketpair()
    yield Channel(left), Channel(right)
    left.close()
    right.close()


def test_message_and_descriptors_arrive(ends: tuple[Channel, Channel]) -> None:
    judge, worker = ends
    fd = os.memfd_create("x")
    os.write(fd, b"hello")
    judge.send({"op": "x", "text": "ü\ud800"}, [fd])
    message, fds = worker.receive_with_fds()
    assert message == {"op": "x", "text": "ü\ud800"}
    assert os.pread(fds[0], 10, 0) == b"hello"
    close_fds([fd, *fds])


def test_large_message_needs_several_reads(ends: tuple[Channel, Channel]) -> None:
    judge, worker = ends
    pid = os.fork()
    if pid == 0:
        worker.send({"text": "x" * (3 << 20)})
        os._exit(0)
    assert len(judge.receive()["text"]) == 3 << 20
    os.waitpid(pid, 0)


def test_descriptors_of_a_worker_are_dropped(ends: tuple[Channel, Channel]) -> None:
    judge, worker = ends
    before = len(list(Path("/proc/self/fd").iterdir()))
    fd = os.memfd_create("evil")
    worker.send({"a": 1}, [fd])
    assert judge.receive() == {"a": 1}
    assert len(list(Path("/proc/self/fd").iterdir())) == before + 1
    close_fds([fd])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"1",
        b'"x"',
        b"{",
        b"\xff\xfe{}",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 41 + b"}",
        b'{"a": ' * 100_000,
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"{} {}",
    ],
)
def test_what_is_no_message_is_a_breach(ends: tuple[Channel, Channel], body: bytes) -> None:
    judge, worker = ends
    with pytest.raises(ProtocolBreachError):
        decode(body)
    if len(body) < 100_000:  # larger ones do not fit into the socket's buffer
        worker.sock.sendall(struct.pack("<I", len(body)) + body)
        with pytest.raises(ProtocolBreachError):
            judge.receive()


def test_finite_numbers_are_fine() -> None:
    assert decode(json.dumps({"a": [1, -2.5, 1e300, 0]}).encode()) == {"a": [1, -2.5, 1e300, 0]}


def test_announced_length_is_checked_before_anything_is_read(ends: tuple[Channel, Channel]) -> None:
    judge, worker = ends
    worker.sock.sendall(struct.pack("<I", MAX_FRAME_BYTES + 1))
    with pytest.raises(ProtocolBreachError, match="4194305 bytes"):
        judge.receive()
    with pytest.raises(ProtocolBreachError):
        judge.send({"a": "x" * MAX_FRAME_BYTES})


@pytest.mark.parametrize("sent", [b"", b"\x05", struct.pack("<I", 100) + b'{"a"'])
def test_end_of_the_peer(ends: tuple[Channel, Channel], sent: bytes) -> None:
    judge, worker = ends
    worker.sock.sendall(sent)
    worker.close()
    with pytest.raises(PeerGoneError):
        judge.receive()
    with pytest.raises(PeerGoneError):
        judge.send({"a": 1})


def test_silence_ends_in_a_timeout(ends: tuple[Channel, Channel]) -> None:
    judge, worker = ends
    with pytest.raises(RequestTimeoutError):
        judge.receive(0.01)
    worker.sock.sendall(b"\x10")
    with pytest.raises(RequestTimeoutError):
        judge.receive(0.01)
