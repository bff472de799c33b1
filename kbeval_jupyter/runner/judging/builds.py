"""Build folders: compiled extensions are kept in the user's cache, one folder per hash of everything that goes into them.

Unchanged code is not built again, changed code is never stale. torch's extension builder waits for ever for a ``lock`` file that
a killed build left; the judge of a build holds an flock on the folder, which ends with its process, so that a left ``lock`` file
is known for what it is.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..wire import files_below

if TYPE_CHECKING:
    from ..wire import Plan

KEPT_FOLDERS = 64
_GUARD = "in_use"


def cache_root() -> str:
    """The user's folder for builds."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "kbeval", "builds")


def _program(name: str | None) -> str:
    """A compiler as text that changes when it is replaced."""
    path = shutil.which(name) if name else None
    if path is None:
        return f"{name}: none"
    path = os.path.realpath(path)
    return f"{path} {os.stat(path).st_size} {os.stat(path).st_mtime_ns}"


def build_hash(plan: Plan, folder: str, environment: dict[str, str]) -> str:
    """Of the folder's files, Python, torch, the compilers and the variables that they read."""
    digest = hashlib.sha256()
    for path, data in sorted(files_below(plan, folder)):
        digest.update(f"{path}\0{data}\0".encode())
    cuda_home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    nvcc = shutil.which("nvcc") or os.path.join(cuda_home, "bin", "nvcc")
    compilers = [_program(name) for name in (os.environ.get("CXX", "c++"), nvcc, "hipcc")]
    versions = [sys.version, torch.__version__, str(torch.version.cuda), os.uname().machine]
    for text in (*versions, *compilers, *map(str, sorted(environment.items()))):
        digest.update(f"{text}\0".encode())
    return digest.hexdigest()[:24]


@dataclass
class BuildFolder:
    """One folder below the cache; ``variables`` lead torch, Triton and Inductor into it."""

    path: str
    note: str = ""
    _guard_fd: int = -1

    @classmethod
    def open(cls, name: str, root: str | None = None) -> BuildFolder:
        """The folder of a hash, made if needed; locks that dead builds left in it are removed, which ``note`` tells."""
        root = root or cache_root()
        path = os.path.join(root, name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        os.utime(path)
        folder = cls(path)
        folder._guard_fd = os.open(os.path.join(path, _GUARD), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(folder._guard_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            folder.note = "another evaluation of the same code uses the build folder now"
            return folder
        for lock in folder.locks():
            with contextlib.suppress(OSError):
                os.unlink(lock)
                folder.note = f"a killed build had left {os.path.relpath(lock, root)}; it was removed"
        _prune(root, keep=name)
        return folder

    @property
    def variables(self) -> dict[str, str]:
        """Environment of a worker that builds here."""
        return {
            "TORCH_EXTENSIONS_DIR": os.path.join(self.path, "torch_extensions"),
            "TRITON_CACHE_DIR": os.path.join(self.path, "triton"),
            "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.path, "inductor"),
        }

    def locks(self) -> list[str]:
        """Lock files of torch's extension builder that lie here now."""
        found = []
        for parent, _, files in os.walk(os.path.join(self.path, "torch_extensions")):
            if "lock" in files:
                found.append(os.path.join(parent, "lock"))
        return found

    def close(self) -> None:
        """Let others know that nobody builds here any more."""
        if self._guard_fd >= 0:
            os.close(self._guard_fd)
            self._guard_fd = -1


def _prune(root: str, keep: str) -> None:
    """Remove the folders that were not used for longest, except those in use."""
    with contextlib.suppress(OSError):
        entries = sorted((e for e in os.scandir(root) if e.is_dir(follow_symlinks=False)), key=lambda e: e.stat().st_mtime)
        for entry in entries[: max(len(entries) - KEPT_FOLDERS, 0)]:
            if entry.name != keep and not _in_use(entry.path):
                shutil.rmtree(entry.path, ignore_errors=True)


def _in_use(path: str) -> bool:
    try:
        with open(os.path.join(path, _GUARD), "rb") as guard:
            fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
