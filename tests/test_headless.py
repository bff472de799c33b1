"""A notebook that is executed without a page keeps the frozen result and nothing of the live view."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import nbformat
from nbclient import NotebookClient

from kbeval_jupyter.model.result import MIME_TYPE

if TYPE_CHECKING:
    from pathlib import Path

CELLS = [
    "%load_ext kbeval_jupyter",
    "%%kernelref one\nclass Model: pass\ndef get_inputs(): return []\n",
    "%%kernelbench -o r\nclass Fast: pass\n",
    "print(r.verdict, _ is r)",
]


def test_nbclient_waits_and_keeps_the_result(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    NotebookClient(notebook, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    text, shown = notebook.cells[2].outputs
    assert text.output_type == "stream"
    assert set(shown.data) == {"text/plain", "text/html", MIME_TYPE}
    assert shown.data[MIME_TYPE]["verdict"] == "compile_failed"
    assert notebook.cells[3].outputs[0].text == "compile_failed True\n"
    assert "widget" not in json.dumps(notebook)
