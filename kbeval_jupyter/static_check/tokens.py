"""A tokenizer for C++, CUDA and HIP: as much of the language as is needed to know code from comments, strings and dead code."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from .text import Place, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["name", "number", "string", "character", "operator"]

_TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?P<content>.*?)\)(?P=mark)")
    | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
    | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
    | (?P<number>\.?[0-9](?:[eEpP][+-]|'[0-9a-zA-Z_]|[\w.])*)
    | (?P<name>[^\W\d]\w*|\$\w+)
    | (?P<newline>\n)
    | (?P<space>[^\S\n]+)
    | (?P<operator><<<|::|->|\#\#|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_CONDITIONALS = {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef", "else", "endif"}
_FALSE, _TRUE = re.compile(r"\s*(0|false)\s*(& &.*)?$"), re.compile(r"\s*(1|true)\s*(\| \|.*)?$")


@dataclass(frozen=True)
class Token:
    """A token; a string's ``text`` is its content without quotes."""

    kind: Kind
    text: str
    place: Place


@dataclass
class Unit:
    """One source after the preprocessor's first look: code that a compiler would see, what it includes, what it defines."""

    at: Place  # where it begins
    tokens: list[Token] = field(default_factory=list)
    includes: list[Token] = field(default_factory=list)
    macros: dict[str, list[Token]] = field(default_factory=dict)


def read(text: Text) -> Unit:
    """The unit of a source; never raises, whatever the text is."""
    unit = Unit(text.places[0])
    conditions: list[_Condition] = []
    for kind, item in _lines(text):
        if kind == "directive":
            _apply(item, unit, conditions)
        elif all(condition.active for condition in conditions):
            unit.tokens += item
    return unit


def _lines(text: Text) -> Iterator[tuple[Literal["code", "directive"], list[Token]]]:
    """Preprocessor lines one by one, and the code between them."""
    spliced, starts = _splice(text.value)
    code: list[Token] = []
    line: list[Token] = []
    directive, fresh = False, True
    for match in _TOKEN.finditer(spliced):
        kind = str(match.lastgroup)
        if kind == "newline":
            if directive:
                yield "directive", line
                line, directive = [], False
            fresh = True
            continue
        if kind in ("comment", "space"):
            continue
        place = text.place(bisect.bisect_right(starts, match.start()) - 1)
        if match.group() == "#" and fresh:
            yield "code", code
            code, directive, fresh = [], True, False
            continue
        fresh = False
        (line if directive else code).append(_token(kind, match, place))
    yield "code", code
    yield "directive", line if directive else []


def _token(kind: str, match: re.Match[str], place: Place) -> Token:
    words = match.group()
    if match["raw"] is not None:
        return Token("string", match["content"], place)
    if kind == "string":
        return Token("string", words[words.index('"') + 1 : -1], place)
    if kind == "name":
        return Token("name", words, place)
    if kind == "number":
        return Token("number", words, place)
    return Token("character" if kind == "character" else "operator", words, place)


def _splice(value: str) -> tuple[str, list[int]]:
    """The text with continued lines joined, and where in it each line of the value starts."""
    parts, starts, length = [], [0], 0
    for piece in re.split(r"(\\[^\S\n]*\n|\n)", value):
        if piece.endswith("\n"):
            if piece == "\n":
                parts.append(piece)
                length += 1
            starts.append(length)
        else:
            parts.append(piece)
            length += len(piece)
    return "".join(parts), starts


@dataclass
class _Condition:
    """One ``#if`` that is open. What only the compiler knows counts as active in all its branches."""

    active: bool
    certain: bool  # an earlier branch was surely taken


def _apply(line: list[Token], unit: Unit, conditions: list[_Condition]) -> None:
    if not line:
        return
    word, rest = line[0].text, line[1:]
    if word in _CONDITIONALS:
        _switch(word, " ".join(token.text for token in rest), conditions)
    elif not all(condition.active for condition in conditions):
        return
    elif word == "include" and rest:
        name = rest[0].text if rest[0].kind == "string" else "".join(token.text for token in rest[1:-1])
        unit.includes.append(Token("string", name, line[0].place))
    elif word == "define" and rest:
        unit.macros[rest[0].text] = rest[1:]


def _switch(word: str, condition: str, conditions: list[_Condition]) -> None:
    if word in ("if", "ifdef", "ifndef"):
        known = word == "if"
        active = not (known and _FALSE.match(condition))
        conditions.append(_Condition(active, bool(known and _TRUE.match(condition))))
    elif not conditions:
        return
    elif word == "endif":
        conditions.pop()
    else:
        top = conditions[-1]
        false = word == "elif" and bool(_FALSE.match(condition))
        top.active = not top.certain and not false
        top.certain = top.certain or (word == "elif" and bool(_TRUE.match(condition)))
