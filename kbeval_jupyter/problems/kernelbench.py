"""The kernelbench format: a ``Model`` module with ``get_inputs``; the implementation is a ``ModelNew``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.runner.wire import Entry, ProblemSpec

from .base import require

if TYPE_CHECKING:
    from kbeval_jupyter.model.request import EvaluationRequest

    from .names import Module


class KernelBench:
    """``class Model``, ``get_inputs()`` or ``get_input_groups()``, and ``get_init_inputs()`` where the class takes arguments."""

    name = "kernelbench"
    implementation = "ModelNew"
    implementation_form = "class ModelNew(nn.Module)"
    reference_form = "class Model(nn.Module), get_inputs() and get_init_inputs()"
    typical: tuple[str, ...] = ("Model", "get_inputs", "get_input_groups", "get_init_inputs")
    input_functions: tuple[str, ...] = ("get_inputs", "get_init_inputs")

    def can_load(self, reference: Module) -> bool:
        """Whether the module is a whole reference of this format."""
        return "Model" in reference.definitions and reference.defines_any(("get_inputs", "get_input_groups"))

    def load(self, reference: Module, request: EvaluationRequest) -> ProblemSpec:
        """The problem in the runner's words; raises RequestError."""
        if request.cases is not None:
            raise RequestError(
                "test cases were given, but the reference has the kernelbench format, whose inputs come from get_inputs()",
                "use --inputs to try other shapes, or a functional reference (ref_kernel, generate_input) for test cases",
            )
        require(reference, "Model", self)
        groups = "get_input_groups" in reference.definitions
        if not groups and request.inputs is None:
            require(reference, "get_inputs", self)
        return ProblemSpec(
            format=self.name,
            name=request.problem_name,
            reference=Entry("class", "reference", "Model"),
            implementation=Entry("class", "implementation", self.implementation),
            call="spread",
            inputs_function="get_inputs",
            init_inputs_function="get_init_inputs" if reference.may_define("get_init_inputs") else None,
            input_groups_function="get_input_groups" if groups and request.inputs is None else None,
            checker_function="check_implementation" if "check_implementation" in reference.definitions else None,
        )
