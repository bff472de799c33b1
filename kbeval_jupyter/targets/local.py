"""Kind ``local``: the machine at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kbeval_jupyter.model.capabilities import Capabilities, Isolation, Vendor

if TYPE_CHECKING:
    from kbeval_jupyter.execution.base import Executor


@dataclass(frozen=True)
class LocalSettings:
    """Keys of a local target. ``python`` is the interpreter that has torch; None is the one that runs this."""

    kind: ClassVar[str] = "local"
    name: str
    vendor: Vendor = "auto"
    gpu_ids: tuple[int, ...] = ()
    python: str | None = None
    isolation: Isolation = "auto"

    def capabilities(self) -> Capabilities:
        """What planning must know; no input or output."""
        return Capabilities(vendor=self.vendor, gpu_ids=self.gpu_ids, isolation=self.isolation)

    def open(self) -> Executor:
        """An executor on this machine; connects when it is first used."""
        from kbeval_jupyter.execution.process import ProcessExecutor
        from kbeval_jupyter.transports.local import LocalTransport

        return ProcessExecutor(LocalTransport(), self.capabilities(), python=self.python)
