"""AMD: found through the kernel's KFD topology, which is there without ROCm and without initialising HIP."""

from __future__ import annotations

import glob
import os
import platform
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from ..report import DeviceInfo, DeviceState
from . import host_state
from .base import DeviceNotFoundError
from .processors import read_text
from .torch_gpu import TorchGpu, gpu_in_worker

if TYPE_CHECKING:
    from collections.abc import Mapping

# Files and numbers below: Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c.
TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
_FRAMEBUFFER_HEAPS = ("1", "2")  # public and private video memory
_VISIBLE = ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")  # HIP honours both


@dataclass(frozen=True)
class Gpu:
    """One GPU as the kernel describes it."""

    index: int  # as rocm-smi counts
    name: str
    architecture: str  # e.g. "gfx942"
    memory_bytes: int | None
    cache_bytes: int | None
    folder: str = field(default="", compare=False)  # of the card in sysfs


def _properties(path: str) -> dict[str, str]:
    lines = (line.split(None, 1) for line in read_text(path).splitlines())
    return {pair[0]: pair[1] for pair in lines if len(pair) == 2}


def _children(folder: str) -> list[str]:
    """Numbered entries of a folder, in order of their numbers."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in sorted((n for n in names if n.isdigit()), key=int)]


def gfx_name(version: int) -> str:
    """The compiler's name for a ``gfx_target_version``: 90402 is gfx942, 90010 is gfx90a, 110000 is gfx1100."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _memory_bytes(node: str) -> int | None:
    banks = (_properties(os.path.join(bank, "properties")) for bank in _children(os.path.join(node, "mem_banks")))
    return sum(int(bank["size_in_bytes"]) for bank in banks if bank.get("heap_type") in _FRAMEBUFFER_HEAPS) or None


def _last_level_cache_bytes(node: str) -> int | None:
    caches = [_properties(os.path.join(cache, "properties")) for cache in _children(os.path.join(node, "caches"))]
    sizes = [(int(cache["level"]), int(cache["size"]) << 10) for cache in caches if "level" in cache and "size" in cache]
    last = max((level for level, _ in sizes), default=0)
    return sum(size for level, size in sizes if level == last) or None


def _product_name(properties: Mapping[str, str], architecture: str, drm: str) -> str:
    minor = properties.get("drm_render_minor", "")
    return read_text(f"{drm}/renderD{minor}/device/product_name") or f"AMD {architecture}"


def gpus(topology: str = TOPOLOGY, drm: str = "/sys/class/drm") -> list[Gpu]:
    """Every GPU of the machine; processors, which the topology lists as well, are left out."""
    found: list[Gpu] = []
    for node in _children(topology):
        properties = _properties(os.path.join(node, "properties"))
        version = int(properties.get("gfx_target_version", "0"))
        if version:
            architecture = gfx_name(version)
            name = _product_name(properties, architecture, drm)
            card = f"{drm}/renderD{properties.get('drm_render_minor', '')}/device"
            found.append(Gpu(len(found), name, architecture, _memory_bytes(node), _last_level_cache_bytes(node), card))
    return found


def listed() -> bool:
    """Whether the kernel knows an AMD GPU."""
    return bool(gpus())


def rocm_path(variables: Mapping[str, str]) -> str | None:
    """Where ROCm is installed: the user's variable, else the usual folder if it is there."""
    usual = variables.get("ROCM_PATH") or "/opt/rocm"
    return usual if os.path.isdir(usual) else None


def selector(index: int | None, variables: Mapping[str, str], count: int) -> str:
    """The one entry for ``HIP_VISIBLE_DEVICES``: the ``index``-th (or first) of the user's variable, else ``index`` itself.

    Raises:
        DeviceNotFoundError: the variable hides all GPUs or has fewer, or there are fewer.
    """
    name = next((n for n in _VISIBLE if n in variables), None)
    entries = [entry.strip() for entry in variables[name].split(",")] if name else [str(i) for i in range(count)]
    usable = [entry for entry in entries if entry not in ("", "-1")]
    if not usable:
        raise DeviceNotFoundError(f"{name}={variables[name]!r} hides every AMD GPU" if name else "no AMD GPU was found")
    if (index or 0) >= len(usable):
        where = f"{name}={variables[name]!r} shows" if name else "this machine has"
        raise DeviceNotFoundError(f"GPU {index} was asked for, but {where} {len(usable)}", f"valid: 0 to {len(usable) - 1}")
    return usable[index or 0]


def find(index: int | None, variables: Mapping[str, str]) -> TorchGpu:
    """The GPU to use.

    Raises:
        DeviceNotFoundError: the kernel knows none, no such GPU, no right to use it, or a torch without HIP.
    """
    import torch

    there = gpus()
    if not there:
        raise DeviceNotFoundError("no AMD GPU was found: the kernel lists none", "valid here: the vendors that are found, or cpu")
    entry = selector(index, variables, len(there))
    if not os.access("/dev/kfd", os.R_OK | os.W_OK):
        raise DeviceNotFoundError(
            "/dev/kfd cannot be opened", "add the user to the groups render and video, or pass the device in"
        )
    if torch.version.hip is None:
        hint = "install a ROCm build of torch on the target, or choose the CPU"
        raise DeviceNotFoundError(f"this torch ({torch.__version__}) is built without HIP", hint)
    return from_gpu(entry, there, variables)


def from_gpu(entry: str, there: list[Gpu], variables: Mapping[str, str]) -> TorchGpu:
    """The device for the GPU that ``entry`` selects. ROCR_VISIBLE_DEVICES, which the driver applies first, stays as it is."""
    number = int(entry) if entry.isdigit() and int(entry) < len(there) else 0
    gpu = there[number]
    compiling = {"PYTORCH_ROCM_ARCH": gpu.architecture, "HIP_PLATFORM": "amd"}  # hipcc turns into nvcc where that is on PATH
    rocm = rocm_path(variables)
    if rocm:
        compiling["ROCM_PATH"] = rocm
    remarks: tuple[str, ...] = ()
    if "ROCR_VISIBLE_DEVICES" in variables and len({g.name for g in there}) > 1:
        remarks = ("ROCR_VISIBLE_DEVICES is set: the name shown may be that of another GPU",)
    info = DeviceInfo("amd", gpu.name, gpu.architecture, gpu.memory_bytes, _driver(), gpu.index)
    visible = {"HIP_VISIBLE_DEVICES": entry}
    if "CUDA_VISIBLE_DEVICES" in variables:
        visible["CUDA_VISIBLE_DEVICES"] = entry  # HIP refuses to start where the two disagree
    return TorchGpu("amd", info, visible, compiling, gpu.cache_bytes, remarks=remarks, observer=partial(observe, gpu.folder))


def observe(card: str, users: str = "/sys/class/kfd/kfd/proc") -> DeviceState:
    """What the GPU whose sysfs folder is ``card`` does at this moment, and which processes have opened any AMD GPU."""

    def number(pattern: str, scale: float) -> float | None:
        texts = [read_text(path) for path in sorted(glob.glob(f"{card}/hwmon/hwmon*/{pattern}"))]
        return next((int(text) / scale for text in texts if text.isdigit()), None)

    pids = [int(name) for name in os.listdir(users) if name.isdigit()] if os.path.isdir(users) else []
    # Units: Linux, Documentation/gpu/amdgpu/thermal.rst (hertz, microwatts, thousandths of a degree).
    return DeviceState(
        clock_mhz=number("freq1_input", 1e6),
        memory_clock_mhz=number("freq2_input", 1e6),
        power_w=number("power1_average", 1e6) or number("power1_input", 1e6),
        power_limit_w=number("power1_cap", 1e6),
        temperature_c=number("temp1_input", 1e3),
        load_average=host_state.load_average(),
        foreign_processes=[host_state.process_name(pid) for pid in sorted(pids) if not host_state.is_ours(pid)],
    )


def _driver() -> str:
    return read_text("/sys/module/amdgpu/version") or f"Linux {platform.release()}"


def in_worker(fields: Mapping[str, Any]) -> TorchGpu:
    """The GPU inside a worker."""
    return gpu_in_worker("amd", fields.get("cache_bytes"))
