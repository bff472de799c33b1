"""The live view in a cell, and the frozen result that takes its place."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from IPython.display import display

from kbeval_jupyter.rendering import mimebundle
from kbeval_jupyter.widgets.evaluation_view import EvaluationView, require_static
from kbeval_jupyter.widgets.log_buffer import LogBuffer

if TYPE_CHECKING:
    from kbeval_jupyter.model.result import EvaluationResult
    from kbeval_jupyter.running import RunningEvaluation

STATE_LIMIT_BYTES = 60_000


class LastView:
    """The view of the last evaluation stays open until the next one begins.

    ipykernel before 7.4 answers a page that was reloaded in mid-run only when the cell has ended; a closed view would be lost.
    """

    def __init__(self) -> None:
        self._view: EvaluationView | None = None
        self._lock = threading.Lock()

    def replace(self, view: EvaluationView | None) -> None:
        """Close what was kept, and keep ``view``; any thread."""
        with self._lock:
            before, self._view = self._view, view
        if before is not None:
            before.close()


_LAST = LastView()


class WidgetDisplay:
    """The live view, replaced by the frozen bundle in the same place of the page."""

    def __init__(self) -> None:
        require_static()  # now, while plain text can still take its place
        self._log = LogBuffer()
        self._view: EvaluationView | None = None
        self._handle: Any = None
        self._lock = threading.Lock()
        self._finished = False

    def on_event(self, event: dict[str, Any]) -> None:
        """Take the next event; what comes before the view is there is in the log and in the first state."""
        is_log = event.get("kind") == "log"
        if is_log:
            self._log.add(str(event["source"]), str(event["text"]))
        if self._view is not None:
            self._view.notify(log=is_log)

    def begin(self, running: RunningEvaluation) -> None:
        """Show the live view in the current cell."""

        def state() -> dict[str, Any]:
            snapshot = running.evaluation.snapshot().to_json()
            snapshot["result"] = mimebundle.thinned(snapshot["result"], STATE_LIMIT_BYTES)
            return snapshot

        _LAST.replace(None)
        self._view = EvaluationView(self._log, state, running.cancel)
        self._handle = display(self._view, display_id=True)
        self._view.notify(log=True)
        self._view.notify(log=False)

    def pump(self) -> None:
        """The view writes by itself."""

    def finish(self, result: EvaluationResult) -> None:
        """Freeze. By its display id the bundle reaches the right cell from every thread."""
        with self._lock:
            if self._finished or self._view is None:
                return
            self._finished = True
        self._view.finish()
        self._handle.update(mimebundle.bundle(result), raw=True)
        if not self._view.reloaded:
            _LAST.replace(self._view)
