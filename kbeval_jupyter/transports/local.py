"""This machine as a host."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

import anyio

from kbeval_jupyter.errors import ConnectionLostError, TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anyio.abc import Process

_STDERR_TAIL_BYTES = 8192
_SEND_LIMIT_S = 60.0
_LEAVE_LIMIT_S = 2.0


class LocalProcess:
    """A process of this machine in a session of its own, so that a terminal's Ctrl-C does not reach it."""

    def __init__(self, process: Process, stderr: BinaryIO) -> None:
        self._process = process
        self._stderr = stderr
        self._closed = False

    async def send(self, data: bytes) -> None:
        """Write to its standard input."""
        assert self._process.stdin is not None
        try:
            with anyio.fail_after(_SEND_LIMIT_S):
                await self._process.stdin.send(data)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, BrokenPipeError, TimeoutError) as error:
            raise ConnectionLostError(f"process {self._process.pid} takes no input any more") from error

    async def receive(self) -> bytes:
        """The next piece of its standard output, b"" at its end."""
        assert self._process.stdout is not None
        try:
            return await self._process.stdout.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            return b""

    async def stderr_tail(self) -> str:
        """The last 8 KiB of its standard error."""
        if self._closed:
            return ""
        end = self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, end - _STDERR_TAIL_BYTES))
        return self._stderr.read().decode("utf-8", "replace")

    async def aclose(self) -> None:
        """Close its standard input, wait shortly, kill it."""
        if self._closed:
            return
        self._closed = True
        self._stderr.close()
        with anyio.CancelScope(shield=True):
            assert self._process.stdin is not None
            await self._process.stdin.aclose()
            with anyio.move_on_after(_LEAVE_LIMIT_S):
                await self._process.wait()
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
            await self._process.aclose()


class LocalTransport:
    """Files and processes of this machine."""

    async def put(self, files: Mapping[PurePosixPath, bytes]) -> None:
        """Write files, atomically each."""
        for path, data in files.items():
            try:
                await anyio.to_thread.run_sync(_write, Path(path), data)
            except OSError as error:
                raise TargetError(f"cannot write {path}: {error.strerror}") from error

    async def start(self, argv: Sequence[str], env: Mapping[str, str]) -> LocalProcess:
        """Start a process in a session of its own."""
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - the process object owns it
        try:
            process = await anyio.open_process(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, **env},
                start_new_session=True,
            )
        except OSError as error:
            stderr.close()
            raise TargetError(f"cannot start {argv[0]}: {error.strerror}") from error
        return LocalProcess(process, stderr)

    async def fetch(self, path: PurePosixPath, destination: Path, limit_bytes: int) -> int:
        """Copy a file; raises ``TargetError`` above the limit."""
        try:
            return await anyio.to_thread.run_sync(_copy, Path(path), destination, limit_bytes)
        except OSError as error:
            raise TargetError(f"cannot fetch {path}: {error.strerror}") from error

    async def aclose(self) -> None:
        """Nothing to give back."""


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(fd, "wb") as stream:
            stream.write(data)
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def _copy(path: Path, destination: Path, limit_bytes: int) -> int:
    with path.open("rb") as source:
        size = os.fstat(source.fileno()).st_size
        if size > limit_bytes:
            raise TargetError(f"{path.name} has {size} bytes, the limit is {limit_bytes}")
        destination.parent.mkdir(parents=True, exist_ok=True)
        with destination.open("wb") as target:
            shutil.copyfileobj(source, target)
    return size
