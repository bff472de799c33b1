"""What the plan's source files speak of, as far as it decides how workers are set up."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..wire import files_below
from .redirect import mentions_cuda

if TYPE_CHECKING:
    from ..wire import Plan

_TEXT_SUFFIXES = (".py", ".cu", ".cuh", ".cpp", ".cc", ".h", ".hpp", ".hip")
_TRITON = re.compile(r"\btriton\b")
_BUILDS = re.compile(r"\b(triton|load_inline|cpp_extension|inductor|torch\.compile|cutlass|tilelang|cupy|numba|pycuda|nvrtc)\b")


@dataclass(frozen=True)
class Mentions:
    """Whether the files of one folder speak of Triton, of CUDA, or of anything that compiles at run time."""

    triton: bool
    cuda: bool
    builds: bool


def mentions(plan: Plan, folder: str) -> Mentions:
    """Look through the text files of a folder: "implementation", "reference" or a rival's."""
    texts = [
        base64.b64decode(data).decode("utf-8", "replace")
        for path, data in files_below(plan, folder)
        if path.endswith(_TEXT_SUFFIXES)
    ]
    text = "\n".join(texts)
    return Mentions(bool(_TRITON.search(text)), mentions_cuda(text), bool(_BUILDS.search(text)))
