"""Source text from where the user keeps it: a file, a cell, a labelled cell of a saved notebook."""

from __future__ import annotations

import itertools
import re
import tokenize
from pathlib import Path
from typing import Any

from .errors import RequestError, unknown_name
from .model.request import Source, portable

NOTEBOOK_CELL = re.compile(r"(?P<file>.+\.ipynb)#(?P<label>.*)", re.DOTALL)
BEFORE_MAGIC = re.compile(r"\s*$|%%(time|timeit|capture|prun)\b")  # lines that may stand above our magic in its cell
MAGIC = re.compile(r"%%(?P<magic>kernelbench|kernelref|kernelinputs|kernelcases)\b(?P<arguments>.*)")


def from_text(text: str, name: str = "<text>") -> Source:
    """Source text given as such; files beside it are looked for in the working directory."""
    return Source(text.removeprefix("\ufeff"), name, directory=Path.cwd())


def from_cell(body: str, name: str) -> Source:
    """The body of a cell whose first line is the magic: the text begins at the cell's second line."""
    return Source(body, name, first_line=2, directory=Path.cwd())


def from_path(path: Path | str) -> Source:
    """The source in a file, or in the cell that ``notebook.ipynb#label`` names."""
    if path == "":
        raise RequestError("a file's name is missing: it is empty")
    match = NOTEBOOK_CELL.fullmatch(str(path))
    if match and not Path(path).exists():
        return from_notebook(Path(match["file"]), match["label"])
    path = Path(path)
    if path.suffix == ".ipynb":
        raise RequestError(f"{path} is a notebook", f"name the cell: {path}#LABEL, as given with --name or to %%kernelref")
    return Source(_read_text(path), portable(path.name), directory=path.parent.absolute(), path=path.absolute())


def from_value(value: Path | str | Source, name: str) -> Source:
    """What Python callers may pass: a Path is a file, a str is source text."""
    if isinstance(value, Source):
        return value
    if isinstance(value, Path):
        return from_path(value)
    if isinstance(value, str):
        if "\n" not in value and value.endswith((".py", ".ipynb")):
            raise RequestError(f"{name} is the text {value!r}, which looks like a file name", f"pass Path({value!r}) for a file")
        return from_text(value, name)
    raise RequestError(f"{name} must be a Path (a file) or a str (source text), got {type(value).__name__}")


def from_notebook(path: Path, label: str) -> Source:
    """The body of the last cell of a notebook whose magic names ``label``."""
    labelled = notebook_cells(path)
    if label not in labelled:
        raise RequestError(
            f"{path}: {unknown_name('cell', label, labelled)}", "labels come from --name LABEL and %%kernelref NAME"
        )
    return labelled[label]


def notebook_cells(path: Path) -> dict[str, Source]:
    """Label to source, for all code cells of a notebook whose magic is one of ours and names something."""
    found = {}
    for cell in read_notebook(path).cells:
        lines = str(cell.source).split("\n") if cell.cell_type == "code" else []
        above = len(list(itertools.takewhile(BEFORE_MAGIC.match, lines)))
        match = MAGIC.match(lines[above]) if above < len(lines) else None
        if match and (label := _label(match["magic"], match["arguments"])):
            body, name = "\n".join(lines[above + 1 :]), portable(f"{path.name}#{label}")
            found[label] = Source(body, name, first_line=above + 2, directory=path.parent.absolute())
    return found


def read_notebook(path: Path) -> Any:
    """The notebook as nbformat's nodes; raises RequestError where it is none."""
    import nbformat

    text = _read_text(path)
    try:
        return nbformat.reads(text, as_version=4)
    except Exception as error:  # nbformat raises what its JSON and schema libraries raise
        raise RequestError(f"{path} is not a notebook: {str(error).splitlines()[0]}") from error


def _label(magic: str, arguments: str) -> str | None:
    """What a magic line calls its cell: the value of --name, or the name that the other magics take first."""
    import shlex

    try:
        words = shlex.split(arguments)
    except ValueError:
        return None
    if magic != "kernelbench":
        return words[0] if words and not words[0].startswith("-") else None
    for word, following in itertools.pairwise([*words, ""]):
        if word == "--name":
            return following or None
        if word.startswith("--name="):
            return word.partition("=")[2] or None
    return None


def _read_text(path: Path) -> str:
    """The text of a file, as Python reads source: UTF-8 with or without a mark, or what its coding line says."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror}") from error
    try:
        encoding, _ = tokenize.detect_encoding(iter(data.splitlines(keepends=True)).__next__)
    except SyntaxError:
        encoding = "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        name = encoding.removesuffix("-sig").upper()
        raise RequestError(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} at column {column} is not {name}", "save the file as UTF-8"
        ) from error
