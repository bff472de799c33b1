"""Progress of an evaluation in a terminal: text as it comes, and one line at the bottom that is redrawn."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from .rendering.text_progress import TextProgress

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from .model.evaluation import Snapshot, StageProgress

BAR_CELLS = 24
CLEAR_LINE = "\r\x1b[2K"


class TerminalProgress:
    """Writes to a stream; the bar only where that is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._bar = stream.isatty()
        self._text = TextProgress(self._write_above)

    @property
    def on_event(self) -> Callable[[dict[str, Any]], None]:
        """To be called with every event, from any thread."""
        return self._text.on_event

    def draw(self, snapshot: Snapshot) -> None:
        """Show what is new, and where the evaluation stands."""
        self._text.pump()
        if self._bar:
            columns = shutil.get_terminal_size().columns
            self._stream.write(CLEAR_LINE + bar_line(snapshot)[: columns - 1])
            self._stream.flush()

    def close(self) -> None:
        """Show the rest and leave a clean line."""
        self._text.pump(at_once=True)
        if self._bar:
            self._stream.write(CLEAR_LINE)
        self._stream.flush()

    def _write_above(self, text: str) -> None:
        self._stream.write((CLEAR_LINE if self._bar else "") + text)
        self._stream.flush()


def bar_line(snapshot: Snapshot) -> str:
    """One line: the running stage, its bar where steps are counted, and the time since the start."""
    stage = next((stage for stage in snapshot.stages if stage.status == "running"), None)
    if stage is None:
        return f"{snapshot.result.target.name}: waiting  {snapshot.elapsed_s:.1f} s"
    return f"{stage.stage} {_bar(stage)}{stage.message}  {snapshot.elapsed_s:.1f} s"


def _bar(stage: StageProgress) -> str:
    if not stage.total:
        return ""
    filled = round(BAR_CELLS * min(1.0, stage.done / stage.total))
    return f"[{'#' * filled}{'-' * (BAR_CELLS - filled)}] {stage.done:g}/{stage.total:g} "
