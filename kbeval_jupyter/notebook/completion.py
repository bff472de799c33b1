"""Tab after ``%%kernelbench``: options, and for each option what may follow it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbeval_jupyter.errors import KernelBenchError
from kbeval_jupyter.model.request import TORCH_COMPILE
from kbeval_jupyter.notebook.argument_line import make_parser
from kbeval_jupyter.notebook.commands import NAMES
from kbeval_jupyter.planning import ALL, STAGES
from kbeval_jupyter.targets.config import load_configuration

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kbeval_jupyter.notebook.history import History
    from kbeval_jupyter.notebook.saved_problems import SavedProblems

CELL, LINE = "%%kernelbench", "%kernelbench"
_NAMING = ("%%kernelref", "%%kernelcases", "%%kernelinputs")
_LABEL_COMMANDS = ("show", "cancel", "replay", "compare")


class Completion:
    """IPython's ``complete_command`` hooks of one shell."""

    def __init__(self, shell: Any, problems: SavedProblems, history: History) -> None:
        self._shell = shell
        self._problems = problems
        self._history = history
        actions = make_parser()._actions  # noqa: SLF001 - argparse has no public list
        self._actions = {string: action for action in actions for string in action.option_strings}
        for magic in (CELL, LINE, *_NAMING):
            shell.set_hook("complete_command", self._complete, str_key=magic)

    def close(self) -> None:
        """Take the hooks out, those of an earlier load included."""
        for magic in (CELL, LINE, *_NAMING):
            self._shell.strdispatchers["complete_command"].strs.pop(magic, None)

    def _complete(self, _shell: Any, event: Any) -> list[str]:
        """IPython completes its own token, which may be only the end of our word: ``cor`` of ``compile,cor``."""
        text = event.text_until_cursor
        word = "" if text[-1:].isspace() else text.split()[-1]
        done = len(word) - len(event.symbol)
        return [candidate[done:] for candidate in self.candidates(text)]

    def candidates(self, text: str) -> list[str]:
        """What may be written at the end of ``text``, the magic's line up to the cursor."""
        words = text.split()
        current = "" if text[-1:].isspace() or not words else words.pop()
        magic, *before = words or [current]
        if magic in _NAMING:
            return _starting(current, self._problems.references)
        if before and before[-1] in self._actions and self._actions[before[-1]].nargs != 0:
            return self._values(before[-1], current)
        if magic == LINE and not current.startswith("-"):
            if not before:
                return _starting(current, (*NAMES, *self._options()))
            if before[0] in _LABEL_COMMANDS:
                return _starting(current, (entry.label for entry in reversed(self._history.entries)))
        return _starting(current, self._options(before))

    def _options(self, used: Iterable[str] = ()) -> list[str]:
        return [string for string in self._actions if string not in used]

    def _values(self, option: str, current: str) -> list[str]:
        action = self._actions[option]
        if action.choices:
            return _starting(current, action.choices)
        if option == "--stages":
            return _stages(current)
        saved: dict[str, Iterable[str]] = {
            "--ref": self._problems.references,
            "--reference": self._problems.references,
            "--cases": self._problems.cases,
            "--inputs": self._problems.inputs,
            "--target": _target_names() if option == "--target" else (),
            "--vs": [*(entry.label for entry in reversed(self._history.entries)), TORCH_COMPILE],
            "--name": (entry.label for entry in reversed(self._history.entries)),
        }
        return _starting(current, saved.get(option, ()))


def _stages(current: str) -> list[str]:
    """The list so far with one more stage."""
    done, comma, last = current.rpartition(",")
    taken = done.split(",") if comma else []
    choices = [stage for stage in STAGES if stage not in taken] + ([ALL] if not taken else [])
    return [f"{done}{comma}{stage}" for stage in choices if stage.startswith(last)]


def _target_names() -> list[str]:
    try:
        return list(load_configuration().targets)
    except KernelBenchError:
        return []  # Tab is not the place to complain about a configuration


def _starting(current: str, words: Iterable[str]) -> list[str]:
    return [word for word in dict.fromkeys(words) if word.startswith(current)]
