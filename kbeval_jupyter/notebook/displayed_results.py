"""Show a result once: the magic has put it on the page, so the cell's ``Out`` binds it (``_``) and shows nothing more."""

from __future__ import annotations

from typing import Any

from kbeval_jupyter.model.result import EvaluationResult
from kbeval_jupyter.rendering import mimebundle


class DisplayedResults:
    """Knows what the running cell has already shown. IPython asks it first, by way of its ``_ipython_display_`` formatter."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._shown: EvaluationResult | None = None
        mimebundle.register(shell)
        self._formatter.for_type(EvaluationResult, self._show)
        shell.events.register("post_run_cell", self._forget)

    def mark(self, result: EvaluationResult) -> None:
        """This one is on the page."""
        self._shown = result

    def close(self) -> None:
        """Take the hooks out; results keep their representations."""
        self._shell.events.unregister("post_run_cell", self._forget)
        self._formatter.pop(EvaluationResult, None)

    @property
    def _formatter(self) -> Any:
        return self._shell.display_formatter.ipython_display_formatter

    def _show(self, result: EvaluationResult) -> None:
        """Returning counts as "displayed"; raising hands over to the formatter of the bundle."""
        if result is not self._shown:
            raise NotImplementedError
        self._shown = None

    def _forget(self, _result: Any = None) -> None:
        self._shown = None
