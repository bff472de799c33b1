"""The lists in a task.yml (GPU MODE's description of a problem), and its short form ``k: v; k: v``: values of any type.

Not a YAML parser: block lists whose items are flow mappings, block mappings or short forms, and flow lists; scalars as JSON, YAML
and Python write them. What is anything else is not read as cases.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS: dict[str, Any] = {
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
    "null": None, "None": None, "~": None, "": None,
}  # fmt: skip
NUMBER = re.compile(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?|0[xX][0-9a-fA-F]+")
KEY = re.compile(r"\s*(?:\"([^\"]+)\"|'([^']+)'|([^\s:,\[\]{}'\"]+))\s*:(?=[\s\"'\[{(]|$)")
INDICATORS = "!&*|>%@`,?"  # what YAML means by them is not read here
CLOSING = {"{": "}", "[": "]", "(": ")"}


class NotReadError(ValueError):
    """The text does not have this form."""


def section(text: str, name: str) -> str | None:
    """What stands under a key at the top level of the file, its own line's rest included; None without the key."""
    start = re.search(rf"^{name}\s*:(?=\s|$)", text, re.MULTILINE)
    if start is None:
        return None
    rest = text[start.end() :]
    end = re.search(r"^[^\s#\-\]}]", rest, re.MULTILINE)
    return rest[: end.start()] if end and end.start() else rest


def read_list(text: str) -> list[Any]:
    """The items of a block list or a flow list; raises NotReadError."""
    lines = [line for line in (_without_comment(line) for line in text.splitlines()) if line.strip()]
    if not lines:
        return []
    if lines[0].lstrip().startswith("["):
        value = read_value(" ".join(lines))
        if not isinstance(value, list):
            raise NotReadError("not a list")
        return value
    indent = len(lines[0]) - len(lines[0].lstrip())
    items: list[list[str]] = []
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if depth == indent and line.lstrip().startswith("-"):
            items.append([" " * (depth + 1) + line.lstrip()[1:]])
        elif depth > indent and items:
            items[-1].append(line)
        else:
            raise NotReadError(f"no item of a list: {line.strip()}")
    return [_item(item) for item in items]


def read_short(text: str) -> dict[str, Any]:
    """A case in its short form, ``size: 1024; shape: [2, 3]; kind: d_model``; raises NotReadError."""
    fields = [field for field in _split(text, ";") if field.strip()]
    if not fields:
        raise NotReadError("no field")
    return dict(_pair(field) for field in fields)


def read_value(text: str) -> Any:
    """A scalar, or a flow list, tuple or mapping of them; raises NotReadError."""
    text = text.strip()
    if text[:1] in CLOSING:
        if not text.endswith(CLOSING[text[0]]):
            raise NotReadError(f"{text[0]} is not closed: {text}")
        parts = _split(text[1:-1], ",")
        if parts and not parts[-1].strip():
            parts.pop()  # a comma behind the last one
        return dict(_pair(part) for part in parts) if text[0] == "{" else [read_value(part) for part in parts]
    if text[:1] in ("'", '"'):
        return _quoted(text)
    if text in WORDS:
        return WORDS[text]
    if NUMBER.fullmatch(text):
        digits = text.replace("_", "")
        return int(digits, 0) if re.fullmatch(r"[-+]?(0[xX][0-9a-fA-F]+|0|[1-9]\d*)", digits) else float(digits)
    if text[0] in INDICATORS or re.search(r"[\[\]{}\"';]|:\s", text):
        raise NotReadError(f"not a value: {text}")
    return text


def _item(lines: list[str]) -> Any:
    text = " ".join(line.strip() for line in lines)
    if len(lines) == 1 or text[:1] in (*CLOSING, "'", '"'):
        value = read_value(text) if text[:1] in (*CLOSING, "'", '"') else text
        return read_short(value) if isinstance(value, str) else value
    return dict(_pair(line) for line in lines)


def _pair(text: str) -> tuple[str, Any]:
    match = KEY.match(text)
    if match is None:
        raise NotReadError(f"not key: value: {text.strip()}")
    return next(filter(None, match.groups())), read_value(text[match.end() :])


def _quoted(text: str) -> str:
    if text[0] == "'" and "\\" not in text:  # YAML doubles a quote within
        text = "'" + text[1:-1].replace("''", r"\'") + text[-1]
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if not isinstance(value, str):
        raise NotReadError(f"not text in quotes: {text}")
    return value


def _without_comment(line: str) -> str:
    for position, character in _outside_quotes(line):
        if character == "#" and (position == 0 or line[position - 1].isspace()):
            return line[:position]
    return line


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators that stand outside quotes and brackets."""
    if not text.strip():
        return []
    depth, cuts = 0, [-1]
    for position, character in _outside_quotes(text):
        depth += (character in CLOSING) - (character in CLOSING.values())
        if character == separator and depth == 0:
            cuts.append(position)
    return [text[start + 1 : end] for start, end in zip(cuts, [*cuts[1:], len(text)], strict=True)]


def _outside_quotes(text: str) -> Iterator[tuple[int, str]]:
    quote = ""
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote and text[position - 1] != "\\" else quote
        elif character in ("'", '"') and (position == 0 or not text[position - 1].isalnum()):
            quote = character
        else:
            yield position, character
