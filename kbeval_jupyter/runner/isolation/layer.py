"""What the isolation layers share: their error, and the C library."""

from __future__ import annotations

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.prctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong, ctypes.c_ulong]


class LayerError(Exception):
    """A layer could not be made active; the text says why."""


def last_error() -> str:
    """What the failed call of the C library complained about."""
    return os.strerror(ctypes.get_errno())


def prctl(option: int, first: int, second: int = 0) -> int:
    """Call prctl; -1 on failure. Addresses go as integers; the arguments that are not used must be zero."""
    return int(libc.prctl(option, first, second, 0, 0))


def forbid_new_privileges() -> None:
    """No setuid program gives anything from here on; Landlock and seccomp demand it."""
    if prctl(38, 1) != 0:
        raise LayerError(f"PR_SET_NO_NEW_PRIVS: {last_error()}")
