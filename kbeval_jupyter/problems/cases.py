"""Test cases of the functional format: from text to a checked list."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any, NoReturn

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.runner.wire import Case

if TYPE_CHECKING:
    from kbeval_jupyter.model.request import Source

EXPECTED = 'expected a JSON list of objects, such as [{"n": 1024, "name": "small"}]'
LIST_ITEM = re.compile(r"\s*-\s*(\{.*\})\s*(#.*)?")
NAME_CHARACTERS = 60


def parse_cases(source: Source) -> list[dict[str, Any]]:
    """The cases in a file or cell: JSON, a Python literal, or the ``- {…}`` lines of a task.yml; raises RequestError."""
    if not source.text.strip():
        raise RequestError(f"the test cases in {source.name} are empty", EXPECTED)
    try:
        data = json.loads(source.text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        data = _python_literal(source.text)
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
        try:
            json.dumps(case, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise RequestError(f"test case {number} in {name} has a value that JSON cannot carry: {error}", EXPECTED) from error
    return [dict(case) for case in data]


def named_cases(cases: list[dict[str, Any]]) -> list[Case]:
    """Cases with names that tell them apart: the given one, else the arguments."""
    named: list[Case] = []
    taken: set[str] = set()
    for case in cases:
        params = {key: value for key, value in case.items() if key != "name"}
        wanted = str(case.get("name") or _described(params))
        name, count = wanted, 1
        while name in taken:
            count += 1
            name = f"{wanted} #{count}"
        taken.add(name)
        named.append(Case(name, params))
    return named


def _described(params: dict[str, Any]) -> str:
    text = ", ".join(f"{key}={value}" for key, value in params.items()) or "no arguments"
    return text if len(text) <= NAME_CHARACTERS else text[: NAME_CHARACTERS - 1] + "…"


def _python_literal(text: str) -> Any:
    """What a Python literal, or a task.yml's list of them, says; None where it is neither."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    items = []
    for line in _tests_section(text):
        match = LIST_ITEM.fullmatch(line)
        if match:
            try:
                items.append(_object(match[1]))
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return None
    return items or None


def _object(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError:
        return ast.literal_eval(text)


def _tests_section(text: str) -> list[str]:
    """The lines under ``tests:`` up to the next key, or all where there is no such key."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.rstrip() == "tests:"]
    if not starts:
        return lines
    following = lines[starts[0] + 1 :]
    end = next((i for i, line in enumerate(following) if re.match(r"\w", line)), len(following))
    return following[:end]


def _called(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), f"the number {value}" if isinstance(value, int | float) else repr(value)[:40])


def _refuse_constant(constant: str) -> NoReturn:
    raise RequestError(f"the test cases hold {constant}, which is not JSON", "numbers must be finite")
