"""What only looks like an implementation in the language is refused, with the line that says so: bypasses.txt."""

import re

import pytest

from .sources import line_of, read_cases, report

CASES = read_cases("bypasses.txt")
BACKENDS = ["cuda", "hip", "triton", "cute", "cutlass", "tilelang", "thunderkittens"]


@pytest.mark.parametrize("name", CASES)
def test_is_refused(name: str) -> None:
    backend, _, [place, says], source = CASES[name]
    result = report(backend, source)
    assert not result.is_backend, result
    assert says in result.reason
    lines = [int(number) for number in re.findall(r"line (\d+)", result.reason)]
    assert line_of(source, place) in lines, result.reason


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_message_has_a_line(backend: str) -> None:
    for case in CASES.values():
        result = report(backend, case.source)
        assert all(finding.line > 0 and finding.text for finding in result.findings)
        assert result.is_backend or "line " in result.reason
