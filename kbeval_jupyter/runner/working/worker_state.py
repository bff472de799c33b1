"""What a worker process holds between requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..exchange.arena import Arena


@dataclass
class WorkerState:
    """One implementation and its surroundings. ``entry`` is what is called; ``extra`` is room for further operations."""

    folder: str = ""
    device: str = "cpu"  # in torch's words
    device_fields: dict[str, Any] = field(default_factory=dict)  # for devices.worker_device
    module: Any = None
    definition: Any = None  # the class or function as found in the module
    entry: Any = None
    compiled: bool = False  # the entry goes through torch.compile
    input_arena: Arena | None = None
    output_arena: Arena | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> Arena:
        """The arena that the judge writes."""
        assert self.input_arena is not None, "no arenas yet"
        return self.input_arena

    @property
    def outputs(self) -> Arena:
        """The arena that the judge reads."""
        assert self.output_arena is not None, "no arenas yet"
        return self.output_arena
