"""Layer "process_group": a session of its own, an end with its parent, and no orphan that slips away."""

from __future__ import annotations

import os

from ..supervision import processes


def apply() -> None:
    """Make this process the head of its own family."""
    os.setsid()
    processes.die_with_parent()
    # A daemon that the implementation forks off becomes this worker's child, so it is stopped and killed with this worker.
    processes.adopt_orphans()
