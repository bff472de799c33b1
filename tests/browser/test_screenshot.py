"""The README's picture is a real result; ``KBEVAL_SCREENSHOTS=docs/images`` puts a new one there."""

import os
from pathlib import Path

from .conftest import OpenNotebook
from .test_evaluation import LOAD

REFERENCE = """%%kernelref softmax
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=1)

def get_inputs():
    return [3 * torch.randn(512, 1000)]
"""
WRONG = """%%kernelbench --ref softmax --name "blocks of 256"
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        largest = x.amax(dim=1, keepdim=True)
        total = torch.exp(x - largest).sum(dim=1, keepdim=True)
        out = torch.zeros_like(x)
        for block in range(x.shape[1] // 256):
            columns = slice(block * 256, (block + 1) * 256)
            out[:, columns] = torch.exp(x[:, columns] - largest) / total
        return out
"""


def test_a_picture_for_the_readme(open_notebook: OpenNotebook, tmp_path: Path) -> None:
    notebook = open_notebook("softmax.ipynb", [LOAD, REFERENCE, WRONG])
    notebook.page.set_viewport_size({"width": 1200, "height": 1500})  # the whole cell in sight
    for cell in range(3):
        notebook.run_and_wait(cell)
    notebook.cell(0).locator(".jp-InputArea-prompt").click()  # the picture's cell is not the selected one
    folder = Path(os.environ.get("KBEVAL_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    notebook.cell(2).screenshot(path=folder / "result.png")
    assert (folder / "result.png").stat().st_size > 20_000  # an empty page is far smaller
