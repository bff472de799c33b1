from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING

import pytest

from kbeval_jupyter.rendering import heatmap, html, mimebundle, text
from kbeval_jupyter.runner.report import Heatmap
from tests.rendering.examples import EXAMPLES, output
from tests.rendering.test_html import ALLOWED_ATTRIBUTES, ALLOWED_TAGS, read

if TYPE_CHECKING:
    from kbeval_jupyter.model.result import EvaluationResult

SENTENCE = "The last 32 columns are wrong: 96 is not a multiple of 64; is a tail tile not handled?"


def noise(rows: int, cols: int) -> Heatmap:
    generator = random.Random(0)
    return Heatmap(rows, cols, "max", [round(10 ** generator.uniform(-8, 1), 9) for _ in range(rows * cols)], 3, 2)


def wrong(picture: Heatmap) -> EvaluationResult:
    """The example of a wrong result with a pattern and a heatmap in every failed trial."""
    result = EXAMPLES["incorrect"]
    assert result.correctness is not None
    cases = [
        dataclasses.replace(
            case,
            outputs=[dataclasses.replace(o, pattern=SENTENCE, pattern_kind="tail", heatmap=picture) for o in case.outputs],
        )
        for case in result.correctness.cases
    ]
    return dataclasses.replace(result, correctness=dataclasses.replace(result.correctness, cases=cases))


@pytest.mark.parametrize(("rows", "cols"), [(1, 256), (256, 256), (33, 31), (129, 5)])
def test_reducing_keeps_the_maxima(rows: int, cols: int) -> None:
    full = noise(rows, cols)
    small = heatmap.reduced(full, 32)
    assert small.rows <= 32
    assert small.cols <= 32
    tall, wide = small.row_step // full.row_step, small.col_step // full.col_step
    for index, value in enumerate(small.data):
        top, left = index // small.cols * tall, index % small.cols * wide
        block = [
            full.data[row * cols + col] or 0.0
            for row in range(top, min(top + tall, rows))
            for col in range(left, min(left + wide, cols))
        ]
        assert value == max(block)


def test_reducing_marks_what_is_not_finite() -> None:
    full = Heatmap(2, 64, "max", [None, *([1.0] * 127)])
    assert heatmap.reduced(full, 32).data[:3] == [None, 1.0, 1.0]


def test_a_small_heatmap_stays_as_it_is() -> None:
    assert heatmap.reduced(noise(32, 7), 32) == noise(32, 7)


@pytest.mark.parametrize("picture", [noise(256, 256), noise(1, 256), Heatmap(1, 1, "max", [None]), Heatmap(2, 1, "max", [0, 0])])
def test_the_page_shows_the_sentence_first_and_stays_small(picture: Heatmap) -> None:
    page = html.render(wrong(picture))
    assert len(page.encode()) < html.LIMIT_BYTES
    reader = read(page)
    assert reader.tags <= ALLOWED_TAGS
    assert reader.attributes <= ALLOWED_ATTRIBUTES
    assert reader.text.index(SENTENCE) < reader.text.index("elements wrong")
    assert "largest |error| in each part of 128 rows by 512 columns" in reader.text


def test_neighbours_of_one_colour_are_one_block() -> None:
    tail = Heatmap(4, 8, "max", ([1e-7] * 7 + [0.5]) * 3 + [0.0] * 7 + [None])
    picture = heatmap.html(output(heatmap=tail))
    assert picture.count("rgba(207,34,46,1)") == 3
    assert picture.count("#8250df") == 1
    assert "violet: not finite" in picture


def test_text_shows_the_sentence_before_the_place() -> None:
    shown = text.render(wrong(noise(8, 8)))
    assert shown.index(SENTENCE) < shown.index("in case default")


def test_a_saved_notebook_keeps_a_smaller_heatmap() -> None:
    data = mimebundle.payload(wrong(noise(256, 256)))
    pictures = [o["heatmap"] for case in data["correctness"]["cases"] for o in case["outputs"]]
    assert {picture["rows"] for picture in pictures if picture} == {64}
    assert "heatmaps of 64 cells a side" in data["notes"][-1]["text"]
