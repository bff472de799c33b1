"""A process executor whose runner has the tests' stand-in judge."""

from __future__ import annotations

import contextlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kbeval_jupyter.execution import archive
from kbeval_jupyter.execution.base import Capabilities
from kbeval_jupyter.execution.process import ProcessExecutor
from kbeval_jupyter.transports.local import LocalTransport

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

STAND_IN = Path(__file__).parents[1] / "runner" / "stand_in.py"
MAIN = (
    "import sys\nfrom kbeval_runner.main import main\nfrom kbeval_runner.stand_in import load_parts\nsys.exit(main(load_parts))\n"
)


@cache
def runner() -> archive.Archive:
    text = STAND_IN.read_text().replace("kbeval_jupyter.runner", "kbeval_runner")
    return archive.pack(archive.sources() | {"stand_in.py": text.encode()}, MAIN)


@contextlib.asynccontextmanager
async def executor(**environment: str) -> AsyncIterator[ProcessExecutor]:
    made = ProcessExecutor(
        LocalTransport(), Capabilities(), runner=runner(), environment={"KBEVAL_SERVER_IDLE_S": "5", **environment}
    )
    try:
        yield made
    finally:
        await made.aclose()
