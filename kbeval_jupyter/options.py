"""The one table of options: command line, magics, Python keywords, completion and help are all read from it."""

from __future__ import annotations

import argparse
import math
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from . import sources
from .errors import RequestError, unknown_name
from .model.request import TORCH_COMPILE, EvaluationRequest, RivalSource, Source, portable
from .planning import ALL, STAGES
from .problems.cases import check_cases, parse_cases
from .problems.loading import FORMATS
from .static_check.languages import BACKENDS

DEFAULT_STAGES = ("compile", "correctness")

STAGES_HELP = f"comma-separated: {', '.join((*STAGES, ALL))} (default: {','.join(DEFAULT_STAGES)})"
MAX_SEED = 2**64 - 1  # what torch's generators take
MAX_TRIALS = 100_000
MAX_GPU_ID = 1023
MAX_SECONDS = 10_000_000  # four months; timers count in C's integers
DTYPES = ("float64", "float32", "float16", "bfloat16")

# Words of the contract that later versions bring. Saying so is kinder than "unknown option".
LATER = frozenset(
    {"profile", "lang", "arch", "prepare-only", "detach"},
)


def _whole_number(minimum: int, maximum: int) -> Callable[[str, Any], int]:
    def convert(option: str, value: Any) -> int:
        try:
            number = value if isinstance(value, int) and not isinstance(value, bool) else int(str(value))
        except ValueError:
            number = minimum - 1
        if not minimum <= number <= maximum:
            raise RequestError(f"{option} must be a whole number from {minimum} to {maximum}, got {_shown(value)}")
        return number

    return convert


def _tolerance(option: str, value: Any) -> float:
    number = _float(value)
    if not 0 <= number < math.inf:
        raise RequestError(f"{option} must be a finite number of at least 0, got {_shown(value)}")
    return number


def _seconds(option: str, value: Any) -> float:
    number = _float(value)
    if not 0 < number <= MAX_SECONDS:
        raise RequestError(f"{option} must be a number of seconds above 0 and at most {MAX_SECONDS}, got {_shown(value)}")
    return number


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _shown(value: Any) -> str:
    return reprlib.repr(value)  # a number of 10,000 digits is no help in a message


def _text(option: str, value: Any) -> str:
    if not isinstance(value, str):
        raise RequestError(f"{option} must be text, got {value!r}")
    return portable(value)


def _flag(option: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise RequestError(f"{option} must be True or False, got {value!r}")
    return value


def _words(option: str, value: Any) -> tuple[str, ...]:
    """A comma-separated list, or a list of words."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise RequestError(f"{option} must be a list of words, got {value!r}")
    return tuple(part.strip() for part in parts if part.strip())


def _patterns(option: str, value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else _words(option, value)


def _folder(option: str, value: Any) -> Path:
    if not isinstance(value, str | Path):
        raise RequestError(f"{option} must be a folder's path, got {value!r}")
    return Path(value)


def _inputs(_option: str, value: Any) -> Source:
    return sources.from_value(value, "custom inputs")


def _cases(_option: str, value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list | tuple):
        return check_cases(value)
    return parse_cases(sources.from_value(value, "test cases"))


def _rival(_option: str, value: Any) -> tuple[RivalSource, ...]:
    if isinstance(value, RivalSource):
        return (value,)
    if str(value) == TORCH_COMPILE:
        return (RivalSource(TORCH_COMPILE, None),)
    source = sources.from_value(value, "baseline")
    return (RivalSource(source.name, source),)


def _mapping(option: str, value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        raise RequestError(f"{option} must be a dict of numbers, got {value!r}")
    return dict(value)


@dataclass(frozen=True)
class Option:
    """One option. ``field`` is where it goes in the request; ``convert(shown name, value)`` checks it or raises RequestError."""

    name: str
    help: str
    convert: Callable[[str, Any], Any]
    field: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    many: bool = False  # takes several words
    file: bool = False  # the word on a command line is a file's name
    shell: bool = True  # exists on a command line, not in Python only

    @property
    def keyword(self) -> str:
        """Its name in Python."""
        return self.name.replace("-", "_")

    @property
    def is_flag(self) -> bool:
        """Takes no value on a command line."""
        return self.convert is _flag


OPTIONS: tuple[Option, ...] = (
    Option("target", "where to run: a name from kbeval.toml (default: its default, else local)", _text, "target", "NAME"),
    Option("stages", STAGES_HELP, _words, "stages", "LIST"),
    Option("benchmark", "measure too, once the results are right", _flag),
    Option("defensive", "look for cheats before measuring: named checks, a failed one rejects", _flag),
    Option("inputs", "a file that overrides get_inputs, get_init_inputs or generate_input", _inputs, "inputs", "FILE", file=True),
    Option("cases", "cases of the functional format: a JSON list of objects, or a task.yml", _cases, "cases", "FILE", file=True),
    Option("seed", "fixes weights and generators (default 42)", _whole_number(0, MAX_SEED), "seed", "N"),
    Option("gpu-id", "which GPU of the target", _whole_number(0, MAX_GPU_ID), "gpu_id", "N"),
    Option("dtype", "convert floating-point inputs and weights", _text, "dtype", choices=DTYPES),
    Option("precision", "what float32 products may use: ieee, or the faster tf32", _text, "precision", choices=("ieee", "tf32")),
    Option("backward", "compare gradients too", _flag, "backward"),
    Option("rtol", "relative tolerance (default: by dtype)", _tolerance, "rtol", "X"),
    Option("atol", "absolute tolerance (default: by dtype)", _tolerance, "atol", "X"),
    Option("trials", "checks of each case, with fresh inputs (default 3)", _whole_number(1, MAX_TRIALS), "trials", "N"),
    Option("budget", "seconds to measure (default 5)", _seconds, "budget_s", "S"),
    Option("vs", "time it against an earlier one: a label, a file, or torch.compile", _rival, "rivals", "LABEL|FILE", file=True),
    Option("confirm", "measure again in fresh processes where it is faster", _flag, "confirm"),
    Option("timeout", "seconds for the whole run on the target (default 600)", _seconds, "timeout_s", "S"),
    Option("build-timeout", "seconds for building extensions (default 600)", _seconds, "build_timeout_s", "S"),
    Option("public-inputs", "make inputs from the seed alone, the same in every run", _flag, "public_inputs"),
    Option("files", "further files the implementation needs, as glob patterns beside it", _patterns, "files", "GLOB", many=True),
    Option("backend", "refuse what is not written in this language, before anything runs", _text, "backend", choices=BACKENDS),
    Option("format", "the problem's format (default: found out)", _text, "format", choices=tuple(FORMATS)),
    Option("name", "what to call this implementation", _text, "label", "LABEL"),
    Option("artifacts", "where to put artifacts (default: kbeval_artifacts)", _folder, "artifacts", "DIR"),
    Option("no-sync-artifacts", "leave the artifacts on the target", _flag),
    Option("dry-run", "show what would run where, and run nothing", _flag),
    Option("limits", "bounds of the runner by name, e.g. run_dir_bytes", _mapping, "limits", shell=False),
)  # fmt: skip

BY_KEYWORD = {option.keyword: option for option in OPTIONS}


def build_request(
    implementation: Source, reference: Source, options: Mapping[str, Any], *, problem_name: str = ""
) -> EvaluationRequest:
    """The request that the options make; a value of None means "not given"; raises RequestError."""
    given = {keyword: value for keyword, value in options.items() if value is not None}
    fields: dict[str, Any] = {"stages": DEFAULT_STAGES}
    for keyword, value in given.items():
        option = BY_KEYWORD.get(keyword) or _unknown(keyword)
        converted = option.convert(option.keyword, value)
        if option.choices and converted not in option.choices:
            raise RequestError(unknown_name(option.keyword, converted, option.choices))
        if option.field:
            fields[option.field] = converted
    if any(given.get(keyword) for keyword in ("benchmark", "vs", "confirm")):
        fields["stages"] = (*fields["stages"], "benchmark")
    if given.get("defensive"):
        fields["stages"] = (*fields["stages"], "defense")
    fields["sync_artifacts"] = not given.get("no_sync_artifacts", False)
    return EvaluationRequest(implementation, reference, problem_name=problem_name, **fields)


def _unknown(keyword: str) -> NoReturn:
    if keyword.replace("_", "-") in LATER:
        raise RequestError(f"option {keyword!r} is not in this version", f"valid options: {', '.join(BY_KEYWORD)}")
    raise RequestError(unknown_name("option", keyword, BY_KEYWORD))


class OptionParser(argparse.ArgumentParser):
    """A parser that raises RequestError instead of leaving the process, and knows the nearest option."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        """Every complaint of argparse."""
        raise RequestError(message, f"{self.prog} --help lists the options")

    def parse(self, words: list[str]) -> argparse.Namespace:
        """The options in ``words``; raises RequestError for what is left over."""
        namespace, rest = self.parse_known_args(words)
        if not rest:
            return namespace
        word = rest[0].partition("=")[0]
        valid = [string for action in self._actions for string in action.option_strings if string.startswith("--")]
        if not word.startswith("-"):
            self.error(f"unexpected word {rest[0]!r}")
        if word.removeprefix("--") in LATER:
            raise RequestError(f"option {word} is not in this version; valid: {', '.join(sorted(valid))}")
        raise RequestError(unknown_name("option", word, valid))


def add_evaluation_options(parser: argparse.ArgumentParser) -> None:
    """Give a parser every option of the table; absent ones are None."""
    for option in OPTIONS:
        if not option.shell:
            continue
        if option.is_flag:
            parser.add_argument(f"--{option.name}", action="store_true", default=None, help=option.help)
        else:
            parser.add_argument(
                f"--{option.name}",
                metavar=option.metavar,
                choices=option.choices or None,
                nargs="+" if option.many else None,
                type=_word_type(option),
                help=option.help,
            )


def _word_type(option: Option) -> Callable[[str], Any]:
    """What argparse makes of one word: numbers are checked at once, files and names stay words for the caller to resolve."""
    if option.choices or option.many or option.file:
        return str
    return lambda word: option.convert(f"--{option.name}", word)


def given_options(namespace: argparse.Namespace) -> dict[str, Any]:
    """The table's options out of parsed arguments, for ``build_request``."""
    return {keyword: getattr(namespace, keyword, None) for keyword in BY_KEYWORD}
