"""The ``kbeval`` command: thin over the same requests as the magics."""

from __future__ import annotations

import dataclasses
import io
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

from . import __version__
from .errors import KernelBenchError, RequestError, unknown_name
from .options import OptionParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EXIT_OK, EXIT_FAILED, EXIT_TARGET, EXIT_CANCELLED = 0, 1, 3, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 passed, 1 another verdict, 2 wrong request, 3 target failed, 130 cancelled."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    prepare_standard_streams()
    try:
        _check_working_directory()
        if not words or words[0] in ("-h", "--help", "help"):
            write_out(USAGE)
            return EXIT_OK if words else RequestError.exit_code
        if words[0] == "--version":
            write_out(f"kbeval {__version__}")
            return EXIT_OK
        return (COMMANDS.get(words[0]) or _unknown(words[0]))(words[1:])
    except KernelBenchError as error:
        print_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return EXIT_CANCELLED
    except BrokenPipeError:  # whoever read our output has gone
        mute(sys.stdout)
        return EXIT_FAILED
    except Exception:
        traceback.print_exc()
        return EXIT_TARGET


def prepare_standard_streams() -> None:
    """Streams that can always be written: one that was closed goes nowhere, a character it cannot encode becomes "?"."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            os.set_inheritable(number, True)
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _check_working_directory() -> None:
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise RequestError("the working directory was removed", "change to a folder that exists") from error


def write_out(text: str) -> None:
    """Write lines to standard output; raises RequestError where that cannot take them, BrokenPipeError where nobody reads."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        mute(sys.stdout)
        raise RequestError(f"standard output: {error.strerror}") from error


def mute(stream: TextIO) -> None:
    """Let what a stream still holds, and all that is written to it later, go nowhere."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def print_error(error: KernelBenchError) -> None:
    """One line, and the hint below it."""
    print(f"kbeval: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"  {error.hint}", file=sys.stderr)


def _unknown(word: str) -> NoReturn:
    raise RequestError(unknown_name("command", word, COMMANDS))


def _run(words: list[str]) -> int:
    from .cli_run import run

    return run(words)


def _compare(words: list[str]) -> int:
    from .cli_compare import compare

    return compare(words)


def _targets(words: list[str]) -> int:
    from .targets.config import load_configuration

    parser = OptionParser(prog="kbeval targets", description="Show the targets that are configured for this folder.")
    parser.add_argument("action", choices=("list", "show"), nargs="?", default="list")
    parser.add_argument("name", nargs="?", help="for show; default: the default target")
    given = parser.parse(words)
    configuration = load_configuration()
    if given.action == "list":
        for name, settings in sorted(configuration.targets.items()):
            mark = "*" if name == configuration.default else " "
            write_out(f"{mark} {name:<20} {settings.kind:<14} {configuration.origins[name] or 'built in'}")
        return EXIT_OK
    settings = configuration.resolve(given.name)
    values: dict[str, Any] = dataclasses.asdict(settings)  # type: ignore[call-overload]  # every kind's settings are a dataclass
    write_out(f"[targets.{settings.name}]  # {configuration.origins[settings.name] or 'built in'}")
    write_out(f'kind = "{settings.kind}"')
    for key, value in values.items():
        if key != "name" and value not in (None, ()):
            write_out(f"{key} = {_toml(value)}")
    return EXIT_OK


def _toml(value: Any) -> str:
    return (
        f"[{', '.join(map(_toml, value))}]"
        if isinstance(value, tuple)
        else f'"{value}"'
        if isinstance(value, str)
        else str(value)
    )


def _doctor(words: list[str]) -> int:
    from . import doctor

    OptionParser(prog="kbeval doctor", description="What this machine can do, and what to install for the rest.").parse(words)
    findings = doctor.examine()
    write_out(doctor.render(findings))
    return EXIT_OK if doctor.can_evaluate(findings) else EXIT_FAILED


def _show(words: list[str]) -> int:
    from .rendering import text
    from .saved import saved_results

    parser = OptionParser(prog="kbeval show", description="Print the results that are saved in a notebook.")
    parser.add_argument("notebook", type=Path)
    results = saved_results(parser.parse(words).notebook)
    if not results:
        raise RequestError("the notebook holds no results", "results are saved with the cells that made them")
    write_out("\n\n".join(text.render(result) for result in results))
    return EXIT_OK


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "run": _run,
    "targets": _targets,
    "doctor": _doctor,
    "show": _show,
    "compare": _compare,
}
USAGE = """usage: kbeval COMMAND …

  run --reference FILE --impl FILE   evaluate an implementation; kbeval run --help lists the options
  compare --reference FILE FILE …    time several implementations together: who is faster than whom
  targets list|show [NAME]           where evaluations can run
  doctor                             what this machine can do, and what to install for the rest
  show NOTEBOOK                      the results that are saved in a notebook

FILE may be a cell of a notebook: notebook.ipynb#LABEL
exit status: 0 passed, 1 any other verdict, 2 wrong request, 3 the target failed, 130 cancelled"""


if __name__ == "__main__":
    sys.exit(main())
