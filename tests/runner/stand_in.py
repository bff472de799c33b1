"""The runner's program with a judge and workers that run text of the test: python stand_in.py link | serve …

The plan's file reference/judge.py is run as the judge, with the names plan, run_dir, channel, spawn(code) and wire.
"""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from kbeval_jupyter.runner.main import main


def run_judge(plan, run_dir, nursery, channel) -> None:
    from kbeval_jupyter.runner import frames, report, wire
    from kbeval_jupyter.runner.nursery import SpawnRequest

    def spawn(code: str, output: str = "implementation"):
        private = f"{run_dir}/private/{len(os.listdir(f'{run_dir}/private'))}"
        os.mkdir(private, 0o700)
        request = SpawnRequest("implementation", private, [], [private], {}, None, "basic", output)
        worker = nursery.spawn(request)
        worker.sock.sendall(frames.pack({"code": code}))
        return worker

    names = dict(
        plan=plan, run_dir=run_dir, channel=channel, workers=nursery, spawn=spawn, wire=wire, report=report, frames=frames
    )
    code = Path(run_dir, "reference", "judge.py").read_text()
    exec(compile(code, "judge.py", "exec"), names)


def run_worker(sock: socket.socket) -> None:
    from kbeval_jupyter.runner import frames

    code = frames.receive(sock)["code"]
    exec(compile(code, "worker.py", "exec"), {"sock": sock})
    sock.sendall(frames.pack({"done": True}))


def load_parts() -> object:
    from kbeval_jupyter.runner.offspring import Parts

    return Parts(run_judge, run_worker)


if __name__ == "__main__":
    sys.exit(main(load_parts))
