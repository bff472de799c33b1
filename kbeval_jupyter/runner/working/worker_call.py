"""Worker operation for correctness: calls on fresh private copies of the inputs, everything they did written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from ..exchange.encoding import distinct_tensors, encode_outputs
from ..exchange.materialise import build_inputs
from ..usercode import failures, randomness
from ..usercode.gradients import forward_backward
from ..usercode.invocation import forward
from ..usercode.mutation import changed_tensors

if TYPE_CHECKING:
    from .worker_state import WorkerState


def call(state: WorkerState, fields: dict[str, Any], fds: list[int]) -> dict[str, Any]:
    """Answers to the trials of a request, up to the first that raises, whose failure is told too.

    The first word of the output arena says which of them is under way, for the judge of a process that ends in it.
    """
    del fds
    state.outputs.reset()
    position = state.outputs.view("int64", (1,), state.outputs.put(torch.zeros(1, dtype=torch.int64)))
    answers: list[dict[str, Any]] = []
    for number, trial in enumerate(fields["trials"]):
        position.fill_(number)
        try:
            answers.append(_answer(state, trial, fields))
        except BaseException as error:  # SystemExit and KeyboardInterrupt of the user's code are answers too
            return {"answers": answers, "failure": failures.describe(error, state.folder)}
    return {"answers": answers}


def _answer(state: WorkerState, trial: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    """Outputs, the numbers of input tensors that were changed, and the contents of those in ``wanted``.

    A fresh copy of the inputs is made, so that two calls see the same bytes. ``backward`` asks for gradients as well: the inputs
    are then a pair of inputs and cotangents.
    """
    inputs = build_inputs(trial["inputs"], state.inputs, state.device)
    pristine = build_inputs(trial["inputs"], state.inputs, "cpu", copy=False)
    randomness.seed_everything(trial["seed"])
    if fields["backward"]:
        inputs, cotangents = inputs
        pristine = pristine[0]
        output = forward_backward(state.entry, inputs, fields["style"], cotangents, fields["parameters"]).value
    else:
        output = forward(state.entry, inputs, fields["style"])
    tensors = distinct_tensors(inputs)
    return {
        "output": encode_outputs(output, state.outputs),
        "changed": changed_tensors(inputs, pristine),
        "inputs": [encode_outputs(tensors[i].detach(), state.outputs) for i in trial["wanted"]],
    }


OPERATIONS = {"call": call}
