"""Devices: what this machine has, and NVIDIA and AMD read from made-up NVML answers and sysfs folders."""

from __future__ import annotations

import ctypes
import math
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from kbeval_jupyter.runner.devices import DeviceNotFoundError, amd, cpu, detect, nvidia, processors, worker_device
from kbeval_jupyter.runner.devices.base import FLUSH_LIMIT_BYTES, flush_size

# ruff: noqa: N802 - the made-up NVML has NVML's function names

# What a missing vendor is refused with, and the kernel driver's node that says it is there.
MISSING = {"nvidia": "no NVIDIA GPU can be used: no NVIDIA driver", "amd": "no AMD GPU was found"}
NODES = {"nvidia": Path("/dev/nvidiactl"), "amd": Path("/dev/kfd")}


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


# --- the processor --------------------------------------------------------------------------------------------------------


def test_this_machine_is_described() -> None:
    info = cpu.find().describe()
    assert info.vendor == "cpu"
    assert info.name
    assert info.memory_bytes is not None
    assert info.memory_bytes > 1 << 28


def test_auto_takes_the_cpu_exactly_where_there_is_no_gpu() -> None:
    there = [vendor for vendor, node in NODES.items() if node.exists()]
    assert detect().vendor == (there[0] if there else "cpu")
    assert not torch.cuda.is_initialized()


def test_the_cpu_hides_gpus_and_survives_the_way_into_a_worker() -> None:
    device = detect("cpu")
    assert device.visible_environment()["CUDA_VISIBLE_DEVICES"] == ""
    assert worker_device(device.worker_fields()).cache_bytes() == device.cache_bytes()


def test_unknown_vendor_names_the_valid_ones() -> None:
    with pytest.raises(DeviceNotFoundError, match=r"unknown vendor 'intel'; valid: auto, nvidia, amd, cpu"):
        detect("intel")


def test_missing_gpus_are_named() -> None:
    missing = [vendor for vendor, node in NODES.items() if not node.exists()]
    assert missing, "no machine has both"
    for vendor in missing:
        with pytest.raises(DeviceNotFoundError, match=MISSING[vendor]):
            detect(vendor)
    with pytest.raises(
        DeviceNotFoundError, match="GPU 1000 was asked for, but no GPU was found" if len(missing) == 2 else "1000"
    ):
        detect("auto", 1000)


def test_flush_is_twice_the_cache_within_bounds() -> None:
    assert flush_size(32 << 20) == 64 << 20
    assert flush_size(1 << 40) == FLUSH_LIMIT_BYTES
    assert cpu.CpuDevice(0).make_flush().bytes == 0


def test_flush_really_empties_the_cache() -> None:
    device = cpu.find()
    flush, timer = device.make_flush(), device.make_timer()
    if flush.bytes == 0:
        assert device.cache_bytes() == 0, "nothing to empty only where the kernel does not say how large the cache is"
        return
    data = torch.ones(max(1, device.cache_bytes() // 16 // 4))

    def typical(before: Any) -> float:
        times = []
        for _ in range(15):
            before()
            times.append(timer(data.sum)[0])
        return statistics.median(times)

    assert typical(flush) > 1.3 * typical(data.sum), "data that is in the cache must be read faster than data that is not"


def test_timer_keeps_its_clock_when_time_is_patched(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = cpu.find().make_timer()
    monkeypatch.setattr(time, "perf_counter_ns", lambda: 0)
    elapsed_ns, output = timer(lambda: sum(range(1000)))
    assert elapsed_ns > 0
    assert output == 499500


def test_cpu_lists_and_sizes() -> None:
    assert processors.parse_cpu_list("0-3,8,10-11") == [0, 1, 2, 3, 8, 10, 11]
    assert processors.parse_cpu_list("") == []
    assert [processors.parse_size(text) for text in ("32768K", "8M", "512", "", "?")] == [32 << 20, 8 << 20, 512, 0, 0]


def test_last_level_cache_from_sysfs(tmp_path: Path) -> None:
    levels = {"index0": ("1", "32K"), "index2": ("2", "1024K"), "index3": ("3", "96M")}
    for index, (level, size) in levels.items():
        write(tmp_path, {f"cpu0/cache/{index}/level": level, f"cpu0/cache/{index}/size": size})
    assert processors.last_level_cache_bytes(str(tmp_path)) == 96 << 20
    assert processors.last_level_cache_bytes(str(tmp_path / "nothing")) == 0


def test_one_thread_of_each_core(tmp_path: Path) -> None:
    for number in range(8):
        write(tmp_path, {f"cpu{number}/topology/thread_siblings_list": f"{number % 4},{number % 4 + 4}"})
    assert processors.one_per_core(list(range(8)), str(tmp_path)) == [0, 1, 2, 3]
    assert processors.one_per_core([1, 5, 6], str(tmp_path)) == [1, 6]


@pytest.mark.parametrize(
    ("cpus", "cores", "quota", "judge", "workers", "note"),
    [
        ([0, 1], [0, 1], None, [0], [1], ""),
        (list(range(8)), [0, 1, 2, 3], None, [0], [1, 2, 3], ""),
        ([3], [3], None, [3], [3], "share the one CPU"),
        ([0, 4], [0], None, [4], [0], "share one physical core"),
        (list(range(64)), list(range(64)), 4, [0], [1, 2, 3], "quota of 4 CPUs"),
        (list(range(64)), list(range(64)), 1, [0], [1], "quota of 1 CPU "),
    ],
)
def test_judge_and_timed_workers_share_cpus(
    cpus: list[int], cores: list[int], quota: int | None, judge: list[int], workers: list[int], note: str
) -> None:
    shared = processors.share_cpus(cpus, cores, quota)
    assert (shared.judge, shared.workers) == (judge, workers)
    assert note in shared.note


def test_quota(tmp_path: Path) -> None:
    write(tmp_path, {"half": "50000 100000\n", "four": "400000 100000\n", "none": "max 100000\n"})
    assert [processors.quota_cpus(str(tmp_path / name)) for name in ("half", "four", "none", "absent")] == [1, 4, None, None]


# --- NVIDIA ---------------------------------------------------------------------------------------------------------------

H100 = nvidia.Gpu(0, "GPU-aaaa1111-0", "NVIDIA H100 80GB HBM3", (9, 0), 80 << 30, exclusive=False)
A100 = nvidia.Gpu(1, "GPU-aaaa2222-1", "NVIDIA A100", (8, 0), 40 << 30, exclusive=True)


def test_architecture_names() -> None:
    assert [nvidia.architecture(c) for c in ((8, 0), (9, 0), (10, 0), (12, 1))] == ["sm_80", "sm_90", "sm_100", "sm_121"]
    assert [nvidia.torch_arch_list(c) for c in ((8, 6), (9, 0), (12, 0))] == ["8.6", "9.0a", "12.0a"]


@pytest.mark.parametrize(
    ("index", "visible", "entry"),
    [
        (None, None, "0"),
        (3, None, "3"),
        (None, "2,5", "2"),
        (1, "2,5", "5"),
        (None, "GPU-aaaa1111-0", "GPU-aaaa1111-0"),
        (None, "GPU-aaaa1", "GPU-aaaa1"),
        (0, "MIG-12-34", "MIG-12-34"),
        (1, " 2 , 5,-1,7", "5"),
    ],
)
def test_selector(index: int | None, visible: str | None, entry: str) -> None:
    assert nvidia.selector(index, {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}) == entry


@pytest.mark.parametrize("visible", ["", "-1", "-1,0"])
def test_hidden_gpus_are_said_to_be_hidden(visible: str) -> None:
    with pytest.raises(DeviceNotFoundError, match="hides every NVIDIA GPU"):
        nvidia.selector(None, {"CUDA_VISIBLE_DEVICES": visible})


def test_an_index_beyond_the_list_names_the_valid_ones() -> None:
    with pytest.raises(DeviceNotFoundError, match=r"GPU 2 was asked for, but CUDA_VISIBLE_DEVICES='4,5' shows 2") as caught:
        nvidia.selector(2, {"CUDA_VISIBLE_DEVICES": "4,5"})
    assert caught.value.hint.startswith("valid: 0 to 1")


def test_choosing_by_number_uuid_and_the_beginning_of_one() -> None:
    gpus = [H100, A100]
    assert nvidia.choose("1", gpus) is A100
    assert nvidia.choose("GPU-aaaa1111-0", gpus) is H100
    assert nvidia.choose("GPU-aaaa2", gpus) is A100
    with pytest.raises(DeviceNotFoundError, match="'GPU-aaaa' fits 2 GPUs") as caught:
        nvidia.choose("GPU-aaaa", gpus)
    assert "0 (NVIDIA H100 80GB HBM3, GPU-aaaa1111-0), 1 (NVIDIA A100" in caught.value.hint
    with pytest.raises(DeviceNotFoundError, match="'7' fits no GPU"):
        nvidia.choose("7", gpus)


def test_a_chosen_gpu_becomes_the_only_visible_one() -> None:
    device = nvidia.from_gpu(H100, "0", "570.1", [H100, A100], {})
    assert device.visible_environment() == {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert device.compile_environment() == {"TORCH_CUDA_ARCH_LIST": "9.0a"}
    assert (device.describe().architecture, device.describe().driver) == ("sm_90", "570.1")
    assert device.remarks == ()


def test_the_users_own_selection_is_passed_through() -> None:
    uuid = nvidia.from_gpu(A100, "GPU-aaaa2", "570.1", [H100, A100], {"CUDA_VISIBLE_DEVICES": "GPU-aaaa2"})
    assert uuid.visible_environment() == {"CUDA_VISIBLE_DEVICES": "GPU-aaaa2"}
    assert uuid.exclusive
    assert "exclusive-process mode" in uuid.remarks[0]
    number = nvidia.from_gpu(H100, "0", "570.1", [H100, A100], {"CUDA_VISIBLE_DEVICES": "0"})
    assert number.visible_environment() == {"CUDA_VISIBLE_DEVICES": "0"}
    assert "fastest GPU first" in number.remarks[0]


class MadeUpNvml:
    """Answers as the library does: through pointers, with a status."""

    def __init__(self) -> None:
        self.names = {1: b"NVIDIA H100 80GB HBM3", 7: b"NVIDIA H100 80GB HBM3 MIG 1g.10gb"}

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        handle._obj.value = index.value + 1
        return 0 if index.value == 0 else 2

    def nvmlDeviceGetHandleByUUID(self, uuid: bytes, handle: Any) -> int:
        handle._obj.value = 7
        return 0 if uuid == b"MIG-5" else 6

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, handle: Any, parent: Any) -> int:
        parent._obj.value = 1
        return 0 if handle.value == 7 else 2

    def nvmlDeviceGetCudaComputeCapability(self, handle: Any, major: Any, minor: Any) -> int:
        major._obj.value, minor._obj.value = 9, 0
        return 0 if handle.value == 1 else 3

    def nvmlDeviceGetComputeMode(self, handle: Any, mode: Any) -> int:
        mode._obj.value = 3
        return 0

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        memory._obj.total = (10 if handle.value == 7 else 80) << 30
        return 0

    def nvmlDeviceGetName(self, handle: Any, buffer: Any, size: Any) -> int:
        buffer.value = self.names[handle.value]
        return 0

    def nvmlDeviceGetUUID(self, handle: Any, buffer: Any, size: Any) -> int:
        buffer.value = b"MIG-5" if handle.value == 7 else b"GPU-1"
        return 0

    def nvmlSystemGetDriverVersion(self, buffer: Any, size: Any) -> int:
        buffer.value = b"580.65.06"
        return 0

    def nvmlDeviceGetCount_v2(self, number: Any) -> int:
        number._obj.value = 1
        return 0


def test_nvml_answers_are_read() -> None:
    nvml = nvidia.Nvml(MadeUpNvml())
    assert nvml.gpu(0) == nvidia.Gpu(0, "GPU-1", "NVIDIA H100 80GB HBM3", (9, 0), 80 << 30, exclusive=True)
    mig = nvml.mig("MIG-5")
    assert (mig.index, mig.uuid, mig.capability, mig.memory_bytes) == (None, "MIG-5", (9, 0), 10 << 30)
    assert (nvml.count(), nvml.driver()) == (1, "580.65.06")
    with pytest.raises(nvidia.NvmlError, match="nvmlDeviceGetHandleByUUID answered 6"):
        nvml.mig("MIG-unknown")


def test_a_machine_without_the_library_says_so() -> None:
    with pytest.raises(nvidia.NvmlError, match="no NVIDIA driver"), nvidia.open_nvml("libno-such-library.so"):
        pass
    assert ctypes.sizeof(nvidia._Memory) == 24


# --- AMD ------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    """A host with one processor node, an MI300X and an MI250."""
    write(
        tmp_path,
        {
            "nodes/0/properties": "cpu_cores_count 64\nsimd_count 0\ngfx_target_version 0\n",
            "nodes/2/properties": "simd_count 416\ngfx_target_version 90010\ndrm_render_minor 129\n",
            "nodes/10/properties": "simd_count 1216\ngfx_target_version 90402\ndrm_render_minor 128\n",
            "nodes/10/mem_banks/0/properties": "heap_type 1\nsize_in_bytes 206141652992\n",
            "nodes/10/mem_banks/1/properties": "heap_type 0\nsize_in_bytes 99\n",
            "nodes/10/caches/0/properties": "level 1\nsize 32\n",
            "nodes/10/caches/1/properties": "level 2\nsize 4096\n",
            "nodes/10/caches/2/properties": "level 3\nsize 262144\n",
            "drm/renderD128/device/product_name": "AMD Instinct MI300X\n",
        },
    )
    return tmp_path


def test_gfx_names() -> None:
    assert [amd.gfx_name(v) for v in (90402, 90010, 110000, 90500, 120001)] == [
        "gfx942",
        "gfx90a",
        "gfx1100",
        "gfx950",
        "gfx1201",
    ]


def test_topology_is_read_in_the_order_of_its_numbers(topology: Path) -> None:
    small, large = amd.gpus(str(topology / "nodes"), str(topology / "drm"))
    assert (small.index, small.name, small.architecture, small.memory_bytes) == (0, "AMD gfx90a", "gfx90a", None)
    assert large == amd.Gpu(1, "AMD Instinct MI300X", "gfx942", 206141652992, 256 << 20)


def test_an_amd_gpu_becomes_the_only_visible_one(topology: Path) -> None:
    there = amd.gpus(str(topology / "nodes"), str(topology / "drm"))
    device = amd.from_gpu("1", there, {"ROCM_PATH": str(topology)})
    assert device.visible_environment() == {"HIP_VISIBLE_DEVICES": "1"}
    assert device.compile_environment() == {"PYTORCH_ROCM_ARCH": "gfx942", "HIP_PLATFORM": "amd", "ROCM_PATH": str(topology)}
    assert worker_device(device.worker_fields()).cache_bytes() == 256 << 20
    both = amd.from_gpu("1", there, {"CUDA_VISIBLE_DEVICES": "1"})
    assert both.visible_environment() == {"HIP_VISIBLE_DEVICES": "1", "CUDA_VISIBLE_DEVICES": "1"}


def test_amd_selector() -> None:
    assert amd.selector(None, {}, 2) == "0"
    assert amd.selector(1, {"HIP_VISIBLE_DEVICES": "3,2"}, 4) == "2"
    with pytest.raises(DeviceNotFoundError, match="GPU 5 was asked for, but this machine has 2") as caught:
        amd.selector(5, {}, 2)
    assert caught.value.hint == "valid: 0 to 1"
    with pytest.raises(DeviceNotFoundError, match="HIP_VISIBLE_DEVICES='' hides every AMD GPU"):
        amd.selector(None, {"HIP_VISIBLE_DEVICES": ""}, 2)


# --- with a GPU -----------------------------------------------------------------------------------------------------------


@pytest.mark.gpu
def test_events_time_a_device_kernel_and_the_flush_fills_twice_the_cache() -> None:
    device = detect()
    assert device.vendor != "cpu"
    flush, timer = device.make_flush(), device.make_timer()
    assert flush.bytes == flush_size(device.cache_bytes()) > 0
    large = torch.ones(1 << 28, device=device.torch_device)
    timer(large.sum)
    elapsed_ns, total = timer(large.sum)
    assert math.isclose(total.item(), 1 << 28)
    assert elapsed_ns > (1 << 30) / 20e12 * 1e9, "a gigabyte in less than 20 TB/s allows"
