"""What a worker process is told when it is made. Nothing else of an evaluation ever reaches its memory."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Dict, List, Literal, Optional


@dataclass(frozen=True)
class SpawnRequest:
    """How to make one worker.

    ``private_dir`` is its home, its temporary folder, and its working directory until code is loaded;
    ``environment`` is added to a short list of inherited variables.
    ``left_out`` names isolation layers that must not be tried, each with its reason: the device did not start with them.
    """

    role: Literal["implementation", "reference"]
    private_dir: str
    read_paths: List[str] = field(default_factory=list)
    write_paths: List[str] = field(default_factory=list)
    environment: Dict[str, str] = field(default_factory=dict)
    cpus: Optional[List[int]] = None  # None: all
    hardening: Literal["auto", "full", "basic"] = "auto"
    output: Literal["implementation", "reference", "timing"] = "implementation"
    left_out: Dict[str, str] = field(default_factory=dict)

    def to_json(self) -> Dict[str, Any]:
        """The request as JSON data."""
        return dataclasses.asdict(self)
