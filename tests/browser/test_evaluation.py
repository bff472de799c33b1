"""What a person does with a cell, in each kernel: run it, watch it, stop it, reload the page, and open the saved file again."""

import json
import re
import time

import nbformat
import pytest
from playwright.sync_api import Locator, expect

from kbeval_jupyter.model.result import MIME_TYPE

from .conftest import OpenNotebook, other_kernels
from .lab import JupyterLab
from .notebook_page import NotebookPage

KERNELS = ["python3", *(spec.name for spec in other_kernels())]
# Kernels of which a comm message is handled while a cell runs; 6.x has no subshells, so there only the interrupt button helps.
HEARING_KERNELS = [name for name in KERNELS if not name.startswith("ipykernel-6.")]
STOP_LIMIT_S = 2.0  # promised: 1 s; the rest is the browser's

LOAD = "%load_ext kbeval_jupyter"
REFERENCE = """%%kernelref relu
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(8, 16)]
"""
PASSING = """%%kernelbench --ref relu --name good
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        print("seen from the implementation")
        return x.clamp(min=0)
"""
ENDLESS = """%%kernelbench --ref relu --name endless
import time
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        for number in range(100_000):
            print("line", number, flush=True)
            time.sleep(0.01)
"""


def prepared(open_notebook: OpenNotebook, kernel: str, name: str, *cells: str) -> NotebookPage:
    """A notebook whose extension and reference are there; the given cells begin at number 2."""
    notebook = open_notebook(f"{name}-{kernel}.ipynb", [LOAD, REFERENCE, *cells], kernel)
    notebook.run_and_wait(0)
    notebook.run_and_wait(1)
    return notebook


def log_lines(notebook: NotebookPage, cell: int, pattern: str) -> Locator:
    """The lines of the live log in sight whose end matches (a name of the source may stand before it)."""
    return notebook.output(cell).get_by_role("log").locator(".kb-log-line", has_text=re.compile(pattern + "$"))


def wait_until_it_streams(notebook: NotebookPage, cell: int) -> None:
    """Wait for any line from the tenth on: the log follows its end, so a certain line may have left already."""
    log_lines(notebook, cell, r"line \d\d+").first.wait_for()


def cancel_button(notebook: NotebookPage, cell: int) -> Locator:
    return notebook.output(cell).get_by_role("button", name=re.compile("cancel", re.IGNORECASE))


def frozen_results(notebook: nbformat.NotebookNode) -> list[str]:
    """The verdicts in a saved notebook."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[MIME_TYPE]["verdict"] for output in outputs if MIME_TYPE in output.get("data", {})]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_result_is_shown_saved_and_there_without_a_kernel(open_notebook: OpenNotebook, lab: JupyterLab, kernel: str) -> None:
    notebook = prepared(open_notebook, kernel, "run", PASSING)
    notebook.run_and_wait(2)
    expect(notebook.output(2)).to_contain_text(re.compile("passed", re.IGNORECASE))
    saved = notebook.save()
    assert frozen_results(saved) == ["passed"]
    assert "widget-view" not in json.dumps(saved)
    lab.shutdown_kernels()

    saved.metadata.kernelspec = {"name": "no-such-kernel", "display_name": "gone", "language": "python"}
    nbformat.write(saved, lab.notebooks / "reopened.ipynb")
    again = NotebookPage(notebook.page, lab, "reopened.ipynb")
    again.open(kernel=False)
    again.dismiss_kernel_choice()
    expect(again.output(2)).to_contain_text(re.compile("passed", re.IGNORECASE))
    expect(again.output(2)).to_contain_text("good")


@pytest.mark.parametrize("kernel", KERNELS)
def test_output_streams_and_interrupt_stops(open_notebook: OpenNotebook, kernel: str) -> None:
    notebook = prepared(open_notebook, kernel, "interrupt", ENDLESS)
    notebook.run(2)
    wait_until_it_streams(notebook, 2)
    start = time.monotonic()
    notebook.interrupt()
    notebook.wait_done(2)
    assert time.monotonic() - start < STOP_LIMIT_S
    expect(notebook.output(2)).to_contain_text(re.compile("cancelled", re.IGNORECASE))
    assert "Traceback" not in notebook.output(2).inner_text()


@pytest.mark.parametrize("magic", ["", "%%time\n"], ids=["top level", "in %%time"])
@pytest.mark.parametrize("kernel", HEARING_KERNELS)
def test_cancel_stops(open_notebook: OpenNotebook, kernel: str, magic: str) -> None:
    notebook = prepared(open_notebook, kernel, "cancel", magic + ENDLESS)
    notebook.run(2)
    wait_until_it_streams(notebook, 2)
    start = time.monotonic()
    cancel_button(notebook, 2).click()
    notebook.wait_done(2)
    assert time.monotonic() - start < STOP_LIMIT_S
    expect(notebook.output(2)).to_contain_text(re.compile("cancelled", re.IGNORECASE))


@pytest.mark.parametrize("kernel", KERNELS)
def test_time_around_it_works(open_notebook: OpenNotebook, kernel: str) -> None:
    notebook = prepared(open_notebook, kernel, "time", "%%time\n" + PASSING)
    notebook.run_and_wait(2)
    expect(notebook.output(2)).to_contain_text("Wall time")
    assert frozen_results(notebook.save()) == ["passed"]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_reload_finds_the_log_again(open_notebook: OpenNotebook, kernel: str) -> None:
    notebook = prepared(open_notebook, kernel, "reload", ENDLESS)
    notebook.run(2)
    wait_until_it_streams(notebook, 2)
    notebook.save()
    notebook.reload()
    log = notebook.output(2).get_by_role("log")
    if kernel == "python3":  # older ones answer a new page only when the cell has ended
        log.wait_for()
    notebook.interrupt()
    notebook.wait_idle()
    wait_until_it_streams(notebook, 2)
    log.evaluate("element => { element.scrollTop = 0; }")
    log_lines(notebook, 2, "line 0").wait_for()
