"""``kbeval run``: one evaluation, its result as text and JSON, its verdict as exit status."""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import itertools
import json
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from . import api, sources
from .cli import EXIT_CANCELLED, EXIT_FAILED, EXIT_OK, EXIT_TARGET, mute, print_error, write_out
from .errors import Cancelled, KernelBenchError, RequestError
from .model.result import SCHEMA, EvaluationResult, TargetInfo
from .options import BY_KEYWORD, OptionParser, add_evaluation_options, build_request, given_options
from .planning import new_id
from .rendering import text
from .runner.report import Failure
from .terminal import TerminalProgress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .model.request import EvaluationRequest
    from .running import RunningEvaluation

REDRAW_S = 0.1
STANDARD_OUTPUT = "-"


def run(words: list[str]) -> int:
    """Evaluate as the words say; writes the JSON in every case; the exit status."""
    json_name = _json_destination(words)
    try:
        given = _parser().parse(words)
        outputs = Outputs.open(given.json, given.events, quiet=given.quiet)
        request = _request(given)
        if given.dry_run:
            return outputs.finish_dry_run(api.dry_run(request))
    except KernelBenchError as error:
        return _report_error(error, json_name)
    with contextlib.closing(outputs), _terminable():
        return _evaluate(request, outputs)


def _evaluate(request: EvaluationRequest, outputs: Outputs) -> int:
    running: RunningEvaluation | None = None
    try:
        running = api.start(request, outputs.on_event)
        outputs.follow(running)
        result = running.future.result()
    except (KeyboardInterrupt, concurrent.futures.CancelledError):
        return _interrupted(running, outputs)
    except KernelBenchError as error:
        print_error(error)
        result = running.evaluation.result() if running else error_result(error)
        return outputs.finish(result, error.exit_code, say=False)
    except Exception as error:
        failure = KernelBenchError(f"{type(error).__name__}: {error}", kind="internal")
        outputs.finish(error_result(failure), EXIT_TARGET, say=False)
        raise
    if result.verdict == "cancelled":
        return outputs.finish(result, EXIT_CANCELLED)
    return outputs.finish(result, exit_status(result, request.stages))


def exit_status(result: EvaluationResult, stages: tuple[str, ...]) -> int:
    """0 passed, or not checked where no check was asked for; 1 any other verdict."""
    asked_for_check = "correctness" in stages or "all" in stages
    if result.verdict == "passed" or (result.verdict == "not_checked" and not asked_for_check):
        return EXIT_OK
    return EXIT_FAILED


def _interrupted(running: RunningEvaluation | None, outputs: Outputs) -> int:
    error = Cancelled("cancelled by interrupt")
    if running is None:
        return outputs.finish(error_result(error), EXIT_CANCELLED)
    running.cancel()
    concurrent.futures.wait([running.future], api.CANCEL_WAIT_S)
    print_error(error)
    result = running.evaluation.result()
    if running.evaluation.running:  # the target did not answer in time
        result = dataclasses.replace(result, verdict="cancelled", reason=error.message)
    return outputs.finish(result, EXIT_CANCELLED, say=False)


def error_result(error: KernelBenchError) -> EvaluationResult:
    """The result of an evaluation that could not begin."""
    failure = Failure(error.kind, error.message, error.hint)
    verdict: Any = "cancelled" if isinstance(error, Cancelled) else "error"
    return EvaluationResult(
        schema=SCHEMA,
        id=new_id(),
        label="",
        problem="",
        verdict=verdict,
        reason=error.message,
        format="",
        seed=42,
        target=TargetInfo("", ""),
        error=failure,
    )


@dataclass
class Outputs:
    """Where what goes: JSON, events, progress on standard error, the result as text on standard output."""

    json_name: str | None
    events: TextIO | None
    progress: TerminalProgress | None
    quiet: bool

    @classmethod
    def open(cls, json_name: str | None, events_name: str | None, *, quiet: bool) -> Outputs:
        """Check and open before anything runs; raises RequestError."""
        if json_name == events_name == STANDARD_OUTPUT:
            raise RequestError("--json and --events cannot both go to standard output", "give one of them a file")
        if json_name not in (None, STANDARD_OUTPUT) and not Path(json_name).absolute().parent.is_dir():
            raise RequestError(f"--json {json_name}: there is no folder {Path(json_name).absolute().parent}")
        events = sys.stdout if events_name == STANDARD_OUTPUT else None
        if events_name and events is None:
            try:
                events = Path(events_name).open("w", encoding="utf-8")  # noqa: SIM115 - closed with the outputs
            except OSError as error:
                raise RequestError(f"--events {events_name}: {error.strerror}") from error
        return cls(json_name, events, None if quiet else TerminalProgress(sys.stderr), quiet)

    def on_event(self, event: dict[str, Any]) -> None:
        """Take an event, in the background thread."""
        if self.progress is not None:
            self.progress.on_event(event)
        if self.events is not None:
            try:
                self.events.write(json.dumps(event, allow_nan=False) + "\n")
                self.events.flush()
            except OSError as error:  # the reader left, the disk is full: the evaluation goes on
                sys.stderr.write(f"kbeval: --events ends here: {error.strerror}\n")
                mute(self.events)

    def follow(self, running: RunningEvaluation) -> None:
        """Draw progress until the evaluation is over."""
        while not concurrent.futures.wait([running.future], REDRAW_S).done:
            if self.progress is not None:
                self.progress.draw(running.evaluation.snapshot())

    def finish(self, result: EvaluationResult, status: int, *, say: bool = True) -> int:
        """Write the result; the exit status."""
        if self.progress is not None:
            self.progress.close()
        if say and self.json_name != STANDARD_OUTPUT and self.events is not sys.stdout:
            write_out(text.short(result) if self.quiet else text.render(result))
        write_json(result, self.json_name)
        return status

    def finish_dry_run(self, result: EvaluationResult) -> int:
        """Write the plan, which is the log of such a result."""
        if self.json_name != STANDARD_OUTPUT:
            write_out("\n".join(result.log_tail))
        return self.finish(result, EXIT_OK, say=False)

    def close(self) -> None:
        """Close the event file."""
        if self.events not in (None, sys.stdout):
            self.events.close()


def write_json(result: EvaluationResult, name: str | None) -> None:
    """The result as strict JSON into a file, or on standard output for "-"; raises RequestError."""
    if name is None:
        return
    data = json.dumps(result.to_json(), indent=1, allow_nan=False)
    if name == STANDARD_OUTPUT:
        write_out(data)
        return
    try:
        Path(name).write_text(data + "\n", encoding="utf-8")
    except OSError as error:
        raise RequestError(f"--json {name}: {error.strerror}") from error


def _report_error(error: KernelBenchError, json_name: str | None) -> int:
    print_error(error)
    write_json(error_result(error), json_name)
    return error.exit_code


def _json_destination(words: list[str]) -> str | None:
    """Where the JSON goes, also where the rest of the words cannot be understood."""
    for word, following in itertools.pairwise([*words, ""]):
        if word == "--json":
            return following or None
        if word.startswith("--json="):
            return word.partition("=")[2] or None
    return None


def _parser() -> OptionParser:
    parser = OptionParser(prog="kbeval run", description="Evaluate an implementation against a reference.")
    cell = "or notebook.ipynb#LABEL for a cell"
    parser.add_argument("--reference", "--ref", required=True, metavar="FILE", help=f"what is right; {cell}")
    parser.add_argument("--impl", "--implementation", required=True, metavar="FILE", help=f"what is evaluated; {cell}")
    add_evaluation_options(parser)
    parser.add_argument("--json", metavar="FILE", help="write the result as JSON; - for standard output")
    parser.add_argument("--events", metavar="FILE", help="write the events as JSON lines; - for standard output")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, and the result in one line")
    return parser


def file_options(given: Any) -> dict[str, Any]:
    """The options of parsed words, those that name files as paths."""
    options = given_options(given)
    for keyword, value in options.items():
        if value is not None and BY_KEYWORD[keyword].file:
            options[keyword] = Path(value)
    return options


def _request(given: Any) -> EvaluationRequest:
    return build_request(sources.from_path(given.impl), sources.from_path(given.reference), file_options(given))


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Make a polite kill mean the same as an interrupt."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
