"""Choose the device of an evaluation without initialising any: processes are forked afterwards."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from . import amd, cpu, nvidia
from .base import Device, DeviceNotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping


class _VendorModule(Protocol):
    def listed(self) -> bool: ...
    def find(self, index: int | None, variables: Mapping[str, str]) -> Device: ...
    def in_worker(self, fields: Mapping[str, Any]) -> Device: ...


_GPU_VENDORS: dict[str, _VendorModule] = {"nvidia": nvidia, "amd": amd}


def detect(vendor: str = "auto", index: int | None = None, environment: Mapping[str, str] | None = None) -> Device:
    """The device to use: that of ``vendor``, or with "auto" a GPU that torch can drive, else the CPU.

    ``index`` counts as the vendor's own tool does, within the vendor's visible-devices variable where that is set.

    Raises:
        DeviceNotFoundError: the vendor or the index is not on this machine, or this torch cannot drive it.
    """
    variables = os.environ if environment is None else environment
    if vendor == "cpu":
        return cpu.find()
    if vendor in _GPU_VENDORS:
        return _GPU_VENDORS[vendor].find(index, variables)
    if vendor != "auto":
        raise DeviceNotFoundError(f"unknown vendor {vendor!r}; valid: auto, nvidia, amd, cpu")
    reasons = []
    for name, module in _GPU_VENDORS.items():
        if not module.listed():
            continue
        try:
            return module.find(index, variables)
        except DeviceNotFoundError as error:
            if index is not None:
                raise
            reasons.append(f"{error.message}: the {name} GPU is not used")
    if index is not None:
        raise DeviceNotFoundError(f"GPU {index} was asked for, but no GPU was found", "leave out --gpu-id to use the CPU")
    return replace(cpu.find(), remarks=tuple(reasons))


def worker_device(fields: Mapping[str, Any]) -> Device:
    """The same device inside a worker, from what ``Device.worker_fields`` gave in the judge."""
    if fields["vendor"] == "cpu":
        return cpu.CpuDevice(int(fields["cache_bytes"]))
    return _GPU_VENDORS[str(fields["vendor"])].in_worker(fields)
