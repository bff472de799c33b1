"""Layer "landlock": files by allow-list; no TCP, signals or abstract sockets to the outside, as far as the kernel can.

Source of the constants: the kernel's include/uapi/linux/landlock.h. Not covered by Landlock: chmod, chown, timestamps, stat,
and connecting to sockets by path (seccomp refuses ``connect``).
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from typing import Iterable

from .layer import LayerError, forbid_new_privileges, last_error, libc

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_CREATE_RULESET_VERSION = 1
_RULE_PATH_BENEATH = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_FIRST_RIGHTS = (1 << 13) - 1
_LATER_RIGHTS = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}  # ABI: refer, truncate, ioctl on devices
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NETWORK = 0b11  # bind and connect TCP, ABI 4
_SCOPES = 0b11  # abstract unix sockets and signals stay inside, ABI 6

ABI_WITH_SIGNAL_SCOPE = 6


def apply(read: Iterable[str], write: Iterable[str], devices: Iterable[str]) -> int:
    """Restrict this process for ever to these paths and what lies below; missing ones are passed over. Gives the ABI."""
    abi = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _CREATE_RULESET_VERSION)
    if abi < 1:
        raise LayerError(f"the kernel has no Landlock ({last_error()})")
    handled = _FIRST_RIGHTS
    for needed, right in _LATER_RIGHTS.items():
        handled |= right if abi >= needed else 0
    attributes = struct.pack("<QQQ", handled, _NETWORK if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8  # an older kernel refuses fields that it does not know
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(size), 0)
    if ruleset < 0:
        raise LayerError(f"landlock_create_ruleset: {last_error()}")
    try:
        for path in read:
            _allow(ruleset, path, (_EXECUTE | _READ_FILE | _READ_DIR) & handled)
        for path in write:
            _allow(ruleset, path, handled & ~(_MAKE_CHAR | _MAKE_BLOCK))
        for path in devices:
            _allow(ruleset, path, (_WRITE_FILE | _READ_FILE | _READ_DIR | _IOCTL_DEV) & handled)
        forbid_new_privileges()
        if libc.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
            raise LayerError(f"landlock_restrict_self: {last_error()}")
    finally:
        os.close(ruleset)
    return int(abi)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FILE_RIGHTS
        # struct landlock_path_beneath_attr is packed: 64 bits of rights, 32 bits of descriptor.
        if libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, struct.pack("<Qi", rights, fd), 0) != 0:
            raise LayerError(f"landlock_add_rule for {path}: {last_error()}")
    finally:
        os.close(fd)
