"""Honest implementations, whatever their style, are never refused: honest.txt."""

import pytest

from .sources import line_of, own_kernels, read_cases, report

CASES = read_cases("honest.txt")
TRITON = CASES["triton: plain"].source
CUDA = CASES["cuda: load_inline"].source
KERNEL, HOST = CUDA.split('r"""\n')[1].split('"""')[0].rsplit("\n\n", 1)
KERNEL_LINE = line_of(KERNEL, "__global__")


@pytest.mark.parametrize("name", CASES)
def test_is_accepted(name: str) -> None:
    backend, _, [seen], source = CASES[name]
    result = report(backend, source)
    assert result.is_backend, result.reason
    # Where nothing can be seen the doubt is the implementation's to have; elsewhere its kernel must be found.
    assert bool(own_kernels(result)) == (seen == "seen"), result


def test_an_offence_that_is_none() -> None:
    """Passing, trying, dividing and commenting leave no trace in the report."""
    harmless = TRITON.replace(
        "        out = torch.empty_like(x)\n",
        '        """pass"""\n        pass\n        half = 5 // 2  # try: torch.matmul\n'
        "        try:\n            out = torch.empty_like(x)\n        finally:\n            pass\n",
    )
    assert harmless != TRITON
    assert {finding.kind for finding in report("triton", harmless).findings} == {"own_kernel"}


def test_kernels_in_files_that_travel() -> None:
    source = """\
import os
import torch
from torch.utils.cpp_extension import load

ext = load("ext", sources=[os.path.join(os.path.dirname(__file__), "src", "k.cu")])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.run(x)
"""
    binding = '\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }\n'
    result = report("cuda", source, {"src/k.cu": f"{KERNEL}\n{HOST}{binding}"})
    assert result.is_backend
    assert own_kernels(result) == [("double_kernel", "src/k.cu", KERNEL_LINE)]


def test_a_source_that_is_read_and_includes_another() -> None:
    source = """\
import torch
from torch.utils.cpp_extension import load_inline

with open("k.cu") as file:
    SRC = file.read()
ext = load_inline("ext", "", SRC, functions=["run"])

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return ext.run(x)
"""
    result = report("cuda", source, {"k.cu": f'#include "kernel.cuh"\n{HOST}', "kernel.cuh": KERNEL})
    assert result.is_backend
    assert own_kernels(result) == [("double_kernel", "kernel.cuh", KERNEL_LINE)]


def test_kernels_in_a_module_that_travels() -> None:
    source = """\
import torch
import kernels.fast as fast

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return fast.go(x)
"""
    module = TRITON.replace("class ModelNew(nn.Module):\n    def forward(self, x):", "def go(x):\n    if True:")
    result = report("triton", source, {"kernels/__init__.py": "", "kernels/fast.py": module})
    assert result.is_backend
    assert own_kernels(result) == [("double", "kernels/fast.py", line_of(module, "def double"))]


def test_the_functional_format() -> None:
    source = TRITON.replace("class ModelNew(nn.Module):\n    def forward(self, x):", "def custom_kernel(x):\n    if True:")
    assert own_kernels(report("triton", source, entry="custom_kernel")) != []


@pytest.mark.parametrize(
    "source", ["from elsewhere import *\n", "from elsewhere import ModelNew\n", "import elsewhere\nModelNew = elsewhere.make()\n"]
)
def test_an_implementation_from_elsewhere_is_not_judged(source: str) -> None:
    result = report("cuda", source)
    assert result.is_backend
    assert "cannot be read" in result.reason
    assert [finding.name for finding in result.findings if finding.name == "unseen"] == ["unseen"]


@pytest.mark.parametrize("source", ["", "x = (", "\0", "class ModelNew: pass", "def f(:\n" * 50])
def test_any_text_has_an_answer(source: str) -> None:
    assert report("cuda", source).backend == "cuda"


def test_a_long_source_is_quick() -> None:
    import time

    many = "".join(f"{KERNEL}\n{HOST}\n".replace("double_kernel", f"k{n}").replace("run", f"run{n}") for n in range(300))
    begin = time.process_time()
    report("cuda", CUDA.replace(KERNEL, many + KERNEL))
    assert time.process_time() - begin < 5


def test_sources_of_several_folders_by_path() -> None:
    source = """\
from pathlib import Path
import torch
from torch.utils.cpp_extension import load_inline

FOLDER = Path("csrc")
_ext = None

def extension():
    global _ext
    if _ext is None:
        host = (Path(__file__).parent / "csrc" / "host.cu").read_text()
        _ext = load_inline("ext", cpp_sources=[], cuda_sources=[(FOLDER / "kernel.cuh").read_text(), host], functions=["run"])
    return _ext

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return extension().run(x)
"""
    result = report("cuda", source, {"csrc/host.cu": HOST, "csrc/kernel.cuh": KERNEL})
    assert result.is_backend
    assert own_kernels(result) == [("double_kernel", "csrc/kernel.cuh", KERNEL_LINE)]
