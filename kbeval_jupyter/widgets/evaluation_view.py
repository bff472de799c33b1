"""The live view as a widget: a state that is replaced, a log that streams, and a Cancel button."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from kbeval_jupyter.errors import KernelBenchError
from kbeval_jupyter.widgets.publisher import Publisher

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbeval_jupyter.widgets.log_buffer import LogBuffer

STATIC = Path(__file__).parent / "static"
_FILES = (_SCRIPT, _STYLE) = ("view.js", "view.css")


class EvaluationView(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget is not checked here
    """Shows one evaluation while it runs. Its messages are described in ``model/messages.py``.

    ``state`` gives the snapshot as JSON and is called on a thread of ours; ``cancel`` is called on whatever thread the kernel
    handles the page's messages, so it must be thread-safe and quick.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    state = traitlets.Dict().tag(sync=True)

    def __init__(self, log: LogBuffer, state: Callable[[], dict[str, Any]], cancel: Callable[[], None]) -> None:
        super().__init__(_esm=static_text(_SCRIPT), _css=static_text(_STYLE), state=state())
        self._take_state = state
        self._cancel = cancel
        self._log = log
        self._pages = 0
        self._publisher = Publisher(log, self.send, self._update_state)
        self.on_msg(self._receive)
        answer_on_the_pages_own_subshell(self.comm)
        self._publisher.start()

    def notify(self, *, log: bool) -> None:
        """There is more in the log, or the state changed; any thread, never waits."""
        if log:
            self._publisher.log_changed()
        else:
            self._publisher.state_changed()

    @property
    def reloaded(self) -> bool:
        """Whether a page was reloaded meanwhile: it has lost the cell's output, and this widget is all that it shows."""
        return self._pages > 1

    def finish(self) -> None:
        """Send what is left; a page that was reloaded is answered still, until ``close``."""
        self._publisher.close()
        self._publisher = Publisher(self._log, self.send, self._update_state)
        self._publisher.start()

    def close(self) -> None:
        """Take the view from the page."""
        self._publisher.close()
        super().close()

    def _update_state(self) -> None:
        self.state = self._take_state()

    def _receive(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "cancel":
            self._cancel()
        elif content.get("kind") == "sync":
            start = content.get("from")
            start = start if isinstance(start, int) and start > 0 else 0
            self._pages += start == 0
            self._publisher.replay(start)
            self._publisher.state_changed()  # its clock goes on from there


def require_static() -> None:
    """Raise KernelBenchError where the view's files were not built."""
    for name in _FILES:
        static_text(name)


def static_text(name: str) -> str:
    """The text of a file that is built from ``js/``; raises KernelBenchError where it was not built."""
    try:
        return (STATIC / name).read_text(encoding="utf-8")
    except OSError as error:
        raise KernelBenchError(
            f"the live view's file {STATIC / name} is missing", "install the wheel, or build it from a checkout: make build"
        ) from error


def answer_on_the_pages_own_subshell(comm: Any) -> None:
    """Let the page's messages be handled while the cell that made the widget is busy.

    ipykernel 7.4 remembers from which shell a comm was last written to and sends its later messages there; for a widget that
    a cell made that is the main shell, which is busy. The front end's own choice (a subshell) is the right one. Other versions
    have no such method.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda _data, default: default  # noqa: SLF001 - there is no public way
