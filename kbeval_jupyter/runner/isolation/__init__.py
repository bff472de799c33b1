"""A worker shuts itself in, layer by layer, before it reads the first byte of foreign code.

The order is not free: descriptors before anything can leak, the environment before paths are derived from it, limits while
/proc is writable, process attributes after credentials change (which resets them), Landlock while files can still be opened
by path, seccomp last because it refuses what the others need.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, Iterable, List

from ..report import IsolationLayer
from . import capabilities, descriptors, dumpable, environment, landlock, limits, paths, process_group, seccomp
from .layer import LayerError

if TYPE_CHECKING:
    from .request import SpawnRequest

BASIC = ("descriptors", "environment", "limits", "process_group", "dumpable")
LAYERS = ("descriptors", "environment", "limits", "process_group", "capabilities", "dumpable", "landlock", "seccomp")


class IsolationError(Exception):
    """A layer is missing where all of them were demanded."""


def prepare() -> None:
    """Find out once, in the server, what forked workers would each find out again."""
    paths.readable((), os.path.realpath(os.curdir))


def harden(request: SpawnRequest, keep: Iterable[int]) -> List[IsolationLayer]:
    """Shut this process in as ``request`` says, keeping the descriptors ``keep``; gives what became of each layer.

    Raises IsolationError where ``hardening`` is "full" and a layer could not be made active.
    """
    layers: List[IsolationLayer] = []

    def attempt(name: str, action: Callable[[], object]) -> bool:
        layer = _attempt(request, name, action)
        layers.append(layer)
        return layer.active

    # Inherited from the nursery, and then /proc/self would be closed to ourselves while we write the limits.
    dumpable.apply(open_to_same_user=True)
    attempt("descriptors", lambda: descriptors.apply(keep))
    attempt("environment", lambda: environment.apply(request.environment, request.private_dir))
    attempt("limits", limits.apply)
    attempt("process_group", process_group.apply)
    attempt("capabilities", lambda: capabilities.apply(must_read=os.__file__))
    attempt("dumpable", lambda: dumpable.apply(open_to_same_user=request.role == "implementation"))
    abi = 0

    def restrict_files() -> str:
        nonlocal abi
        readable = paths.readable(request.read_paths, request.private_dir)
        abi = landlock.apply(readable, paths.writable(request.write_paths, request.private_dir), paths.devices())
        return "" if abi >= landlock.ABI_WITH_SIGNAL_SCOPE else f"ABI {abi}: signals are left to seccomp"

    def restrict_calls() -> str:
        connect = bool(paths.mps_folder())
        seccomp.apply(signals_scoped=abi >= landlock.ABI_WITH_SIGNAL_SCOPE, allow_connect=connect)
        return "connect stays allowed, for CUDA's MPS" if connect else ""

    attempt("landlock", restrict_files)
    attempt("seccomp", restrict_calls)
    return layers


def _attempt(request: SpawnRequest, name: str, action: Callable[[], object]) -> IsolationLayer:
    if name in request.left_out:
        layer = IsolationLayer(name, active=False, reason=request.left_out[name])
    elif request.hardening == "basic" and name not in BASIC:
        return IsolationLayer(name, active=False, reason="only basic isolation was asked for")
    else:
        try:
            layer = IsolationLayer(name, active=True, reason=str(action() or ""))
        except (LayerError, OSError, ValueError) as error:
            layer = IsolationLayer(name, active=False, reason=str(error))
    if request.hardening == "full" and not layer.active:
        raise IsolationError(f"full isolation was asked for, but the layer {name!r} is not available: {layer.reason}")
    return layer
