"""Exceptions of ours: one-line message, a hint, shown without a traceback. A failing implementation never raises; it is data."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Iterable


class KernelBenchError(Exception):
    """Base of everything we raise on purpose. ``kind`` is stable and machine-readable; ``exit_code`` is the command's.

    A class has a kind; an instance may carry a narrower one, such as "no_torch".
    """

    kind: str = "error"
    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, hint: str = "", *, kind: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if kind is not None:
            self.kind = kind

    def _render_traceback_(self) -> list[str]:
        """IPython's protocol: what to print instead of a traceback."""
        lines = [f"KernelBench: {self.message}"]
        if self.hint:
            lines.append(f"  {self.hint}")
        return lines


class RequestError(KernelBenchError):
    """The request is wrong: unknown option, missing name, bad cases, wrong custom inputs."""

    kind = "request"
    exit_code = 2


class ConfigurationError(KernelBenchError):
    """The configuration is wrong: unknown target, unknown key."""

    kind = "configuration"
    exit_code = 2


class TargetError(KernelBenchError):
    """The target cannot do what is needed: no torch, broken torch, no such device."""

    kind = "target"


class ConnectionLostError(KernelBenchError):
    """The connection to the target failed and could not be taken up again."""

    kind = "connection"


class ProtocolError(KernelBenchError):
    """The event stream broke its own rules: gap in the numbers, bad JSON, an end without a final event."""

    kind = "protocol"


class Cancelled(KernelBenchError):  # noqa: N818 - a state of an evaluation, not a fault
    """The user stopped the evaluation."""

    kind = "cancelled"
    exit_code = 130


def unknown_name(what: str, name: str, valid: Iterable[str]) -> str:
    """A sentence that names the valid choices and the nearest match."""
    choices = sorted(valid)
    near = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    guess = f" (did you mean {near[0]!r}?)" if near else ""
    return f"unknown {what} {name!r}{guess}; valid: {', '.join(choices) or 'none'}"
