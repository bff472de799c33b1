"""Layer "capabilities": root without root's powers. For anybody else there is nothing to drop."""

from __future__ import annotations

import ctypes
import errno
import os
import struct

from .layer import LayerError, forbid_new_privileges, last_error, libc, prctl

_VERSION_3 = 0x20080522
_PR_CAPBSET_DROP = 24
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAP_DAC_READ_SEARCH = 2
_CAP_LAST = 63


def apply(must_read: str) -> str:
    """Drop every capability, for this process and all that it starts; gives a remark where one had to stay.

    ``must_read`` is a file that has to stay readable: root with no capability cannot enter another user's closed folder, and
    Python may lie in one.
    """
    forbid_new_privileges()  # or a setuid program would give them back
    permitted = _all_permitted()
    if not permitted:
        return ""
    _set_capabilities(effective=0, permitted=permitted)
    kept = 0 if _readable(must_read) else permitted & 1 << _CAP_DAC_READ_SEARCH
    _set_capabilities(effective=permitted, permitted=permitted)  # dropping from the bounding set is a power itself
    for capability in range(_CAP_LAST + 1):
        refused = not kept >> capability & 1 and prctl(_PR_CAPBSET_DROP, capability) != 0
        if refused and ctypes.get_errno() == errno.EINVAL:
            break  # the kernel knows no more
        # Refused without CAP_SETPCAP: then no_new_privs holds the line at exec.
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    _set_capabilities(effective=kept, permitted=kept)
    return f"CAP_DAC_READ_SEARCH was kept: {must_read} lies in a folder that is closed to root" if kept else ""


def _readable(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except PermissionError:
        return False
    return True


def _all_permitted() -> int:
    data = ctypes.create_string_buffer(24)
    if libc.capget(struct.pack("<II", _VERSION_3, 0), data) != 0:
        raise LayerError(f"capget: {last_error()}")
    words = struct.unpack("<6I", data.raw)
    return int(words[1] | words[4] << 32)


def _set_capabilities(effective: int, permitted: int) -> None:
    low = [effective & 0xFFFFFFFF, permitted & 0xFFFFFFFF, 0]
    high = [effective >> 32, permitted >> 32, 0]
    if libc.capset(struct.pack("<II", _VERSION_3, 0), struct.pack("<6I", *low, *high)) != 0:
        raise LayerError(f"capset: {last_error()}")
