"""A flood of output arrives whole under the server's default limits, and the page stays smooth."""

import re

from .conftest import OpenNotebook
from .notebook_page import NotebookPage
from .test_evaluation import cancel_button, prepared

LINES = 50_000
LARGEST_FRAME_GAP_MS = 100
ATTEMPTS = 5  # a gap of ours comes every time, one that the machine made does not
# Prints at full speed, then stays, so that the live view can be read in peace.
FLOOD = f"""%%kernelbench --ref relu --name flood
import time
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        for number in range({LINES}):
            print(f"{{number:06d}} and as many words more as a compiler usually puts into one line of its own")
        time.sleep(600)
"""


def test_fifty_thousand_lines_arrive_and_the_page_stays_smooth(open_notebook: OpenNotebook) -> None:
    notebook = prepared(open_notebook, "python3", "flood", FLOOD)
    notebook.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    gaps_ms: list[float] = []
    while not gaps_ms or (gaps_ms[-1] >= LARGEST_FRAME_GAP_MS and len(gaps_ms) < ATTEMPTS):
        gaps_ms.append(flood(notebook))
    assert min(gaps_ms) < LARGEST_FRAME_GAP_MS, gaps_ms


def flood(notebook: NotebookPage) -> float:
    """Run the cell, check that every line arrived, and return the longest time between two frames."""
    notebook.start_frame_recorder()
    notebook.run(2)
    log = notebook.output(2).get_by_role("log")
    log.locator(".kb-log-line", has_text=f"{LINES - 1:06d} and").wait_for()
    gap_ms = notebook.worst_frame_gap_ms()
    notebook.output(2).get_by_role("button", name=re.compile("copy", re.IGNORECASE)).click()
    copied = notebook.page.evaluate("() => navigator.clipboard.readText()")
    cancel_button(notebook, 2).click()
    notebook.wait_done(2)
    numbers = [int(line[:6]) for line in copied.splitlines() if re.match(r"\d{6} and", line)]
    assert numbers == list(range(LINES))
    return gap_ms
