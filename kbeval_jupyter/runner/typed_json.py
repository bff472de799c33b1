"""Frozen dataclasses from JSON, checked field by field.

The annotations are read as text, because Python 3.9 cannot evaluate ``str | None``.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from typing import Any, Literal, get_args, get_origin

_OPTIONAL = " | None"


class JsonTypeError(ValueError):
    """A value does not have the type that its place demands; the message says where, what was expected, what was found."""


def decode(cls: type, data: Any, where: str) -> Any:
    """An instance of the dataclass ``cls`` from a JSON object; unknown and missing keys are errors."""
    if not isinstance(data, dict):
        raise JsonTypeError(f"{where}: expected an object, got {_shown(data)}")
    fields = {f.name: f for f in dataclasses.fields(cls)}
    unknown = sorted(set(data) - set(fields))
    if unknown:
        raise JsonTypeError(f"{where}: unknown key {unknown[0]!r}; valid: {', '.join(fields)}")
    values = {}
    kinds = _annotations(cls)
    for name, field in fields.items():
        if name in data:
            values[name] = _value(kinds[name], data[name], f"{where}.{name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise JsonTypeError(f"{where}: {name!r} is missing")
    return cls(**values)


@functools.lru_cache(maxsize=None)
def _annotations(cls: type) -> dict[str, Any]:
    """The type of each field; ``(type, None)`` where None is allowed too."""
    names = vars(sys.modules[cls.__module__])
    kinds = {}
    for field in dataclasses.fields(cls):
        text = str(field.type)
        kind = eval(text.removesuffix(_OPTIONAL), names)
        kinds[field.name] = (kind, None) if text.endswith(_OPTIONAL) else kind
    return kinds


def _value(kind: Any, data: Any, where: str) -> Any:
    if isinstance(kind, tuple):
        return None if data is None else _value(kind[0], data, where)
    if kind is Any:
        return data
    if dataclasses.is_dataclass(kind):
        return decode(kind, data, where)  # type: ignore[arg-type]  # a class, never an instance: it came from an annotation
    origin = get_origin(kind)
    if origin is Literal:
        return _literal(get_args(kind), data, where)
    if origin in (list, tuple, dict):
        return _container(origin, get_args(kind), data, where)
    return _scalar(kind, data, where)


def _literal(choices: tuple[Any, ...], data: Any, where: str) -> Any:
    if data not in choices:
        raise JsonTypeError(f"{where}: expected one of {', '.join(map(repr, choices))}, got {_shown(data)}")
    return data


def _container(origin: Any, args: tuple[Any, ...], data: Any, where: str) -> Any:
    if origin is dict:
        if not isinstance(data, dict):
            raise JsonTypeError(f"{where}: expected an object, got {_shown(data)}")
        return {key: _value(args[1], value, f"{where}.{key}") for key, value in data.items()}
    if not isinstance(data, (list, tuple)):
        raise JsonTypeError(f"{where}: expected a list, got {_shown(data)}")
    if origin is list:
        return [_value(args[0], value, f"{where}[{i}]") for i, value in enumerate(data)]
    if len(data) != len(args):
        raise JsonTypeError(f"{where}: expected {len(args)} values, got {len(data)}")
    return tuple(_value(kind, value, f"{where}[{i}]") for i, (kind, value) in enumerate(zip(args, data)))


def _scalar(kind: Any, data: Any, where: str) -> Any:
    accepted = (int, float) if kind is float else (kind,)
    if (isinstance(data, bool) and kind is not bool) or not isinstance(data, accepted):
        raise JsonTypeError(f"{where}: expected {kind.__name__}, got {_shown(data)}")
    if kind is float:
        if not math.isfinite(data):
            raise JsonTypeError(f"{where}: expected a finite number, got {data}")
        return float(data)
    return data


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= 60 else text[:57] + "…"
