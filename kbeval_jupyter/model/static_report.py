"""What the static check saw in an implementation, without running it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

FindingKind = Literal["own_kernel", "library_call", "torch_operator", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed. ``line`` is that of the file or cell as the user sees it, also for code inside a string."""

    kind: FindingKind
    name: str
    file: str
    line: int
    text: str


@dataclass(frozen=True)
class StaticReport:
    """Whether the implementation is one in the named language. ``reason`` says why it is not, or what was unclear."""

    backend: str
    is_backend: bool
    reason: str
    findings: list[Finding] = field(default_factory=list)
