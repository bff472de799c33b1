"""Layer "limits": bounds on core dumps, file sizes, descriptors and processes; first in line when memory runs out."""

from __future__ import annotations

import resource

BOUNDS = {
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_FSIZE: 8 << 30,
    resource.RLIMIT_NOFILE: 4096,
    resource.RLIMIT_NPROC: 16384,  # per user, threads included; the kernel does not hold root to it
}


def apply() -> None:
    """Lower this process's limits and offer it to the out-of-memory killer, so that judge and notebook survive."""
    for kind, bound in BOUNDS.items():
        _, hard = resource.getrlimit(kind)
        value = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(kind, (value, value))
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
