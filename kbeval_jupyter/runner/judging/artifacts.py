"""Files that an evaluation leaves in its run directory."""

from __future__ import annotations

import hashlib
import os

from ..report import Artifact


def save_artifact(run_dir: str, name: str, data: bytes) -> Artifact:
    """Write one file into the artifacts folder; what to say about it."""
    with open(os.path.join(run_dir, "artifacts", name), "wb") as file:
        file.write(data)
    return Artifact(name, name, len(data), hashlib.sha256(data).hexdigest())
