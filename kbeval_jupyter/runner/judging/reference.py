"""The reference in the judge: its module, its cases, its inputs, its expected values."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterator

import torch

from ..exchange.encoding import distinct_tensors
from ..exchange.transfer import move
from ..usercode import failures, loading
from ..usercode.gradients import BackwardResult, forward_backward
from ..usercode.invocation import construct, forward, is_lazy
from ..usercode.randomness import InputSecret, RandomnessWatch, seed_everything
from ..usercode.redirect import redirected
from .custom_inputs import CustomInputs, RequestRefused
from .oracle import OracleImpossible, widen, widened_entry

if TYPE_CHECKING:
    from ..wire import Plan

SEEDS_NOTE = "the seeds of the cases were replaced by fresh ones that nobody can foresee; --public-inputs keeps them"
HEAVY_ELEMENTS = 1 << 20  # from here on the reference gets all CPUs: no worker works meanwhile


class InvalidReference(Exception):  # noqa: N818 - becomes a verdict
    """The reference cannot say what is right; ``traceback`` shows its code."""

    def __init__(self, reason: str, traceback: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.traceback = traceback


@dataclass(frozen=True)
class CaseInput:
    """One case of the problem: keyword arguments of the input function, or the number of an input group."""

    name: str
    params: dict[str, Any] = field(default_factory=dict)
    group: int | None = None
    checked: bool = True
    timed: bool = True


class ReferenceProblem:
    """The loaded problem. Every call into the reference's code raises InvalidReference where that code fails."""

    def __init__(self, plan: Plan, run_dir: str, device: str, secret: InputSecret, redirect: bool) -> None:
        self.plan = plan
        self.spec = plan.problem
        self.folder = os.path.join(run_dir, "reference")
        self.device = device
        self.secret = secret
        self.redirect = redirect
        self.notes: list[tuple[str, str]] = []  # (code, text) for the result
        self.cases: list[CaseInput] = []
        self.module: Any = None
        self.definition: Any = None
        self.entry: Any = None
        self.checker: Any = None
        self.tf32_allowed = False
        self.last_forward_s = 0.0
        self._custom: CustomInputs | None = None
        self._inputs_function: Any = None

    # --- loading --------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Import the module, find its functions, take over custom inputs, construct the reference."""
        path = self.spec.reference.module
        with self._guard(f"the reference {path} cannot be loaded"):
            self.module = loading.load_module(self.folder, path)
            self.definition = loading.take(self.module, self.spec.reference.name, path)
        self._custom = CustomInputs.load(self.spec, self.folder, self.module) if self.spec.inputs_module else None
        self._inputs_function = self._function(self.spec.input_groups_function or self.spec.inputs_function)
        self.checker = self._function(self.spec.checker_function) if self.spec.checker_function else None
        self.tf32_allowed = self._allows_tf32()
        self.cases = self._find_cases()
        if not self.plan.public_inputs and any("seed" in case.params for case in self.cases):
            self.notes.append(("case_seeds", SEEDS_NOTE))
        if self._custom is not None:
            self._check_custom_inputs(self._custom)
        self.entry = self.construct() if self.spec.reference.kind == "class" else self.definition
        if is_lazy(self.entry):
            self._make_lazy_weights()

    def _function(self, name: str) -> Any:
        if self._custom is not None and self._is_custom(name):
            return self._custom.functions[name]
        with self._guard(f"the reference {self.spec.reference.module} is incomplete"):
            return loading.take(self.module, name, self.spec.reference.module)

    def _is_custom(self, name: str) -> bool:
        return self._custom is not None and name in self._custom.functions

    def _calling(self, name: str, params: dict[str, Any] | None = None) -> Any:
        """Around a call of an input function: where a custom one fails, it is not the reference that is invalid."""
        if self._custom is not None and self._is_custom(name):
            return self._custom.called(name, self.folder)
        arguments = ", ".join(f"{key}={value!r}" for key, value in (params or {}).items())
        return self._guard(f"{name}({arguments}) of the reference failed")

    def _allows_tf32(self) -> bool:
        if self.plan.precision is not None:
            return self.plan.precision == "tf32"
        return bool(torch.backends.cuda.matmul.allow_tf32) or torch.get_float32_matmul_precision() != "highest"

    def _find_cases(self) -> list[CaseInput]:
        if self.spec.input_groups_function:
            groups = self._call_inputs(self.secret.seed("inputs", "", 0), {})
            if not isinstance(groups, (list, tuple)) or not groups:
                raise InvalidReference(f"{self.spec.input_groups_function}() returned no input groups")
            return [CaseInput(f"group {i}", {}, i) for i in range(len(groups))]
        cases = [CaseInput(case.name, case.params, None, case.checked, case.timed) for case in self.spec.cases]
        return cases or [CaseInput("default")]

    @property
    def timed_cases(self) -> list[CaseInput]:
        """Those that the benchmark times."""
        return [case for case in self.cases if case.timed]

    def _check_custom_inputs(self, custom: CustomInputs) -> None:
        case = self.cases[0]
        original = getattr(self.module, self.spec.inputs_function, None)
        if self.spec.inputs_function not in custom.functions or original is None:
            return
        seed_everything(self.secret.seed("inputs", case.name, 0))
        with self._guard(f"{self.spec.inputs_function}() of the reference failed"), self._redirected():
            expected = original(**case.params)
        text = custom.check(expected, self._call_inputs(self.secret.seed("inputs", case.name, 0), case.params))
        if text:
            self.notes.append(("custom_inputs", text))

    # --- calls into the reference's code ----------------------------------------------------------------------------------

    def init_arguments(self) -> Any:
        """The constructor's arguments: list, tuple or dict; None where the problem has no function for them."""
        name = self.spec.init_inputs_function
        if name is None or not (self._is_custom(name) or hasattr(self.module, name)):
            return None
        function = self._function(name)
        seed_everything(self.plan.seed)
        with self._calling(name), self._redirected():
            return function()

    def construct(self) -> Any:
        """A reference under the weight seed."""
        arguments = self.init_arguments()
        seed_everything(self.plan.seed)
        with self._guard(f"{self.spec.reference.name} of the reference cannot be constructed"), self._redirected():
            return construct(self.definition, arguments, self.device, self.plan.dtype)

    def _make_lazy_weights(self) -> None:
        """Lazy weights come into being in a first forward: under the weight seed, so that there are some to hand over."""
        inputs = self.make_inputs(self.cases[0], 0)
        seed_everything(self.plan.seed)
        with self._guard("the reference failed"), self._redirected():
            forward(self.entry, inputs, self.spec.call)

    def state(self) -> dict[str, Any] | None:
        """The reference's weights by name; None where it has no state dict."""
        if not isinstance(self.entry, torch.nn.Module):
            return None
        return {name: value for name, value in self.entry.state_dict().items() if isinstance(value, torch.Tensor)}

    def make_inputs(self, case: CaseInput, trial: int) -> Any:
        """Fresh inputs of one trial, on the device."""
        seed = self.secret.seed("inputs", case.name, trial)
        value = self._call_inputs(seed, case.params, keep_seed=self.plan.public_inputs and trial == 0)
        if case.group is not None:
            value = value[case.group]
        return move(value, self.device, self.plan.dtype)

    def _call_inputs(self, seed: int, params: dict[str, Any], keep_seed: bool = False) -> Any:
        name = self.spec.input_groups_function or self.spec.inputs_function
        if ("seed" in params and not keep_seed) or ("seed" not in params and "seed" in _parameters(self._inputs_function)):
            params = {**params, "seed": seed}  # a seed of the case's own would make the inputs public
        seed_everything(seed)
        with self._calling(name, params), self._redirected():
            return self._inputs_function(**params)

    def run(self, inputs: Any, seed: int) -> Any:
        """The expected value for ``inputs``, which may be changed in place; generators are set to ``seed`` first."""
        seed_everything(seed)
        with self._guard("the reference failed"), self._redirected(), self._threads(inputs):
            start = time.perf_counter()
            value = forward(self.entry, inputs, self.spec.call)
            self.last_forward_s = time.perf_counter() - start
            return value

    def run_backward(self, inputs: Any, seed: int, cotangents: list[Any] | int, with_parameters: bool) -> BackwardResult:
        """The same with gradients."""
        seed_everything(seed)
        with self._guard("the reference failed"), self._redirected(), self._threads(inputs):
            start = time.perf_counter()
            result = forward_backward(self.entry, inputs, self.spec.call, cotangents, with_parameters)
            self.last_forward_s = time.perf_counter() - start
        if not result.cotangents:
            raise InvalidReference("--backward: no output of the reference depends on a floating-point input or parameter")
        return result

    def run_exact(self, inputs: Any, seed: int) -> Any:
        """The value in float64. Raises OracleImpossible, and whatever the reference raises: not all of them can."""
        entry, wide = widened_entry(self.entry), widen(inputs)
        with self._exactly(inputs, seed):
            return forward(entry, wide, self.spec.call)

    def run_backward_exact(self, inputs: Any, seed: int, cotangents: list[Any], with_parameters: bool) -> Any:
        """The same with gradients."""
        entry, wide = widened_entry(self.entry), widen(inputs)
        with self._exactly(inputs, seed):
            return forward_backward(entry, wide, self.spec.call, widen(cotangents), with_parameters).value

    @contextlib.contextmanager
    def _exactly(self, inputs: Any, seed: int) -> Iterator[None]:
        seed_everything(seed)
        with self._redirected(), self._threads(inputs), RandomnessWatch() as watch:
            yield
        if watch.drawn:
            raise OracleImpossible("the reference draws random numbers, which are others in float64")

    # --- surroundings -----------------------------------------------------------------------------------------------------

    def _redirected(self) -> Any:
        return redirected(self.redirect)

    @contextlib.contextmanager
    def _threads(self, inputs: Any) -> Iterator[None]:
        elements = sum(t.numel() for t in distinct_tensors(inputs))
        if isinstance(self.entry, torch.nn.Module):
            elements += sum(p.numel() for p in self.entry.parameters())
        before = torch.get_num_threads()
        if elements >= HEAVY_ELEMENTS:
            torch.set_num_threads(len(os.sched_getaffinity(0)))
        try:
            yield
        finally:
            torch.set_num_threads(before)

    @contextlib.contextmanager
    def _guard(self, what: str) -> Iterator[None]:
        try:
            yield
        except (InvalidReference, RequestRefused):
            raise
        except BaseException as error:  # the reference's code may raise anything, SystemExit included
            found = failures.describe(error, self.folder)
            raise InvalidReference(f"{what}: {found['summary']}", found["traceback"]) from error


@functools.lru_cache(maxsize=None)
def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []
