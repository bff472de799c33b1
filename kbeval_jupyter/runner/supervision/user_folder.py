"""Folders that belong to this user alone, checked: for sockets and for run directories. Standard library, quick to import."""

from __future__ import annotations

import contextlib
import os
import stat

# sun_path holds 108 bytes, the closing zero included.
SOCKET_PATH_BYTES = 107


class UnsafeFolderError(OSError):
    """A folder where others could put or change files."""


def checked_folder(path: str) -> str:
    """The folder, made with mode 0700 where it is missing; raises ``UnsafeFolderError`` where it is not ours alone."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafeFolderError(f"{path} is not a folder")
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        found = f"belongs to user {status.st_uid}, mode {status.st_mode & 0o777:04o}"
        raise UnsafeFolderError(f"{path} must belong to user {os.geteuid()} with mode 0700; it {found}")
    return path


def temporary_root() -> str:
    """Our folder below the temporary folder."""
    return checked_folder(os.path.join(os.environ.get("TMPDIR") or "/tmp", f"kbeval-{os.geteuid()}"))


def socket_path(name: str) -> str:
    """Where a socket of that name lies: the session's runtime folder where there is one, else below the temporary folder."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime) and os.access(runtime, os.W_OK):
        path = os.path.join(runtime, "kbeval", name)
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
            checked_folder(os.path.dirname(path))
            return path
    for folder in (os.environ.get("TMPDIR") or "/tmp", "/tmp"):
        path = os.path.join(folder, f"kbeval-{os.geteuid()}", name)
        if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
            checked_folder(os.path.dirname(path))
            return path
    raise UnsafeFolderError(f"no folder for the socket {name!r} has a path of at most {SOCKET_PATH_BYTES} bytes")
