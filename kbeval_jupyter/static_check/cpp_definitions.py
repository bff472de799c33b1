"""The definitions in C++ tokens: functions, kernels, structs, aliases, macros and bindings, with the tokens of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .tokens import Token

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .tokens import Unit

DefinitionKind = Literal["kernel", "device", "host", "type", "alias", "macro", "binding"]

BINDINGS = {"PYBIND11_MODULE", "TORCH_LIBRARY", "TORCH_LIBRARY_FRAGMENT", "TORCH_LIBRARY_IMPL", "STABLE_TORCH_LIBRARY"}
BINDINGS |= {"STABLE_TORCH_LIBRARY_IMPL", "STABLE_TORCH_LIBRARY_FRAGMENT", "NB_MODULE", "TVM_FFI_DLL_EXPORT_TYPED_FUNC"}
_ATTRIBUTES = {"__launch_bounds__", "__attribute__", "__declspec", "alignas", "__align__", "noexcept", "decltype", "explicit"}
_ATTRIBUTES |= {"requires", "__cluster_dims__", "__block_size__", "__maxnreg__", "declspec"}
_AFTER_PARAMETERS = _ATTRIBUTES | {"const", "volatile", "override", "final", "try", "mutable"}
OPERATOR = "operator"  # the name of all overloaded operators
_TYPES = {"struct", "class", "union", "enum"}
_CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass(frozen=True)
class Definition:
    """Something with a name. ``tokens`` are those that run, or count, where the name is used; dead code is left out."""

    kind: DefinitionKind
    name: str
    head: list[Token]
    tokens: list[Token]

    @property
    def at(self) -> Token:
        """The token of the name, for its place."""
        return next((token for token in self.head if token.text == self.name), (self.head or self.tokens)[0])


def definitions(unit: Unit) -> Iterator[Definition]:
    """Everything that a unit defines at namespace level."""
    for name, tokens in unit.macros.items():
        if tokens:
            yield Definition("macro", name, tokens[:1], tokens)
    global_words = {name for name, tokens in unit.macros.items() if _is_global(tokens) and not _has(tokens, "{")}
    yield from _namespace(unit.tokens, {"__global__"} | global_words)


def matching(tokens: list[Token], opening: int) -> int:
    """Index of the bracket that closes the one at ``opening``; the number of tokens where none does."""
    left = tokens[opening].text
    right, depth = _CLOSING[left], 0
    for index in range(opening, len(tokens)):
        if tokens[index].kind == "operator":
            depth += (tokens[index].text == left) - (tokens[index].text == right)
            if depth == 0:
                return index
    return len(tokens)


def before_template_arguments(tokens: list[Token], index: int) -> int:
    """Index of the last token before ``index`` that is not part of template arguments ending there."""
    index -= 1
    if index < 0 or tokens[index].text != ">":
        return index
    depth = 0
    while index >= 0:
        depth += (tokens[index].text == ">") - (tokens[index].text == "<")
        index -= 1
        if depth == 0:
            break
    return index


def _namespace(tokens: list[Token], global_words: set[str]) -> Iterator[Definition]:
    head: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.kind != "operator" or token.text not in ";{}":
            head.append(token)
        elif token.text == "{" and not _is_transparent(head):
            end = matching(tokens, index)
            body = tokens[index + 1 : end]
            index = end
            if _starts_value(head):
                head += body
            else:
                calls, head = _leading_macro_calls(head)
                yield from calls
                yield _braced(head, body, global_words)
                head = []
        else:
            if token.text == ";":
                yield from _statement(head)
            head = []
        index += 1
    yield from _statement(head)


def _leading_macro_calls(head: list[Token]) -> tuple[list[Definition], list[Token]]:
    """Macro calls without a semicolon before a definition, ``DEFINE(a) void f() {``, and what is left of the head."""
    calls = []
    while len(head) > 2 and head[0].kind == "name" and head[1].text == "(" and head[0].text not in _ATTRIBUTES:
        end = matching(head, 1)
        if not any(token.text == "(" for token in head[end + 1 :]):
            break
        calls.append(Definition("binding", head[0].text, head[: end + 1], head[:end]))
        head = head[end + 1 :]
    return calls, head


def _is_transparent(head: list[Token]) -> bool:
    """``namespace x``, ``extern "C"``: what is inside stands at namespace level too."""
    words = [token.text for token in head]
    return "namespace" in words or (bool(words) and words[0] == "extern" and head[-1].kind == "string")


def _starts_value(head: list[Token]) -> bool:
    """Whether the brace after ``head`` belongs to an initializer: ``auto x = {`` or ``= [] (…) {``."""
    depth = 0
    for token in _without_template(head):
        depth += (token.text in "([") - (token.text in ")]") if token.kind == "operator" else 0
        if token.text == "=" and depth == 0:
            return True
    return False


def _braced(head: list[Token], body: list[Token], global_words: set[str]) -> Definition:
    """A function, a type, or a macro call with a block."""
    plain = _without_template(head)
    words = {token.text for token in plain}
    name = _function_name(plain)
    if name is None or (words & _TYPES and not _has(plain, "(")):
        names = [token.text for token in plain if token.kind == "name" and token.text not in _TYPES | {"final"}]
        return Definition("type", names[0] if names else "", head or body[:1], head + body)
    if name in BINDINGS:
        return Definition("binding", name, head, body)
    if words & global_words:
        return Definition("kernel", name, head, without_dead_code(body))
    kind: DefinitionKind = "device" if "__device__" in words and "__host__" not in words else "host"
    return Definition(kind, name, head, head + without_dead_code(body))


def _statement(head: list[Token]) -> Iterator[Definition]:
    """``using``, ``typedef``, a variable, or a macro call; declarations of functions define nothing."""
    plain = _without_template(head)
    words = [token.text for token in plain]
    if not words or words[0] == "template":
        return
    if words[0] == "using" and len(words) > 3 and words[2] == "=":
        yield Definition("alias", words[1], plain, plain[3:])
    elif words[0] == "typedef":
        yield Definition("alias", words[-1], plain, plain[1:-1])
    elif _starts_value(plain):
        equals = words.index("=")
        names = [token.text for token in plain[:equals] if token.kind == "name"]
        if names:  # one that calls something runs when the library is loaded, and may register operators
            yield Definition("binding" if _has(plain, "(") else "alias", names[-1], plain, plain)
    elif plain[0].text in BINDINGS or (len(words) > 1 and words[1] == "(" and plain[0].kind == "name"):
        yield Definition("binding", words[0], plain, plain[1:])  # a macro call: it may define or register anything


def _function_name(plain: list[Token]) -> str | None:
    """The name before the parameters; None where ``plain`` is no function's head."""
    index = 0
    while index < len(plain):
        if plain[index].text == "(" and plain[index].kind == "operator":
            before = before_template_arguments(plain, index)
            name = plain[before] if before >= 0 else None
            if name is not None and name.kind == "name" and name.text not in _ATTRIBUTES:
                after = matching(plain, index) + 1
                if after >= len(plain) or plain[after].kind != "name" or plain[after].text in _AFTER_PARAMETERS:
                    return name.text  # else a macro such as BOUNDS(256), and the name is still to come
            if any(token.text == "operator" for token in plain[:index]):
                return OPERATOR
            index = matching(plain, index)
        index += 1
    return None


def _without_template(head: list[Token]) -> list[Token]:
    """The head without a leading ``template <…>`` that introduces parameters; an explicit instantiation keeps the word."""
    while len(head) > 1 and head[0].text == "template" and head[1].text == "<":
        depth = 0
        for index, token in enumerate(head[1:], 1):
            depth += (token.text == "<") - (token.text == ">")
            if depth == 0:
                head = head[index + 1 :]
                break
        else:
            return head[2:]
    return head


def without_dead_code(body: list[Token]) -> list[Token]:
    """A function's tokens less what never runs: ``if (false)``, and what follows a return that nothing guards."""
    kept: list[Token] = []
    depth, index = 0, 0
    while index < len(body):
        token = body[index]
        if token.text == "if" and token.kind == "name" and (skipped := _false_branch(body, index)):
            index = skipped
            continue
        if token.kind == "operator":
            depth += (token.text in "({[") - (token.text in ")}]")
        kept.append(token)
        if token.text == "return" and depth == 0 and (index == 0 or body[index - 1].text in ";}"):
            end = index
            while end < len(body) and not (body[end].text == ";" and body[end].kind == "operator"):
                end = matching(body, end) if body[end].text in _CLOSING and body[end].kind == "operator" else end
                end += 1
            labels = any(body[i].text == ":" and body[i - 1].kind == "name" for i in range(end, len(body)))
            return kept + body[index + 1 : None if labels else end]
        index += 1
    return kept


def _false_branch(body: list[Token], index: int) -> int:
    """Where code goes on after an ``if (false)`` at ``index`` and its statement; 0 where the condition is not that."""
    opening = index + 1
    if opening < len(body) and body[opening].text == "constexpr":
        opening += 1
    condition = [token.text for token in body[opening : opening + 3]]
    if condition not in (["(", "false", ")"], ["(", "0", ")"]):
        return 0
    start = opening + 3
    if start < len(body) and body[start].text == "{":
        end = matching(body, start) + 1
    else:
        end = next((i for i in range(start, len(body)) if body[i].text == ";"), len(body)) + 1
    return end + 1 if end < len(body) and body[end].text == "else" else end


def _is_global(tokens: list[Token]) -> bool:
    return _has(tokens, "__global__")


def _has(tokens: list[Token], text: str) -> bool:
    return any(token.text == text for token in tokens)
