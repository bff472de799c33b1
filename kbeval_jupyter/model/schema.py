"""JSON Schema and TypeScript of what leaves Python, generated from the dataclasses.

``python -m kbeval_jupyter.model.schema`` writes both files into a checkout.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from pathlib import Path
from typing import Any, Literal

from kbeval_jupyter.runner import report

from .codec import json_fields, json_name
from .evaluation import Snapshot
from .messages import CancelMessage, LogMessage, SyncMessage
from .result import MIME_TYPE, SCHEMA, EvaluationResult

COMMAND = "python -m kbeval_jupyter.model.schema"
ALIASES = {getattr(report, name): name for name in ("Verdict", "StageName", "StageStatus", "PatternKind", "Claim")}
TYPESCRIPT_ROOTS = (Snapshot, LogMessage, SyncMessage, CancelMessage)


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of ``EvaluationResult.to_json()``; unknown keys are allowed, a newer version may add some."""
    definitions = {cls.__name__: _object_schema(cls) for cls in _reachable((EvaluationResult,))}
    root = definitions.pop(EvaluationResult.__name__)
    root["properties"]["schema"] = {"const": SCHEMA}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kbeval evaluation",
        **root,
        "$defs": definitions,
    }


def typescript() -> str:
    """The same as TypeScript, with the widget's state and messages."""
    parts = [
        f"// Generated from kbeval_jupyter/model by `{COMMAND}`. Do not edit.\n",
        f'export const MIME_TYPE = "{MIME_TYPE}";\n',
        *(f"export type {name} = {_typescript_type(alias, aliases=False)};\n" for alias, name in ALIASES.items()),
        *(_typescript_interface(cls) for cls in _reachable(TYPESCRIPT_ROOTS)),
    ]
    return "\n".join(parts)


def generated_files(root: Path) -> dict[Path, str]:
    """What belongs where in a checkout."""
    return {
        root / "docs" / "evaluation.schema.json": json.dumps(json_schema(), indent=2) + "\n",
        root / "js" / "src" / "contract.ts": typescript(),
    }


def _reachable(roots: tuple[type, ...]) -> list[type]:
    """The roots and every dataclass that their fields mention, the mentioned ones first."""
    found: dict[type, None] = {}

    def visit(annotation: Any) -> None:
        if dataclasses.is_dataclass(annotation):
            cls = typing.cast("type", annotation)
            if cls not in found:
                for _, inner in _fields(cls):
                    visit(inner)
                found.setdefault(cls)
        for argument in typing.get_args(annotation):
            visit(argument)

    for root in roots:
        visit(root)
    return list(found)


def _fields(cls: type) -> list[tuple[str, Any]]:
    hints = typing.get_type_hints(cls)
    return [(json_name(field), hints[field.name]) for field in json_fields(cls)]


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]


# --- JSON Schema -----------------------------------------------------------------------------------------------------------

_PLAIN_SCHEMAS: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
}


def _object_schema(cls: type) -> dict[str, Any]:
    properties = {name: _type_schema(annotation) for name, annotation in _fields(cls)}
    return {"description": _first_line(cls), "type": "object", "properties": properties, "required": list(properties)}


def _type_schema(annotation: Any) -> dict[str, Any]:
    if annotation in _PLAIN_SCHEMAS:
        return dict(_PLAIN_SCHEMAS[annotation])
    if dataclasses.is_dataclass(annotation):
        return {"$ref": f"#/$defs/{typing.cast('type', annotation).__name__}"}
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_type_schema(argument) for argument in arguments]}
    if origin is list:
        return {"type": "array", "items": _type_schema(arguments[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": _type_schema(arguments[1])}
    raise TypeError(f"no JSON Schema for {annotation!r}")


# --- TypeScript ------------------------------------------------------------------------------------------------------------

_PLAIN_TYPESCRIPT: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
}


def _typescript_interface(cls: type) -> str:
    lines = [f"  {name}: {_typescript_type(annotation)};" for name, annotation in _fields(cls)]
    return "\n".join([f"/** {_first_line(cls)} */", f"export interface {cls.__name__} {{", *lines, "}\n"])


def _typescript_type(annotation: Any, *, aliases: bool = True) -> str:
    if aliases and annotation in ALIASES:
        return ALIASES[annotation]
    if annotation in _PLAIN_TYPESCRIPT:
        return _PLAIN_TYPESCRIPT[annotation]
    if dataclasses.is_dataclass(annotation):
        return typing.cast("type", annotation).__name__
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return " | ".join(json.dumps(argument) for argument in arguments)
    inner = [_typescript_type(argument) for argument in arguments]
    if origin in (typing.Union, types.UnionType):
        return " | ".join(inner)
    if origin is list:
        return f"({inner[0]})[]" if "|" in inner[0] else f"{inner[0]}[]"
    if origin is tuple:
        return f"[{', '.join(inner)}]"
    if origin is dict:
        return f"Record<string, {inner[1]}>"
    raise TypeError(f"no TypeScript for {annotation!r}")


if __name__ == "__main__":
    for path, text in generated_files(Path(__file__).parents[2]).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
