from __future__ import annotations

import dataclasses
import re
from html.parser import HTMLParser

import pytest

from kbeval_jupyter.model.result import NoteReport
from kbeval_jupyter.rendering import html
from kbeval_jupyter.runner.report import BenchmarkReport, CorrectnessReport
from tests.rendering.examples import EXAMPLES, passed_case, timed_case

ALLOWED_TAGS = {"div", "span", "table", "tr", "td", "th", "details", "summary", "pre"}
ALLOWED_ATTRIBUTES = {"style", "open"}


class Reader(HTMLParser):
    """Checks nesting and collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.styles: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _value in attrs}
        self.styles += [value for name, value in attrs if name == "style" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_is_static_and_survives_a_sanitiser(name: str) -> None:
    page = read(html.render(EXAMPLES[name]))
    assert page.tags <= ALLOWED_TAGS
    assert page.attributes <= ALLOWED_ATTRIBUTES
    for style in page.styles:
        assert not re.search(r"url|calc|var\(|currentcolor|expression|;;", style, re.IGNORECASE), style
    assert EXAMPLES[name].reason in page.text
    assert page.text.startswith(EXAMPLES[name].verdict.replace("_", " ").upper())


def test_what_the_user_printed_is_text_not_html() -> None:
    nasty = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    hostile = dataclasses.replace(
        EXAMPLES["crashed"], reason=nasty, label=nasty, problem=nasty, log_tail=[nasty], notes=[NoteReport("x", nasty)]
    )
    page = read(html.render(hostile))
    assert page.tags <= ALLOWED_TAGS
    assert page.text.count(nasty) == 5


def test_a_huge_result_stays_under_the_limit() -> None:
    many = 2000
    huge = dataclasses.replace(
        EXAMPLES["passed_benchmark"],
        reason="x" * 100_000,
        correctness=CorrectnessReport(many, many, 1.0, None, [passed_case(f"case-{i}" * 20) for i in range(many)]),
        benchmark=BenchmarkReport(
            "m" * 5000, 0, "", [timed_case(f"c{i}", {"n": "y" * 500}, 1, 2, "FASTER") for i in range(many)]
        ),
        log_tail=["\u00e9" * 2000] * 50,
        notes=[NoteReport("n", "z" * 5000)] * 50,
    )
    page = html.render(huge)
    assert len(page.encode()) < html.LIMIT_BYTES
    assert "more" in read(page).text


def test_the_bars_have_the_ratio_of_the_medians() -> None:
    widths = [
        float(w)
        for w in re.findall(r"width:([0-9.]+)%;height:10px;background-color:#[0-9a-f]+\"", html.render(EXAMPLES["not_checked"]))
    ]
    assert len(widths) == 2
    assert widths[0] / widths[1] == pytest.approx(2.1 / 1.7, rel=1e-3)


def test_the_log_is_open_only_where_it_is_the_evidence() -> None:
    assert "<details open" in html.render(EXAMPLES["compile_failed"])
    assert "<details open" not in html.render(EXAMPLES["incorrect"])
