"""Drivers that do not get on with one layer of the isolation, played by code that needs what the layer forbids."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kbeval_jupyter.runner.judging.workers import Worker
from kbeval_jupyter.runner.working.device_start import REMOVABLE, started_worker

if TYPE_CHECKING:
    from .conftest import Spawn

NETLINK = "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()"
SHARED_MEMORY = "import os; open('/dev/shm/kbeval-device', 'w').close(); os.remove('/dev/shm/kbeval-device')"
SMALL_FILES = "import resource; resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 8 << 30 and 1 / 0"


@pytest.mark.parametrize(
    ("driver", "missing", "reason"),
    [
        ("pass", [], ""),
        (NETLINK, ["seccomp"], "the device does not start with it: PermissionError: [Errno 1] Operation not permitted"),
        (SHARED_MEMORY, ["landlock"], "PermissionError: [Errno 13] Permission denied: '/dev/shm/kbeval-device'"),
        (SMALL_FILES, ["limits"], "ZeroDivisionError"),
        (f"{NETLINK}; {SHARED_MEMORY}", list(REMOVABLE), "PermissionError"),
    ],
    ids=["easy", "netlink", "shared memory", "limits", "two layers"],
)
def test_only_what_is_in_the_way_is_left_out(spawn: Spawn, driver: str, missing: list[str], reason: str) -> None:
    worker, left_out = started_worker(lambda left_out: Worker(spawn(left_out=left_out), "implementation"), {"code": driver})
    assert list(left_out) == missing
    layers = worker.process.layers
    assert sorted(layer.name for layer in layers if not layer.active) == sorted(missing)
    assert all(reason in layer.reason for layer in layers if not layer.active)


@pytest.mark.parametrize("driver", ["raise OSError('no device')", "import os; os._exit(9)"])
def test_a_broken_device_costs_no_layer(spawn: Spawn, driver: str) -> None:
    worker, left_out = started_worker(lambda left_out: Worker(spawn(left_out=left_out), "implementation"), {"code": driver})
    assert left_out == {}
    assert all(layer.active for layer in worker.process.layers)
    assert not worker.dead
