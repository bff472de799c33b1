"""A real nursery for tests, in a process of its own that has imported torch once; and a worker that runs what it is sent.

A "start_device" request holds the code of a driver that may not get on with a layer.
"""

from __future__ import annotations

import gc
import os
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

from kbeval_jupyter.runner import isolation
from kbeval_jupyter.runner.supervision import frames
from kbeval_jupyter.runner.supervision.nursery import Nursery, WorkerProcess, nursery_main


class NurseryProcess:
    """Starts this file as a program; the test is the judge. ``output`` is the read end of all workers' output."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.output, write_end = os.pipe()
        with theirs:
            handed = (theirs.fileno(), write_end)
            command = [sys.executable, __file__, *map(str, handed)]
            self.process = subprocess.Popen(command, pass_fds=handed)
        os.close(write_end)
        self.sock = ours
        self.judge = Nursery(ours)

    def close(self) -> int:
        """End it as a judge that is gone would; gives its exit status."""
        self.sock.close()
        os.close(self.output)
        return self.process.wait(timeout=20)


def ask(worker: WorkerProcess, code: str) -> Any:
    """The value of ``result`` after ``code`` ran in the worker; raises AssertionError with its traceback."""
    reply = attempt(worker, code)
    assert "error" not in reply, reply["traceback"]
    return reply["result"]


def attempt(worker: WorkerProcess, code: str) -> dict[str, Any]:
    """What became of ``code`` in the worker: {"result": …} or {"error": …, "traceback": …}."""
    worker.sock.sendall(frames.pack({"code": code}))
    reply = frames.receive(worker.sock)
    assert isinstance(reply, dict)
    return reply


def serve(sock: socket.socket) -> None:
    """Run Python text until the judge is gone."""
    names: dict[str, object] = {"__name__": "probe"}
    while True:
        try:
            message = frames.receive(sock)
        except EOFError:
            return
        code = message.get("code") or message["device"]["code"]
        names.pop("result", None)
        try:
            exec(compile(code, "<probe>", "exec"), names)
            reply = {"result": names.get("result")}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        if "op" in message:  # as the real worker answers the one operation that is tried here
            reply = {"error": {"kind": "raise", "summary": reply["error"]}} if "error" in reply else {"ok": {}}
        sock.sendall(frames.pack(reply))


if __name__ == "__main__":
    import torch  # noqa: F401 - as in the server: the workers inherit it

    isolation.prepare()
    gc.freeze()
    write_end = int(sys.argv[2])
    Path("/proc/self/comm").write_text("kbeval-nursery")
    outputs = dict.fromkeys(("implementation", "reference", "timing"), write_end)
    nursery_main(socket.socket(fileno=int(sys.argv[1])), outputs, serve)
