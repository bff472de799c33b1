"""Cases met in real implementations, problems and reports, each with the behaviour that is right."""

import json
import signal
import textwrap
from pathlib import Path

import pytest

from kbeval_jupyter import EvaluationResult, evaluate

RELU = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)

def get_inputs():
    return [torch.randn(33, 17)]

def get_init_inputs():
    return []
"""

RELU_NEW = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
"""


def log(result: EvaluationResult) -> str:
    return "\n".join(result.log_tail)


def notes(result: EvaluationResult) -> dict[str, str]:
    return {note.code: note.text for note in result.notes}


def test_cuda_is_redirected_on_a_machine_without_gpu() -> None:
    reference = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8, device="cuda"))

    def forward(self, x):
        return x * self.scale

def get_inputs():
    generator = torch.Generator("cuda")
    generator.manual_seed(1)
    return [torch.randn(4, 8).cuda(), ]

def get_init_inputs():
    return []
"""
    implementation = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8, device=torch.device("cuda", 0)))

    def forward(self, x):
        assert x.is_cuda
        out = torch.empty_like(x, device="cuda")
        torch.mul(x, self.scale.cuda(), out=out)
        torch.cuda.synchronize()
        return out.to("cuda:0")
"""
    result = evaluate(implementation, reference)
    assert result.verdict == "passed", result.reason
    assert [note.code for note in result.notes].count("cuda_redirected") == 1


def test_template_left_in_is_a_one_line_syntax_message() -> None:
    result = evaluate("import torch\n<custom_kernel_name_1>\nclass ModelNew: pass\n", RELU)
    assert result.verdict == "compile_failed"
    assert "line 2" in result.reason
    assert "<custom_kernel_name_1>" in result.reason
    assert "\n" not in result.reason


def test_input_groups_from_a_sidecar_file(tmp_path: Path) -> None:
    (tmp_path / "groups.jsonl").write_text("\n".join(json.dumps(g) for g in ({"n": 3, "mode": "sum"}, {"n": 5, "mode": "mean"})))
    (tmp_path / "reference.py").write_text(
        textwrap.dedent(
            """
            import json
            from pathlib import Path
            import torch
            from torch import nn

            class Model(nn.Module):
                def forward(self, x, mode, scale):
                    return getattr(x, mode)(dim=0) * scale

            def get_input_groups():
                lines = (Path(__file__).parent / "groups.jsonl").read_text().splitlines()
                return [[torch.randn(g["n"], 4), g["mode"], 0.5] for g in map(json.loads, lines)]

            def get_init_inputs():
                return []
            """
        )
    )
    right = "from torch import nn\nclass ModelNew(nn.Module):\n    def forward(self, x, mode, scale):\n"
    right += "        assert isinstance(mode, str) and isinstance(scale, float)\n"
    result = evaluate(right + "        return (x.sum(0) if mode == 'sum' else x.mean(0)) * scale\n", tmp_path / "reference.py")
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert len({case.name for case in result.correctness.cases}) == 2
    wrong = evaluate(right + "        return x.sum(0) * scale\n", tmp_path / "reference.py")
    assert wrong.verdict == "incorrect"
    assert wrong.correctness is not None
    assert {case.name for case in wrong.correctness.cases if case.status == "passed"} != set()


KEYWORD_REFERENCE = """
import torch
from torch import nn

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient

class Model(nn.Module):
    def forward(self, x, weight):
        return Square.apply(x) * weight

def get_inputs():
    return {"x": torch.randn(6, 5, requires_grad=True), "weight": torch.rand(5)}
"""
KEYWORD_NEW = """
import torch
from torch import nn

class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.square()

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return FACTOR * x * gradient

class ModelNew(nn.Module):
    def forward(self, x, weight):
        return Square.apply(x) * weight
"""


def test_keyword_inputs_without_init_inputs() -> None:
    assert evaluate(KEYWORD_NEW.replace("FACTOR", "2"), KEYWORD_REFERENCE).verdict == "passed"
    assert evaluate(KEYWORD_NEW.replace("FACTOR", "3"), KEYWORD_REFERENCE).verdict == "passed", (
        "forward only: backward is not asked"
    )


def test_backward_compares_gradients() -> None:
    assert evaluate(KEYWORD_NEW.replace("FACTOR", "2"), KEYWORD_REFERENCE, backward=True).verdict == "passed"
    wrong = evaluate(KEYWORD_NEW.replace("FACTOR", "3"), KEYWORD_REFERENCE, backward=True)
    assert wrong.verdict == "incorrect"
    assert wrong.correctness is not None
    bad = [output for output in wrong.correctness.cases[0].outputs if output.mismatched]
    assert bad
    assert all("grad" in output.path for output in bad)


TOPK = """
import torch
from torch import nn

class Model(nn.Module):
    def forward(self, x):
        return torch.topk(x, 8, dim=1)

def get_inputs():
    return [torch.randint(0, 4, (6, 40)).float()]

def get_init_inputs():
    return []
"""


def test_top_k_accepts_other_indices_of_equal_values() -> None:
    flipped = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def forward(self, x):
        order = torch.argsort(x.flip(1), dim=1, descending=True, stable=True)[:, :8]
        index = x.shape[1] - 1 - order
        return x.gather(1, index), index
"""
    result = evaluate(flipped, TOPK)
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert any("indices" in warning for case in result.correctness.cases for warning in case.warnings)
    wrong = evaluate(flipped.replace("return x.gather(1, index), index", "return x.gather(1, index), (index + 1) % 40"), TOPK)
    assert wrong.verdict == "incorrect"
    once = flipped.replace(
        "return x.gather(1, index), index", "values = x.gather(1, index); return values, index[:, :1].expand(-1, 8)"
    )
    assert evaluate(once, TOPK).verdict == "incorrect", "one position eight times is no selection of eight"


def test_echo_of_the_reference() -> None:
    result = evaluate(RELU, RELU)
    assert result.verdict == "compile_failed"
    assert "ModelNew" in result.reason
    assert "Model" in result.reason.replace("ModelNew", "")


def test_own_get_inputs_of_the_implementation_is_ignored_and_mentioned() -> None:
    result = evaluate(RELU_NEW + "\ndef get_inputs():\n    return [torch.zeros(1)]\n", RELU)
    assert result.verdict == "passed", result.reason
    assert any("get_inputs" in text for text in notes(result).values())
    assert result.correctness is not None
    assert result.correctness.cases[0].outputs[0].shape == [33, 17]


def test_functional_with_tuple_inputs_and_python_literals(tmp_path: Path) -> None:
    reference = """
import torch

def generate_input(size, causal, scale=1.0, seed=0):
    x = torch.randn(size, size)
    return x, x > 0, {"w": torch.randn(size)}, {"causal": causal, "scale": scale}

def ref_kernel(inputs):
    x, mask, weights, config = inputs
    y = x.masked_fill(mask, 0.0) @ weights["w"]
    return y * config["scale"] if config["causal"] else y
"""
    implementation = reference.replace("def ref_kernel", "def custom_kernel")
    cases = tmp_path / "cases.json"
    cases.write_text("[{'size': 16, 'causal': True, 'name': 'small'}, {'size': 31, 'causal': False, 'scale': 2.0}]")
    result = evaluate(implementation, reference, cases=cases)
    assert result.verdict == "passed", result.reason
    assert result.format == "functional"
    assert result.correctness is not None
    assert result.correctness.cases[0].name == "small"
    assert result.correctness.cases[0].params == {"size": 16, "causal": True}
    assert {tuple(case.outputs[0].shape) for case in result.correctness.cases} == {(16,), (31,)}


def test_functional_checker_of_the_problem() -> None:
    reference = """
import torch

def generate_input(n=64):
    return torch.randn(n)

def ref_kernel(x):
    return torch.argsort(x)

def check_implementation(inputs, output):
    ok = bool((inputs[output].diff() >= 0).all()) and sorted(output.tolist()) == list(range(len(inputs)))
    return ok, "" if ok else "not a sorted permutation"
"""
    good = evaluate("import torch\ndef custom_kernel(x):\n    return torch.argsort(x, stable=True)\n", reference)
    assert good.verdict == "passed", good.reason
    bad = evaluate("import torch\ndef custom_kernel(x):\n    return torch.argsort(x, descending=True)\n", reference)
    assert bad.verdict == "incorrect"
    assert "not a sorted permutation" in bad.reason + str(bad.to_json())


TRITON_HISTOGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def histogram(x, out, n, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    values = tl.load(x + offsets, mask=mask, other=0)
    tl.atomic_add(out + values, 1, mask=mask)

def custom_kernel(x):
    out = torch.zeros(16, dtype=torch.int32, device=x.device)
    histogram[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BINS=16, BLOCK=256)
    return out
"""


def test_triton_histogram_by_the_interpreter() -> None:
    reference = """
import torch

def generate_input(n=1000):
    return torch.randint(0, 16, (n,), dtype=torch.int32)

def ref_kernel(x):
    return torch.bincount(x, minlength=16).to(torch.int32)
"""
    result = evaluate(TRITON_HISTOGRAM, reference, benchmark=True)
    assert result.verdict == "passed", result.reason
    assert result.correctness is not None
    assert result.correctness.cases[0].outputs[0].dtype == "int32"
    assert "triton_interpreter" in notes(result)
    assert result.stages["benchmark"].status == "skipped"
    assert "interpreter; no times" in result.stages["benchmark"].reason
    assert result.speedup is None


def test_lock_left_by_a_killed_build_is_named() -> None:
    implementation = """
import os
import torch
from torch.utils.cpp_extension import load_inline

folder = os.path.join(os.environ["TORCH_EXTENSIONS_DIR"], "held")
os.makedirs(folder, exist_ok=True)
open(os.path.join(folder, "lock"), "w").close()
module = load_inline(name="held", cpp_sources="int f() { return 1; }", functions="f")

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x
"""
    result = evaluate(implementation, RELU, build_timeout=3)
    assert result.verdict in {"compile_failed", "timed_out"}
    assert "lock" in result.reason
    assert "3" in result.reason


@pytest.mark.parametrize("ending", ["while True: pass", f"os.kill(os.getpid(), {int(signal.SIGKILL)})"])
def test_c_printf_arrives_before_a_long_computation_or_a_kill(ending: str) -> None:
    implementation = f"""
import ctypes, os, torch

class ModelNew(torch.nn.Module):
    def forward(self, x):
        print("from python")
        ctypes.CDLL(None).printf(b"from C, no newline")
        {ending}
"""
    result = evaluate(implementation, RELU, timeout=3)
    assert result.verdict == ("timed_out" if "while" in ending else "crashed")
    text = log(result)
    assert text.index("from python") < text.index("from C, no newline")


def test_same_torch_library_namespace_on_both_sides() -> None:
    library = """
library = torch.library.Library("kbeval_case_18", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
"""
    reference = f"""
import torch
{library}
def generate_input(n=32):
    return torch.randn(n)

def ref_kernel(x):
    return torch.ops.kbeval_case_18.twice(x)
"""
    implementation = f"import torch\n{library}\ndef custom_kernel(x):\n    return torch.ops.kbeval_case_18.twice(x)\n"
    result = evaluate(implementation, reference, benchmark=True, budget=0.5)
    assert result.verdict == "passed", result.reason
    assert result.benchmark is not None


def test_last_bit_noise_of_the_reference_is_not_invalid() -> None:
    reference = """
import torch

def generate_input(n=4096):
    return torch.randn(n)

def ref_kernel(x):
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(torch.seed() % 2**32))
    return x[order].cumsum(0)[-1:]
"""
    result = evaluate("def custom_kernel(x):\n    return x.sum().reshape(1)\n", reference)
    assert result.verdict == "passed", result.reason


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_cpp_extension_builds_once_and_is_never_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Non-ASCII comments, flags of one empty string, ninja only beside the interpreter, and the build cache."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    template = '''
import torch
from torch.utils.cpp_extension import load_inline

source = """
#include <ATen/core/Tensor.h>
#include <torch/library.h>
// halving: x \u2248 x / 2
at::Tensor scale(const at::Tensor& x) { return x.mul(FACTOR); }
TORCH_LIBRARY(kbeval_case_8, m) { m.def("scale", scale); }
"""
load_inline("scale_it", source, extra_cflags=[""], extra_ldflags=[""], is_python_module=False, no_implicit_headers=True)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.ops.kbeval_case_8.scale(x)
'''
    reference = RELU.replace("torch.relu(x)", "x * 0.5")
    first = evaluate(template.replace("FACTOR", "0.5"), reference)
    assert first.verdict == "passed", first.reason
    second = evaluate(template.replace("FACTOR", "0.5"), reference)
    assert second.verdict == "passed", second.reason
    assert second.seconds is not None
    assert second.seconds < 5, "an unchanged implementation is not built again"
    changed = evaluate(template.replace("FACTOR", "0.25"), reference)
    assert changed.verdict == "incorrect", "a changed implementation is never stale"
