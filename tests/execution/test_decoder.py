from __future__ import annotations

from typing import Any

import pytest

from kbeval_jupyter.errors import ProtocolError
from kbeval_jupyter.execution.decoder import EventDecoder

FIRST = b'{"kind":"note","seq":0,"t":0.1}'


def test_events_in_order_unknown_kinds_included() -> None:
    decoder = EventDecoder()
    assert decoder.decode(b'{"kind":"of the future","seq":0,"t":0,"x":[1]}')["x"] == [1]
    before = decoder.finished
    assert decoder.decode(b'{"kind":"finished","seq":1,"t":0.5,"verdict":"passed"}')["verdict"] == "passed"
    assert (before, decoder.finished) == (False, True)
    decoder.end()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"kind":"note","seq":2,"t":0}', "event 1 was expected, number 2 came"),
        (b'{"kind":"note","seq":0,"t":0}', "event 1 was expected, number 0 came"),
        (b'{"kind":"note","seq":true,"t":0}', "event 1 was expected, number True came"),
        (b'{"kind":"note","t":0}', "event 1 was expected, number None came"),
        (b'{"kind":"note","seq":1}', "time in seconds"),
        (b'{"kind":"note","seq":1,"t":NaN}', "NaN is not a number of JSON"),
        (b'{"kind":"note","seq":1,"t":-Infinity}', "-Infinity is not a number of JSON"),
        (b'{"kind":"note","seq":1,"t":0,"x":1e999}', "1e999 is not finite"),
        (b'{"kind":"note","seq":1', "not strict JSON"),
        (b"\xff", "not strict JSON"),
        (b"[" * 100_000, "not strict JSON"),
        (b"[1]", "must be an object with a kind"),
        (b'{"kind":1,"seq":1,"t":0}', "must be an object with a kind"),
        (b'{"kind":"started","seq":1,"t":0,"wire":99}', "wire version 99"),
    ],
)
def test_a_stream_that_breaks_the_rules_is_an_error(line: Any, message: Any) -> None:
    decoder = EventDecoder()
    decoder.decode(FIRST)
    with pytest.raises(ProtocolError, match=message):
        decoder.decode(line)


def test_an_end_without_the_final_event() -> None:
    decoder = EventDecoder()
    decoder.decode(FIRST)
    with pytest.raises(ProtocolError, match="after 1 events without the final one"):
        decoder.end()


def test_nothing_comes_after_the_final_event() -> None:
    decoder = EventDecoder()
    decoder.decode(b'{"kind":"finished","seq":0,"t":0}')
    with pytest.raises(ProtocolError, match="after the final one"):
        decoder.decode(b'{"kind":"note","seq":1,"t":0}')
