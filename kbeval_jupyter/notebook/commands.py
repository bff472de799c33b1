"""``%kernelbench history`` and its kin: what is asked about evaluations, rather than evaluated."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.comparing import comparison_request
from kbeval_jupyter.errors import RequestError, unknown_name
from kbeval_jupyter.notebook.replay import replay_request
from kbeval_jupyter.options import given_options
from kbeval_jupyter.rendering.text import table
from kbeval_jupyter.targets.config import load_configuration

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbeval_jupyter.model.request import EvaluationRequest
    from kbeval_jupyter.model.result import EvaluationResult
    from kbeval_jupyter.notebook.history import History
    from kbeval_jupyter.notebook.saved_problems import SavedProblems
    from kbeval_jupyter.options import OptionParser

REPLAY, COMPARE = "replay", "compare"
NAMES = ("targets", "problems", "history", "show", "cancel", REPLAY, COMPARE)
LATER = frozenset({"attach", "leases", "sweep"})


def is_command(words: list[str]) -> bool:
    """Whether a magic's line asks for a command: its first word is no option."""
    return bool(words) and not words[0].startswith("-")


class Commands:
    """The commands over one notebook's saved problems and history; each gets its words and returns text or a value."""

    def __init__(self, problems: SavedProblems, history: History) -> None:
        self._problems = problems
        self._history = history

    def run(self, words: list[str]) -> str | EvaluationResult:
        """What the command says; raises RequestError."""
        name, *arguments = words
        commands: dict[str, Callable[[list[str]], Any]] = {
            "targets": self._targets, "problems": self._list_problems, "history": self._list_history,
            "show": self._show, "cancel": self._cancel,
        }  # fmt: skip
        if name in LATER:
            raise RequestError(f"command {name!r} is not in this version; valid: {', '.join(NAMES)}")
        if name not in commands:
            raise RequestError(unknown_name("command", name, NAMES))
        answer: str | EvaluationResult = commands[name](arguments)
        return answer

    def replay(self, words: list[str]) -> EvaluationRequest:
        """The request of ``replay ID|LABEL [case] [trial]``; raises RequestError."""
        if not 1 <= len(words) <= 3:
            raise RequestError("%kernelbench replay takes: ID|LABEL [case] [trial]")
        key, *place = words
        entry, result = self._history.finished(key)
        trial = place.pop() if place and place[-1].isdigit() and not self._is_case(result, place[-1], len(place)) else None
        return replay_request(entry.request, result, place[0] if place else None, int(trial) if trial is not None else None)

    def compare(self, words: list[str], parser: OptionParser) -> EvaluationRequest:
        """The request of ``compare LABEL|FILE … [--ref NAME|FILE] [options]``; raises RequestError.

        What was evaluated keeps its problem and options; all must be of one problem. ``parser`` reads the options.
        """
        names = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
        options = parser.parse(words[len(names) :])
        sides = [self._history.rival(name) for name in names]
        entries = [entry for entry in map(self._history.known, names) if entry is not None]
        base = entries[0].request if entries else None
        for entry in entries:
            if base is not None and entry.request.reference.text != base.reference.text:
                raise RequestError(f"{entry.label} is not of the same problem as {entries[0].label}")
        given = given_options(options)
        if base is not None and options.ref is None:
            return comparison_request(sides, base.reference, given, base)
        reference, problem = self._problems.reference(options.ref)
        given["cases"] = self._problems.find_cases(options.cases) if options.cases else self._problems.cases.get(problem)
        given["inputs"] = self._problems.find_inputs(options.inputs) if options.inputs else self._problems.inputs.get(problem)
        return comparison_request(sides, reference, given, problem_name=problem)

    @staticmethod
    def _is_case(result: EvaluationResult, word: str, words: int) -> bool:
        """A lone number may be the name of a case."""
        return words == 1 and result.correctness is not None and word in {case.name for case in result.correctness.cases}

    def _targets(self, words: list[str]) -> str:
        _no_more("targets", words)
        configuration = load_configuration()
        rows = [("target", "kind", "default", "configured in")]
        for name, settings in configuration.targets.items():
            default = "default" if name == configuration.default else ""
            rows.append((name, settings.kind, default, str(configuration.origins[name] or "built in")))
        return "\n".join(table(rows, ""))

    def _list_problems(self, words: list[str]) -> str:
        _no_more("problems", words)
        saved = self._problems
        names = dict.fromkeys((*saved.references, *saved.cases, *saved.inputs))
        if not names:
            return "no problem is saved: save a reference with %%kernelref NAME"
        rows = [("name", "reference", "cases", "inputs")]
        for name in names:
            cases = str(len(saved.cases[name])) if name in saved.cases else ""
            rows.append((name, saved.formats.get(name, ""), cases, "custom" if name in saved.inputs else ""))
        return "\n".join(table(rows, ""))

    def _list_history(self, words: list[str]) -> str:
        _no_more("history", words)
        return self._history.render()

    def _show(self, words: list[str]) -> EvaluationResult:
        if len(words) != 1:
            raise RequestError("%kernelbench show takes one ID or LABEL; %kernelbench history lists them")
        return self._history.finished(words[0])[1]

    def _cancel(self, words: list[str]) -> str:
        if len(words) > 1:
            raise RequestError("%kernelbench cancel takes one ID or LABEL, or none for all that run")
        entries = [self._history.find(words[0])] if words else self._history.running()
        running = [entry for entry in entries if entry.result is None]
        for entry in running:
            entry.running.cancel()
        return f"cancelling {', '.join(entry.label for entry in running)}" if running else "nothing is running"


def _no_more(command: str, words: list[str]) -> None:
    if words:
        raise RequestError(f"%kernelbench {command} takes no arguments, got {' '.join(words)!r}")
