"""One nursery per test module: importing torch takes longer than all of a module's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kbeval_jupyter.runner.supervision.nursery import SpawnRequest, WorkerProcess

from .nursery_process import NurseryProcess

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def nursery() -> Iterator[NurseryProcess]:
    process = NurseryProcess()
    yield process
    assert process.close() == 0


Spawn = Callable[..., WorkerProcess]


@pytest.fixture
def spawn(nursery: NurseryProcess, tmp_path: Path) -> Iterator[Spawn]:
    """Makes workers (an implementation with automatic hardening unless told otherwise) and ends them with the test."""
    workers: list[WorkerProcess] = []

    def make(**fields: Any) -> WorkerProcess:
        private = tmp_path / f"worker{len(workers)}"
        private.mkdir()
        request = {"role": "implementation", "private_dir": str(private), **fields}
        workers.append(nursery.judge.spawn(SpawnRequest(**request)))
        return workers[-1]

    yield make
    for worker in workers:
        worker.kill()
