from __future__ import annotations

import json
from typing import get_args

import pytest

from kbeval_jupyter.model.result import EvaluationResult
from kbeval_jupyter.runner.report import Verdict
from tests.rendering.examples import EXAMPLES, GOLDEN


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_golden_files_are_what_the_examples_say(name: str) -> None:
    saved = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    assert saved == EXAMPLES[name].to_json(), "run: python -m tests.rendering.examples"
    assert EvaluationResult.from_json(saved) == EXAMPLES[name]


def test_every_verdict_has_an_example() -> None:
    assert {example.verdict for example in EXAMPLES.values()} == set(get_args(Verdict))
