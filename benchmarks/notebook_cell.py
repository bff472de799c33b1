"""A cell in a real kernel: from the execute request to the message that puts the frozen result into the notebook."""

from __future__ import annotations

import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from jupyter_client.manager import KernelManager

from kbeval_jupyter.model.result import MIME_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from jupyter_client.blocking.client import BlockingKernelClient

REPLY_LIMIT_S = 120


@contextmanager
def kernel(environment: Mapping[str, str]) -> Iterator[BlockingKernelClient]:
    """A kernel of this environment, ready."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(env=dict(environment), stderr=subprocess.DEVNULL)  # it warns of its own transport
    client = manager.blocking_client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=REPLY_LIMIT_S)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def seconds_to_frozen_result(client: BlockingKernelClient, code: str) -> float | None:
    """Execute as JupyterLab does (it can answer questions, so the cell gets a live view); None where no result is shown."""
    start = time.perf_counter()
    request = client.execute(code, allow_stdin=True)
    frozen = None
    while True:
        message = client.get_iopub_msg(timeout=REPLY_LIMIT_S)
        if message["parent_header"].get("msg_id") != request:
            continue
        content = message["content"]
        if MIME_TYPE in content.get("data", {}):
            frozen = frozen or time.perf_counter() - start
            if '"passed"' not in str(content["data"]).replace("'", '"'):
                raise RuntimeError(f"the cell's verdict was not passed: {content['data']}")
        elif message["msg_type"] == "error":
            raise RuntimeError("\n".join(content["traceback"]))
        elif message["msg_type"] == "status" and content["execution_state"] == "idle":
            return frozen


def measure(folder: Path, environment: Mapping[str, str], count: int) -> list[float]:
    """Seconds of ``count`` evaluations by cell, after one that starts the server."""
    reference, implementation = ((folder / f"{name}.py").read_text() for name in ("reference", "implementation"))
    with kernel(environment) as client:
        seconds_to_frozen_result(client, "%load_ext kbeval_jupyter")
        seconds_to_frozen_result(client, f"%%kernelref trivial\n{reference}")
        cell = f"%%kernelbench --ref trivial\n{implementation}"
        measured = [seconds_to_frozen_result(client, cell) for _ in range(count + 1)]
    if None in measured:
        raise RuntimeError("a cell ended without a frozen result")
    return [seconds for seconds in measured[1:] if seconds is not None]
