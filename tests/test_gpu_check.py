"""``make gpu-check`` where there is no GPU: what it checks can be collected, and holds for the CPU where that makes sense."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "pytest", "-c", "tests/gpu/runner_alone.ini", "-rs", "tests/gpu"]


def run(*arguments: str, **variables: str) -> str:
    environment = {**os.environ, **variables, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run([*COMMAND, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_without_a_gpu_it_says_why_nothing_is_checked() -> None:
    said = run(CUDA_VISIBLE_DEVICES="")
    assert "finds no GPU here; KBEVAL_GPU_CHECK=cpu checks on the CPU what can be" in said
    assert "18 skipped" in said


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_checks_hold_for_the_cpu() -> None:
    said = run(KBEVAL_GPU_CHECK="cpu")
    assert "14 passed, 4 skipped" in said
    assert said.count("only a GPU has this") == 4


def test_make_runs_them_with_the_interpreter_that_is_named() -> None:
    words = ["make", "--no-print-directory", "--dry-run", "gpu-check", "PYTHON=/some/python"]
    planned = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert planned.split() == ["/some/python", "\\", *COMMAND[1:]]
