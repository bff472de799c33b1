"""The argument line of a magic: split into words, Python variables put in, options read from the one table."""

from __future__ import annotations

import argparse
import re
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.options import OptionParser, add_evaluation_options

if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE = "%%kernelbench [--ref NAME|FILE] [options]; %%kernelbench? lists them"


def split(line: str, variables: Mapping[str, Any]) -> list[str]:
    """The words of the line with ``{expression}`` and ``$name`` replaced; a value stays one word. Raises RequestError."""
    line, values = _with_marks(line, variables) if "{" in line or "$" in line else (line, [])
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise RequestError(f"cannot read the argument line: {str(error).lower()}: {line.strip()}") from error
    return [_MARK.sub(lambda mark: values[int(mark[1])], word) for word in words]


_MARK = re.compile("\0([0-9]+)\0")


def _with_marks(line: str, variables: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The line with marks for the values, which are put in after it was split: they may hold spaces and quotes."""
    from IPython.utils.text import DollarFormatter

    values: list[str] = []

    class Marker(DollarFormatter):  # type: ignore[misc]  # IPython is not checked here
        def format_field(self, value: Any, format_spec: str) -> str:
            values.append(format(value, format_spec))
            return f"\0{len(values) - 1}\0"

    try:
        return str(Marker().vformat(line, (), dict(variables))), values
    except Exception as error:  # the expression is the user's
        what = f"cannot replace the variables in {line.strip()!r}: {type(error).__name__}: {error}"
        raise RequestError(what, "for a brace as such write it twice") from error


class MagicParser(OptionParser):
    """Complaints are one line: in a notebook the help is a question mark away."""

    def error(self, message: str) -> NoReturn:
        """Every complaint of argparse."""
        raise RequestError(f"{message} (usage: {USAGE})")

    def format_usage(self) -> str:
        """Short: it is repeated with each complaint."""
        return USAGE


def make_parser() -> MagicParser:
    """The options of ``%%kernelbench``: those of the table, and what only makes sense in a notebook."""
    parser = MagicParser(prog="%%kernelbench", add_help=False, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ref", "--reference", metavar="NAME|FILE", help="the reference (default: the only one that is saved)")
    parser.add_argument("--impl", metavar="FILE", help="the implementation's file, or notebook.ipynb#label (of a line magic)")
    add_evaluation_options(parser)
    parser.add_argument("--detach", action="store_true", help="return at once; the live view goes on")
    parser.add_argument("-o", dest="output", metavar="VAR", help="bind the result to this variable (it is also _)")
    parser.add_argument("-q", dest="quiet", action="store_true", help="no live view and no progress")
    return parser


def name_argument(magic: str, words: list[str]) -> str:
    """The one name that ``%%kernelref`` and its kin take; raises RequestError."""
    if len(words) != 1 or words[0].startswith("-"):
        got = f", got {' '.join(words)!r}" if words else ""
        raise RequestError(f"%%{magic} takes one name{got}; for example: %%{magic} softmax")
    return words[0]
