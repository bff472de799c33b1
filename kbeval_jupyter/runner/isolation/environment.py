"""Layer "environment": variables built from nothing, every cache and temporary file in the private folder."""

from __future__ import annotations

import os
import sys
import tempfile
from typing import Dict, Mapping

from ..supervision.inherited import INHERITED


def build(requested: Mapping[str, str], inherited: Mapping[str, str], private_dir: str) -> Dict[str, str]:
    """The worker's variables: inherited ones from the list, then the private folders, then what was requested."""
    variables = {name: inherited[name] for name in INHERITED if name in inherited}
    cache = os.path.join(private_dir, ".cache")
    variables.update({
        "HOME": private_dir,
        "TMPDIR": private_dir,
        "XDG_CACHE_HOME": cache,
        "TORCH_EXTENSIONS_DIR": os.path.join(cache, "torch_extensions"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(cache, "inductor"),
        "TRITON_CACHE_DIR": os.path.join(cache, "triton"),
        "CUDA_CACHE_PATH": os.path.join(cache, "cuda"),
        # Its pool of compiling processes needs semaphores in /dev/shm, which belongs to all of the user's programs.
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    })  # fmt: skip
    variables.update(requested)
    # Programs that came with this Python (ninja) are meant, not others of the same name.
    own = os.path.dirname(sys.executable)
    others = [entry for entry in variables.get("PATH", os.defpath).split(os.pathsep) if entry and entry != own]
    variables["PATH"] = os.pathsep.join([own, *others])
    return variables


def apply(requested: Mapping[str, str], private_dir: str) -> None:
    """Replace this process's environment."""
    variables = build(requested, os.environ, private_dir)
    os.environ.clear()
    os.environ.update(variables)
    tempfile.tempdir = None  # remembered from before the fork
