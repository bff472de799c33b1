"""What this machine can do, and the exact commands that bring what is missing."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

PROBE_LIMIT_S = 120.0  # a first import of torch from a slow disk
LANDLOCK_CREATE_RULESET = 444
LANDLOCK_VERSION_FLAG = 1

# Runs in a process of its own: torch never enters ours, and a broken one cannot take us down.
PROBE = """
import importlib.metadata, json, sys
found = {"python": sys.version.split()[0]}
for name in ("triton", "ninja", "numpy"):
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        found[name] = None
try:
    import torch
except BaseException as error:
    found["torch_error"] = f"{type(error).__name__}: {error}".splitlines()[0]
else:
    found["torch"] = torch.__version__
    found["cuda"], found["hip"] = torch.version.cuda, getattr(torch.version, "hip", None)
    try:
        found["gpus"] = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    except BaseException as error:
        found["gpu_error"] = f"{type(error).__name__}: {error}".splitlines()[0]
print(json.dumps(found))
"""
PACKAGE_MANAGERS = {
    "apt-get": "sudo apt-get install -y {}",
    "dnf": "sudo dnf install -y {}",
    "zypper": "sudo zypper install -y {}",
    "pacman": "sudo pacman -S --noconfirm {}",
    "apk": "sudo apk add {}",
}
COMPILER_PACKAGES = {
    "apt-get": "build-essential",
    "dnf": "gcc-c++",
    "zypper": "gcc-c++",
    "pacman": "base-devel",
    "apk": "build-base",
}


@dataclass(frozen=True)
class Finding:
    """One thing looked for. ``fix`` is a command, or empty where there is nothing to do."""

    name: str
    status: Literal["ok", "missing", "note"]
    detail: str
    fix: str = ""


def examine() -> list[Finding]:
    """All findings; takes the seconds that an import of torch takes."""
    probe = _probe()
    return [
        Finding("python", "ok", f"{platform.python_version()}, {sys.executable}"),
        _torch(probe),
        *_gpus(probe),
        _package(probe, "triton", "Triton implementations, on the CPU through its interpreter", "kbeval-jupyter[triton]"),
        _package(probe, "ninja", "extensions in C++, CUDA and HIP", "ninja"),
        _compiler(),
        _gpu_compiler("nvcc", "CUDA extensions", "CUDA_HOME", "nvidia-cuda-toolkit", needed=bool(probe.get("cuda"))),
        _gpu_compiler("hipcc", "HIP extensions", "ROCM_PATH", "hipcc", needed=bool(probe.get("hip"))),
        _landlock(),
        _seccomp(),
    ]


def can_evaluate(findings: list[Finding]) -> bool:
    """Whether target ``local`` works here."""
    return all(finding.status == "ok" for finding in findings if finding.name in ("python", "torch"))


def render(findings: list[Finding]) -> str:
    """The findings as text, one a line, with the commands that help below them."""
    marks = {"ok": "ok", "missing": "--", "note": "  "}
    lines = [f"{marks[f.status]:<4}{f.name:<10}{f.detail}" for f in findings]
    fixes = [f"    {f.fix:<60} # {f.name}" for f in findings if f.fix]
    return "\n".join([*lines, *(["", "To get the rest:", *fixes] if fixes else [])])


def _probe() -> dict[str, Any]:
    try:
        done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_LIMIT_S)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"torch_error": f"importing it took more than {PROBE_LIMIT_S:g} s"}
    except (ValueError, IndexError):
        return {"torch_error": f"importing it ended the process with status {done.returncode}"}
    return found


def _torch(probe: dict[str, Any]) -> Finding:
    if "torch" in probe:
        built_for = f"CUDA {probe['cuda']}" if probe["cuda"] else f"HIP {probe['hip']}" if probe["hip"] else "CPU"
        return Finding("torch", "ok", f"{probe['torch']}, built for {built_for}")
    detail = f"not usable: {probe['torch_error']}; without it target local evaluates nothing"
    return Finding("torch", "missing", detail, f"{sys.executable} -m pip install 'kbeval-jupyter[local]'")


def _gpus(probe: dict[str, Any]) -> list[Finding]:
    if probe.get("gpus"):
        return [Finding("GPU", "ok", f"{index}: {name}") for index, name in enumerate(probe["gpus"])]
    if "gpu_error" in probe:
        return [Finding("GPU", "missing", f"torch cannot use it: {probe['gpu_error']}")]
    nodes = [node for node in ("/dev/nvidiactl", "/dev/kfd") if Path(node).exists()]
    if nodes:
        text = f"{nodes[0]} is there, but torch finds no GPU: its build or the driver does not fit"
        return [Finding("GPU", "missing", text)]
    return [Finding("GPU", "note", "none; target local uses the CPU")]


def _package(probe: dict[str, Any], name: str, use: str, requirement: str) -> Finding:
    version = probe.get(name)
    if version:
        return Finding(name, "ok", f"{version}: {use}")
    return Finding(name, "missing", f"needed for {use}", f"{sys.executable} -m pip install '{requirement}'")


def _compiler() -> Finding:
    wanted = os.environ.get("CXX")
    path = next((p for p in map(shutil.which, filter(None, (wanted, "c++", "g++", "clang++"))) if p), None)
    if path:
        return Finding("C++", "ok", f"{path}: {_first_line([path, '--version'])}")
    fix = next((how.format(COMPILER_PACKAGES[tool]) for tool, how in PACKAGE_MANAGERS.items() if shutil.which(tool)), "")
    if sys.platform == "darwin":
        fix = "xcode-select --install"
    return Finding("C++", "missing", "needed for load_inline and other extensions", fix)


def _gpu_compiler(name: str, use: str, home_variable: str, package: str, *, needed: bool) -> Finding:
    home = os.environ.get(home_variable)
    path = shutil.which(name) or (shutil.which(name, path=str(Path(home) / "bin")) if home else None)
    if path:
        return Finding(name, "ok", f"{path}: {use}")
    if not needed:
        return Finding(name, "note", f"not found; {use} are built on targets that have it")
    fix = PACKAGE_MANAGERS["apt-get"].format(package) if shutil.which("apt-get") else ""
    return Finding(name, "missing", f"needed for {use}; or set {home_variable}", fix)


def _first_line(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    return (done.stdout or done.stderr).partition("\n")[0]


def _landlock() -> Finding:
    """The kernel's file rules for workers; the version is asked as landlock(7) says."""
    version = -1
    if sys.platform == "linux":
        syscall: Callable[..., int] = ctypes.CDLL(None, use_errno=True).syscall
        version = syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION_FLAG)
    if version > 0:
        return Finding("landlock", "ok", f"version {version}: workers see only their own files")
    return Finding("landlock", "note", "not offered by this kernel; workers are separated by the other layers")


def _seccomp() -> Finding:
    status = Path("/proc/self/status")
    if status.exists() and "Seccomp:" in status.read_text():
        return Finding("seccomp", "ok", "workers are kept from system calls they do not need")
    return Finding("seccomp", "note", "not offered by this kernel; workers are separated by the other layers")
