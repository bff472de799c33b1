"""The kinds of target there are. A new one is one file with a settings dataclass, and one row here."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from .local import LocalSettings

if TYPE_CHECKING:
    from kbeval_jupyter.execution.base import Executor
    from kbeval_jupyter.model.capabilities import Capabilities


class TargetSettings(Protocol):
    """A frozen, hashable dataclass; its fields, but for the name, are the keys of the kind's TOML table."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The target's name in the configuration."""

    def capabilities(self) -> Capabilities:
        """What planning must know; no input or output."""

    def open(self) -> Executor:
        """An executor; connects when it is first used."""


KINDS: dict[str, type[TargetSettings]] = {settings.kind: settings for settings in (LocalSettings,)}
