"""The lines of one evaluation to events, each checked: a stream that breaks the rules is an error, never a pass."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from kbeval_jupyter.errors import ProtocolError
from kbeval_jupyter.runner import wire

_SHOWN_BYTES = 120


class EventDecoder:
    """Decodes event lines in order. Events of an unknown kind are kept."""

    def __init__(self) -> None:
        self.next_seq = 0
        self.finished = False

    def decode(self, line: bytes) -> dict[str, Any]:
        """The event of one line; raises ``ProtocolError``."""
        if self.finished:
            raise ProtocolError(f"an event came after the final one: {_shown(line)}")
        try:
            event = json.loads(line, parse_constant=_refuse, parse_float=_finite)
        except (ValueError, RecursionError) as error:
            raise ProtocolError(f"an event is not strict JSON ({error}): {_shown(line)}") from None
        if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
            raise ProtocolError(f"an event must be an object with a kind: {_shown(line)}")
        if type(event.get("seq")) is not int or event["seq"] != self.next_seq:
            raise ProtocolError(f"event {self.next_seq} was expected, number {event.get('seq')!r} came: {_shown(line)}")
        if type(event.get("t")) not in (int, float):
            raise ProtocolError(f"an event must carry its time in seconds: {_shown(line)}")
        if event["kind"] == wire.Started.kind and event.get("wire") != wire.WIRE_VERSION:
            raise ProtocolError(f"the runner speaks wire version {event.get('wire')!r}, this client {wire.WIRE_VERSION}")
        self.next_seq += 1
        self.finished = event["kind"] == wire.Finished.kind
        return event

    def end(self) -> None:
        """The stream has ended; raises ``ProtocolError`` where the final event is missing."""
        if not self.finished:
            raise ProtocolError(f"the event stream ended after {self.next_seq} events without the final one")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not finite")
    return value


def _shown(line: bytes) -> str:
    text = line[:_SHOWN_BYTES].decode("utf-8", "replace")
    return text + "…" if len(line) > _SHOWN_BYTES else text
