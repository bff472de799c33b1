"""What torch gives alike for NVIDIA and AMD: its ``torch.cuda`` module drives CUDA and HIP."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Callable

from ..report import DeviceInfo, DeviceState
from . import processors
from .base import Flush, TimingCpus, Vendor, flush_size

IDLE_WAIT_NS = 50_000  # waiting for a device that is idle takes less; longer means that another stream still worked
EVENT_RESOLUTION_NS = 500  # documented resolution of device events: about half a microsecond


@dataclass(frozen=True)
class TorchGpu:
    """A GPU, described once without initialising it; every process that uses it sees it as device 0."""

    vendor: Vendor
    info: DeviceInfo
    visible: dict[str, str]
    compiling: dict[str, str]
    known_cache_bytes: int | None = None
    exclusive: bool = False
    remarks: tuple[str, ...] = ()
    observer: Callable[[], DeviceState] = field(default=DeviceState, compare=False, repr=False)

    torch_device: str = "cuda:0"
    timing_method: str = "device events around the call, and the time for which other streams are busy after it"
    resolution_ns: int = EVENT_RESOLUTION_NS

    def describe(self) -> DeviceInfo:
        """What the vendor's own interface said."""
        return self.info

    def observe(self) -> DeviceState:
        """What the vendor's own interface says."""
        return self.observer()

    def visible_environment(self) -> dict[str, str]:
        """The vendor's variables that show this GPU alone."""
        return dict(self.visible)

    def compile_environment(self) -> dict[str, str]:
        """The variables that extension builds read for the architecture."""
        return dict(self.compiling)

    def timing_cpus(self) -> TimingCpus:
        """As on the CPU: launches are host work, and both sides must launch from the same CPUs."""
        return processors.timing_cpus()

    def worker_fields(self) -> dict[str, Any]:
        """What a worker needs and might not be able to find out."""
        return {"vendor": self.vendor, "cache_bytes": self.known_cache_bytes}

    def synchronize(self) -> None:
        """Wait for every stream of the device."""
        import torch

        torch.cuda.synchronize()

    def cache_bytes(self) -> int:
        """L2 (or the vendor's last level) in bytes, 0 where torch does not know it either."""
        if self.known_cache_bytes is not None:
            return self.known_cache_bytes
        import torch

        return int(getattr(torch.cuda.get_device_properties(0), "L2_cache_size", 0))

    def make_flush(self) -> Flush:
        """Writes a buffer of twice the last-level cache on the current stream."""
        import torch

        size = flush_size(self.cache_bytes())
        if size == 0:
            return Flush(0, lambda: None)
        return Flush(size, torch.empty(size // 4, dtype=torch.int32, device=self.torch_device).zero_)

    def make_timer(self) -> _EventTimer:
        """A pair of device events."""
        return _EventTimer()


class _EventTimer:
    """Its events and functions are bound here, before user code could replace them in ``torch.cuda``.

    Events see the current stream alone; the time for which the rest of the device is busy after it is added.
    """

    def __init__(self) -> None:
        import torch

        self._start, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._record: Callable[[Any], None] = torch.cuda.Event.record
        self._elapsed_ms: Callable[[Any, Any], float] = torch.cuda.Event.elapsed_time
        self._wait: Callable[[Any], None] = torch.cuda.Event.synchronize
        self._synchronize: Callable[[], None] = torch.cuda.synchronize
        self._clock: Callable[[], int] = time.perf_counter_ns

    def __call__(self, call: Callable[[], Any]) -> tuple[int, Any]:
        self._synchronize()
        self._record(self._start)
        output = call()
        self._record(self._end)
        self._wait(self._end)
        before = self._clock()
        self._synchronize()
        busy_ns = self._clock() - before
        elapsed_ns = round(self._elapsed_ms(self._start, self._end) * 1e6)
        return elapsed_ns + (busy_ns if busy_ns > IDLE_WAIT_NS else 0), output


def gpu_in_worker(vendor: Vendor, cache_bytes: int | None) -> TorchGpu:
    """The GPU as a worker sees it: only what timing needs."""
    return TorchGpu(vendor, DeviceInfo(vendor, ""), {}, {}, cache_bytes)
