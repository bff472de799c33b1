"""How an evaluation is shown while it runs, and what stays of it: the parts that need no widget."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

from IPython.display import display

from kbeval_jupyter.rendering import mimebundle
from kbeval_jupyter.rendering.text_progress import TextProgress

if TYPE_CHECKING:
    from kbeval_jupyter.model.result import EvaluationResult
    from kbeval_jupyter.running import RunningEvaluation


class LiveDisplay(Protocol):
    """``on_event`` may be called on any thread and before ``begin``; ``pump`` on the cell's thread while it waits."""

    def on_event(self, event: dict[str, Any]) -> None:
        """Take the next event."""

    def begin(self, running: RunningEvaluation) -> None:
        """Show it."""

    def pump(self) -> None:
        """Write what is new, where writing must happen on the cell's thread."""

    def finish(self, result: EvaluationResult) -> None:
        """Replace what moved by what stays. Idempotent, any thread."""


class NoDisplay:
    """``-q``: nothing is shown."""

    def on_event(self, event: dict[str, Any]) -> None:
        """Not shown."""

    def begin(self, running: RunningEvaluation) -> None:
        """Not shown."""

    def pump(self) -> None:
        """Nothing to write."""

    def finish(self, result: EvaluationResult) -> None:
        """Not shown."""


class TextDisplay:
    """Plain lines; on a page that nobody watches (``on_page``) the result is put below them, in a terminal IPython prints it."""

    def __init__(self, *, on_page: bool) -> None:
        self._on_page = on_page
        self._progress = TextProgress(lambda text: (sys.stdout.write(text), sys.stdout.flush()))
        self._finished = False

    def on_event(self, event: dict[str, Any]) -> None:
        """Take the next event."""
        self._progress.on_event(event)

    def begin(self, running: RunningEvaluation) -> None:
        """Nothing to show before the first event."""

    def pump(self) -> None:
        """Write what is new."""
        self._progress.pump()

    def finish(self, result: EvaluationResult) -> None:
        """Write the rest, and on a page the result."""
        if self._finished:
            return
        self._finished = True
        self._progress.pump(at_once=True)
        if self._on_page:
            display(mimebundle.bundle(result), raw=True)
