"""What a user asks for, before anything is looked up: the one request behind magics, command and Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Source:
    """Source text with the name under which messages speak of it.

    ``first_line`` is the number, in what the user sees, of the text's first line: 2 for a cell whose first line is the magic.
    ``directory`` is where files beside it are looked for (the file's folder, or the notebook's working directory).
    """

    text: str
    name: str
    first_line: int = 1
    directory: Path | None = None
    path: Path | None = None  # the real file it was read from


TORCH_COMPILE = "torch.compile"


@dataclass(frozen=True)
class RivalSource:
    """An implementation that is timed beside the one under test; without a source it is the reference under torch.compile."""

    label: str
    source: Source | None
    files: tuple[str, ...] = ()  # as those of the request


@dataclass(frozen=True)
class EvaluationRequest:
    """One evaluation as asked. Names (problem, target) are resolved later. Times in seconds."""

    implementation: Source
    reference: Source
    target: str | None = None
    stages: tuple[str, ...] = ("compile", "correctness")
    inputs: Source | None = None
    cases: list[dict[str, Any]] | None = None
    problem_name: str = ""
    label: str = ""
    format: str | None = None
    backend: str | None = None  # the language that the implementation must be written in
    files: tuple[str, ...] = ()  # glob patterns, relative to the implementation's directory
    seed: int = 42
    rtol: float | None = None
    atol: float | None = None
    trials: int = 3
    budget_s: float = 5.0
    timeout_s: float = 600.0
    build_timeout_s: float = 600.0
    precision: str | None = None
    dtype: str | None = None
    backward: bool = False
    public_inputs: bool = False
    gpu_id: int | None = None
    artifacts: Path | None = None
    sync_artifacts: bool = True
    secret: str | None = None
    replay: tuple[str, int] | None = None
    rivals: tuple[RivalSource, ...] = ()
    confirm: bool = False
    limits: dict[str, int] = field(default_factory=dict)


def portable(text: str) -> str:
    """A command line's word or a file's name as UTF-8 can carry it, whatever bytes and locale it came with."""
    try:
        data = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        data = text.encode("utf-8", "surrogatepass")
    return data.decode("utf-8", "replace")
