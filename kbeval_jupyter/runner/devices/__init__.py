"""What differs by vendor: one file per vendor, the same questions to each. Stages ask a Device, never the vendor's name."""

from .base import Device, DeviceNotFoundError, Timer, TimingCpus
from .detect import detect, worker_device

__all__ = ["Device", "DeviceNotFoundError", "Timer", "TimingCpus", "detect", "worker_device"]
