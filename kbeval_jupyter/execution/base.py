"""The executor: a plan goes in, events come out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from kbeval_jupyter.runner import wire


@dataclass(frozen=True)
class Capabilities:
    """What a target can do, as far as planning must know it."""

    vendors: tuple[str, ...] = ("auto",)
    resumable: bool = True
    run_root: str | None = None
    grace_s: float = 0.0


class Executor(Protocol):
    """Runs plans on one target."""

    def capabilities(self) -> Capabilities:
        """What this executor offers; no input or output."""

    def run(self, plan: wire.Plan) -> AsyncIterator[dict[str, Any]]:
        """Decoded events in order, checked (sequence, strict JSON, final event); closing the iterator cancels the evaluation."""

    async def cancel(self, evaluation_id: str) -> None:
        """Stop an evaluation and everything it started, now; its stream still ends in ``finished``."""

    async def fetch_artifacts(self, evaluation_id: str, destination: Path, limit_bytes: int) -> list[Path]:
        """Copy the artifacts of a finished evaluation here, checksums verified."""

    async def aclose(self) -> None:
        """Leave the target. Idempotent."""
