"""Worker operations before the first call: settings, import, construction, weights, arenas."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import is_lazy

from ..exchange.arena import Arena
from ..exchange.channel import close_fds
from ..exchange.materialise import build_inputs
from ..usercode import loading, randomness, redirect
from ..usercode.failures import UserCodeError
from ..usercode.invocation import construct

if TYPE_CHECKING:
    from .worker_state import WorkerState


def attach_arenas(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Take new arenas: two descriptors, inputs then outputs."""
    del fields
    for arena in (state.input_arena, state.output_arena):
        if arena is not None:
            arena.close()
    state.input_arena, state.output_arena = Arena.attach(fds[0], private=True), Arena.attach(fds[1], private=False)
    close_fds(fds[2:])
    return {}


def load(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Import the module and find the entry; a function is ready then, a class must be constructed."""
    del fds
    state.folder = fields["folder"]
    state.device = fields["torch_device"]
    state.device_fields = fields["device"]
    if fields["precision"]:
        set_precision(fields["precision"])
    if fields["redirect_cuda"]:
        redirect.install()
        redirect.redirected(active=True).__enter__()  # for the rest of this process
    os.chdir(state.folder)  # files that travelled are found by the relative names that they have beside the source
    state.module = loading.load_module(state.folder, fields["module"])
    state.definition = loading.take(state.module, fields["name"], fields["module"])
    state.compiled = fields["compiled"]
    if fields["kind"] == "function":
        state.entry = torch.compile(state.definition) if state.compiled else state.definition
    return {}


def set_precision(precision: str) -> None:
    """Allow or forbid TF32 in this process."""
    allowed = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def construct_entry(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Construct the class with the judge's arguments under the weight seed; answers names and shapes of its state.

    A shape is None where the first call decides it.
    """
    del fds
    arguments = build_inputs(fields["arguments"], state.inputs, "cpu")
    randomness.seed_everything(fields["seed"])
    state.entry = construct(state.definition, arguments, state.device, fields["dtype"])
    if not callable(state.entry):
        raise UserCodeError(f"{type(state.entry).__name__} cannot be called: it has neither forward nor __call__")
    module = state.entry
    if state.compiled:
        state.entry = torch.compile(module)
    if not isinstance(module, torch.nn.Module):
        return {"state": None}
    tensors = [(name, value) for name, value in module.state_dict().items() if isinstance(value, torch.Tensor)]
    return {"state": [[name, None if is_lazy(value) else list(value.shape)] for name, value in tensors]}


def load_weights(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Take the reference's weights by name."""
    del fds
    weights = build_inputs(fields["weights"], state.inputs, "cpu")
    getattr(state.entry, "_orig_mod", state.entry).load_state_dict(
        weights, strict=False
    )  # names and shapes were compared by the judge
    return {}


OPERATIONS = {"arenas": attach_arenas, "load": load, "construct": construct_entry, "weights": load_weights}
