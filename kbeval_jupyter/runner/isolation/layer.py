"""What the isolation layers share: their error, and the C library."""

from __future__ import annotations

import ctypes
import os
from typing import Any

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


class LayerError(Exception):
    """A layer could not be made active; the text says why."""


def last_error() -> str:
    """What the failed call of the C library complained about."""
    return os.strerror(ctypes.get_errno())


def prctl(option: int, *arguments: Any) -> int:
    """Call prctl; -1 on failure. It takes four unsigned longs, and a missing one would be whatever the register held."""
    words = [argument if isinstance(argument, ctypes.c_void_p) else ctypes.c_ulong(argument) for argument in arguments]
    words += [ctypes.c_ulong(0)] * (4 - len(words))
    return int(libc.prctl(option, *words))


def forbid_new_privileges() -> None:
    """No setuid program gives anything from here on; Landlock and seccomp demand it."""
    if prctl(38, 1) != 0:
        raise LayerError(f"PR_SET_NO_NEW_PRIVS: {last_error()}")
