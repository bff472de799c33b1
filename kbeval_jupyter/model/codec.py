"""Dataclasses to strict JSON data and back, driven by their type annotations alone."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, TypeVar

T = TypeVar("T")
Decoder = Callable[[Any, str], Any]


class DecodeError(ValueError):
    """The data does not have the annotated shape; the message starts with the path to the wrong value."""


def json_fields(cls: type) -> list[dataclasses.Field[Any]]:
    """The fields that travel: all but those marked ``metadata={"json": False}``."""
    return [field for field in dataclasses.fields(cls) if field.metadata.get("json", True)]


def json_name(field: dataclasses.Field[Any]) -> str:
    """The field's key in JSON: its own name, or ``metadata={"json": "…"}`` where that is a word Python reserves."""
    name = field.metadata.get("json", field.name)
    return name if isinstance(name, str) else field.name


def encode(value: Any) -> Any:
    """Strict JSON data for a tree of dataclasses, in field order; a number that is not finite becomes None."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {json_name(field): encode(getattr(value, field.name)) for field in json_fields(type(value))}
    return str(value)


def decode(cls: type[T], data: Any) -> T:
    """An instance of the dataclass ``cls`` from JSON data; unknown keys are ignored; raises DecodeError."""
    instance: T = _decoder(typing.cast("Any", cls))(data, "")
    return instance


@functools.cache
def _decoder(annotation: Any) -> Decoder:
    if dataclasses.is_dataclass(annotation):
        return _dataclass_decoder(typing.cast("type", annotation))
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return _union_decoder(typing.get_args(annotation))
    if origin is Literal:
        return _literal_decoder(typing.get_args(annotation))
    if origin is list:
        return _list_decoder(_decoder(typing.get_args(annotation)[0]))
    if origin is tuple:
        return _tuple_decoder(typing.get_args(annotation))
    if origin is dict:
        return _dict_decoder(_decoder(typing.get_args(annotation)[1]))
    return _plain_decoder(annotation)


def _fail(expected: str, value: Any, where: str) -> DecodeError:
    return DecodeError(f"{where or 'value'}: expected {expected}, got {repr(value)[:80]}")


def _plain_decoder(annotation: Any) -> Decoder:
    if annotation is Any:
        return lambda value, _where: value
    if annotation is float:
        accepted: tuple[type, ...] = (float, int)
    elif annotation in (int, str, bool, type(None)):
        accepted = (annotation,)
    else:
        raise TypeError(f"no decoder for {annotation!r}")
    expected = "null" if annotation is type(None) else annotation.__name__

    def plain(value: Any, where: str) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and annotation is not bool):
            raise _fail(expected, value, where)
        return float(typing.cast("float", value)) if annotation is float else value

    return plain


def _dataclass_decoder(cls: type) -> Decoder:
    hints = typing.get_type_hints(cls)
    # Compiled on first use of each field: annotations may refer to each other.
    fields = [(json_name(f), f.name, hints[f.name], _required(f)) for f in json_fields(cls)]

    def construct(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _fail(f"an object ({cls.__name__})", value, where)
        arguments = {}
        for key, name, annotation, required in fields:
            if key in value:
                arguments[name] = _decoder(annotation)(value[key], f"{where}.{key}" if where else key)
            elif required:
                raise DecodeError(f"{where or cls.__name__}: {key!r} is missing")
        return cls(**arguments)

    return construct


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _union_decoder(members: tuple[Any, ...]) -> Decoder:
    optional = type(None) in members
    decoders = [_decoder(member) for member in members if member is not type(None)]

    def union(value: Any, where: str) -> Any:
        if value is None and optional:
            return None
        failure = DecodeError(f"{where}: no alternative fits")
        for decoder in decoders:
            try:
                return decoder(value, where)
            except DecodeError as error:
                failure = error
        raise failure

    return union


def _literal_decoder(choices: tuple[Any, ...]) -> Decoder:
    def literal(value: Any, where: str) -> Any:
        if value not in choices:
            raise _fail(f"one of {', '.join(map(str, choices))}", value, where)
        return value

    return literal


def _list_decoder(item: Decoder) -> Decoder:
    def items(value: Any, where: str) -> Any:
        if not isinstance(value, (list, tuple)):
            raise _fail("a list", value, where)
        return [item(element, f"{where}[{i}]") for i, element in enumerate(value)]

    return items


def _tuple_decoder(members: tuple[Any, ...]) -> Decoder:
    if len(members) == 2 and members[1] is Ellipsis:
        items = _list_decoder(_decoder(members[0]))
        return lambda value, where: tuple(items(value, where))
    decoders = [_decoder(member) for member in members]

    def fixed(value: Any, where: str) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != len(decoders):
            raise _fail(f"a list of {len(decoders)}", value, where)
        return tuple(decoder(element, f"{where}[{i}]") for i, (decoder, element) in enumerate(zip(decoders, value, strict=True)))

    return fixed


def _dict_decoder(item: Decoder) -> Decoder:
    def mapping(value: Any, where: str) -> Any:
        if not isinstance(value, dict):
            raise _fail("an object", value, where)
        return {str(key): item(element, f"{where}[{key!r}]") for key, element in value.items()}

    return mapping
