"""The runner's program with a judge and workers that run text of the test: python stand_in.py link | serve …

The plan's file reference/judge.py is run as the judge, with the names plan, run_dir, channel, spawn(code) and wire.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

    from kbeval_jupyter.runner.supervision.offspring import Parts

sys.path.insert(0, str(Path(__file__).parents[2]))

from kbeval_jupyter.runner.main import main


def run_judge(plan: Any, run_dir: Any, nursery: Any, channel: Any) -> None:
    from kbeval_jupyter.runner import wire
    from kbeval_jupyter.runner.supervision import frames
    from kbeval_jupyter.runner.supervision.nursery import SpawnRequest

    def spawn(code: str) -> Any:
        private = Path(run_dir, "private", f"worker{len(nursery.workers)}")
        private.mkdir(0o700)
        request = SpawnRequest("implementation", str(private), [], [str(private)], {}, None, "basic", "implementation")
        worker = nursery.spawn(request)
        worker.sock.sendall(frames.pack({"code": code}))
        return worker

    names = {"plan": plan, "run_dir": run_dir, "channel": channel, "spawn": spawn, "workers": nursery}
    code = Path(run_dir, "reference", "judge.py").read_text()
    exec(compile(code, "judge.py", "exec"), {**names, "wire": wire, "frames": frames})


def run_worker(sock: socket.socket) -> None:
    from kbeval_jupyter.runner.supervision import frames

    code = frames.receive(sock)["code"]
    exec(compile(code, "worker.py", "exec"), {"sock": sock})
    sock.sendall(frames.pack({"done": True}))


def load_parts() -> Parts:
    from kbeval_jupyter.runner.supervision.offspring import Parts

    return Parts(run_judge, run_worker)


if __name__ == "__main__":
    sys.exit(main(load_parts))
