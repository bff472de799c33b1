"""Where the artifacts of an evaluation go on this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import platformdirs

from .model.result import ARTIFACTS_FOLDER, NoteReport


def make_folder(evaluation_id: str, wanted: Path | None) -> tuple[Path, NoteReport | None]:
    """A folder named after the evaluation, in the wanted one or beside the notebook; elsewhere, with a note, where that fails."""
    first = (wanted or Path(ARTIFACTS_FOLDER)).absolute() / evaluation_id
    try:
        first.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        other = _fallback(evaluation_id)
        text = f"artifacts are in {other}: {first.parent} cannot be written ({error.strerror})"
        return other, NoteReport("artifacts_elsewhere", text, "warning")
    return first, None


def _fallback(evaluation_id: str) -> Path:
    folder = platformdirs.user_cache_path("kbeval") / ARTIFACTS_FOLDER / evaluation_id
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="kbeval-")) / evaluation_id
        folder.mkdir()
    return folder
