"""Worker operation for correctness: one call on fresh private copies of the inputs, everything it did written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..exchange.encoding import distinct_tensors, encode_outputs
from ..exchange.materialise import build_inputs
from ..usercode import randomness
from ..usercode.gradients import forward_backward
from ..usercode.invocation import forward
from ..usercode.mutation import changed_tensors

if TYPE_CHECKING:
    from .worker_state import WorkerState


def call(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Outputs, the numbers of input tensors that were changed, and the contents of those in ``wanted``.

    A fresh copy of the inputs is made, so that two calls see the same bytes. ``backward`` asks for gradients as well: the inputs
    are then a pair of inputs and cotangents.
    """
    del fds
    inputs = build_inputs(fields["inputs"], state.inputs, state.device)
    pristine = build_inputs(fields["inputs"], state.inputs, "cpu", copy=False)
    randomness.seed_everything(fields["seed"])
    if fields["backward"]:
        inputs, cotangents = inputs
        pristine = pristine[0]
        output = forward_backward(state.entry, inputs, fields["style"], cotangents, fields["parameters"]).value
    else:
        output = forward(state.entry, inputs, fields["style"])
    state.outputs.reset()
    tensors = distinct_tensors(inputs)
    return {
        "output": encode_outputs(output, state.outputs),
        "changed": changed_tensors(inputs, pristine),
        "inputs": [encode_outputs(tensors[i].detach(), state.outputs) for i in fields["wanted"]],
    }


OPERATIONS = {"call": call}
