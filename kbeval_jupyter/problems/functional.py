"""The functional format: ``ref_kernel(inputs)`` and ``generate_input(**case)`` against ``custom_kernel(inputs)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbeval_jupyter.errors import RequestError
from kbeval_jupyter.runner.wire import Entry, ProblemSpec

from .base import parameters, require
from .cases import arguments, named_cases

if TYPE_CHECKING:
    import ast

    from kbeval_jupyter.model.request import EvaluationRequest

    from .names import Module


class Functional:
    """``ref_kernel``, ``generate_input``, and ``check_implementation`` where equality is not the criterion."""

    name = "functional"
    implementation = "custom_kernel"
    implementation_form = "def custom_kernel(inputs)"
    reference_form = "ref_kernel(inputs) and generate_input(**case)"
    typical: tuple[str, ...] = ("ref_kernel", "generate_input")
    input_functions: tuple[str, ...] = ("generate_input",)

    def can_load(self, reference: Module) -> bool:
        """Whether the module is a whole reference of this format."""
        return all(name in reference.definitions for name in self.typical)

    def load(self, reference: Module, request: EvaluationRequest) -> ProblemSpec:
        """The problem in the runner's words; raises RequestError."""
        require(reference, "ref_kernel", self)
        if request.inputs is None:
            require(reference, "generate_input", self)
            _check_arguments(parameters(reference.definitions.get("generate_input")), request.cases)
        return ProblemSpec(
            format=self.name,
            name=request.problem_name,
            reference=Entry("function", "reference", "ref_kernel"),
            implementation=Entry("function", "implementation", self.implementation),
            call="single",
            inputs_function="generate_input",
            checker_function="check_implementation" if "check_implementation" in reference.definitions else None,
            cases=named_cases(request.cases or []),
        )


def _check_arguments(signature: ast.arguments | None, cases: list[dict[str, Any]] | None) -> None:
    """Raise RequestError where a case cannot be the keyword arguments of ``generate_input``."""
    if signature is None:
        return
    positional = [*signature.posonlyargs, *signature.args]
    optional = {argument.arg for argument in positional[len(positional) - len(signature.defaults) :]}
    optional |= {a.arg for a, default in zip(signature.kwonlyargs, signature.kw_defaults, strict=True) if default is not None}
    names = [argument.arg for argument in [*positional, *signature.kwonlyargs]]
    required = [name for name in names if name not in optional]
    takes = f"generate_input takes {', '.join(names) or 'no arguments'}"
    if cases is None and required:
        raise RequestError(
            f"the problem needs test cases: {takes}",
            'give --cases FILE, a JSON list such as [{"'
            + required[0]
            + '": 1024}] or a task.yml, or save them with %%kernelcases',
        )
    for number, case in enumerate(cases or [], 1):
        given = list(arguments(case))
        unknown = [key for key in given if key not in names] if signature.kwarg is None else []
        missing = [name for name in required if name not in given]
        if unknown or missing:
            what = f"unknown argument {unknown[0]!r}" if unknown else f"argument {missing[0]!r} is missing"
            raise RequestError(f"test case {number}: {what}; {takes}")
