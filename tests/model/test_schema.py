import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # its types are a package of their own
import pytest

from kbeval_jupyter.model import schema
from kbeval_jupyter.model.result import EvaluationResult

ROOT = Path(__file__).parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").glob("*.json"))
CONTRACT_ORDER = [
    "schema", "id", "label", "verdict", "reason", "format", "seed", "target", "environment", "stages", "correctness", "benchmark",
    "artifacts", "log_tail", "error",
]  # fmt: skip


@pytest.mark.parametrize("path", list(schema.generated_files(ROOT)), ids=lambda path: path.name)
def test_generated_files_are_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == schema.generated_files(ROOT)[path], f"run: {schema.COMMAND}"


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema.json_schema())


def test_golden_results_fit_and_round_trip() -> None:
    assert GOLDEN
    validator = jsonschema.Draft202012Validator(schema.json_schema())
    for path in GOLDEN:
        data = json.loads(path.read_text(encoding="utf-8"))
        validator.validate(data)
        assert EvaluationResult.from_json(data).to_json() == data


def test_keys_stand_in_the_contracts_order() -> None:
    data = json.loads(GOLDEN[0].read_text(encoding="utf-8"))
    keys = list(EvaluationResult.from_json(data).to_json())
    assert [key for key in keys if key in CONTRACT_ORDER] == CONTRACT_ORDER


def test_schema_refuses_what_is_no_result() -> None:
    validator = jsonschema.Draft202012Validator(schema.json_schema())
    data = json.loads(GOLDEN[0].read_text(encoding="utf-8"))
    for change in (
        {"verdict": "fine"},
        {"seed": "42"},
        {"schema": "kbeval.evaluation/2"},
        {"stages": {"compile": {"status": 1}}},
    ):
        assert not validator.is_valid({**data, **change})
    del data["reason"]
    assert not validator.is_valid(data)


def test_typescript_knows_the_named_choices() -> None:
    text = schema.typescript()
    assert "verdict: Verdict;" in text
    assert "stages: Record<string, StageReport>;" in text
    assert "data: (number | null)[];" in text
