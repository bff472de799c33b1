"""Description, clock, cache flush and streams of the device, in this process."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbeval_jupyter.runner.devices import Device

LONG_MS = 30.0
HIGHEST_BANDWIDTH = 20e12  # bytes a second, more than any memory has
FLUSH_ROUNDS = 50


def long_work(device: Device) -> Callable[[], Any]:
    """A call that keeps the device busy for LONG_MS or more."""
    matrix = torch.rand(1024, 1024, device=device.torch_device)
    timer = device.make_timer()
    count = 1

    def work() -> None:
        for _ in range(count):
            torch.mm(matrix, matrix)

    work()
    while timer(work)[0] < LONG_MS * 1e6:
        count *= 2
    return work


def test_description(device: Device) -> None:
    info = device.describe()
    print(f"\n{info}")
    assert info.name
    assert info.memory_bytes is not None
    assert info.memory_bytes > 1 << 30
    if device.vendor == "nvidia":
        major, minor = torch.cuda.get_device_capability()
        assert info.architecture == f"sm_{major}{minor}"
        assert info.driver


def test_the_state_can_be_observed(device: Device) -> None:
    state = device.observe()
    print(f"\n{state}")
    if device.vendor == "nvidia":
        assert state.clock_mhz is not None
        assert state.temperature_c is not None
        assert 0 < state.temperature_c < 120


def test_the_clock_agrees_with_the_wall(device: Device) -> None:
    work, timer = long_work(device), device.make_timer()
    shares = []
    for _ in range(5):
        device.synchronize()
        start = time.perf_counter_ns()
        elapsed_ns, _ = timer(work)
        shares.append(elapsed_ns / (time.perf_counter_ns() - start))
    assert max(shares) <= 1.001
    assert statistics.median(shares) > 0.95


def test_a_read_is_not_faster_than_memory_allows(device: Device) -> None:
    large = torch.ones(1 << 27, device=device.torch_device)
    timer = device.make_timer()
    timer(large.sum)
    elapsed_ns, total = timer(large.sum)
    assert total.item() == 1 << 27
    assert elapsed_ns > (1 << 29) / HIGHEST_BANDWIDTH * 1e9


def test_a_copy_is_not_faster_than_memory_allows(device: Device) -> None:
    source = torch.ones(1 << 27, device=device.torch_device)
    target = torch.empty_like(source)
    timer = device.make_timer()
    times = [timer(lambda: target.copy_(source))[0] for _ in range(5)]
    assert min(times) > 2 * (1 << 29) / HIGHEST_BANDWIDTH * 1e9
    assert statistics.median(times) < 2e9, "half a gigabyte takes seconds"


def test_the_flush_makes_a_warm_read_cold(device: Device) -> None:
    cache = device.cache_bytes()
    assert cache > 0
    flush, timer = device.make_flush(), device.make_timer()
    assert flush.bytes > cache
    data = torch.ones(cache // 4 // 8, dtype=torch.int64, device=device.torch_device)
    warm, cold = [], []
    for _ in range(FLUSH_ROUNDS):
        data.sum()
        warm.append(timer(data.sum)[0])
        flush()
        cold.append(timer(data.sum)[0])
    print(f"\nwarm {min(warm)} ns, cold {min(cold)} ns")
    assert min(cold) > min(warm)


def test_work_on_a_side_stream_is_counted(gpu: Device) -> None:
    work, timer = long_work(gpu), gpu.make_timer()
    side = torch.cuda.Stream()

    def hidden() -> None:
        with torch.cuda.stream(side):
            work()

    honest = statistics.median(timer(work)[0] for _ in range(5))
    smuggled = statistics.median(timer(hidden)[0] for _ in range(5))
    assert smuggled > 0.8 * honest


def test_a_replayed_graph_is_timed_as_the_work_it_does(gpu: Device) -> None:
    matrix = torch.rand(2048, 2048, device=gpu.torch_device)
    torch.mm(matrix, matrix)
    gpu.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(20):
            torch.mm(matrix, matrix)
    timer = gpu.make_timer()

    def plainly() -> None:
        for _ in range(20):
            torch.mm(matrix, matrix)

    replayed, plain = (statistics.median(timer(call)[0] for _ in range(10)) for call in (graph.replay, plainly))
    assert 0.5 < replayed / plain < 1.5
