"""In a process of its own, because the redirection replaces parts of torch."""

import subprocess
import sys
import textwrap

import pytest

from kbeval_jupyter.runner.usercode.redirect import mentions_cuda

HEADER = """
import torch
from torch import nn
from kbeval_jupyter.runner.usercode import redirect

assert not torch.cuda.is_available()
redirect.install()
redirect.install()
"""


def run(body: str, redirected: bool = True) -> subprocess.CompletedProcess[str]:
    text = HEADER + f"with redirect.redirected({redirected}):\n" + textwrap.indent(textwrap.dedent(body), "    ")
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)


@pytest.mark.parametrize(
    "source", ['x.to("cuda")', "x.cuda()", "device='cuda:0'", "torch.cuda.synchronize()", "x.is_cuda or cuda"]
)
def test_mentions(source: str) -> None:
    assert mentions_cuda(source)


@pytest.mark.parametrize("source", ["load_inline(cuda_sources=s)", "with_cuda=False", "", "x.cpu()", "CUDA"])
def test_no_mention(source: str) -> None:
    assert not mentions_cuda(source)


def test_everything_lands_on_the_cpu() -> None:
    result = run(
        """
        tensors = [
            torch.ones(2, device="cuda"), torch.ones(2).cuda(), torch.zeros(3).to("cuda:0"), torch.ones(1).to(device="cuda"),
            torch.empty_like(torch.ones(2), device=torch.device("cuda", 0)), torch.randn(2, device=torch.device("cuda")),
            torch.tensor([1.0], device="cuda"), torch.ones(2).to(torch.device("cuda:0"), torch.float16),
            torch.randn(2, generator=torch.Generator("cuda").manual_seed(1), device="cuda"), torch.ones(1, pin_memory=True),
            torch.ones(1).pin_memory(), torch.arange(3, device="cuda").float().cuda(0, non_blocking=True),
        ]
        for tensor in tensors:
            assert tensor.device.type == "cpu", tensor.device
            assert tensor.is_cuda
        model = nn.Sequential(nn.Linear(2, 2, device="cuda"), nn.LayerNorm(2)).cuda().to("cuda").to(device="cuda:0")
        assert all(p.device.type == "cpu" for p in model.parameters())
        assert model(tensors[0]).shape == (2,)
        with torch.device("cuda"):
            assert torch.ones(1).device.type == "cpu"
        assert isinstance(torch.Generator(), torch.Generator)
        torch.cuda.synchronize(); torch.cuda.empty_cache(); torch.cuda.manual_seed_all(1); torch.cuda.set_device(0)
        assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.cuda.device(0):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record(); end.record(); end.synchronize()
            assert start.elapsed_time(end) == 0.0
        torch.manual_seed(1)
        """
    )
    assert result.returncode == 0, result.stderr


def test_gradients_and_compiled_operators_still_work() -> None:
    result = run(
        """
        x = torch.randn(4, 4, device="cuda", requires_grad=True)
        (x.cuda() @ x.t()).sum().backward()
        assert x.grad.shape == (4, 4)
        torch.nn.functional.scaled_dot_product_attention(*[torch.randn(1, 2, 3, 4, device="cuda")] * 3)
        torch.optim.SGD([x], lr=0.1).step()
        assert torch.compile(lambda x: x.cuda() + 1, backend="eager")(x).shape == (4, 4)
        """
    )
    assert result.returncode == 0, result.stderr


def test_inactive_mode_leaves_devices_alone() -> None:
    result = run("torch.ones(1, device='cuda')", redirected=False)
    assert result.returncode != 0
