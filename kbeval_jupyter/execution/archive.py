"""The runner as one file that any Python 3.9 with torch can run: a deterministic zip with the hash of its content in its name."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_PACKAGE = "kbeval_runner"
_IDENTITY = "identity.py"
_MAIN = f"import sys\n\nfrom {_PACKAGE}.main import main\n\nsys.exit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Archive:
    """Files of the package and the program that starts them; ``runner`` is the hash of both, which a link says in its hello."""

    runner: str
    files: Mapping[str, bytes]
    main: str

    @property
    def name(self) -> str:
        """The file name: the same content, the same name."""
        return f"kbeval-runner-{self.runner}.pyz"

    @cached_property
    def data(self) -> bytes:
        """The archive itself; the same content, the same bytes."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
            _add(target, "__main__.py", self.main.encode())
            for path, text in sorted({**self.files, _IDENTITY: self._identity()}.items()):
                _add(target, f"{_PACKAGE}/{path}", text)
        return buffer.getvalue()

    def _identity(self) -> bytes:
        return f'"""Written when the archive was built."""\n\nRUNNER = "{self.runner}"\n'.encode()


@cache
def build() -> Archive:
    """The archive of the runner in this installation."""
    return pack(sources(), _MAIN)


def sources() -> dict[str, bytes]:
    """The runner's source files, by their path in the package."""
    return dict(_sources(resources.files("kbeval_jupyter") / "runner", ""))


def pack(files: Mapping[str, bytes], main: str) -> Archive:
    """An archive of these files of the package, started by ``main``."""
    digest = hashlib.sha256(main.encode())
    for path, text in sorted(files.items()):
        digest.update(f"{path}\0{len(text)}\0".encode() + text)
    return Archive(digest.hexdigest()[:16], files, main)


def cached(archive: Archive) -> Path:
    """The archive as a file of this user on this machine; written when it is not there yet."""
    folders = [Path(platformdirs.user_cache_dir("kbeval-jupyter")), Path(tempfile.gettempdir()) / f"kbeval-{os.geteuid()}"]
    for folder in folders:
        path = folder / archive.name
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not _only_ours(folder):
                continue
            if not path.is_file():  # written at once and never changed: what is there is whole
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


def _only_ours(folder: Path) -> bool:
    """Whether nobody else can put a file there, which we would then run."""
    status = folder.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _write(path: Path, data: bytes) -> None:
    fd, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(fd, "wb") as stream:
        stream.write(data)
    Path(temporary).replace(path)
