"""Files that must travel with a source: those it names in string literals, imports or includes, and those the user lists."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kbeval_jupyter.errors import RequestError

from .names import file_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kbeval_jupyter.model.request import Source

FILES_LIMIT = 256
BYTES_LIMIT = 32 << 20  # the plan is one message; larger data belongs on the target
LITERAL_CHARACTERS = 255
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)
C_SUFFIXES = {".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hh", ".hip", ".hpp", ".inl"}
LEFT_OUT = {"__pycache__", "node_modules"}
NEVER_LOCAL = sys.stdlib_module_names | {"torch", "triton", "numpy"}  # a folder of that name beside a notebook is something else


@dataclass
class Sidecars:
    """Files found so far, by path relative to the source's folder, and remarks on those that were left out."""

    root: Path
    own: Path | None = None  # the source itself
    hidden: frozenset[Path] = frozenset()
    files: dict[PurePosixPath, bytes] = field(default_factory=dict)
    unsent: list[str] = field(default_factory=list)
    withheld: list[str] = field(default_factory=list)
    total_bytes: int = 0

    def add(self, path: Path) -> bool:
        """Take a file; False where it was taken before or is left out."""
        path = path.absolute()
        relative = _relative(path, self.root)
        if relative is None or relative in self.files or path.resolve() == self.own:
            return False
        if path.resolve() in self.hidden:
            self.withheld = [f"{relative} was not sent with the implementation: the reference stays out of its reach"]
            return False
        try:
            size = path.stat().st_size
            if len(self.files) >= FILES_LIMIT or self.total_bytes + size > BYTES_LIMIT:
                limit = f"{FILES_LIMIT} files and {BYTES_LIMIT >> 20} MiB travel with a source"
                self.unsent.append(f"{relative} ({size / 2**20:.1f} MiB) was not sent: at most {limit}")
                return False
            self.files[relative] = path.read_bytes()
        except OSError as error:
            self.unsent.append(f"{relative} was not sent: it cannot be read: {error.strerror}")
            return False
        self.total_bytes += size
        return True


def find_sidecars(source: Source, patterns: Iterable[str] = (), hidden: Iterable[Path] = ()) -> Sidecars:
    """What travels with ``source``; ``patterns`` are the user's globs; raises RequestError where one finds nothing."""
    root = (source.directory or Path.cwd()).absolute()
    own = source.path.resolve() if source.path else None
    found = Sidecars(root, own, frozenset(path.resolve() for path in hidden))
    for path in _matches(root, patterns):
        if found.add(path):
            _follow(path, found)
    if found.unsent:
        raise RequestError(f"--files: {found.unsent[0]}", "put large data on the target and name it by an absolute path")
    found.withheld.clear()  # a pattern that also matches the reference is no reason for a remark
    _follow_python(file_text(source), root, found)
    return found


def _matches(root: Path, patterns: Iterable[str]) -> Iterator[Path]:
    for pattern in patterns:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise RequestError(f"--files {pattern}: files must lie in {root} or below it", "patterns are relative to that folder")
        try:
            matches = sorted(root.glob(pattern))
        except ValueError as error:
            raise RequestError(f"--files {pattern}: {error}", "for example: *.cuh or kernels/**/*.py") from error
        if not matches:
            raise RequestError(f"--files {pattern}: no such file in {root}")
        for path in matches:
            yield from _files_below(path)


def _files_below(path: Path) -> Iterator[Path]:
    """The file itself, or all files of a folder, compiled and hidden ones left out."""
    if path.is_file():
        yield path
    elif path.is_dir():
        for child in sorted(path.iterdir()):
            if child.name not in LEFT_OUT and not child.name.startswith("."):
                yield from _files_below(child)


def _follow(path: Path, found: Sidecars) -> None:
    """Take what a file that travels needs itself."""
    if path.suffix == ".py":
        _follow_python(path.read_text("utf-8", "replace"), path.parent, found)
    elif path.suffix in C_SUFFIXES:
        _follow_includes(path.read_text("utf-8", "replace"), path.parent, found)


def _follow_python(text: str, directory: Path, found: Sidecars) -> None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    literals = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for path in [*_named_files(literals, directory), *_imported_files(tree, directory, found.root)]:
        if found.add(path):
            _follow(path, found)
    for literal in literals:
        if "#" in literal:
            _follow_includes(literal, directory, found)


def _named_files(literals: set[str], directory: Path) -> Iterator[Path]:
    """Files beside the source that a literal names, alone or below a folder that another literal names."""
    names = sorted(literal for literal in literals if _may_be_a_path(literal))
    folders = [name for name in names if (directory / name).is_dir()]
    for name in names:
        for path in (directory / name, *(directory / folder / name for folder in folders)):
            if path.is_file():
                yield path


def _may_be_a_path(literal: str) -> bool:
    if not 0 < len(literal) <= LITERAL_CHARACTERS or any(c in literal for c in "\n\0\\*"):
        return False
    parts = PurePosixPath(literal).parts
    return bool(parts) and not literal.startswith("/") and not any(part.startswith(".") for part in parts)


def _imported_files(tree: ast.Module, directory: Path, root: Path) -> Iterator[Path]:
    """Modules beside the source (or beside the main file) that it imports; a package comes whole."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _module_files(alias.name.split("."), (directory, root))
        elif isinstance(node, ast.ImportFrom):
            folder = directory
            for _ in range(node.level - 1):
                folder = folder.parent
            name = node.module.split(".") if node.module else []
            folders = (folder,) if node.level else (directory, root)
            yield from _module_files(name, folders)
            for alias in node.names:
                yield from _module_files([*name, alias.name], folders)


def _module_files(name: list[str], folders: tuple[Path, ...]) -> Iterator[Path]:
    for folder in folders:
        if not name or name[0] in NEVER_LOCAL:
            continue
        top = folder / name[0]
        if top.is_dir() and ((top / "__init__.py").is_file() or folder.joinpath(*name).with_suffix(".py").is_file()):
            yield from _files_below(top)
        elif top.with_suffix(".py").is_file():
            yield top.with_suffix(".py")


def _follow_includes(text: str, directory: Path, found: Sidecars) -> None:
    for name in INCLUDE.findall(text):
        path = directory / name
        if path.is_file() and found.add(path):
            _follow(path, found)


def _relative(path: Path, root: Path) -> PurePosixPath | None:
    """The path below ``root``, links resolved; None where it leads out of it."""
    try:
        resolved = path.resolve().relative_to(root.resolve())
    except ValueError:
        return None
    named = PurePosixPath(*path.parts[len(root.parts) :]) if path.parts[: len(root.parts)] == root.parts else None
    return named if named is not None and ".." not in named.parts else PurePosixPath(*resolved.parts)
