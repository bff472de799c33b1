"""The harness itself: a plain widget in each kernel reaches the page and hears a click."""

import pytest

from .conftest import OpenNotebook, other_kernels

WIDGET = """
import anywidget, traitlets
class Counter(anywidget.AnyWidget):
    _esm = '''export default {render({model, el}) {
      const button = document.createElement("button"); button.className = "probe";
      const show = () => { button.textContent = "count " + model.get("count"); };
      button.onclick = () => { model.set("count", model.get("count") + 1); model.save_changes(); };
      model.on("change:count", show); show(); el.append(button); }};'''
    count = traitlets.Int(3).tag(sync=True)
counter = Counter(); counter
"""


def test_the_other_kernels_are_there() -> None:
    assert [spec.name for spec in other_kernels()] == ["ipykernel-6.31.0", "ipykernel-7.1.0"], "run: make setup"


@pytest.mark.parametrize("kernel", ["python3", *(spec.name for spec in other_kernels())])
def test_a_widget_reaches_the_page_and_hears_a_click(open_notebook: OpenNotebook, kernel: str) -> None:
    report = "import ipykernel; print(ipykernel.__version__, counter.count)"
    notebook = open_notebook(f"harness-{kernel}.ipynb", [WIDGET, report], kernel)
    notebook.run(0)
    button = notebook.output(0).locator("button.probe")
    button.wait_for()
    assert button.inner_text() == "count 3"
    button.click()
    notebook.output(0).get_by_text("count 4").wait_for()
    notebook.run_and_wait(1)
    version, count = notebook.output(1).inner_text().split()
    assert count == "4"
    assert kernel == "python3" or version == kernel.removeprefix("ipykernel-")
