"""The problem's own checker: ``check_implementation(inputs, output)``, run in the judge on private copies."""

from __future__ import annotations

from typing import Any

from ..usercode import failures
from .reference import InvalidReference, ReferenceProblem


class CheckerRaised(Exception):  # noqa: N818 - the caller finds out whose fault it is
    """The checker itself failed."""

    def __init__(self, error: Exception, folder: str) -> None:
        super().__init__(failures.summary(error))
        self.traceback = failures.user_traceback(error, folder)


def complaint(problem: ReferenceProblem, inputs: Any, output: Any) -> str:
    """What the checker has against an output, "" for nothing. Raises CheckerRaised.

    It may return a bool, a pair (bool, message), a message ("" is good), nothing, or raise AssertionError.
    """
    name = problem.spec.checker_function
    try:
        found = problem.checker(inputs, output)
    except AssertionError as error:
        return f"{name}: {error}" if str(error) else f"{name}: an assertion failed"
    except Exception as error:
        raise CheckerRaised(error, problem.folder) from error
    message = ""
    if isinstance(found, tuple) and len(found) == 2:
        found, message = found
    if found is None:
        return ""
    if isinstance(found, str):
        return f"{name}: {found}" if found else ""
    return "" if bool(found) else f"{name}: {message or 'the output is wrong'}"


def check_reference(problem: ReferenceProblem, inputs: Any, expected: Any) -> None:
    """Raise InvalidReference unless the checker accepts the reference's own output."""
    try:
        text = complaint(problem, inputs, expected)
    except CheckerRaised as error:
        raise InvalidReference(
            f"{problem.spec.checker_function}() failed on the reference's output: {error}", error.traceback
        ) from error
    if text:
        raise InvalidReference(f"the reference's own output does not pass: {text}")
