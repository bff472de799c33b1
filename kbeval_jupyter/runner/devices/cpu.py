"""The host's processor as the device: what every machine has."""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass
from typing import Any, Callable

from ..report import DeviceInfo, DeviceState
from . import host_state, processors
from .base import Flush, TimingCpus, Vendor, flush_size


@dataclass(frozen=True)
class CpuDevice:
    """All CPUs that the process may use."""

    last_level_cache_bytes: int
    remarks: tuple[str, ...] = ()

    vendor: Vendor = "cpu"
    torch_device: str = "cpu"
    exclusive: bool = False
    timing_method: str = "perf_counter_ns around the call on the CPU"
    resolution_ns: int = 200  # reading the clock twice and one Python call cost about this much

    def describe(self) -> DeviceInfo:
        """The processor's name, instruction set and the machine's memory."""
        return DeviceInfo(
            "cpu", processors.model_name(), platform.machine() or None, processors.memory_bytes(), platform.release() or None
        )

    def observe(self) -> DeviceState:
        """Load, clock and governor of the processor, and what else runs."""
        return host_state.observe(self.timing_cpus().workers)

    def visible_environment(self) -> dict[str, str]:
        """Hides GPUs, so that code that looks for one takes its CPU path."""
        return {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}

    def compile_environment(self) -> dict[str, str]:
        """Nothing: the compiler aims at the machine it runs on."""
        return {}

    def timing_cpus(self) -> TimingCpus:
        """One core for the judge, one shared set for all timed workers."""
        return processors.timing_cpus()

    def worker_fields(self) -> dict[str, Any]:
        """What a worker cannot read for itself once it is hardened."""
        return {"vendor": "cpu", "cache_bytes": self.last_level_cache_bytes}

    def synchronize(self) -> None:
        """Nothing to wait for: torch's CPU operations are done when they return."""

    def cache_bytes(self) -> int:
        """Size of the last-level cache in bytes, 0 where it is not known."""
        return self.last_level_cache_bytes

    def make_flush(self) -> Flush:
        """Reads a buffer of twice the last-level cache.

        Reading, because large writes may go round the cache, and dirty lines would be written back inside the window.
        """
        import torch

        size = flush_size(self.last_level_cache_bytes)
        if size == 0:
            return Flush(0, lambda: None)
        # Ones, not zeros: pages never written are all the same page of zeros, which would stay in the cache.
        # int64 is summed as it is; a sum of int32 converts every element and takes 25 times as long.
        return Flush(size, torch.ones(size // 8, dtype=torch.int64).sum)

    def make_timer(self) -> _WallTimer:
        """``time.perf_counter_ns`` before and after."""
        return _WallTimer()


class _WallTimer:
    """Holds the clock function itself: patching the ``time`` module later changes nothing here."""

    def __init__(self) -> None:
        self._clock: Callable[[], int] = time.perf_counter_ns

    def __call__(self, call: Callable[[], Any]) -> tuple[int, Any]:
        clock = self._clock
        start = clock()
        output = call()
        return clock() - start, output


def find() -> CpuDevice:
    """This machine's processor."""
    return CpuDevice(processors.last_level_cache_bytes())
