"""What the parts of the check gather, and what is decided by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kbeval_jupyter.model.static_report import Finding

from .text import Place

if TYPE_CHECKING:
    from kbeval_jupyter.model.static_report import FindingKind


@dataclass
class Evidence:
    """Kernels by language, why others do not count, what could not be seen, and all findings."""

    kernels: list[tuple[str, frozenset[str], Place]] = field(default_factory=list)
    idle: list[tuple[str, frozenset[str], Place]] = field(default_factory=list)  # with the reason in place of the name
    unseen: list[tuple[str, Place]] = field(default_factory=list)
    translated: Place | None = None  # a source with CUDA's names, which torch turns into HIP
    findings: dict[tuple[str, str, Place], Finding] = field(default_factory=dict)

    def add(self, kind: FindingKind, name: str, place: Place, text: str) -> None:
        """Note something, once for each place."""
        self.findings.setdefault((kind, name, place), Finding(kind, name, place.file, place.line, text))

    def add_kernel(self, name: str, languages: frozenset[str], place: Place, text: str) -> None:
        """Note device code of the implementation's own, which something launches."""
        self.kernels.append((name, languages, place))
        self.add("own_kernel", name, place, text)

    def add_idle(self, name: str, languages: frozenset[str], place: Place, reason: str) -> None:
        """Note device code that does nothing for the result."""
        self.idle.append((reason, languages, place))
        self.add("warning", name, place, reason)
