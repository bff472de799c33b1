"""The argument line of a magic: split into words, Python variables put in, options read from the one table."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any, NoReturn

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.options import OptionParser, add_evaluation_options

if TYPE_CHECKING:
    from collections.abc import Mapping

USAGE = "%%kernelbench [--ref NAME|FILE] [options]; %%kernelbench? lists them"


def split(line: str, variables: Mapping[str, Any]) -> list[str]:
    """The words of the line with ``{expression}`` and ``$name`` replaced; one word stays one word. Raises RequestError."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise RequestError(f"cannot read the argument line: {str(error).lower()}: {line.strip()}") from error
    return [_expanded(word, variables) for word in words]


def _expanded(word: str, variables: Mapping[str, Any]) -> str:
    if "{" not in word and "$" not in word:
        return word
    from IPython.utils.text import DollarFormatter

    try:
        return str(DollarFormatter().vformat(word, (), dict(variables)))
    except Exception as error:  # the expression is the user's
        raise RequestError(f"cannot replace the variable in {word!r}: {type(error).__name__}: {error}") from error


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
    parser.add_argument("-q", dest="quiet", action="store_true", help="show nothing")
    return parser


def name_argument(magic: str, words: list[str]) -> str:
    """The one name that ``%%kernelref`` and its kin take; raises RequestError."""
    if len(words) != 1 or words[0].startswith("-"):
        raise RequestError(f"%%{magic} takes one name, got {' '.join(words) or 'none'!r}; for example: %%{magic} softmax")
    return words[0]
