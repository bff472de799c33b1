"""The wheel and the sdist as users get them: built once from a copy of the checkout, installed where is no torch and no Node.

Nothing is downloaded: the fresh environment gets its dependencies as links into this one.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
NOT_COPIED = shutil.ignore_patterns(".git", ".venv", ".venvs", "node_modules", "build", "dist", "__pycache__", ".*_cache")
LAB_EXTENSION = "share/jupyter/labextensions/kbeval-jupyter"

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Distributions:
    """What a release uploads."""

    sdist: Path
    wheel: Path


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """An sdist from the checkout, and a wheel from that sdist, made where no Node is found."""
    run([sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--hooks-only"], cwd=ROOT)
    base = tmp_path_factory.mktemp("packaging")
    checkout, output, no_programs = base / "checkout", base / "dist", base / "empty"
    shutil.copytree(ROOT, checkout, ignore=NOT_COPIED)
    no_programs.mkdir()
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(output), str(checkout)]
    run(build, cwd=base, PATH=str(no_programs))
    return Distributions(next(output.glob("*.tar.gz")), next(output.glob("*.whl")))


@pytest.fixture(scope="module")
def environment(distributions: Distributions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel, its dependencies and JupyterLab, without torch."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    install = ["install", "--quiet", "--no-deps", "--no-index", str(distributions.wheel)]
    run([sys.executable, "-m", "pip", "--python", str(folder / "bin/python"), *install], cwd=folder)
    link_distributions(["kbeval-jupyter", "jupyterlab"], next(folder.glob("lib/python*/site-packages")))
    return folder


def link_distributions(names: list[str], site_packages: Path) -> None:
    """Make everything that these distributions need, but not ours, importable from another environment."""
    for name in requirements_of(names) - {"kbeval-jupyter"}:
        distribution = importlib.metadata.distribution(name)
        for entry in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            link = site_packages / entry
            if not link.exists():
                link.symlink_to(str(distribution.locate_file(entry)))


def requirements_of(names: list[str]) -> set[str]:
    """These distributions and what they need, directly or not, in this interpreter."""
    found: set[str] = set()
    waiting = [Requirement(name) for name in names]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found:
            continue
        found.add(name)
        lines = project_requirements() if name == "kbeval-jupyter" else importlib.metadata.requires(name)
        extras = [{"extra": extra} for extra in ("", *requirement.extras)]
        needed = map(Requirement, lines or [])
        waiting += [each for each in needed if each.marker is None or any(map(each.marker.evaluate, extras))]
    return found


def project_requirements() -> list[str]:
    """Ours, from the project file: the environment of the tests need not have the package installed."""
    return list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])


def run(command: list[str], cwd: Path, **variables: str) -> str:
    """Standard output and error of a command that must succeed."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_sdist_holds_the_built_front_end(distributions: Distributions) -> None:
    with tarfile.open(distributions.sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"kbeval_jupyter/widgets/static/view.js", "kbeval_jupyter/widgets/static/view.css"} <= names
    assert "kbeval_jupyter/labextension/package.json" in names
    assert "js/src/hosts/widget.ts" in names
    assert not [name for name in names if "node_modules" in name or name.startswith(("js/lib/", ".venv"))]


def test_wheel_holds_the_widget_and_the_lab_extension_once(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        names = archive.namelist()
        view = archive.read("kbeval_jupyter/widgets/static/view.js")
    assert len(view) < 300_000
    assert b"sourceMappingURL" not in view
    assert len([name for name in names if name.endswith(f"data/{LAB_EXTENSION}/package.json")]) == 1
    assert len([name for name in names if name.endswith(f"data/{LAB_EXTENSION}/install.json")]) == 1
    assert not [name for name in names if name.startswith(("kbeval_jupyter/labextension/", "tests/", "js/"))]


def test_lab_extension_is_enabled(environment: Path) -> None:
    listing = run([str(environment / "bin/python"), "-m", "jupyterlab.labextensions", "list"], cwd=environment)
    line = next(line for line in listing.splitlines() if "kbeval-jupyter" in line)
    assert "enabled" in line
    assert "OK" in line
    assert "(python, kbeval-jupyter)" in line
    installed = json.loads((environment / LAB_EXTENSION / "package.json").read_text())
    assert {"load", "extension", "mimeExtension"} <= set(installed["jupyterlab"]["_build"])


def test_command_and_magics_are_there_without_torch(environment: Path) -> None:
    python = str(environment / "bin/python")
    assert "kbeval run" in run([str(environment / "bin/kbeval"), "--help"], cwd=environment)
    program = (
        "import importlib.util, sys; assert importlib.util.find_spec('torch') is None;"
        "from IPython.core.interactiveshell import InteractiveShell as Shell; shell = Shell.instance();"
        "shell.run_line_magic('load_ext', 'kbeval_jupyter');"
        "print(sys.modules['kbeval_jupyter'].__file__, 'kernelbench' in shell.magics_manager.magics['cell'])"
    )
    where, found = run([python, "-c", program], cwd=environment).split()[-2:]
    assert Path(where).is_relative_to(environment)
    assert found == "True"
