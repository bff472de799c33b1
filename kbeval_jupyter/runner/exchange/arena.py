"""Arenas: memory files made and sealed by the judge, in which tensors travel between judge and worker.

The size of a sealed memory file is fixed, so a mapping of it can never fault with SIGBUS (an unsealed one kills the judge when
the worker truncates it). The input arena is also sealed against future writes after the judge has mapped it. Memory files do not
count against /dev/shm, which containers often limit to 64 MB.
"""

from __future__ import annotations

import contextlib
import fcntl
import math
import mmap
import os
from typing import Any, Sequence

import torch

ALIGNMENT = 64
# Linux uapi: F_LINUX_SPECIFIC_BASE + 9, and the seals of memfd_create(2); fcntl lacks some of them in Python 3.9
F_ADD_SEALS = 1033
F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE = 1, 2, 4, 16

DTYPES: dict[str, Any] = {
    name: getattr(torch, name)
    for name in (
        "float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
        "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64", "complex128",
    )
    if hasattr(torch, name)
}  # fmt: skip
ITEM_BYTES: dict[str, int] = {name: torch.empty(0, dtype=dtype).element_size() for name, dtype in DTYPES.items()}


class ArenaFullError(Exception):
    """The tensor does not fit any more."""


def dtype_name(dtype: Any) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype)[6:]


def aligned(offset: int) -> int:
    """The next multiple of the alignment."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


class Arena:
    """A mapped memory file; tensors lie in it densely, row-major, 64-byte aligned."""

    def __init__(self, fd: int, size: int, private: bool = False) -> None:
        self.fd = fd
        self.size = size
        self.top = 0
        self._closed = False
        sharing = mmap.MAP_PRIVATE if private else mmap.MAP_SHARED
        mapped = mmap.mmap(fd, size, flags=sharing, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        self._bytes = torch.frombuffer(mapped, dtype=torch.uint8)

    @classmethod
    def create(cls, size: int, read_only_for_others: bool = False) -> Arena:
        """A new sealed arena of at least ``size`` bytes (zero pages until touched)."""
        size = max(mmap.PAGESIZE, -(-size // mmap.PAGESIZE) * mmap.PAGESIZE)
        fd = os.memfd_create("arena", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(fd, size)
        arena = cls(fd, size)  # mapped before it is sealed: the judge keeps writing
        seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL
        if read_only_for_others:
            with contextlib.suppress(OSError):  # kernels before 5.1: a worker could then change its own inputs, nobody else's
                fcntl.fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE)
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
        return arena

    @classmethod
    def attach(cls, fd: int, private: bool) -> Arena:
        """The worker's view of an arena whose descriptor the judge sent; ``private`` for inputs."""
        return cls(fd, os.fstat(fd).st_size, private)

    def reset(self) -> None:
        """Forget what lies here; the next tensor goes to the beginning."""
        self.top = 0

    def fits(self, nbytes: int) -> bool:
        """Whether ``nbytes`` more can be put."""
        return aligned(self.top) + nbytes <= self.size

    def put(self, tensor: Any) -> int:
        """Copy a tensor of any device and layout; returns its offset. Raises ArenaFullError."""
        nbytes = tensor.numel() * tensor.element_size()
        offset = aligned(self.top)
        if offset + nbytes > self.size:
            raise ArenaFullError(f"{nbytes} bytes at {offset} of {self.size}")
        if nbytes:
            self.view(dtype_name(tensor.dtype), tuple(tensor.shape), offset).copy_(tensor)
        self.top = offset + nbytes
        return offset

    def view(self, dtype: str, shape: Sequence[int], offset: int) -> Any:
        """The tensor at ``offset`` itself, not a copy; the caller has checked the bounds."""
        nbytes = math.prod(shape) * ITEM_BYTES[dtype]
        if nbytes == 0:
            return torch.empty(tuple(shape), dtype=DTYPES[dtype])
        return self._bytes[offset : offset + nbytes].view(DTYPES[dtype]).view(tuple(shape))

    def close(self) -> None:
        """Let go of the file; tensors that view the memory keep it mapped.

        Never ``mmap.close()``: torch holds a reference to the mapping, not an exported buffer, and would read unmapped memory.
        """
        if not self._closed:
            self._closed = True
            self._bytes = None
            os.close(self.fd)
