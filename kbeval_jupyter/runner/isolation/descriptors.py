"""Layer "descriptors": a worker keeps its output and its socket to the judge, nothing else."""

from __future__ import annotations

import contextlib
import os
from typing import Iterable


def apply(keep: Iterable[int]) -> None:
    """Close every descriptor but 1, 2 and ``keep``; standard input becomes empty."""
    kept = {1, 2, *keep}
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):  # the listing's own descriptor is closed already
                os.close(int(name))
    empty = os.open(os.devnull, os.O_RDONLY)
    if empty != 0:
        os.dup2(empty, 0)
        os.close(empty)
