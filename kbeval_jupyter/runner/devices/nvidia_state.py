"""What an NVIDIA GPU does at this moment, by NVML: clocks, power, temperature, why it is slowed down, and who uses it."""

from __future__ import annotations

import ctypes
from typing import Any

from ..report import DeviceState
from . import host_state

# Names and numbers below: NVML API reference (nvml.h).
_LIBRARY = "libnvidia-ml.so.1"
_SM, _MEMORY = 1, 2  # nvmlClockType_t
_GPU_TEMPERATURE = 0  # nvmlTemperatureSensors_t
_MOST_PROCESSES = 64
_REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal (software)",
    0x40: "thermal (hardware)",
    0x80: "power brake",
}


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("used_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


def observe(uuid: str) -> DeviceState:
    """The GPU (or the one that a MIG instance is cut from) now; a question that NVML does not answer is None."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return DeviceState()
    if library.nvmlInit_v2() != 0:
        return DeviceState()
    try:
        return read(library, uuid)
    finally:
        library.nvmlShutdown()


def read(library: Any, uuid: str) -> DeviceState:
    """The same from an open library."""
    handle, whole = ctypes.c_void_p(), ctypes.c_void_p()
    if library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(handle)) != 0:
        return DeviceState()
    if library.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle, ctypes.byref(whole)) != 0:
        whole = handle

    def number(function: str, *arguments: Any, scale: float = 1.0) -> float | None:
        value = ctypes.c_uint()
        answered = getattr(library, function)(whole, *arguments, ctypes.byref(value)) == 0
        return value.value / scale if answered else None

    return DeviceState(
        clock_mhz=number("nvmlDeviceGetClockInfo", ctypes.c_int(_SM)),
        max_clock_mhz=number("nvmlDeviceGetMaxClockInfo", ctypes.c_int(_SM)),
        memory_clock_mhz=number("nvmlDeviceGetClockInfo", ctypes.c_int(_MEMORY)),
        power_w=number("nvmlDeviceGetPowerUsage", scale=1e3),
        power_limit_w=number("nvmlDeviceGetEnforcedPowerLimit", scale=1e3),
        temperature_c=number("nvmlDeviceGetTemperature", ctypes.c_int(_GPU_TEMPERATURE)),
        throttled=_throttle_reasons(library, whole),
        load_average=host_state.load_average(),
        foreign_processes=_foreign_processes(library, handle),
    )


def _throttle_reasons(library: Any, handle: Any) -> list[str]:
    bits = ctypes.c_ulonglong()
    if library.nvmlDeviceGetCurrentClocksThrottleReasons(handle, ctypes.byref(bits)) != 0:
        return []
    return [text for bit, text in _REASONS.items() if bits.value & bit]


def _foreign_processes(library: Any, handle: Any) -> list[str]:
    count = ctypes.c_uint(_MOST_PROCESSES)
    found = (_Process * _MOST_PROCESSES)()
    if library.nvmlDeviceGetComputeRunningProcesses_v3(handle, ctypes.byref(count), found) != 0:
        return []
    pids = [found[i].pid for i in range(count.value)]
    return [host_state.process_name(pid) for pid in pids if not host_state.is_ours(pid)][: host_state.LISTED_PROCESSES]
