"""The questions that stages ask a device."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable, Literal, Protocol

if TYPE_CHECKING:
    from ..report import DeviceInfo, DeviceState

Vendor = Literal["nvidia", "amd", "cpu"]


class DeviceNotFoundError(Exception):
    """The device that was asked for is not on this machine; ``hint`` names what is."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Timer(Protocol):
    """Times one call. Made before user code runs, so that nothing the user patches later can reach its clock."""

    def __call__(self, call: Callable[[], Any]) -> tuple[int, Any]:
        """Elapsed nanoseconds and what the call returned; the device has finished when this returns."""


@dataclass(frozen=True)
class TimingCpus:
    """Which CPUs the judge and the timed workers use. ``note`` says what a small machine made impossible."""

    judge: list[int]
    workers: list[int]
    note: str = ""


class Device(Protocol):
    """One device of one vendor. Only methods marked so initialise it; the rest may be called before a fork."""

    @property
    def vendor(self) -> Vendor:
        """Which file of this folder answers."""

    @property
    def torch_device(self) -> str:
        """Where tensors go, in torch's words, in a process that has ``visible_environment`` set."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the result has to say about the choice of this device."""

    @property
    def exclusive(self) -> bool:
        """Whether the device admits one process only."""

    @property
    def timing_method(self) -> str:
        """What clock ``make_timer`` reads, as part of a sentence."""

    @property
    def resolution_ns(self) -> int:
        """The shortest time that ``make_timer`` can tell from nothing, nanoseconds."""

    def describe(self) -> DeviceInfo:
        """Name, architecture, memory and driver."""

    def observe(self) -> DeviceState:
        """What the device does at this moment, and who else uses it."""

    def visible_environment(self) -> dict[str, str]:
        """Variables that show this device and no other to a process that has not initialised it."""

    def compile_environment(self) -> dict[str, str]:
        """Variables that make extension builds aim at this device."""

    def timing_cpus(self) -> TimingCpus:
        """How judge and timed workers share the host's CPUs."""

    def worker_fields(self) -> dict[str, Any]:
        """Plain data from which ``devices.worker_device`` makes this device again inside a worker."""

    def synchronize(self) -> None:
        """Wait until the whole device is idle. Initialises the device."""

    def cache_bytes(self) -> int:
        """Size of the last-level cache in bytes, 0 where it is not known. Initialises the device."""

    def make_flush(self) -> Flush:
        """What empties the device's caches. Initialises the device."""

    def make_timer(self) -> Timer:
        """The clock for single calls. Initialises the device."""


@dataclass(frozen=True)
class Flush:
    """Call it to empty the caches; ``bytes`` is what it reads, 0 where there is nothing to empty."""

    bytes: int
    run: Callable[[], Any] = field(repr=False)

    def __call__(self) -> None:
        """Empty the caches; returns when that has been asked of the device."""
        self.run()


# The buffer is read twice the cache's size (verdict: 2x the last-level cache), within reason on machines with a huge shared one.
FLUSH_LIMIT_BYTES = 512 << 20


def flush_size(cache_bytes: int) -> int:
    """Bytes to touch so that ``cache_bytes`` of cache hold nothing else."""
    return min(2 * cache_bytes, FLUSH_LIMIT_BYTES)
