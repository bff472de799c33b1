"""NVIDIA: found through NVML, which answers without initialising CUDA."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ..report import DeviceInfo
from . import nvidia_state
from .base import DeviceNotFoundError
from .torch_gpu import TorchGpu, gpu_in_worker

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Names and numbers below: NVML API reference (nvml.h).
_LIBRARY = "libnvidia-ml.so.1"
_EXCLUSIVE_PROCESS = 3  # nvmlComputeMode_t
_TEXT_BYTES = 96  # NVML_DEVICE_NAME_V2_BUFFER_SIZE, NVML_DEVICE_UUID_V2_BUFFER_SIZE


class _Memory(ctypes.Structure):
    _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))


@dataclass(frozen=True)
class Gpu:
    """One GPU or MIG instance as NVML describes it."""

    index: int | None  # as nvidia-smi counts; None for a MIG instance
    uuid: str
    name: str
    capability: tuple[int, int]
    memory_bytes: int | None
    exclusive: bool


class NvmlError(Exception):
    """NVML is not here or refused a question."""


class Nvml:
    """The few questions we ask NVML."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def _ask(self, function: str, *arguments: Any) -> None:
        code = getattr(self._library, function)(*arguments)
        if code != 0:
            raise NvmlError(f"{function} answered {code}")

    def _text(self, function: str, *arguments: Any) -> str:
        buffer = ctypes.create_string_buffer(_TEXT_BYTES)
        self._ask(function, *arguments, buffer, ctypes.c_uint(_TEXT_BYTES))
        return buffer.value.decode("utf-8", "replace")

    def driver(self) -> str:
        """Driver version."""
        return self._text("nvmlSystemGetDriverVersion")

    def count(self) -> int:
        """Number of GPUs."""
        number = ctypes.c_uint()
        self._ask("nvmlDeviceGetCount_v2", ctypes.byref(number))
        return number.value

    def gpu(self, index: int) -> Gpu:
        """The GPU that nvidia-smi shows under this number."""
        handle = ctypes.c_void_p()
        self._ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return self._describe(handle, handle, index)

    def mig(self, uuid: str) -> Gpu:
        """The MIG instance with this uuid; its architecture is that of the GPU it is cut from."""
        handle, parent = ctypes.c_void_p(), ctypes.c_void_p()
        self._ask("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(handle))
        self._ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", handle, ctypes.byref(parent))
        return self._describe(handle, parent, None)

    def _describe(self, handle: Any, parent: Any, index: int | None) -> Gpu:
        major, minor, mode, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), _Memory()
        self._ask("nvmlDeviceGetCudaComputeCapability", parent, ctypes.byref(major), ctypes.byref(minor))
        # Not every platform answers these (unified memory, vGPU); the GPU is usable all the same.
        self._library.nvmlDeviceGetComputeMode(parent, ctypes.byref(mode))
        self._library.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
        return Gpu(
            index,
            self._text("nvmlDeviceGetUUID", handle),
            self._text("nvmlDeviceGetName", handle),
            (major.value, minor.value),
            memory.total or None,
            mode.value == _EXCLUSIVE_PROCESS,
        )


@contextmanager
def open_nvml(library: str = _LIBRARY) -> Iterator[Nvml]:
    """NVML between its init and its shutdown.

    Raises:
        NvmlError: no driver on this machine, or it is not running.
    """
    try:
        loaded = ctypes.CDLL(library)
    except OSError as error:
        raise NvmlError(f"no NVIDIA driver: {error}") from error
    code = loaded.nvmlInit_v2()
    if code != 0:
        raise NvmlError(f"the NVIDIA driver does not answer (nvmlInit: {code})")
    try:
        yield Nvml(loaded)
    finally:
        loaded.nvmlShutdown()


def listed() -> bool:
    """Whether an NVIDIA driver on this machine knows a GPU."""
    try:
        with open_nvml() as nvml:
            return nvml.count() > 0
    except NvmlError:
        return False


def architecture(capability: tuple[int, int]) -> str:
    """The name that nvcc uses, e.g. "sm_90"."""
    return f"sm_{capability[0]}{capability[1]}"


def torch_arch_list(capability: tuple[int, int]) -> str:
    """``TORCH_CUDA_ARCH_LIST`` for one GPU; from Hopper on with "a", without which wgmma and tcgen05 do not assemble."""
    return f"{capability[0]}.{capability[1]}{'a' if capability[0] >= 9 else ''}"


def selector(index: int | None, variables: Mapping[str, str]) -> str:
    """The one entry for ``CUDA_VISIBLE_DEVICES``: the ``index``-th (or first) of the variable, else ``index`` itself.

    Raises:
        DeviceNotFoundError: the variable hides all GPUs or has fewer.
    """
    listing = variables.get("CUDA_VISIBLE_DEVICES")
    if listing is None:
        return str(index or 0)
    # CUDA ignores everything from the first invalid entry on; "-1" is the usual way to write "none".
    entries = [entry.strip() for entry in listing.split(",")]
    usable = entries[: next((i for i, entry in enumerate(entries) if entry in ("", "-1")), len(entries))]
    if not usable:
        raise DeviceNotFoundError(f"CUDA_VISIBLE_DEVICES={listing!r} hides every NVIDIA GPU", "unset it, or choose the CPU")
    if (index or 0) >= len(usable):
        message = f"GPU {index} was asked for, but CUDA_VISIBLE_DEVICES={listing!r} shows {len(usable)}"
        raise DeviceNotFoundError(message, f"valid: 0 to {len(usable) - 1}, counted within that list")
    return usable[index or 0]


def choose(entry: str, gpus: list[Gpu]) -> Gpu:
    """The GPU that a selector means: a number, a uuid, or the beginning of one uuid.

    Raises:
        DeviceNotFoundError: none or several match; the message lists what is there.
    """
    there = ", ".join(f"{gpu.index} ({gpu.name}, {gpu.uuid})" for gpu in gpus) or "none"
    matches = [gpu for gpu in gpus if (str(gpu.index) == entry if entry.isdigit() else gpu.uuid.startswith(entry))]
    if len(matches) != 1:
        fits = "fits no GPU" if not matches else f"fits {len(matches)} GPUs"
        raise DeviceNotFoundError(f"NVIDIA GPU {entry!r} {fits}", f"found: {there}")
    return matches[0]


def _require_torch() -> None:
    import torch

    if torch.version.cuda is None:
        raise DeviceNotFoundError(
            f"this torch ({torch.__version__}) is built without CUDA",
            "install a CUDA build of torch on the target, or choose the CPU",
        )


def find(index: int | None, variables: Mapping[str, str]) -> TorchGpu:
    """The GPU to use.

    Raises:
        DeviceNotFoundError: no driver, no such GPU, or a torch without CUDA.
    """
    entry = selector(index, variables)
    try:
        with open_nvml() as nvml:
            gpus = [nvml.gpu(number) for number in range(nvml.count())]
            gpu = nvml.mig(entry) if entry.startswith("MIG-") else choose(entry, gpus)
            driver = nvml.driver()
    except NvmlError as error:
        raise DeviceNotFoundError(
            f"no NVIDIA GPU can be used: {error}", "valid here: the vendors that are found, or cpu"
        ) from error
    _require_torch()
    return from_gpu(gpu, entry, driver, gpus, variables)


def from_gpu(gpu: Gpu, entry: str, driver: str, gpus: list[Gpu], variables: Mapping[str, str]) -> TorchGpu:
    """The device for a GPU that was chosen by ``entry``."""
    remarks = []
    if gpu.exclusive:
        remarks.append("the GPU is in exclusive-process mode: one process at a time may use it")
    visible = {"CUDA_VISIBLE_DEVICES": entry}
    if entry.isdigit() and "CUDA_VISIBLE_DEVICES" not in variables:
        visible["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"  # the order of nvidia-smi; CUDA's own default is fastest first
    elif entry.isdigit() and len({g.name for g in gpus}) > 1 and variables.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID":
        remarks.append(
            "CUDA_VISIBLE_DEVICES counts the fastest GPU first, the name shown counts as nvidia-smi: they may differ here"
        )
    return TorchGpu(
        "nvidia",
        DeviceInfo("nvidia", gpu.name, architecture(gpu.capability), gpu.memory_bytes, driver, gpu.index),
        visible,
        {"TORCH_CUDA_ARCH_LIST": torch_arch_list(gpu.capability)},
        exclusive=gpu.exclusive,
        remarks=tuple(remarks),
        observer=partial(nvidia_state.observe, gpu.uuid),
    )


def in_worker(fields: Mapping[str, Any]) -> TorchGpu:
    """The GPU inside a worker."""
    return gpu_in_worker("nvidia", fields.get("cache_bytes"))
