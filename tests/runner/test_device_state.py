"""What devices say about the moment: the host from files, NVIDIA from a made-up NVML, AMD from a made-up sysfs."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from kbeval_jupyter.runner.devices import amd, detect, host_state, nvidia_state
from kbeval_jupyter.runner.report import DeviceState

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_host_from_its_files(tmp_path: Path) -> None:
    cpu = tmp_path / "cpu" / "cpu1" / "cpufreq"
    write(cpu / "scaling_cur_freq", "3200000\n")
    write(cpu / "cpuinfo_max_freq", "4100000\n")
    write(cpu / "scaling_governor", "performance\n")
    write(tmp_path / "proc" / "loadavg", "1.25 0.9 0.8 2/300 999\n")
    write(tmp_path / "proc" / "70" / "stat", "70 (train (big) job) R 1 70 70\n")
    write(tmp_path / "proc" / "71" / "stat", "71 (idle) S 1 71 71\n")
    write(tmp_path / "proc" / "72" / "stat", f"72 (worker) R {os.getpid()} 72 72\n")
    state = host_state.observe([1], str(tmp_path / "cpu"), str(tmp_path / "proc"))
    assert state == DeviceState(
        clock_mhz=3200.0,
        max_clock_mhz=4100.0,
        governor="performance",
        load_average=1.25,
        foreign_processes=["train (big) job (70)"],
    )


def test_a_host_that_shows_nothing(tmp_path: Path) -> None:
    assert host_state.observe([0], str(tmp_path), str(tmp_path)) == DeviceState()


def test_processes_of_this_evaluation_are_ours() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert host_state.is_ours(child.pid)
        child.communicate()
    assert host_state.is_ours(os.getpid())
    assert not host_state.is_ours(1)


def test_this_machine_answers() -> None:
    state = detect("cpu", None).observe()
    assert state.load_average is not None
    assert all("(" in name for name in state.foreign_processes)


class MadeUpNvml:
    """Answers through pointers, with a status; ``silent`` names what it does not know."""

    def __init__(self, silent: tuple[str, ...] = ()) -> None:
        self.silent = silent
        self.numbers = {
            "nvmlDeviceGetPowerUsage": 350_500,
            "nvmlDeviceGetEnforcedPowerLimit": 700_000,
            "nvmlDeviceGetTemperature": 61,
            "nvmlDeviceGetMaxClockInfo": 1980,
            "nvmlDeviceGetCurrentClocksThrottleReasons": 0x4 | 0x20 | 0x1,
        }

    def __getattr__(self, name: str) -> Any:
        def answer(_handle: Any, *arguments: Any) -> int:
            if name in self.silent or name == "nvmlDeviceGetDeviceHandleFromMigDeviceHandle":
                return 3  # not supported
            target: Any = getattr(arguments[-1], "_obj", None)
            if name == "nvmlDeviceGetClockInfo":
                target.value = {1: 1755, 2: 2619}[arguments[0].value]
            elif name == "nvmlDeviceGetComputeRunningProcesses_v3":
                arguments[0]._obj.value = 2
                arguments[1][0].pid, arguments[1][1].pid = os.getpid(), 1
            elif name in self.numbers:
                target.value = self.numbers[name]
            return 0

        return answer


def test_nvidia() -> None:
    state = nvidia_state.read(MadeUpNvml(), "GPU-1")
    assert (state.clock_mhz, state.max_clock_mhz, state.memory_clock_mhz) == (1755.0, 1980.0, 2619.0)
    assert (state.power_w, state.power_limit_w, state.temperature_c) == (350.5, 700.0, 61.0)
    assert state.throttled == ["power cap", "thermal (software)"]
    assert state.foreign_processes == [host_state.process_name(1)], "our own process is left out"


def test_nvidia_that_does_not_answer() -> None:
    state = nvidia_state.read(MadeUpNvml(("nvmlDeviceGetPowerUsage", "nvmlDeviceGetCurrentClocksThrottleReasons")), "GPU-1")
    assert (state.power_w, state.throttled, state.temperature_c) == (None, [], 61.0)
    assert nvidia_state.read(MadeUpNvml(("nvmlDeviceGetHandleByUUID",)), "GPU-1") == DeviceState()


def test_the_process_structure_is_nvmls() -> None:
    assert ctypes.sizeof(nvidia_state._Process) == 24  # nvmlProcessInfo_t


def test_amd(tmp_path: Path) -> None:
    card = tmp_path / "device" / "hwmon" / "hwmon3"
    write(card / "freq1_input", "1700000000\n")
    write(card / "power1_average", "245000000\n")
    write(card / "temp1_input", "58000\n")
    write(tmp_path / "users" / "1" / "pasid", "3\n")
    state = amd.observe(str(tmp_path / "device"), str(tmp_path / "users"))
    assert (state.clock_mhz, state.memory_clock_mhz, state.power_w, state.temperature_c) == (1700.0, None, 245.0, 58.0)
    assert state.foreign_processes == [host_state.process_name(1)]
