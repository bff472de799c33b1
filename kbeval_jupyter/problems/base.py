"""What a problem format is: how its reference is recognised and what the runner must be told."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Protocol

from kbeval_jupyter.errors import RequestError

if TYPE_CHECKING:
    from kbeval_jupyter.model.request import EvaluationRequest
    from kbeval_jupyter.runner.wire import ProblemSpec

    from .names import Module


class Format(Protocol):
    """One problem format. ``typical`` are the names by which its references are known."""

    name: str
    implementation: str  # the name that an implementation must define
    implementation_form: str  # how that definition looks, for messages
    reference_form: str  # what a reference must define, for messages
    typical: tuple[str, ...]
    input_functions: tuple[str, ...]  # what --inputs may override

    def can_load(self, reference: Module) -> bool:
        """Whether the module is a whole reference of this format."""

    def load(self, reference: Module, request: EvaluationRequest) -> ProblemSpec:
        """The problem in the runner's words, with module paths left as "reference" and "implementation"; raises RequestError."""


def require(reference: Module, name: str, fmt: Format) -> None:
    """Raise RequestError, naming what was found, where a reference lacks ``name``."""
    if reference.may_define(name):
        return
    raise RequestError(
        f"{reference.source.name}: {absence(reference, name)}",
        f"a {fmt.name} reference defines {fmt.reference_form}",
    )


def absence(module: Module, name: str) -> str:
    """A sentence for a missing name: what is there instead, or where it is hidden."""
    nested = module.nested_definition(name)
    if nested is not None:
        return f"no {name} at the top level; the one in line {nested.lineno} is inside another definition and does not count"
    found = module.public_names()
    more = f" and {len(found) - 8} more" if len(found) > 8 else ""
    return f"no {name}; found {', '.join(found[:8])}{more}" if found else f"no {name}; the source defines nothing"


def parameters(definition: ast.stmt | None) -> ast.arguments | None:
    """The parameters of a function definition; None where the name is bound in another way."""
    return definition.args if isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef) else None
