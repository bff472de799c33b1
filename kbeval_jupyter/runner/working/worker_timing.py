"""Worker operations for timing. The clock is bound before the user's module is imported; everything but the call is outside it.

One sample is two requests: "timing_ready" (warm call, fresh inputs, generators, cache flush) and "timing_call" (the call alone),
so that the judge's wall clock around the second bounds what the worker says about it.
"""

from __future__ import annotations

import gc
import resource
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import torch

from ..devices import Timer, worker_device
from ..exchange.encoding import encode_outputs
from ..exchange.materialise import build_inputs
from ..usercode import randomness
from ..usercode.gradients import BackwardResult, forward_backward
from ..usercode.invocation import bind

if TYPE_CHECKING:
    from .worker_state import WorkerState

_KEY = "timing"
_usage, _SELF = resource.getrusage, resource.RUSAGE_SELF  # bound before the user's code can patch them


@dataclass
class Timing:
    """What timing keeps in a worker between requests."""

    timer: Timer
    flush: Callable[[], None]
    synchronize: Callable[[], None]
    inputs: list[dict[str, Any]] = field(default_factory=list)  # trees in the input arena
    call: Callable[[], Any] | None = None
    output: Any = None


def _timing(state: WorkerState) -> Timing:
    timing = state.extra[_KEY]
    assert isinstance(timing, Timing)
    return timing


def open_timing(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Make clock and flush, before any user code runs; answers how much the flush touches."""
    del fds
    torch.set_num_threads(fields["threads"])
    device = worker_device(fields["device"])
    flush = device.make_flush()
    state.extra[_KEY] = Timing(device.make_timer(), flush, device.synchronize)
    return {"flush_bytes": flush.bytes}


def take_inputs(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Note where the input sets of a case lie."""
    del fds
    timing = _timing(state)
    timing.call = timing.output = None
    timing.inputs = fields["inputs"]
    return {}


def get_ready(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Everything that comes before one timed call.

    ``warm`` asks for a call on another input set first: after waiting for the judge, a first call runs on a cold processor.
    """
    del fds
    timing = _timing(state)
    timing.call = timing.output = None  # frees the last call's memory outside the window
    inputs = timing.inputs
    if fields["warm"]:
        other = build_inputs(inputs[(fields["set"] + 1) % len(inputs)], state.inputs, state.device)
        with torch.no_grad():
            _seeded_call(state, other, fields)()
        del other
    fresh = build_inputs(inputs[fields["set"]], state.inputs, state.device)
    timing.call = _seeded_call(state, fresh, fields)
    if fields["flush"]:
        timing.flush()
    timing.synchronize()
    return {}


def _seeded_call(state: WorkerState, inputs: Any, fields: dict[str, Any]) -> Callable[[], Any]:
    randomness.seed_everything(fields["seed"])
    if fields["backward"]:
        inputs, cotangents = inputs
        return partial(forward_backward, state.entry, inputs, fields["style"], cotangents, fields["parameters"])
    return bind(state.entry, inputs, fields["style"])


def time_call(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """The timed call: elapsed nanoseconds by the device's clock, and how often other processes interrupted it."""
    del fields, fds
    timing = _timing(state)
    assert timing.call is not None, "not ready"
    gc.disable()  # a collection inside the window would be charged to the call it happens in
    try:
        with torch.no_grad():
            before = _usage(_SELF).ru_nivcsw
            elapsed_ns, timing.output = timing.timer(timing.call)
            interruptions = _usage(_SELF).ru_nivcsw - before
    finally:
        gc.enable()
    return {"ns": elapsed_ns, "interruptions": interruptions}


def give_output(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """The output of the last timed call."""
    del fields, fds
    state.outputs.reset()
    output = _timing(state).output
    return {"output": encode_outputs(output.value if isinstance(output, BackwardResult) else output, state.outputs)}


OPERATIONS = {
    "timing_open": open_timing,
    "timing_inputs": take_inputs,
    "timing_ready": get_ready,
    "timing_call": time_call,
    "timing_output": give_output,
}
