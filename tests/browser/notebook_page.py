"""A notebook open in JupyterLab, driven as a person would: by its cells, buttons and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from .lab import JupyterLab

# Records the longest time between two painted frames, until it is read.
FRAME_RECORDER = """() => {
  const state = {worst: 0, frames: 0, last: performance.now(), on: true};
  window.__frames = state;
  const tick = now => {
    state.worst = Math.max(state.worst, now - state.last);
    state.last = now; state.frames += 1;
    if (state.on) requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}"""


def write_notebook(path: Path, cells: list[str], kernel: str = "python3") -> None:
    """Write a notebook of code cells for the named kernel."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells],
        metadata={"kernelspec": {"name": kernel, "display_name": kernel, "language": "python"}},
    )
    nbformat.write(notebook, path)


class NotebookPage:
    """One notebook in one browser page. Cells are numbered from 0."""

    def __init__(self, page: Page, lab: JupyterLab, name: str) -> None:
        self.page, self.lab, self.name = page, lab, name
        self.path = lab.notebooks / name

    def open(self, *, kernel: bool = True) -> None:
        """Open the notebook in a fresh workspace; ``kernel=False`` when its kernel cannot be started."""
        self.page.goto(f"{self.lab.url}/lab/tree/{self.name}?token={self.lab.token}&reset")
        self.cell(0).wait_for()
        if kernel:
            self.wait_idle()

    def dismiss_kernel_choice(self) -> None:
        """Answer JupyterLab's question for a kernel with "no kernel"."""
        self.page.locator(".jp-Dialog").get_by_role("button", name="No Kernel").click()

    def reload(self) -> None:
        """Reload the page as F5 does, and wait until the notebook is there again."""
        self.page.on("dialog", lambda dialog: dialog.accept())
        self.page.reload()
        self.cell(0).wait_for()

    def cell(self, index: int) -> Locator:
        """The cell's element."""
        return self.page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{index}']")

    def output(self, index: int) -> Locator:
        """The cell's output area."""
        return self.cell(index).locator(".jp-Cell-outputArea")

    def run(self, index: int) -> None:
        """Run one cell as Shift+Enter does; returns at once."""
        self.cell(index).locator(".jp-InputArea-prompt").click()
        self.page.keyboard.press("Control+Enter")
        self._kernel_status("busy", "idle")

    def run_and_wait(self, index: int, timeout_s: float = 60) -> None:
        """Run one cell and wait for its execution count."""
        self.run(index)
        self.wait_done(index, timeout_s)

    def wait_done(self, index: int, timeout_s: float = 60) -> None:
        """Wait until the cell has an execution count, or was aborted, and the kernel is idle."""
        self.page.wait_for_function(
            "i => !['[*]:'].includes(document.querySelector("
            "`.jp-Notebook .jp-Cell[data-windowed-list-index='${i}'] .jp-InputArea-prompt`).innerText.trim())",
            arg=index,
            timeout=timeout_s * 1000,
        )
        self.wait_idle(timeout_s)

    def wait_idle(self, timeout_s: float = 60) -> None:
        """Wait until the kernel is idle."""
        self._kernel_status("idle", timeout_s=timeout_s)

    def _kernel_status(self, *statuses: str, timeout_s: float = 60) -> None:
        self.page.wait_for_function(
            "wanted => { const w = window.jupyterapp?.shell.currentWidget;"
            " return wanted.includes(w?.sessionContext?.session?.kernel?.status); }",
            arg=list(statuses),
            timeout=timeout_s * 1000,
        )

    def interrupt(self) -> None:
        """Press the toolbar's interrupt button, once the page is connected: before that it does nothing."""
        self.page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus === 'connected'"
        )
        self.page.locator("jp-button[data-command='notebook:interrupt-kernel']").click()

    def save(self) -> nbformat.NotebookNode:
        """Save, wait until the file is written, and return what is in it."""
        before = self.path.stat().st_mtime_ns
        self.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
        if self.path.stat().st_mtime_ns == before:
            raise AssertionError(f"{self.path} was not written by the save")
        return nbformat.read(self.path, as_version=4)

    def start_frame_recorder(self) -> None:
        """Begin to record the gaps between frames."""
        self.page.evaluate(FRAME_RECORDER)

    def worst_frame_gap_ms(self) -> float:
        """The longest gap since the recorder was started."""
        result: dict[str, Any] = self.page.evaluate("() => { window.__frames.on = false; return window.__frames; }")
        assert result["frames"] > 1
        return float(result["worst"])
