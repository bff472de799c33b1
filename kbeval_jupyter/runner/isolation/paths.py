"""Which files a worker may reach: the system, its Python, its device, its own folders. Not the home, not the run directory."""

from __future__ import annotations

import glob
import os
import pwd
import sys
from typing import Iterable, List, Set

_SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/gnu/store",
    "/proc", "/sys",
    # drivers that were laid beside the system (NixOS, the GPU operator of Kubernetes)
    "/run/opengl-driver", "/run/nvidia/driver",
)  # fmt: skip
# Of /etc only what compilers, loaders and drivers read: root could read the password hashes and host keys there.
_SETTINGS = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "passwd", "group", "nsswitch.conf", "localtime", "timezone",
    "locale.alias", "os-release", "lsb-release", "debian_version", "OpenCL", "nvidia", "vulkan", "glvnd", "mime.types",
    "ssl/openssl.cnf", "ssl/certs", "pki/tls/openssl.cnf", "crypto-policies",
)  # fmt: skip
_PLAIN_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# NVIDIA (with Tegra and WSL), AMD. Listed anew for every worker: nodes appear when the driver is first used.
_GPU_DEVICES = ("/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap", "/dev/nvgpu", "/dev/nvsciipc", "/dev/dxg", "/dev/kfd", "/dev/dri")
# Folders named by these variables hold compilers and libraries, and may lie in the user's home.
_TOOL_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH")
_SEARCH_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH")


def readable(read_paths: Iterable[str], private_dir: str) -> List[str]:
    """Folders and files that a worker may read and execute; its environment must be in place already."""
    protected = {_real_home(), os.path.realpath(os.path.dirname(private_dir))}
    wanted = [*_SYSTEM, *(f"/etc/{name}" for name in _SETTINGS)]
    # Packages and tools of the user may lie in the home (pip --user, pyenv, conda): these folders stay readable, alone.
    wanted += [sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path]
    wanted += [os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))]
    wanted += [os.environ[name] for name in _TOOL_VARIABLES if name in os.environ]
    for name in _SEARCH_VARIABLES:
        wanted += os.environ.get(name, "").split(os.pathsep)
    found: List[str] = []
    for path in dict.fromkeys(os.path.realpath(path) for path in wanted if os.path.isabs(path)):
        found += _without(path, protected)
    return [*found, *read_paths]


def writable(write_paths: Iterable[str], private_dir: str) -> List[str]:
    """Folders that a worker may change."""
    paths = [private_dir, *write_paths]
    mps = mps_folder()
    return [*paths, mps] if mps else paths


def devices() -> List[str]:
    """Device nodes that a worker may open."""
    return [*_PLAIN_DEVICES, *(node for pattern in _GPU_DEVICES for node in glob.glob(pattern))]


def mps_folder() -> str:
    """Where CUDA's MPS daemon, which shares one GPU among processes, can be met; empty where there is none."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")  # the driver's own default
    return folder if os.path.isdir(folder) else ""


def _real_home() -> str:
    # Not $HOME, which already is the private folder.
    try:
        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return os.path.realpath("/root") if os.getuid() == 0 else ""


def _without(path: str, protected: Set[str]) -> List[str]:
    """``path``, or, where something protected lies below it, everything below it but that."""
    if path in protected or path == "/":
        return []
    if not any(place.startswith(path + "/") for place in protected):
        return [path]
    parts: List[str] = []
    try:
        names = os.listdir(path)
    except OSError:
        return []
    for name in names:
        parts += _without(os.path.join(path, name), protected)
    return parts
