"""Worker operations of the defense stage: inputs at chosen addresses, poisoned memory, and what the process has become.

The call itself is the benchmark's ("timing_call", same frame), so that an implementation cannot tell this stage from that one.
What is said here about the process is a claim: it finds carelessness and cheats that do not expect it; the judge looks for
itself where it can.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import random
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

import torch

from ..exchange import encoding
from ..exchange.channel import Channel
from ..exchange.encoding import distinct_tensors, encode_outputs, tensors_of
from ..exchange.materialise import build_inputs
from ..usercode import redirect
from ..usercode.gradients import BackwardResult
from ..usercode.mutation import changed_tensors
from . import global_flags, worker_timing

if TYPE_CHECKING:
    from .worker_state import WorkerState

_KEY = "defense"
HELD_BYTES = 256 << 20  # inputs kept alive, so that the next ones lie elsewhere
GUARD_BYTES = mmap.PAGESIZE
GUARD_PATTERN = 0xA5
_M_PERTURB = -6  # mallopt(3): fill memory that is freed, and memory that is handed out with the complement
_POISON = 0x01  # handed out memory is 0xFE..: -1.7e38 as float32, NaN as float16, far off as an integer

_WATCHED: tuple[tuple[Any, str], ...] = (
    *(
        (time, name)
        for name in ("perf_counter_ns", "perf_counter", "monotonic_ns", "monotonic", "time", "time_ns", "process_time")
    ),
    *((torch.cuda, name) for name in ("synchronize", "current_stream", "default_stream")),
    *((torch.cuda.Event, name) for name in ("record", "elapsed_time", "synchronize")),
    *((torch, name) for name in ("allclose", "isclose", "equal")),
    *((random, name) for name in ("seed",)),
    *((gc, name) for name in ("disable", "enable")),
    *((torch.Tensor, name) for name in ("detach", "copy_", "clone", "cpu", "numpy", "to", "contiguous", "data_ptr")),
    *((Channel, name) for name in ("send", "receive", "receive_with_fds")),
    *((worker_timing, name) for name in ("time_call", "get_ready", "give_output", "build_inputs", "_usage")),
    *((encoding, name) for name in ("encode_outputs", "plain_tensor_problem")),
)


@dataclass
class Defense:
    """What the stage keeps in a worker."""

    witnesses: list[tuple[str, Any, Any]]  # name, object, code of what must not be replaced
    inputs: Any = None  # of the last call
    message: dict[str, Any] = field(default_factory=dict)  # where they came from
    slot: Any = None  # inputs whose addresses are used again
    held: list[Any] = field(default_factory=list)
    held_bytes: int = 0
    guards: list[tuple[str, mmap.mmap, int]] = field(default_factory=list)  # name, memory, bytes of the tensor


def _code(value: Any) -> Any:
    return getattr(value, "__code__", None)


def _seen(state: WorkerState) -> list[tuple[str, Any, Any]]:
    """Everything watched, as it is now: name, object, code."""
    timer = state.extra[worker_timing._KEY].timer  # noqa: SLF001 - the two modules are one worker
    call = type(timer).__call__
    found = [("the timer", call, _code(call)), ("the timer's clock", getattr(timer, "_clock", None), None)]
    found += [("sys.setprofile", sys.getprofile(), None), ("sys.settrace", sys.gettrace(), None)]
    for owner, name in _WATCHED:
        value = getattr(owner, name, None)
        found.append((f"{getattr(owner, '__name__', owner)}.{name}", value, _code(value)))
    return found


def open_defense(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Remember, before the user's code is imported, what must stay as it is."""
    del fds
    if fields["redirect_cuda"]:
        redirect.install()  # ours; the import would do it next
    state.extra[_KEY] = Defense(_seen(state))
    return {}


def get_ready(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Prepare one call. ``place``: "new" (addresses not seen before), "same" (those of the last such call) or "guarded"."""
    del fds
    defense, timing = _both(state)
    timing.call = timing.output = None
    defense.guards = []
    defense.message = fields["inputs"]
    inputs = build_inputs(fields["inputs"], state.inputs, state.device)
    if fields["place"] == "same":
        inputs = defense.slot = _in_place(inputs, defense.slot)
    elif fields["place"] == "guarded":
        inputs = _guarded(inputs, defense.guards)
    else:
        _hold(defense, inputs)
    defense.inputs = inputs[0] if fields["backward"] else inputs
    global_flags.apply(fields["flags"])
    timing.call = worker_timing._seeded_call(state, inputs, fields)  # noqa: SLF001
    timing.synchronize()
    return {}


def _both(state: WorkerState) -> tuple[Defense, worker_timing.Timing]:
    return state.extra[_KEY], state.extra[worker_timing._KEY]  # noqa: SLF001


def _hold(defense: Defense, inputs: Any) -> None:
    size = sum(t.numel() * t.element_size() for t in distinct_tensors(inputs))
    if defense.held_bytes + size > HELD_BYTES:
        defense.held, defense.held_bytes = [], 0
    defense.held.append(inputs)
    defense.held_bytes += size


def _replace(value: Any, tensors: dict[int, Any]) -> Any:
    """The same structure with other tensors."""
    if isinstance(value, torch.Tensor):
        return tensors.get(id(value), value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_replace(item, tensors) for item in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_replace(item, tensors) for item in value)
    if isinstance(value, dict):
        return {key: _replace(item, tensors) for key, item in value.items()}
    return value


def _in_place(inputs: Any, slot: Any) -> Any:
    """The inputs, with the contents written into the tensors of ``slot`` where those have the same form; versions stay."""
    fresh, old = distinct_tensors(inputs), distinct_tensors(slot)
    if len(fresh) != len(old) or any(f.shape != o.shape or f.dtype != o.dtype for f, o in zip(fresh, old)):
        return inputs
    for source, target in zip(fresh, old):
        target.data.copy_(source.data)  # ``data`` has a version counter of its own: the tensor's does not move
    return _replace(inputs, {id(source): target for source, target in zip(fresh, old)})


def _guarded(inputs: Any, guards: list[tuple[str, mmap.mmap, int]]) -> Any:
    """The inputs with a band of known bytes before and behind every dense tensor on the CPU that fills its storage."""
    tensors: dict[int, Any] = {}
    for number, tensor in enumerate(distinct_tensors(inputs)):
        size = tensor.numel() * tensor.element_size()
        plain = tensor.device.type == "cpu" and tensor.is_contiguous() and tensor.untyped_storage().nbytes() == size
        if size == 0 or not plain or tensor.requires_grad:
            continue
        memory = mmap.mmap(-1, size + 2 * GUARD_BYTES)
        memory[:GUARD_BYTES] = memory[GUARD_BYTES + size :] = bytes([GUARD_PATTERN]) * GUARD_BYTES
        inner = torch.frombuffer(memory, dtype=torch.uint8, count=size, offset=GUARD_BYTES)
        guarded = inner.view(tensor.dtype).view(tensor.shape)
        guarded.copy_(tensor)
        guards.append((f"input {number}", memory, size))
        tensors[id(tensor)] = guarded
    return _replace(inputs, tensors)


def broken_guards(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """How many inputs were guarded, and "name: n bytes before|behind" of those whose bands were written."""
    del fields, fds
    defense, _ = _both(state)
    broken = []
    for name, memory, size in defense.guards:
        for where, band in (("before", memory[:GUARD_BYTES]), ("behind", memory[GUARD_BYTES + size :])):
            written = sum(byte != GUARD_PATTERN for byte in band)
            if written:
                broken.append(f"{written} bytes {where} {name}")
    return {"guarded": len(defense.guards), "broken": broken}


def call_and_read(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """The timed call, and its outputs as they are at the moment it returns."""
    timed = worker_timing.time_call(state, {}, fds)
    return {**timed, **read_outputs(state, fields, fds)}


def read_outputs(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Outputs of the last call, the numbers of inputs that differ from what was handed over, contents of the ``wanted`` ones."""
    del fds
    defense, timing = _both(state)
    output = timing.output.value if isinstance(timing.output, BackwardResult) else timing.output
    pristine = build_inputs(defense.message, state.inputs, "cpu", copy=False)
    pristine = pristine[0] if fields["backward"] else pristine
    state.outputs.reset()
    tensors = distinct_tensors(defense.inputs)
    return {
        "output": encode_outputs(output, state.outputs),
        "changed": changed_tensors(defense.inputs, pristine),
        "inputs": [encode_outputs(tensors[i].detach(), state.outputs) for i in fields["wanted"]],
        "odd": _odd(output),
    }


def _odd(output: Any) -> list[str]:
    """What is not plain about the output's tensors: methods that an instance overrides."""
    return [
        f"an output tensor carries its own {', '.join(names)}"
        for tensor in tensors_of(output)
        if (names := sorted(name for name in vars(tensor) if hasattr(torch.Tensor, name)))
    ]


def poison(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Fill memory that the C library hands out with far-off values, or stop doing so; answers whether it can."""
    del state, fds
    mallopt: Callable[[int, int], int] | None = getattr(ctypes.CDLL(None), "mallopt", None)
    return {"active": bool(mallopt is not None and mallopt(_M_PERTURB, _POISON if fields["on"] else 0))}


def look(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """What was replaced since "defense_open", and the global flags now."""
    del fields, fds
    defense, _ = _both(state)
    replaced = [
        name
        for (name, value, code), (_, before, code_before) in zip(_seen(state), defense.witnesses)
        if value is not before or code is not code_before
    ]
    return {"replaced": replaced, "flags": global_flags.read()}


OPERATIONS = {
    "defense_open": open_defense,
    "defense_ready": get_ready,
    "defense_call": call_and_read,
    "defense_output": read_outputs,
    "defense_guards": broken_guards,
    "defense_poison": poison,
    "defense_look": look,
}
