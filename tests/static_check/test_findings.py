"""What an implementation uses is told by kind and name, in the line where the user sees it."""

import importlib
import json
import pkgutil
from pathlib import Path

import nbformat
import pytest

from tests import corpus

from .sources import CELL, line_of, own_kernels, read_cases, report

ROOT = Path(__file__).parents[2]
CASES = read_cases("findings.txt")
CUDA = read_cases("honest.txt")["cuda: load_inline"].source
START, SOURCE, REST = CUDA.replace('r"""', '"""').split('"""')
KERNEL = "__global__ void double_kernel"


@pytest.mark.parametrize("name", CASES)
def test_is_told(name: str) -> None:
    backend, _, [kind, finding, words], source = CASES[name]
    result = report(backend, source)
    assert result.is_backend, result.reason
    if kind == "absent":
        assert finding not in {f.name for f in result.findings}
    else:
        assert line_of(source, words) in [f.line for f in result.findings if f.name == finding and f.kind == kind], (
            result.findings
        )


def test_cuda_that_torch_translates_for_amd() -> None:
    source = CUDA.replace("    return out;", "    cudaDeviceSynchronize();\n    return out;")
    assert "hipify" in {finding.name for finding in report("hip", source).findings}
    assert "hipify" not in {finding.name for finding in report("cuda", source).findings}


@pytest.mark.parametrize(
    "literal",
    [
        f'r"""{SOURCE}"""',
        f'"""// first{SOURCE}"""',
        f'"""\n\\tint tab;\\n{SOURCE}"""',
        f'("""\nint a;\n""" + """{SOURCE}""")',
        "(\n" + "\n".join(f"    {json.dumps(line + chr(10))}" for line in SOURCE.split("\n")) + "\n)",
        f'f"""{{TOP}}{SOURCE.replace("{", "{{").replace("}", "}}")}"""',
    ],
    ids=["raw", "plain", "escapes", "sum", "pieces", "f-string"],
)
def test_lines_inside_strings_are_those_of_the_cell(literal: str) -> None:
    source = START.replace("SRC = ", 'TOP = """\nint x;\nint y;\n"""\nSRC = ') + literal + REST
    assert own_kernels(report("cuda", source)) == [("double_kernel", CELL, line_of(source, KERNEL))]


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(corpus.__path__)])
def test_the_corpus_is_torch_code(name: str) -> None:
    broken = importlib.import_module(f"tests.corpus.{name}").BROKEN
    for backend in ("cuda", "triton"):
        result = report(backend, broken)
        assert not result.is_backend
        assert {finding.kind for finding in result.findings} <= {"torch_operator", "warning"}
        assert "line " in result.reason


def test_the_quickstart() -> None:
    notebook = nbformat.read(ROOT / "notebooks" / "quickstart.ipynb", as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.source.startswith("%%kernelbench")]
    assert len(cells) == 3
    for cell in cells:
        assert not report("triton", cell.replace("%%", "# ", 1)).is_backend
    softmax = (ROOT / "notebooks" / "softmax_triton.py").read_text()
    assert [finding.kind for finding in report("triton", softmax).findings] == ["own_kernel"]
    assert own_kernels(report("triton", softmax)) == [("softmax_row", CELL, line_of(softmax, "def softmax_row"))]
