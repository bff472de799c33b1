"""One trial: fresh inputs in shared memory, the expected value, one call of a worker, and what comparing them says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from ..exchange.arena import aligned
from ..exchange.encoding import distinct_tensors, input_bytes
from ..exchange.structure import excess, flatten, incomparable_part, kind_of
from ..exchange.tree import Node, SequenceNode
from ..usercode.mutation import changed_tensors
from .oracle import Oracle
from .outputs import Comparison, Rules, compare_outputs
from .reference import CaseInput, InvalidReference
from .workers import WorkerDied

if TYPE_CHECKING:
    from .crew import Crew
    from .reference import ReferenceProblem
    from .shared_inputs import SharedInputs
    from .workers import Worker, WorkerFailed

OUTPUT_SLACK_BYTES = 1 << 20  # room for a result that is larger than the reference's: its header says so, its data is not needed


@dataclass
class Trial:
    """One trial of one case. ``message`` describes inputs that lie in the crew's shared arena until the next trial is made."""

    case: CaseInput
    number: int
    message: dict[str, Any]
    forward_seed: int
    inputs: Any  # the judge's own copy, for the reference's run
    expected: Any = None
    input_paths: list[str] = field(default_factory=list)  # of the distinct input tensors
    changed: list[int] = field(default_factory=list)  # those that the reference changes in place
    changed_values: list[Any] = field(default_factory=list)
    cotangents: list[Any] | None = None
    reference_s: float = 0.0
    output_bytes: int = 0  # of the expected answer
    generation: int = 0  # of the shared arena's contents

    def fresh_inputs(self, shared: SharedInputs, device: str) -> Any:
        """Another private copy of the inputs as they were made."""
        inputs = shared.copy(self.message, device)
        return inputs if self.cotangents is None else inputs[0]


@dataclass
class Answer:
    """What a worker gave for a trial: checked trees whose tensors lie in its output arena."""

    output: Node
    inputs: SequenceNode  # contents of the inputs that the reference changes
    changed: list[int]


class Trials:
    """Makes and runs trials of one evaluation."""

    def __init__(self, problem: ReferenceProblem, crew: Crew, backward: bool) -> None:
        self.problem = problem
        self.crew = crew
        self.backward = backward
        self._last: Trial | None = None

    def prepare(self, case: CaseInput, number: int) -> Trial:
        """Inputs of a trial in the shared arena; the one made last is taken as it is when it is asked for again."""
        last, shared = self._last, self.crew.shared
        if last is not None and last.case is case and last.number == number and last.generation == shared.generation:
            return last
        self._last = self.prepare_altered(case, number, lambda _: None)
        return self._last

    def prepare_altered(self, case: CaseInput, number: int, alter: Callable[[Any], None]) -> Trial:
        """Inputs of a trial after ``alter`` has changed them in place."""
        shared = self.crew.shared
        self._last = None
        inputs = self.problem.make_inputs(case, number)
        alter(inputs)
        message = shared.put(inputs)
        seed = self.problem.secret.seed("forward", case.name, number)
        return Trial(case, number, message, seed, inputs, input_paths=_tensor_paths(inputs), generation=shared.generation)

    def prepare_beside(self, case: CaseInput, number: int) -> Trial | None:
        """A further trial whose inputs lie beside those that were prepared last; None where they do not fit."""
        inputs = self.problem.make_inputs(case, number)
        message = self.crew.shared.put_beside(inputs)
        if message is None:
            return None
        seed = self.problem.secret.seed("forward", case.name, number)
        return Trial(case, number, message, seed, inputs, None, _tensor_paths(inputs), generation=self.crew.shared.generation)

    def prepare_several(self, case: CaseInput, first: int, count: int, limit_bytes: int) -> list[Trial]:
        """Up to ``count`` trials whose inputs lie in the arena side by side, fewer where they would exceed ``limit_bytes``.

        With ``--backward`` the reference has run and their messages hold the cotangents too. Valid until the next trial is made.
        """
        self._last = None
        trials: list[Trial] = []
        values: list[Any] = []
        while len(trials) < count and (not values or (len(values) + 1) * input_bytes(values[0]) <= limit_bytes):
            number = first + len(trials)
            inputs = self.problem.make_inputs(case, number)
            trial = Trial(case, number, {}, self.problem.secret.seed("forward", case.name, number), inputs)
            if self.backward:
                self._run_backward(trial)
                inputs = [self.problem.make_inputs(case, number), trial.cotangents]  # made again: the run may have changed them
            trials.append(trial)
            values.append(inputs)
        for trial, message in zip(trials, self.crew.shared.put_all(values)):
            trial.message = message
        return trials

    @property
    def with_parameters(self) -> bool:
        """Whether gradients of parameters can be compared: they have the same names."""
        return self.crew.weights == "state_dict"

    def expect(self, trial: Trial) -> None:
        """Run the reference. Raises InvalidReference."""
        shared = self.crew.shared
        self._last = None  # the reference may change these inputs
        if self.backward:
            self._run_backward(trial)
        else:
            trial.expected = self.problem.run(trial.inputs, trial.forward_seed)
        trial.reference_s = self.problem.last_forward_s
        too_large = excess(trial.expected)
        problem = too_large or (incomparable_part(trial.expected) if self.problem.checker is None else None)
        if problem:
            raise InvalidReference(f"the reference's {problem}")
        trial.changed = changed_tensors(trial.inputs, shared.pristine(trial.message))
        trial.changed_values = [distinct_tensors(trial.inputs)[i].detach() for i in trial.changed]
        trial.output_bytes = _answer_bytes(trial)
        if self.backward:
            self._add_cotangents(trial)

    def _run_backward(self, trial: Trial) -> None:
        seed = self.problem.secret.seed("cotangents", trial.case.name, trial.number)
        result = self.problem.run_backward(trial.inputs, trial.forward_seed, seed, self.with_parameters)
        trial.expected, trial.cotangents = result.value, result.cotangents

    def _add_cotangents(self, trial: Trial) -> None:
        pristine = self.crew.shared.copy(trial.message, "cpu")
        trial.message = self.crew.shared.put([pristine, trial.cotangents])

    def again(self, trial: Trial) -> Any:
        """The reference's value for the same inputs and generators a second time."""
        inputs = self.crew.shared.copy(trial.message, self.problem.device)
        if self.backward:
            inputs, cotangents = inputs
            return self.problem.run_backward(inputs, trial.forward_seed, cotangents, self.with_parameters).value
        return self.problem.run(inputs, trial.forward_seed)

    def oracle(self, trial: Trial) -> Oracle:
        """Exact values of a trial, computed when they are first asked for."""

        def run() -> Any:
            inputs = self.crew.shared.copy(trial.message, self.problem.device)
            if self.backward:
                inputs, cotangents = inputs
                return self.problem.run_backward_exact(inputs, trial.forward_seed, cotangents, self.with_parameters)
            return self.problem.run_exact(inputs, trial.forward_seed)

        return Oracle(run, trial.inputs, trial.reference_s, self.problem.device)

    def call(self, worker: Worker, trial: Trial, timeout_s: float | None = None) -> Answer:
        """One call of a worker that holds the implementation. Raises WorkerFailed, WorkerDied."""
        answers, failure = self.call_all(worker, [trial], timeout_s)
        if failure is not None:
            raise failure
        return answers[0]

    def call_all(
        self, worker: Worker, trials: list[Trial], timeout_s: float | None = None
    ) -> tuple[list[Answer], WorkerFailed | None]:
        """Calls in one request, up to the first that raises, and what that raised. Raises WorkerFailed, WorkerDied."""
        outputs = worker.share(self.crew.shared.arena, self.room(*trials))
        position = outputs.view("int64", (1,), 0).fill_(0)
        fields = {
            "trials": [{"inputs": t.message, "seed": t.forward_seed, "wanted": t.changed} for t in trials],
            "style": self.problem.spec.call,
            "backward": self.backward and trials[0].cotangents is not None,
            "parameters": self.with_parameters,
        }
        try:
            reply = worker.request("call", fields, timeout_s=timeout_s)
        except WorkerDied as end:
            end.position = min(max(int(position), 0), len(trials) - 1)
            raise
        told, failed = reply.get("answers"), "failure" in reply
        if type(told) is not list or not (len(told) < len(trials) if failed else len(told) == len(trials)):
            raise worker.breach("not as many answers as trials")
        answers = [self._answer(worker, trial, answer) for trial, answer in zip(trials, told)]
        return answers, worker.failure(reply["failure"], "call") if failed else None

    def _answer(self, worker: Worker, trial: Trial, told: Any) -> Answer:
        if type(told) is not dict:
            raise worker.breach("an answer that is no object")
        inputs = worker.tree({"k": "list", "v": told.get("inputs")})
        assert isinstance(inputs, SequenceNode)
        changed = told.get("changed")
        numbers = range(len(trial.input_paths))
        if type(changed) is not list or any(type(i) is not int or i not in numbers for i in changed):
            raise worker.breach("numbers of changed inputs that do not exist")
        return Answer(worker.tree(told.get("output")), inputs, changed)

    def room(self, *trials: Trial) -> int:
        """Bytes that a worker's output arena needs for the answers to trials."""
        return OUTPUT_SLACK_BYTES + sum(trial.output_bytes for trial in trials)

    def compare(self, worker: Worker, trial: Trial, answer: Answer, rules: Rules) -> Comparison:
        """Judge an answer: outputs, what was changed in place, or the problem's own checker."""
        assert worker.outputs is not None
        pristine = self.crew.shared.pristine(trial.message)
        if self.backward:
            pristine = pristine[0]
        result = compare_outputs(
            trial.expected, answer.output, worker.outputs, rules, self.oracle(trial), pristine, may_be_empty=bool(trial.changed)
        )
        if trial.changed:
            self._compare_changed(worker, trial, answer, rules, result)
        extra = [trial.input_paths[i] for i in answer.changed if i not in trial.changed]
        if extra:
            text = f"the implementation changed its inputs in place ({', '.join(extra)}); the reference leaves them as they are"
            result.reason = f"{result.reason}. Also, {text}" if result.reason else text
        return result

    def _compare_changed(self, worker: Worker, trial: Trial, answer: Answer, rules: Rules, result: Comparison) -> None:
        assert worker.outputs is not None
        paths = [trial.input_paths[i] for i in trial.changed]
        expected = dict(zip(paths, trial.changed_values))
        if len(answer.inputs.items) != len(paths):
            raise worker.breach("not as many inputs as were asked for")
        for path, node in zip(paths, answer.inputs.items):
            found = compare_outputs(expected[path], node, worker.outputs, rules, root=path)
            result.reports += found.reports
            if found.reason and not result.reason:
                result.reason = f"{found.reason} (the reference changes this input in place)"


def _answer_bytes(trial: Trial) -> int:
    values = [leaf.value for leaf in flatten([trial.expected, trial.changed_values])]
    return sum(aligned(_nbytes(value)) for value in values if kind_of(value) in ("tensor", "numpy"))


def _nbytes(value: Any) -> int:
    return int(value.nbytes) if kind_of(value) == "numpy" else int(value.numel() * value.element_size())


def _tensor_paths(inputs: Any) -> list[str]:
    """A path such as ``inputs[0]`` for every distinct tensor."""
    paths: dict[int, str] = {}
    for leaf in flatten(inputs, "inputs"):
        paths.setdefault(id(leaf.value), leaf.path)
    return [paths.get(id(tensor), "inputs") for tensor in distinct_tensors(inputs)]
