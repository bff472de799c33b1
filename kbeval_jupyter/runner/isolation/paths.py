"""Which files a worker may reach: the system, its Python, its device, its own folders. Not the home, not the run directory."""

from __future__ import annotations

import functools
import os
import pwd
import sys
from typing import Iterable, List

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
_GPU_DEVICES = ("nvidia", "nvhost", "nvmap", "nvgpu", "nvsciipc", "dxg", "kfd", "dri")
# Folders named by these variables hold compilers and libraries, and may lie in the user's home.
_TOOL_VARIABLES = ("CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "ROCM_HOME", "ROCM_PATH", "HIP_PATH")
_SEARCH_VARIABLES = ("PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH")


def readable(read_paths: Iterable[str], private_dir: str) -> List[str]:
    """Folders and files that a worker may read and execute; its environment must be in place already.

    Packages and tools may lie in the user's home (pip --user, pyenv, conda): such folders stay readable, they alone.
    """
    wanted = [*_SYSTEM, *(f"/etc/{name}" for name in _SETTINGS)]
    wanted += [sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.dirname(sys.executable)), *sys.path]
    wanted += [os.environ[name] for name in _TOOL_VARIABLES if name in os.environ]
    for name in _SEARCH_VARIABLES:
        wanted += os.environ.get(name, "").split(os.pathsep)
    # Each by itself: a folder inside the home that was named stays, though one around the home loses all of it.
    parts = {_resolve(path) for path in wanted if os.path.isabs(path) and os.path.exists(path)}
    for protected in (_real_home(), os.path.realpath(private_dir)):
        parts = {part for path in parts for part in _without(path, protected)}
    found: List[str] = []
    for path in sorted(parts):
        if not found or not path.startswith(found[-1] + "/"):  # sorted: what lies below another follows it
            found.append(path)
    return [*found, *read_paths]


@functools.lru_cache(maxsize=None)
def _resolve(path: str) -> str:
    # Remembered across forks: the server asks once for what is installed, and following links is half the work.
    return os.path.realpath(path)


def writable(write_paths: Iterable[str], private_dir: str) -> List[str]:
    """Folders that a worker may change."""
    paths = [private_dir, *write_paths]
    mps = mps_folder()
    return [*paths, mps] if mps else paths


def devices() -> List[str]:
    """Device nodes that a worker may open."""
    return [*_PLAIN_DEVICES, *(f"/dev/{name}" for name in os.listdir("/dev") if name.startswith(_GPU_DEVICES))]


def mps_folder() -> str:
    """Where CUDA's MPS daemon, which shares one GPU among processes, can be met; empty where there is none."""
    folder = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")  # the driver's own default
    return folder if os.path.isdir(folder) else ""


def _real_home() -> str:
    # Not $HOME, which already is the private folder.
    try:
        return os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return "/"  # a user without an entry, as in containers: nothing to protect


def _without(path: str, protected: str) -> List[str]:
    """``path``, or, where the protected folder lies below it, all its entries but the one that leads there."""
    if path in (protected, "/"):
        return []
    if not protected.startswith(path + "/"):
        return [path]
    leading = protected[len(path) + 1 :].partition("/")[0]
    try:
        # A link would open what it points to.
        return [entry.path for entry in os.scandir(path) if entry.name != leading and not entry.is_symlink()]
    except OSError:  # closed to us too
        return []
