"""Whole evaluations by the runner's own processes (link, server, supervisor, nursery, judge, workers), without the client."""

from __future__ import annotations

import base64
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbeval_jupyter.runner import wire
from tests.runner.link_client import LinkClient, text_of

PROGRAM = Path(__file__).with_name("runner_program.py")


@dataclass(frozen=True)
class Outcome:
    """What an evaluation said."""

    events: list[dict[str, Any]]

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["kind"] == kind]

    def one(self, kind: str) -> dict[str, Any]:
        (event,) = self.all(kind)
        return event

    @property
    def verdict(self) -> str:
        return str(self.one("finished")["verdict"])

    @property
    def reason(self) -> str:
        return str(self.one("finished")["reason"])

    @property
    def log(self) -> str:
        return text_of(self.events)


class Pipeline:
    """Runs evaluations on one vendor's device, one after the other."""

    def __init__(self, vendor: Any, environment: dict[str, str]) -> None:
        self._vendor = vendor
        self._count = 0
        self._link = LinkClient(environment, [sys.executable, str(PROGRAM), "link"])

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, *_: object) -> None:
        self._link.__exit__()

    def evaluate(self, implementation: str, reference: str, **options: Any) -> Outcome:
        """``implementation`` and ``reference`` are sources of the kernelbench format; ``options`` those of the plan."""
        self._count += 1
        plan = wire.Plan(
            id=f"gpu-check-{self._count}",
            label="gpu-check",
            problem=wire.ProblemSpec(
                format="kernelbench",
                name="gpu-check",
                reference=wire.Entry("class", "reference.py", "Model"),
                implementation=wire.Entry("class", "implementation.py", "ModelNew"),
                call="spread",
                inputs_function="get_inputs",
            ),
            files=[
                wire.PlanFile("reference", "reference.py", base64.b64encode(reference.encode()).decode()),
                wire.PlanFile("implementation", "implementation.py", base64.b64encode(implementation.encode()).decode()),
            ],
            **{"stages": ["compile", "correctness"], "vendor": self._vendor, "budget_s": 0.3, "timeout_s": 90.0, **options},
        )
        self._link.run(plan)
        return Outcome(self._link.events(plan.id))
