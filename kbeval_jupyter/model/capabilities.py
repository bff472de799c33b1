"""What planning must know of a target."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Vendor = Literal["auto", "nvidia", "amd", "cpu"]
Isolation = Literal["auto", "full", "basic"]


@dataclass(frozen=True)
class Capabilities:
    """What a target offers, from its settings: known without connecting to it. ``gpu_ids`` empty: any."""

    vendor: Vendor = "auto"
    gpu_ids: tuple[int, ...] = ()
    isolation: Isolation = "auto"
    environment: dict[str, str] = field(default_factory=dict)
    resumable: bool = True
    run_root: str | None = None
    grace_s: float = 0.0
