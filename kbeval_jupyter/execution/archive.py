"""The runner as one file that any Python 3.9 with torch can run: a deterministic zip with the hash of its content in its name."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

if TYPE_CHECKING:
    from collections.abc import Mapping
    from importlib.resources.abc import Traversable

_PACKAGE = "kbeval_runner"
_IDENTITY = "identity.py"
_MAIN = f"import sys\n\nfrom {_PACKAGE}.main import main\n\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Archive:
    """The archive's bytes; ``runner`` is the hash that a link says in its hello."""

    runner: str
    data: bytes

    @property
    def name(self) -> str:
        """The file name: the same content, the same name."""
        return f"kbeval-runner-{self.runner}.pyz"


@cache
def build() -> Archive:
    """The archive of the runner in this installation."""
    return pack(sources(), _MAIN)


def sources() -> dict[str, bytes]:
    """The runner's source files, by their path in the package."""
    return dict(_sources(resources.files("kbeval_jupyter") / "runner", ""))


def pack(sources: Mapping[str, bytes], main: str) -> Archive:
    """An archive of these files of the package, started by ``main``; the same input gives the same bytes."""
    files = dict(sorted(sources.items()))
    digest = hashlib.sha256(main.encode())
    for path, text in files.items():
        digest.update(f"{path}\0{len(text)}\0".encode() + text)
    runner = digest.hexdigest()[:16]
    files[_IDENTITY] = f'"""Written when the archive was built."""\n\nRUNNER = "{runner}"\n'.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        _add(target, "__main__.py", main.encode())
        for path, text in files.items():
            _add(target, f"{_PACKAGE}/{path}", text)
    return Archive(runner, buffer.getvalue())


def cached(archive: Archive) -> Path:
    """The archive as a file of this user on this machine; written when it is not there yet."""
    folders = [Path(platformdirs.user_cache_dir("kbeval-jupyter")), Path(tempfile.gettempdir()) / f"kbeval-{os.geteuid()}"]
    for folder in folders:
        path = folder / archive.name
        try:
            if not _holds(path, archive.data):
                folder.mkdir(parents=True, exist_ok=True, mode=0o700)
                _write(path, archive.data)
        except OSError:
            continue  # a read-only home: the temporary folder does
        return path
    raise OSError(f"the runner cannot be written to any of: {', '.join(map(str, folders))}")


def _sources(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir():
            found += _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found


def _add(target: zipfile.ZipFile, path: str, data: bytes) -> None:
    info = zipfile.ZipInfo(path, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    target.writestr(info, data)


def _holds(path: Path, data: bytes) -> bool:
    return path.is_file() and path.stat().st_uid == os.geteuid() and path.read_bytes() == data


def _write(path: Path, data: bytes) -> None:
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(fd, "wb") as stream:
        stream.write(data)
    Path(temporary).replace(path)
