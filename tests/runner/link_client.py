"""Tests' own client of a link: starts one with the stand-in judge, sends operations, reads lines."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from kbeval_jupyter.runner import wire

STAND_IN = Path(__file__).with_name("stand_in.py")


def make_plan(evaluation_id: str, judge: str, run_root: Path | None = None, **options: Any) -> wire.Plan:
    problem = wire.ProblemSpec(
        format="kernelbench",
        name="stand-in",
        reference=wire.Entry("class", "reference.py", "Model"),
        implementation=wire.Entry("class", "implementation.py", "ModelNew"),
        call="spread",
        inputs_function="get_inputs",
    )
    files = options.pop("files", [])
    judge_file = wire.PlanFile("reference", "judge.py", base64.b64encode(judge.encode()).decode())
    return wire.Plan(
        id=evaluation_id,
        label="",
        problem=problem,
        files=[judge_file, *files],
        stages=["compile"],
        run_root=str(run_root) if run_root else None,
        **options,
    )


class LinkClient:
    """A link process. Its server leaves five seconds after the last evaluation; an ``env`` that reaches it makes it another."""

    def __init__(self, env: dict[str, str] | None = None, argv: list[str] | None = None) -> None:
        self.process = subprocess.Popen(
            argv or [sys.executable, "-I", "-S", str(STAND_IN), "link"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "KBEVAL_SERVER_IDLE_S": "5", **(env or {})},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.hello = self.line()[1]

    def __enter__(self) -> LinkClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdin.close()
        self.process.wait(10)
        self.stdout.close()

    def send(self, **message: Any) -> None:
        self.stdin.write(json.dumps(message).encode() + b"\n")
        self.stdin.flush()

    def run(self, plan: wire.Plan) -> None:
        self.send(op="run", id=plan.id, plan=wire.plan_to_json(plan))

    def line(self) -> tuple[str, dict[str, Any]]:
        line = self.stdout.readline()
        assert line, "the link has ended"
        name, _, body = line.partition(b" ")
        return name.decode(), json.loads(body)

    def until(self, kind: str, evaluation_id: str | None = None) -> dict[str, Any]:
        """The next message of that kind."""
        while True:
            name, message = self.line()
            if message["kind"] == kind and evaluation_id in (None, name, message.get("id")):
                return message

    def log_until(self, text: str) -> str:
        """What was printed, up to where ``text`` occurs."""
        seen = ""
        while text not in seen:
            message = self.line()[1]
            assert message["kind"] not in ("finished", "failed"), message
            seen += message["text"] if message["kind"] == "log" else ""
        return seen

    def events(self, evaluation_id: str) -> list[dict[str, Any]]:
        """All events to the final one, their numbers checked."""
        found: list[dict[str, Any]] = []
        while True:
            name, message = self.line()
            if name == evaluation_id:
                found.append(message)
            assert message["kind"] != "failed", message
            if found and found[-1]["kind"] == "finished":
                first = found[0]["seq"]
                assert [event["seq"] for event in found] == list(range(first, first + len(found)))
                return found


def text_of(events: list[dict[str, Any]], source: str | None = None) -> str:
    return "".join(e["text"] for e in events if e["kind"] == "log" and source in (None, e["source"]))
