"""The workers of one evaluation: how they are made, and how code, arguments and weights get into them."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Literal

from ..supervision.nursery import Nursery, SpawnRequest
from ..usercode.sources import mentions
from ..working.device_start import started_worker
from .builds import BuildFolder, build_hash
from .shared_inputs import SharedInputs
from .workers import Worker

if TYPE_CHECKING:
    from ..devices.base import Device
    from ..report import IsolationLayer
    from ..wire import Entry, Plan
    from .reference import ReferenceProblem

Role = str  # "implementation", "reference", or the role of a rival of the plan


class Crew:
    """Makes workers. ``shared`` holds arguments for them; ``weights`` says how the implementation got its weights."""

    def __init__(self, plan: Plan, run_dir: str, nursery: Nursery, device: Device) -> None:
        self.plan = plan
        self.run_dir = run_dir
        self.device = device
        self.shared = SharedInputs()
        self.weights: Literal["state_dict", "seed"] | None = None
        self.builds: dict[Role, BuildFolder] = {}
        self._nursery = nursery
        self._count = 0
        self._rivals = {rival.role: rival for rival in plan.rivals}
        self._mentions = {role: mentions(plan, self._folder(role)) for role in ("implementation", "reference", *self._rivals)}
        self._implementation: Worker | None = None
        # Layers without which workers are made; None: to be found out with the first one.
        self._left_out: dict[str, str] | None = None if device.vendor != "cpu" and plan.isolation == "auto" else {}

    def interpreted(self, role: Role) -> bool:
        """Whether Triton code of a side runs in Triton's interpreter: correct, but its times mean nothing."""
        return self.device.vendor == "cpu" and self._mentions[role].triton

    def redirected(self, role: Role) -> bool:
        """Whether CUDA in the code of a side is redirected to the CPU."""
        return self.device.vendor == "cpu" and self._mentions[role].cuda

    def implementation(self) -> Worker:
        """The worker that is being judged; made on the first call and again after its death. Its code is not loaded yet then."""
        if self._implementation is None or self._implementation.dead:
            if self._left_out is None:
                self._implementation, self._left_out = started_worker(self._without, self.device.worker_fields())
            else:
                self._implementation = self._without(self._left_out)
        return self._implementation

    def _without(self, left_out: dict[str, str]) -> Worker:
        self._left_out = left_out
        return self.spawn("implementation", output="implementation")

    def layers(self) -> list[IsolationLayer]:
        """Isolation of the implementation's worker."""
        return list(self.implementation().process.layers)

    def spawn(
        self, role: Role, output: Literal["implementation", "reference", "timing"] = "timing", cpus: list[int] | None = None
    ) -> Worker:
        """A new, empty worker for one side's code."""
        private = os.path.join(self.run_dir, "private", f"{role.replace('/', '-')}-{self._count}")
        self._count += 1
        os.mkdir(private, 0o700)
        environment = self.environment(role)
        # Code may write beside itself: generated sources, a file of its own. What it changes there is no one else's.
        writable = [self.folder(role), *([self.builds[role].path] if role in self.builds else [])]
        process = self._nursery.spawn(
            SpawnRequest(
                role="reference" if role == "reference" else "implementation",
                private_dir=private,
                write_paths=writable,
                environment=environment,
                cpus=cpus,
                hardening=self.plan.isolation,
                output=output,
                left_out=self._left_out or {},
            )
        )
        return Worker(process, role)

    def folder(self, role: Role) -> str:
        """Where the files of a side lie."""
        return os.path.join(self.run_dir, self._folder(role))

    def _folder(self, role: Role) -> str:
        return self._rivals[role].folder if role in self._rivals else role

    def _compiled(self, role: Role) -> bool:
        return role in self._rivals and self._rivals[role].compiled

    def entry(self, role: Role) -> Entry:
        """What is taken from a side's module."""
        if role in self._rivals:
            return self._rivals[role].entry
        return self.plan.problem.reference if role == "reference" else self.plan.problem.implementation

    def environment(self, role: Role) -> dict[str, str]:
        """Variables for a process that holds a side's code; opens its build folder where the code compiles anything."""
        variables = {**self.plan.environment, **self.device.visible_environment(), **self.device.compile_environment()}
        search = variables.get("PATH") or os.environ.get("PATH") or os.defpath
        variables["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), search])  # ninja lies there
        if self.interpreted(role):
            variables["TRITON_INTERPRET"] = "1"
        if self._mentions[role].builds or self._compiled(role):
            if role not in self.builds:
                self.builds[role] = BuildFolder.open(build_hash(self.plan, self._folder(role), variables))
            variables.update(self.builds[role].variables)
        return variables

    # --- filling a worker -------------------------------------------------------------------------------------------------

    def load_fields(self, role: Role) -> dict[str, Any]:
        """Fields of the "load" request for one side."""
        entry = self.entry(role)
        return {
            "folder": self.folder(role),
            "module": entry.module,
            "name": entry.name,
            "kind": entry.kind,
            "torch_device": self.device.torch_device,
            "device": self.device.worker_fields(),
            "precision": self.plan.precision,
            "redirect_cuda": self.redirected(role),
            "compiled": self._compiled(role),
        }

    def load(self, worker: Worker, role: Role) -> dict[str, Any]:
        """Import a side's module in a worker. Raises WorkerFailed, WorkerDied."""
        return worker.request("load", self.load_fields(role))

    def construct(self, worker: Worker, role: Role, problem: ReferenceProblem, timeout_s: float | None = None) -> None:
        """Construct a side's class with the reference's arguments; give it the reference's weights where they match."""
        if self.entry(role).kind != "class":
            return
        arguments = self.shared.put(problem.init_arguments())
        worker.share(self.shared.arena)
        fields = {"arguments": arguments, "seed": self.plan.seed, "dtype": self.plan.dtype}
        answer = worker.request("construct", fields, timeout_s=timeout_s)
        state = problem.state()
        if not state and not answer.get("state"):
            return  # nothing to match
        if not state or not _matches(answer.get("state"), state):
            self._weights_given(role, "seed")
            return
        message = self.shared.put({name: value.detach() for name, value in state.items()})
        worker.share(self.shared.arena)
        worker.request("weights", {"weights": message}, timeout_s=timeout_s)
        self._weights_given(role, "state_dict")

    def _weights_given(self, role: Role, how: Literal["state_dict", "seed"]) -> None:
        if role == "implementation":  # what the others got says nothing about it
            self.weights = how

    def close(self) -> None:
        """Let go of the build folders; the supervisor ends all workers."""
        for folder in self.builds.values():
            folder.close()


def _matches(described: Any, state: dict[str, Any]) -> bool:
    """Whether a worker's names and shapes, which may be anything, are those of ``state``; a shape may be open (None)."""
    if type(described) is not list or len(described) != len(state):
        return False
    shapes = {name: list(value.shape) for name, value in state.items()}
    for pair in described:
        if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str or pair[0] not in shapes:
            return False
        if pair[1] not in (None, shapes.pop(pair[0])):
            return False
    return True
