"""The host's CPUs as Linux shows them: which ones we may use, which share a core, how much cache there is."""

from __future__ import annotations

import os
import platform

from .base import TimingCpus

CPU_FOLDER = "/sys/devices/system/cpu"
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def read_text(path: str) -> str:
    """The file's text without surrounding blanks, or "" where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def parse_cpu_list(text: str) -> list[int]:
    """CPU numbers of a kernel list such as "0-3,8"."""
    cpus: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        cpus.extend(range(int(first), int(last or first) + 1))
    return cpus


def parse_size(text: str) -> int:
    """Bytes of a size such as "32768K"; 0 where there is none."""
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "")
    return int(number) * _UNITS.get(unit, 1) if number.isdigit() else 0


def last_level_cache_bytes(folder: str = CPU_FOLDER) -> int:
    """Size of the largest-numbered cache level that CPU 0 uses, bytes; 0 where the kernel does not say."""
    found: dict[int, int] = {}
    base = os.path.join(folder, "cpu0", "cache")
    for entry in os.listdir(base) if os.path.isdir(base) else []:
        level = read_text(os.path.join(base, entry, "level"))
        if entry.startswith("index") and level.isdigit():
            size = parse_size(read_text(os.path.join(base, entry, "size")))
            found[int(level)] = max(size, found.get(int(level), 0))
    return found[max(found)] if found else 0


def usable_cpus() -> list[int]:
    """CPUs this process may run on."""
    return sorted(os.sched_getaffinity(0))


def one_per_core(cpus: list[int], folder: str = CPU_FOLDER) -> list[int]:
    """The first usable CPU of every physical core: two threads of one core slow each other down."""
    taken: set[int] = set()
    chosen = []
    for cpu in cpus:
        if cpu not in taken:
            chosen.append(cpu)
            taken.update(parse_cpu_list(read_text(f"{folder}/cpu{cpu}/topology/thread_siblings_list")) or [cpu])
    return chosen


def quota_cpus(path: str = "/sys/fs/cgroup/cpu.max") -> int | None:
    """Whole CPUs that the container's quota pays for, at least 1; None without a quota."""
    quota, _, period = read_text(path).partition(" ")
    return max(1, int(quota) // int(period)) if quota.isdigit() and period.isdigit() else None


def share_cpus(cpus: list[int], cores: list[int], quota: int | None) -> TimingCpus:
    """One core for the judge, the others for the timed workers, which all share one set.

    A worker on a CPU of its own would be compared with a worker on another: measured, that alone made ratios of up to 1.7.
    """
    if len(cores) == 1:
        if len(cpus) > 1:
            return TimingCpus(cpus[1:], cores, "judge and timed workers share one physical core")
        return TimingCpus(cpus, cpus, "judge and timed workers share the one CPU there is")
    workers = cores[1:]
    if quota is not None and quota < len(cores):
        workers = workers[: max(1, quota - 1)]  # more threads than the quota pays for are stopped in mid-call
        return TimingCpus(cores[:1], workers, f"a quota of {quota} CPU{'s' if quota > 1 else ''} bounds the timed workers")
    return TimingCpus(cores[:1], workers)


def timing_cpus() -> TimingCpus:
    """How judge and timed workers share this machine."""
    cpus = usable_cpus()
    return share_cpus(cpus, one_per_core(cpus), quota_cpus())


def model_name(path: str = "/proc/cpuinfo") -> str:
    """The processor's name as the kernel gives it, else the machine type."""
    for line in read_text(path).splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model", "cpu model") and value.strip():
            return value.strip()
    return platform.machine() or "CPU"


def memory_bytes(path: str = "/proc/meminfo") -> int | None:
    """Installed memory in bytes."""
    for line in read_text(path).splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None
