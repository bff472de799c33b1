"""Whole evaluations on the device: nursery, judge, hardened workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch

if TYPE_CHECKING:
    from kbeval_jupyter.runner.devices import Device

    from .pipeline import Pipeline

HEAD = "import torch\nfrom torch import nn\n\n"
MATMUL = (
    HEAD
    + """
class Model(nn.Module):
    def forward(self, a, b):
        return torch.relu(a @ b)

def get_inputs():
    return [torch.randn(256, 256), torch.randn(256, 256)]
"""
)
COPY = (
    HEAD
    + """
class Model(nn.Module):
    def forward(self, x):
        return x.clone()

def get_inputs():
    return [torch.randn(1 << 20)]
"""
)
HONEST = (
    HEAD
    + """
class ModelNew(nn.Module):
    def forward(self, a, b):
        return torch.mm(a, b).clamp(min=0)
"""
)
WRONG = (
    HEAD
    + """
class ModelNew(nn.Module):
    def forward(self, a, b):
        c = torch.relu(a @ b)
        c[3, 5] += 1
        return c
"""
)
REPLAYED = (
    HEAD
    + """
class ModelNew(nn.Module):
    def forward(self, a, b):
        if not hasattr(self, "graph"):
            self.a, self.b = a.clone(), b.clone()
            torch.relu(self.a @ self.b)
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.out = torch.relu(self.a @ self.b)
        self.a.copy_(a)
        self.b.copy_(b)
        self.graph.replay()
        return self.out.clone()
"""
)
TF32 = HONEST.replace("import torch\n", "import torch\ntorch.backends.cuda.matmul.allow_tf32 = True\n", 1)
HALF = HONEST.replace("torch.mm(a, b)", "torch.mm(a.half(), b.half()).float()")
TRITON = """
import torch
import triton
import triton.language as tl
from torch import nn

@triton.jit
def copy(source, target, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + offsets, tl.load(source + offsets, mask=offsets < count), mask=offsets < count)

class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 65536),)](x, out, x.numel(), BLOCK=65536)
        return out
"""


def test_an_honest_implementation_passes_and_is_timed(pipeline: Pipeline, device: Device) -> None:
    outcome = pipeline.evaluate(HONEST, MATMUL, stages=["compile", "correctness", "benchmark"])
    assert outcome.verdict == "passed", f"{outcome.reason}\n{outcome.log}"
    assert outcome.one("started")["device"]["vendor"] == device.vendor
    assert [event["report"]["status"] for event in outcome.all("case_checked")] == ["passed"] * 3
    timing = outcome.one("case_timed")["timing"]
    assert timing["speedup"] is not None, timing
    assert timing["implementation"]["median_ms"] > 0
    started = outcome.one("benchmark_started")
    assert started["method"].startswith(device.timing_method)
    assert started["flush_bytes"] > device.cache_bytes()
    print(f"\n{started['method']}: {timing['implementation']['median_ms']:.4f} ms, {timing['speedup']}")


def test_outputs_come_back_whole_through_host_memory(pipeline: Pipeline) -> None:
    outcome = pipeline.evaluate(COPY.replace("class Model(", "class ModelNew("), COPY.replace("1 << 20", "(1 << 24) + 3"))
    assert outcome.verdict == "passed", outcome.reason
    for event in outcome.all("case_checked"):
        (output,) = event["report"]["outputs"]
        assert (output["total"], output["max_abs"]) == ((1 << 24) + 3, 0.0)


def test_a_wrong_element_is_found(pipeline: Pipeline) -> None:
    outcome = pipeline.evaluate(WRONG, MATMUL)
    assert outcome.verdict == "incorrect"
    output = outcome.all("case_checked")[0]["report"]["outputs"][0]
    assert (output["mismatched"], output["max_abs_index"]) == (1, [3, 5])


def test_every_layer_is_named_and_says_why_it_is_missing(pipeline: Pipeline, device: Device) -> None:
    layers = pipeline.evaluate(HONEST, MATMUL).one("started")["isolation"]
    print("\n" + "\n".join(f"{layer['name']}: {layer['active'] or layer['reason']}" for layer in layers))
    assert len(layers) >= 5
    assert all(layer["active"] or layer["reason"] for layer in layers)
    if device.vendor == "cpu":
        return
    # A driver may need what landlock, seccomp or limits forbid; nothing else may be left out for its sake.
    for layer in layers:
        if not layer["active"] and "the device does not start with it" in layer["reason"]:
            assert layer["name"] in ("landlock", "seccomp", "limits")


def test_graph_replay_is_honest(pipeline: Pipeline, gpu: Device) -> None:
    del gpu
    outcome = pipeline.evaluate(REPLAYED, MATMUL, stages=["compile", "correctness", "benchmark"])
    assert outcome.verdict == "passed", f"{outcome.reason}\n{outcome.log}"


def test_half_precision_is_noticed(pipeline: Pipeline) -> None:
    outcome = pipeline.evaluate(HALF, MATMUL)
    assert outcome.verdict == "incorrect"
    assert "rounding" in outcome.reason


def test_tf32_is_noticed_and_allowed_by_the_option(pipeline: Pipeline, gpu: Device) -> None:
    if gpu.vendor != "nvidia" or torch.cuda.get_device_capability() < (8, 0):
        pytest.skip("this GPU has no TF32")
    noticed = pipeline.evaluate(TF32, MATMUL)
    assert noticed.verdict == "incorrect"
    assert "--precision tf32" in noticed.reason
    assert pipeline.evaluate(TF32, MATMUL, precision="tf32").verdict == "passed"


def test_precision_flags_are_recorded(pipeline: Pipeline) -> None:
    outcome = pipeline.evaluate(HONEST, MATMUL, stages=["compile", "correctness", "benchmark"], precision="tf32")
    flags = outcome.one("benchmark_started")["precision"]
    print(f"\n{flags}")
    assert any("tf32" in f"{name} {value}".lower() or "high" in str(value) for name, value in flags.items())


def test_the_defense_finds_nothing_against_an_honest_copy(pipeline: Pipeline) -> None:
    outcome = pipeline.evaluate(
        COPY.replace("class Model(", "class ModelNew("), COPY, stages=["compile", "correctness", "defense"]
    )
    checks = {event["check"]["name"]: event["check"] for event in outcome.all("defense_checked")}
    assert "physics_floor" in checks
    assert [name for name, check in checks.items() if not check["passed"]] == []
    assert outcome.verdict == "passed", outcome.reason


def test_a_triton_kernel_is_compiled(pipeline: Pipeline, device: Device) -> None:
    outcome = pipeline.evaluate(TRITON, COPY)
    assert outcome.verdict == "passed", f"{outcome.reason}\n{outcome.log}"
    interpreted = any(note["code"] == "triton_interpreter" for note in outcome.all("note"))
    assert interpreted == (device.vendor == "cpu")
