"""Checks of what only a GPU can show. KBEVAL_GPU_CHECK=cpu runs what also makes sense on a CPU there, to check the checks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from kbeval_jupyter.runner.devices import Device, detect

from .pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterator

ON_CPU = os.environ.get("KBEVAL_GPU_CHECK") == "cpu"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is marked."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session")
def device() -> Device:
    """The device under test."""
    if ON_CPU:
        torch.set_num_threads(1)  # other load must not decide how long a small call takes
        return detect("cpu")
    if not torch.cuda.is_available():
        pytest.skip(f"torch {torch.__version__} finds no GPU here; KBEVAL_GPU_CHECK=cpu checks on the CPU what can be")
    found = detect("auto")
    assert found.vendor != "cpu", f"torch finds a GPU, we do not: {'; '.join(found.remarks)}"
    return found


@pytest.fixture(scope="session")
def gpu(device: Device) -> Device:
    """The device, where it is a GPU."""
    if device.vendor == "cpu":
        pytest.skip("only a GPU has this")
    return device


@pytest.fixture(scope="session")
def pipeline(device: Device) -> Iterator[Pipeline]:
    """Evaluations on the device; the server keeps its things in a folder of this session."""
    with tempfile.TemporaryDirectory(prefix="kbg-") as home:
        places = {"HOME": "home", "XDG_CACHE_HOME": "cache", "XDG_RUNTIME_DIR": "run"}
        for folder in places.values():
            Path(home, folder).mkdir(mode=0o700)
        environment = {name: str(Path(home, folder)) for name, folder in places.items()}
        with Pipeline(device.vendor, environment) as started:
            yield started
