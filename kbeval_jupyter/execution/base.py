"""The executor: a plan goes in, events come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from kbeval_jupyter.model.capabilities import Capabilities

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from kbeval_jupyter.runner import wire

__all__ = ["Capabilities", "Executor"]


class Executor(Protocol):
    """Runs plans on one target."""

    def capabilities(self) -> Capabilities:
        """What this executor offers; no input or output."""

    def run(self, plan: wire.Plan) -> AsyncGenerator[dict[str, Any], None]:
        """Decoded events in order, checked (sequence, strict JSON, final event); closing the iterator cancels the evaluation."""

    async def cancel(self, evaluation_id: str) -> None:
        """Stop an evaluation and everything it started, now; its stream still ends in ``finished``."""

    async def fetch_artifacts(self, evaluation_id: str, destination: Path, limit_bytes: int) -> list[Path]:
        """Copy the artifacts of a finished evaluation here, checksums verified."""

    async def aclose(self) -> None:
        """Leave the target. Idempotent."""
