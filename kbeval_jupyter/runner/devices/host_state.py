"""What else the host is doing: load, clocks of its processors, and processes that are not of this evaluation."""

from __future__ import annotations

import os

from ..report import DeviceState
from .processors import CPU_FOLDER, read_text

LISTED_PROCESSES = 8


def observe(cpus: list[int], folder: str = CPU_FOLDER, proc: str = "/proc") -> DeviceState:
    """The processor now. ``cpus`` are those that the timed processes use; None stands for what this kernel does not show."""
    base = f"{folder}/cpu{cpus[0]}/cpufreq"
    return DeviceState(
        clock_mhz=_megahertz(read_text(f"{base}/scaling_cur_freq")) or _cpuinfo_megahertz(cpus[0], proc),
        max_clock_mhz=_megahertz(read_text(f"{base}/cpuinfo_max_freq")),
        governor=read_text(f"{base}/scaling_governor") or None,
        load_average=load_average(proc),
        foreign_processes=busy_processes(proc),
    )


def load_average(proc: str = "/proc") -> float | None:
    """Processes that wanted to run, on average over the last minute."""
    first = read_text(f"{proc}/loadavg").partition(" ")[0]
    try:
        return float(first)
    except ValueError:
        return None


def busy_processes(proc: str = "/proc") -> list[str]:
    """Processes that run at this moment and are not of this evaluation, as "name (pid)"; at most a few."""
    found = []
    for entry in sorted((name for name in os.listdir(proc) if name.isdigit()), key=int):
        name, state, _ = _stat(entry, proc)
        if state == "R" and not is_ours(int(entry), proc):
            found.append(f"{name} ({entry})")
    return found[:LISTED_PROCESSES]


def process_name(pid: int, proc: str = "/proc") -> str:
    """The process as "name (pid)"; its number alone where it is out of sight, as from inside a container."""
    name = _stat(str(pid), proc)[0]
    return f"{name} ({pid})" if name else f"process {pid}"


def is_ours(pid: int, proc: str = "/proc") -> bool:
    """Whether a process is this one, its supervisor, or descends from that."""
    ours = {os.getpid(), os.getppid()}
    while pid > 1:
        if pid in ours:
            return True
        pid = _stat(str(pid), proc)[2]
    return False


def _stat(pid: str, proc: str) -> tuple[str, str, int]:
    """Name, state and parent; ("", "", 0) where the process is gone."""
    before, found, after = read_text(f"{proc}/{pid}/stat").rpartition(")")
    fields = after.split()
    if not found or len(fields) < 2:
        return "", "", 0
    return before.partition("(")[2], fields[0], int(fields[1])


def _megahertz(kilohertz: str) -> float | None:
    return int(kilohertz) / 1e3 if kilohertz.isdigit() else None


def _cpuinfo_megahertz(cpu: int, proc: str) -> float | None:
    """Virtual machines have no cpufreq, but many show a clock here."""
    clocks = [line.partition(":")[2] for line in read_text(f"{proc}/cpuinfo").splitlines() if line.startswith("cpu MHz")]
    return float(clocks[cpu]) if cpu < len(clocks) else None
