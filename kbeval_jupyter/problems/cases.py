"""Test cases of the functional format: from text to a checked list."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any, NoReturn

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.runner.wire import Case

from . import task_yml

if TYPE_CHECKING:
    from kbeval_jupyter.model.request import Source

EXPECTED = 'expected a JSON list of objects, such as [{"n": 1024, "name": "small"}]'
NAME_CHARACTERS = 60
PURPOSE = "for"  # a key that no argument can have; without it a case is both checked and timed
PURPOSES = ("tests", "benchmarks")


def parse_cases(source: Source) -> list[dict[str, Any]]:
    """The cases in a file or cell: JSON, a Python literal, a task.yml, or lines such as ``n: 1; kind: d_model``.

    Those under ``benchmarks`` of a task.yml are timed, those under ``tests`` checked. Raises RequestError.
    """
    if not source.text.strip():
        raise RequestError(f"the test cases in {source.name} are empty", EXPECTED)
    try:
        data = json.loads(source.text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        data = _other_forms(source)
        if data is None:
            line = error.lineno + source.first_line - 1
            raise RequestError(
                f"the test cases in {source.name} are not JSON: line {line}, column {error.colno}: {error.msg}", EXPECTED
            ) from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits, thousands of brackets
        raise RequestError(f"the test cases in {source.name} cannot be read: {error}", EXPECTED) from error
    return check_cases(data, source.name)


def check_cases(data: Any, name: str = "the test cases") -> list[dict[str, Any]]:
    """The same list, once it is known to be a non-empty list of objects that strict JSON can carry; raises RequestError."""
    if not isinstance(data, list | tuple):
        raise RequestError(f"the test cases in {name} are {_called(data)}, not a list", EXPECTED)
    if not data:
        raise RequestError(f"the list of test cases in {name} is empty", EXPECTED)
    for number, case in enumerate(data, 1):
        if not isinstance(case, dict):
            raise RequestError(f"test case {number} in {name} is {_called(case)}, not an object", EXPECTED)
        if not all(isinstance(key, str) and key.isidentifier() for key in case):
            raise RequestError(f"test case {number} in {name}: every key must be an argument's name, got {list(case)!r}")
        if not isinstance(case.get("name", ""), str):
            raise RequestError(f"test case {number} in {name}: its name must be text, got {case['name']!r}")
        if case.get(PURPOSE, PURPOSES[0]) not in PURPOSES:
            raise RequestError(
                f"test case {number} in {name}: {PURPOSE!r} must be one of {', '.join(PURPOSES)}, got {case[PURPOSE]!r}"
            )
        try:
            json.dumps(case, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise RequestError(f"test case {number} in {name} has a value that JSON cannot carry: {error}", EXPECTED) from error
    return [dict(case) for case in data]


def arguments(case: dict[str, Any]) -> dict[str, Any]:
    """What is passed to the input function."""
    return {key: value for key, value in case.items() if key not in ("name", PURPOSE)}


def named_cases(cases: list[dict[str, Any]]) -> list[Case]:
    """Cases with names that tell them apart: the given one, else the arguments."""
    named: list[Case] = []
    taken: set[str] = set()
    checks, times = (any(case.get(PURPOSE, purpose) == purpose for case in cases) for purpose in PURPOSES)
    for case in cases:
        params = arguments(case)
        wanted = str(case.get("name") or _described(params))
        name, count = wanted, 1
        while name in taken:
            count += 1
            name = f"{wanted} #{count}"
        taken.add(name)
        purpose = case.get(PURPOSE)
        # Where a list has no tests (or no benchmarks), all that it has serves for both.
        named.append(Case(name, params, purpose != "benchmarks" or not checks, purpose != "tests" or not times))
    return named


def _described(params: dict[str, Any]) -> str:
    text = ", ".join(f"{key}={value}" for key, value in params.items()) or "no arguments"
    return text if len(text) <= NAME_CHARACTERS else text[: NAME_CHARACTERS - 1] + "…"


def _other_forms(source: Source) -> Any:
    """What a Python literal, a task.yml, its list alone or lines of its short form say; None where it is none of these."""
    text = source.text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    sections = {name: task_yml.section(text, name) for name in PURPOSES}
    if any(part is not None for part in sections.values()):
        return [case for name, part in sections.items() if part is not None for case in _listed(part, name, source.name)]
    try:
        if text.lstrip().startswith("-"):
            return task_yml.read_list(text)
        return [task_yml.read_short(line) for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    except (task_yml.NotReadError, RecursionError):
        return None


def _listed(text: str, purpose: str, name: str) -> list[Any]:
    try:
        cases = task_yml.read_list(text)
    except (task_yml.NotReadError, RecursionError) as error:
        hint = 'expected a list such as - {"size": 1024, "dtype": "float32"}'
        raise RequestError(f"the list under {purpose}: in {name} cannot be read: {error}", hint) from error
    return [{PURPOSE: purpose, **case} if isinstance(case, dict) else case for case in cases]


def _called(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), f"the number {value}" if isinstance(value, int | float) else repr(value)[:40])


def _refuse_constant(constant: str) -> NoReturn:
    raise RequestError(f"the test cases hold {constant}, which is not JSON", "numbers must be finite")
