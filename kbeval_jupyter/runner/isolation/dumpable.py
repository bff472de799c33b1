"""Layer "dumpable": who may look into this process's memory.

Judge and nursery are closed to others, and a fork inherits that. A worker with an implementation opens itself again: otherwise
its own /proc/self would belong to root, which breaks drivers and debuggers. A reference stays closed, because implementations
of the same user run beside it.
"""

from __future__ import annotations

from .layer import LayerError, last_error, prctl

_PR_SET_DUMPABLE = 4


def apply(open_to_same_user: bool) -> None:
    """Open or close this process's memory and /proc entries to other processes of the same user."""
    if prctl(_PR_SET_DUMPABLE, int(open_to_same_user)) != 0:
        raise LayerError(f"PR_SET_DUMPABLE: {last_error()}")
