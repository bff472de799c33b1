"""The narrow waist between us and a host that exists: put files there, start a process, fetch files, leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path, PurePosixPath


class RemoteProcess(Protocol):
    """A running process whose standard streams are bytes."""

    async def send(self, data: bytes) -> None:
        """Write to its standard input; raises ConnectionLostError when the process or the connection is gone."""

    async def receive(self) -> bytes:
        """The next piece of its standard output, b"" at its end; raises ConnectionLostError when the connection is gone."""

    async def stderr_tail(self) -> str:
        """The last of what it wrote to standard error (bounded)."""

    async def aclose(self) -> None:
        """Close its standard input, wait shortly, kill it. Idempotent."""


class Transport(Protocol):
    """How bytes and processes reach a host. Every call is bounded in time and raises our errors only."""

    async def put(self, files: Mapping[PurePosixPath, bytes]) -> None:
        """Lay files down on the host, atomically each; absolute paths; folders are made with mode 0700."""

    async def start(self, argv: Sequence[str], env: Mapping[str, str]) -> RemoteProcess:
        """Start a process; ``env`` is added to the host's own environment."""

    async def fetch(self, path: PurePosixPath, destination: Path, limit_bytes: int) -> int:
        """Copy one file here; returns its size; raises TargetError above ``limit_bytes``."""

    async def aclose(self) -> None:
        """Give back the connection. Idempotent."""
