"""What went wrong in the user's code, in the user's words: trimmed tracebacks, one-line summaries, and whether it was a build."""

from __future__ import annotations

import os
import traceback
from typing import Any, Iterator

MAX_TRACEBACK = 32 << 10
MAX_SUMMARY = 2000
MAX_CHAIN = 8

# Modules whose exceptions mean that a compiler refused the code, not that the code ran and failed.
_BUILD_MODULES = (
    "triton.compiler",
    "torch._inductor",
    "torch._dynamo",
    "tilelang",
    "cutlass",
    "pybind11",
    "distutils",
    "setuptools",
)
_BUILD_TEXTS = ("error building extension", "ninja is required", "nvrtc", "nvcc", "compilation failed", "undefined symbol")


class UserCodeError(Exception):
    """The user's code cannot be used: a syntax error, a missing name. The message is the whole explanation."""


class WrongResultError(Exception):
    """The code ran, and its result is wrong in a way that shows before it is compared. The message is the whole explanation."""


def syntax_error_line(error: SyntaxError, folder: str) -> str:
    """``implementation.py, line 3: invalid syntax: <text of the line>``."""
    name = relative_name(error.filename or "source", folder)
    text = (error.text or "").strip()
    place = f"{name}, line {error.lineno}" if error.lineno else name
    return f"{place}: {error.msg}" + (f": {text}" if text else "")


def relative_name(path: str, folder: str) -> str:
    """A file's name as the user knows it: relative to the folder its files were laid down in."""
    return path.removeprefix(os.path.join(folder, ""))


def _trim(report: traceback.TracebackException | None, folder: str, depth: int = 0) -> None:
    """Drop the frames before the first one of the user's, in the whole chain of causes."""
    if report is None or depth > MAX_CHAIN:
        return
    prefix = os.path.join(folder, "")
    frames = list(report.stack)
    first = next((i for i, frame in enumerate(frames) if frame.filename.startswith(prefix)), None)
    ours = os.path.dirname(os.path.abspath(__file__))
    kept = frames[first:] if first is not None else [f for f in frames if not f.filename.startswith(ours)]
    report.stack = traceback.StackSummary.from_list(kept)
    _trim(report.__cause__, folder, depth + 1)
    _trim(report.__context__, folder, depth + 1)


def user_traceback(error: BaseException, folder: str) -> str:
    """The traceback from the user's first frame on, file names relative to ``folder``, at most 32 kB."""
    report = traceback.TracebackException.from_exception(error, capture_locals=False)
    _trim(report, folder)
    text = "".join(report.format()).replace(os.path.join(folder, ""), "")
    if len(text) > MAX_TRACEBACK:
        half = MAX_TRACEBACK // 2
        text = f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"
    return text


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(MAX_CHAIN):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def is_build_failure(error: BaseException) -> bool:
    """Whether a compiler, a linker or the loader of a built library refused the code."""
    for link in _chain(error):
        module = type(link).__module__ or ""
        if module.startswith(_BUILD_MODULES) or isinstance(link, (SyntaxError, ImportError)):
            return True
        if any(text in _text(link).lower() for text in _BUILD_TEXTS):
            return True
    return False


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the user's __str__ may raise anything
        return ""


def summary(error: BaseException) -> str:
    """``ValueError: what it said``, in one line where the error has one."""
    text = _text(error).strip()
    name = type(error).__name__
    if isinstance(error, UserCodeError):
        return text
    return (f"{name}: {text}" if text else name)[:MAX_SUMMARY]


def describe(error: BaseException, folder: str) -> dict[str, Any]:
    """``{"kind", "summary", "traceback"}``; kind is "syntax", "missing", "wrong", "build" or "raise"."""
    if isinstance(error, SyntaxError):
        return {"kind": "syntax", "summary": syntax_error_line(error, folder), "traceback": ""}
    if isinstance(error, UserCodeError):
        return {"kind": "missing", "summary": str(error), "traceback": ""}
    if isinstance(error, WrongResultError):
        return {"kind": "wrong", "summary": str(error), "traceback": ""}
    kind = "build" if is_build_failure(error) else "raise"
    return {"kind": kind, "summary": summary(error), "traceback": user_traceback(error, folder)}
