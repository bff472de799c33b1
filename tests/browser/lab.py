"""A real JupyterLab for the tests: its own port, token, home and kernels, and nothing of the user's."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

START_LIMIT_S = 60.0

# What would talk to the network, move the page or change a file by itself.
SETTINGS: dict[str, dict[str, Any]] = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
    "@jupyterlab/completer-extension/manager": {"autoCompletion": False},
    "@jupyterlab/apputils-extension/themes": {"theme": "JupyterLab Light"},
}


@dataclass(frozen=True)
class KernelSpec:
    """A kernel the notebooks may name; ``packages`` is put before the environment's own (another ipykernel)."""

    name: str
    packages: Path | None = None

    def write(self, kernels_dir: Path) -> None:
        """Write its kernel.json below ``kernels_dir``."""
        folder = kernels_dir / self.name
        folder.mkdir(parents=True)
        spec = {
            "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
            "display_name": self.name,
            "language": "python",
            "env": {"PYTHONPATH": str(self.packages)} if self.packages else {},
        }
        (folder / "kernel.json").write_text(json.dumps(spec))


class JupyterLab:
    """A running JupyterLab with default limits. ``notebooks`` is its root folder, ``url`` carries no token."""

    def __init__(self, root: Path, kernels: list[KernelSpec]) -> None:
        self.notebooks = root / "notebooks"
        self.token = secrets.token_hex(16)
        self.log = root / "jupyterlab.log"
        self._root = root
        for kernel in kernels:
            kernel.write(root / "share/jupyter/kernels")
        for plugin, settings in SETTINGS.items():
            path = root / "settings" / f"{plugin}.jupyterlab-settings"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings))
        self.notebooks.mkdir()
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "HOME": str(self._root),
            "IPYTHONDIR": str(self._root / "ipython"),
            "JUPYTER_CONFIG_DIR": str(self._root / "config"),
            "JUPYTER_DATA_DIR": str(self._root / "share/jupyter"),
            "JUPYTER_RUNTIME_DIR": str(self._root / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._root / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._root / "workspaces"),
            "KBEVAL_SERVER_IDLE_S": "12",  # longer than a page takes to open
        }
        command = [
            sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--expose-app-in-browser",
            "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={self.port}", "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={self.token}", f"--ServerApp.root_dir={self.notebooks}",
        ]  # fmt: skip
        with self.log.open("wb") as log:
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + START_LIMIT_S
        while not self._answers():
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise RuntimeError(f"JupyterLab did not start:\n{self.log.read_text()}")
            time.sleep(0.1)  # a server that is starting gives no event to wait for
        return process

    def _answers(self) -> bool:
        try:
            return self.api("GET", "status").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def api(self, method: str, path: str) -> httpx.Response:
        """One call of the server's REST interface; ``path`` is below /api/."""
        return httpx.request(method, f"{self.url}/api/{path}", headers={"Authorization": f"token {self.token}"}, timeout=30)

    def shutdown_kernels(self) -> None:
        """End every kernel and session, so that the next test starts alone."""
        for session in self.api("GET", "sessions").json():
            self.api("DELETE", f"sessions/{session['id']}")
        for kernel in self.api("GET", "kernels").json():
            self.api("DELETE", f"kernels/{kernel['id']}")

    def stop(self) -> None:
        """End the server, and its kernels by its own orderly shutdown."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
