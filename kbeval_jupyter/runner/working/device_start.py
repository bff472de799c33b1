"""The first worker on a GPU: where a driver does not start inside the isolation, the one layer that is in its way is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator

from ..devices import worker_device
from ..judging.workers import Worker, WorkerDied, WorkerFailed

if TYPE_CHECKING:
    from .worker_state import WorkerState

# What can come between a driver and its device, likeliest first. The others touch nothing that a driver needs.
REMOVABLE = ("landlock", "seccomp", "capabilities", "limits")
_START_LIMIT_S = 120.0  # a driver that has been idle can take long


def start_device(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Worker operation: initialise the device, or raise what the driver says."""
    del state, fds
    worker_device(fields["device"]).synchronize()
    return {}


OPERATIONS = {"start_device": start_device}


def started_worker(spawn: Callable[[dict[str, str]], Worker], device_fields: dict[str, Any]) -> tuple[Worker, dict[str, str]]:
    """A worker whose device works, and the layers it had to do without (name: reason).

    ``spawn`` makes a worker without the layers it is given. Where nothing helps the isolation is not at fault: then the worker
    has all layers, and the code that is loaded into it will meet the driver's own message.
    """
    complaint = ""
    for left_out in _choices():
        reasons = dict.fromkeys(left_out, f"the device does not start with it: {complaint}")
        worker = spawn(reasons)
        try:
            worker.request("start_device", {"device": device_fields}, timeout_s=_START_LIMIT_S)
        except WorkerFailed as failed:
            complaint = complaint or str(failed)
        except WorkerDied as died:
            complaint = complaint or f"the process {died.reason}"
        else:
            return worker, reasons
        worker.kill()
    return spawn({}), {}


def _choices() -> Iterator[tuple[str, ...]]:
    yield ()
    for name in REMOVABLE:
        yield (name,)
    yield REMOVABLE
