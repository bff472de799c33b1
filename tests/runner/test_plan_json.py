from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kbeval_jupyter.runner import wire
from kbeval_jupyter.runner.typed_json import JsonTypeError

from .link_client import make_plan

MISSING = object()


def test_a_plan_survives_json() -> None:
    plan = make_plan(
        "id",
        "",
        replay=("case", 2),
        secret="c0ffee",
        environment={"A": "b"},
        tolerance=wire.Tolerance(rtol=1e-3),
        timeout_s=5,
    )
    text = json.dumps(wire.plan_to_json(plan))
    assert wire.plan_from_json(json.loads(text)) == plan


def test_what_is_left_out_has_its_default() -> None:
    data = wire.plan_to_json(make_plan("id", ""))
    for name in ("seed", "limits", "tolerance", "grace_s", "replay"):
        del data[name]
    assert wire.plan_from_json(data) == make_plan("id", "")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("id", 3, "plan.id: expected str, got 3"),
        ("id", MISSING, "plan: 'id' is missing"),
        ("surprise", 1, "plan: unknown key 'surprise'; valid: id, label"),
        ("seed", True, "plan.seed: expected int, got True"),
        ("seed", 1.5, "plan.seed: expected int, got 1.5"),
        ("public_inputs", 1, "plan.public_inputs: expected bool, got 1"),
        ("timeout_s", "5", "plan.timeout_s: expected float, got '5'"),
        ("timeout_s", float("inf"), "plan.timeout_s: expected a finite number, got inf"),
        ("vendor", "intel", "plan.vendor: expected one of 'auto', 'nvidia', 'amd', 'cpu', got 'intel'"),
        ("stages", "compile", "plan.stages: expected a list, got 'compile'"),
        ("stages.0", "run", "plan.stages[0]: expected one of 'compile'"),
        ("environment", ["A"], "plan.environment: expected an object, got ['A']"),
        ("environment", {"A": 1}, "plan.environment.A: expected str, got 1"),
        ("replay", ["case"], "plan.replay: expected 2 values, got 1"),
        ("problem", None, "plan.problem: expected an object, got None"),
        ("problem.call", "spreads", "plan.problem.call: expected one of 'spread', 'single', got 'spreads'"),
        ("problem.reference.kind", None, "plan.problem.reference.kind: expected one of 'class', 'function', got None"),
        ("files.0.path", 5, "plan.files[0].path: expected str, got 5"),
        ("wire", 2, "this runner speaks version 1, the plan has 2"),
        ("wire", MISSING, "the plan has None"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(path: Any, value: Any, message: Any) -> None:
    data = copy.deepcopy(wire.plan_to_json(make_plan("id", "")))
    *parents, last = path.split(".")
    place: Any = data
    for name in parents:
        place = place[int(name) if name.isdigit() else name]
    if value is MISSING:
        del place[last]
    else:
        place[int(last) if last.isdigit() else last] = value
    with pytest.raises(JsonTypeError) as caught:
        wire.plan_from_json(data)
    assert message in str(caught.value)


@pytest.mark.parametrize("data", [None, [], "plan", 3])
def test_a_plan_that_is_no_object(data: Any) -> None:
    with pytest.raises(JsonTypeError, match="version 1"):
        wire.plan_from_json(data)
