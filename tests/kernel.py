"""A real ipykernel, spoken to as a page does: what a cell outputs, what the widget sends, and the page's answers."""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_client.manager import start_new_kernel

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIMIT_S = 60.0
VIEW = "application/vnd.jupyter.widget-view+json"


@dataclass
class Cell:
    """One execution: its messages so far."""

    id: str
    messages: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)
    idle_at: float | None = None

    def outputs(self) -> list[dict[str, Any]]:
        """The outputs as a page keeps them: an update replaces what it names."""
        kept: list[dict[str, Any]] = []
        for message in self.messages:
            kind, content = message["msg_type"], message["content"]
            if kind in ("display_data", "execute_result", "stream", "error"):
                kept.append({"type": kind, **content})
            elif kind == "update_display_data":
                for output in kept:
                    if output.get("transient", {}).get("display_id") == content["transient"]["display_id"]:
                        output["data"] = content["data"]
        return kept

    def display_ids(self) -> set[str]:
        """Of what it displayed."""
        shown = (message["content"] for message in self.messages if message["msg_type"] == "display_data")
        return {content["transient"]["display_id"] for content in shown if content.get("transient")}

    def comms(self) -> set[str]:
        """Of the widgets that it made."""
        return {message["content"]["comm_id"] for message in self.messages if message["msg_type"] == "comm_open"}

    def text(self) -> str:
        """Everything that was printed."""
        return "".join(output["text"] for output in self.outputs() if output["type"] == "stream")

    def widget_messages(self) -> list[dict[str, Any]]:
        """The custom messages of the live view."""
        data = (message["content"]["data"] for message in self.messages if message["msg_type"] == "comm_msg")
        return [part["content"] for part in data if part["method"] == "custom"]

    def log(self) -> list[str]:
        """The lines that the page has, put together."""
        lines: dict[int, str] = {}
        for message in self.widget_messages():
            for number, (_source, text) in enumerate(message["lines"], message["from"]):
                lines[number] = text
        return [lines[number] for number in sorted(lines)]

    @property
    def model(self) -> str:
        """The widget's comm."""
        shown = (message["content"]["data"] for message in self.messages if message["msg_type"] == "display_data")
        return next(str(data[VIEW]["model_id"]) for data in shown if VIEW in data)


class Kernel:
    """A kernel in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="python3", cwd=str(folder))
        self._cells: dict[str, Cell] = {}

    def close(self) -> None:
        """End it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def start(self, code: str, *, page: bool = True) -> Cell:
        """Send a cell; without a page as nbclient and papermill do."""
        cell = Cell(self.client.execute(code, allow_stdin=page))
        self._cells[cell.id] = cell
        return cell

    def run(self, code: str, *, page: bool = True) -> Cell:
        """Send a cell and wait until it is done."""
        return self.wait_done(self.start(code, page=page))

    def wait_done(self, cell: Cell) -> Cell:
        """Its reply came and the kernel is idle again."""
        self.wait(lambda: cell.reply and cell.idle_at is not None)
        return cell

    def wait(self, condition: Callable[[], object]) -> None:
        """Take messages until the condition holds."""
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            assert time.monotonic() < deadline, "the kernel did not do what was waited for"
            self._take()

    def send(self, cell: Cell, content: dict[str, Any]) -> None:
        """A custom message of the page to the cell's widget."""
        data = {"method": "custom", "content": content}
        message = self.client.session.msg("comm_msg", {"comm_id": cell.model, "data": data})
        self.client.shell_channel.send(message)

    def interrupt(self) -> None:
        """The interrupt button."""
        self.manager.interrupt_kernel()

    def _take(self) -> None:
        try:
            message = self.client.get_iopub_msg(timeout=0.05)
        except queue.Empty:
            message = None
        if message is not None:
            for cell in self._addressees(message):
                cell.messages.append(message)
                if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    cell.idle_at = time.monotonic()
        while self.client.shell_channel.msg_ready():
            reply = self.client.get_shell_msg(timeout=0)
            if (asked := self._cells.get(reply["parent_header"].get("msg_id", ""))) is not None:
                asked.reply = reply["content"]

    def _addressees(self, message: dict[str, Any]) -> list[Cell]:
        """The cells that a page would hand it to: updates go by display id, a widget's messages by its comm."""
        content = message["content"]
        if message["msg_type"] == "update_display_data":
            wanted = content["transient"]["display_id"]
            return [cell for cell in self._cells.values() if wanted in cell.display_ids()]
        if message["msg_type"] == "comm_msg":
            return [cell for cell in self._cells.values() if content["comm_id"] in cell.comms()]
        cell = self._cells.get(message["parent_header"].get("msg_id", ""))
        return [cell] if cell else []
