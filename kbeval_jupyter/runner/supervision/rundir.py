"""The run directory: one per evaluation, with a random name, for its owner only.

events.jsonl     every event; stays
artifacts/       what the evaluation leaves; stays
reference/       the reference's files; working directory of the judge and of the reference's workers
implementation/  the implementation's files; working directory of its workers, which may write there
baseline/        a folder for each rival's files, likewise
private/         a folder for each worker: HOME, TMPDIR, caches
control          socket to follow and cancel, while the evaluation lives
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import secrets
import shutil
import subprocess
import time
from typing import TYPE_CHECKING, Iterable, Iterator

from .run_protocol import CONTROL, EVENTS
from .user_folder import checked_folder, temporary_root

if TYPE_CHECKING:
    from ..wire import PlanFile

TEMPORARY_FOLDERS = ("reference", "implementation", "baseline", "private")
_PREFIX = "run-"
KEEP_S = 24 * 3600.0
KEEP_BYTES = 1 << 30  # of all run directories together: the folder for temporary files often lies in memory
KEEP_ANYWAY_S = 600.0  # the evaluation lives, or its artifacts are still being fetched


class UnsafePathError(ValueError):
    """A file of the plan has a path that could lead out of its folder, or is too large."""


def create(root: str | None) -> str:
    """A new run directory with its folders, mode 0700; returns its absolute path."""
    root = os.path.abspath(os.path.expanduser(root)) if root else os.path.join(temporary_root(), "runs")
    if not os.path.isdir(root):
        checked_folder(root)
    path = os.path.join(root, _PREFIX + secrets.token_hex(8))
    os.mkdir(path, 0o700)
    for name in (*TEMPORARY_FOLDERS, "artifacts"):
        os.mkdir(os.path.join(path, name), 0o700)
    return path


def lay_down(run_dir: str, files: Iterable[PlanFile], limit_bytes: int) -> None:
    """Write the plan's files into their folders; raises ``UnsafePathError`` with the file's name."""
    total = 0
    for file in files:
        parts = _safe_parts(file.path)
        try:
            data = base64.b64decode(file.data, validate=True)
        except binascii.Error:
            raise UnsafePathError(f"file {file.path!r}: its data is not base64") from None
        total += len(data)
        if limit_bytes and total > limit_bytes:
            raise UnsafePathError(f"file {file.path!r}: the files together pass the limit of {limit_bytes} bytes")
        folder = os.path.join(run_dir, file.folder, *parts[:-1])
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            fd = os.open(os.path.join(folder, parts[-1]), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except (FileExistsError, NotADirectoryError):
            raise UnsafePathError(f"file {file.path!r} is there twice, or once as a file and once as a folder") from None
        with open(fd, "wb") as stream:
            stream.write(data)


def _safe_parts(path: str) -> list[str]:
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") or len(part.encode()) > 255 for part in parts):
        raise UnsafePathError(f"file {path!r}: expected a relative path such as 'kernels/softmax.cu', without '..'")
    return parts


def size_bytes(folder: str, enough: int) -> int:
    """Bytes on disk below a folder; stops counting above ``enough``. Links are not followed."""
    total = 0
    pending = [folder]
    while pending and total <= enough:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:  # a folder may vanish meanwhile
            for entry in entries:
                with contextlib.suppress(OSError):
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
    return total


def clean(run_dir: str) -> None:
    """Remove all but the events and the artifacts."""
    for name in TEMPORARY_FOLDERS:
        _remove(os.path.join(run_dir, name))
    with contextlib.suppress(OSError):
        os.unlink(os.path.join(run_dir, CONTROL))


def remove_old(root: str) -> None:
    """Remove run directories in which nothing was written for ``KEEP_S``, and the oldest of those beyond ``KEEP_BYTES``."""
    now = time.time()
    kept_bytes = 0
    for written, path in sorted(_run_directories(root), reverse=True):
        kept_bytes += size_bytes(path, KEEP_BYTES)
        idle_s = now - written
        if idle_s > KEEP_S or (idle_s > KEEP_ANYWAY_S and kept_bytes > KEEP_BYTES):
            _remove(path)


def _run_directories(root: str) -> Iterator[tuple[float, str]]:
    """When each of this user's was last written, and its path."""
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        yield _last_written(entry.path), entry.path


def _last_written(run_dir: str) -> float:
    # A living evaluation writes at least a heartbeat.
    try:
        return os.stat(os.path.join(run_dir, EVENTS)).st_mtime
    except FileNotFoundError:
        return os.stat(run_dir).st_mtime


def _remove(path: str) -> None:
    try:
        shutil.rmtree(path)
    except FileNotFoundError:
        pass
    except (OSError, RecursionError):
        # Folders without permissions, or nested deeper than a path may be long: these tools cope with both.
        for command in (["chmod", "-R", "u+rwx", "--", path], ["rm", "-rf", "--", path]):
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
