"""The quickstart notebook, executed as CI systems and pipelines do, says what its text claims, and stays small."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from kbeval_jupyter.model.result import MIME_TYPE

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
LARGEST_NOTEBOOK_BYTES = 1_000_000
LARGEST_RESULT_BYTES = 300_000

Execute = Callable[[Path], None]


def with_nbconvert(notebook: Path) -> None:
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "--log-level=WARN", notebook.name]
    subprocess.run(command, cwd=notebook.parent, check=True, timeout=300)


def with_papermill(notebook: Path) -> None:
    command = [sys.executable, "-m", "papermill", notebook.name, notebook.name, "--no-progress-bar", "-k", "python3"]
    subprocess.run(command, cwd=notebook.parent, check=True, timeout=300)


def results(notebook: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """The frozen results in the order of the cells."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return [output.data[MIME_TYPE] for output in outputs if MIME_TYPE in output.get("data", {})]


@pytest.fixture(scope="module", params=[with_nbconvert, with_papermill], ids=["nbconvert", "papermill"])
def executed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The saved notebook after it was executed in a folder of its own."""
    folder = tmp_path_factory.mktemp("quickstart")
    for file in NOTEBOOKS.glob("[!.]*.*"):
        shutil.copy(file, folder)
    request.param(folder / "quickstart.ipynb")
    return folder / "quickstart.ipynb"


@pytest.mark.slow
@pytest.mark.timeout(300)
class TestExecuted:
    def test_the_verdicts_are_those_the_text_speaks_of(self, executed: Path) -> None:
        found = results(nbformat.read(executed, as_version=4))
        assert [(result["label"], result["verdict"]) for result in found] == [
            ("blocks", "incorrect"),
            ("rounded-up", "passed"),
            ("fused", "passed"),
            ("triton", "passed"),
        ]

    def test_the_analysis_points_to_the_last_columns(self, executed: Path) -> None:
        first = results(nbformat.read(executed, as_version=4))[0]
        output = first["correctness"]["cases"][0]["outputs"][0]
        assert output["shape"] == [2048, 1000]
        assert 0 < output["mismatched"] <= 2048 * (1000 - 768)
        assert all(sample["index"][1] >= 768 and float(sample["actual"]) == 0 for sample in output["samples"])

    def test_the_fused_one_is_faster(self, executed: Path) -> None:
        third = results(nbformat.read(executed, as_version=4))[2]
        [case] = third["benchmark"]["cases"]
        speedup = case["speedup"]
        assert 1 < speedup["ci_low"] <= speedup["estimate"] <= speedup["ci_high"]
        assert speedup["claim"] == "FASTER"
        assert third["benchmark"]["geomean_speedup"] == pytest.approx(speedup["estimate"])

    def test_what_is_saved_is_small_and_needs_no_widget(self, executed: Path) -> None:
        assert executed.stat().st_size < LARGEST_NOTEBOOK_BYTES
        notebook = nbformat.read(executed, as_version=4)
        outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
        assert max(len(json.dumps(output)) for output in outputs) < LARGEST_RESULT_BYTES
        assert "widgets" not in notebook.metadata
        assert not any("widget-view" in mime for output in outputs for mime in output.get("data", {}))


def test_the_committed_notebook_has_no_outputs() -> None:
    notebook = nbformat.read(NOTEBOOKS / "quickstart.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells)
