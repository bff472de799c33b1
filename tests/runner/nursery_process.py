"""A real nursery for tests, in a process that has imported torch once: python nursery_process.py SOCKET_FD OUTPUT_FD.

Its workers run the Python text that the test sends and answer with the JSON value of ``result``, or with the error.
"""

import gc
import socket
import sys
import traceback

import torch  # noqa: F401 - as in the server: the workers inherit it

from kbeval_jupyter.runner import frames, isolation
from kbeval_jupyter.runner.nursery import nursery_main


def serve(sock: socket.socket) -> None:
    names: dict[str, object] = {"__name__": "probe"}
    while True:
        try:
            code = frames.receive(sock)["code"]
        except EOFError:
            return
        try:
            names.pop("result", None)
            exec(compile(code, "<probe>", "exec"), names)
            reply = {"result": names.get("result")}
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
        sock.sendall(frames.pack(reply))


if __name__ == "__main__":
    isolation.prepare()
    gc.freeze()
    output = int(sys.argv[2])
    nursery_main(socket.socket(fileno=int(sys.argv[1])), {"implementation": output, "reference": output, "timing": output}, serve)
