"""Where the warm server is and how it is started. Imported by the link: standard library, quick."""

from __future__ import annotations

import hashlib
import json
import os
import sys

from ..identity import RUNNER
from .inherited import INHERITED
from .user_folder import socket_path

TYPE_CHECKING = False  # see main.py
if TYPE_CHECKING:
    from typing import Any

# Beyond what workers may see: where the server itself keeps its things.
_PASSED_ON = (*INHERITED, "HOME", "SHELL", "TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "KBEVAL_SERVER_IDLE_S")

_LOG_TAIL_BYTES = 4000

_SET = {
    "OMP_WAIT_POLICY": "PASSIVE",  # judge and worker would spin against each other: ten times slower
    "PYTHONUNBUFFERED": "1",  # unbuffers C's stdout too
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # torch.cuda.is_available() must not start the driver before the fork
}


def server_environment() -> dict[str, str]:
    """The environment of the server."""
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment.setdefault("HOME", os.path.expanduser("~"))
    environment.setdefault("LANG", "C.UTF-8")
    # The interpreter's own folder first: ninja and compilers of a virtual environment are not on everyone's PATH.
    environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    environment.update(_SET)
    return environment


def server_socket() -> str:
    """The path of the server's socket: one per runner, interpreter and environment."""
    parts = [RUNNER, program(), sys.executable, *(f"{k}={v}" for k, v in sorted(server_environment().items()))]
    return socket_path(hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16] + ".sock")


def program() -> str:
    """The file that was started: the archive."""
    return os.path.abspath(sys.argv[0])


class StartingServer:
    """A server that was just started, detached; ``fd`` is readable when it has said how that went."""

    def __init__(self, path: str) -> None:
        import subprocess

        self.waiting: list[str] = []  # evaluations that need it
        self._path = path
        self._answer = b""
        self.fd, told = os.pipe()
        try:
            with open(self._log_path(), "wb") as log:
                subprocess.Popen(
                    [sys.executable, program(), "serve", path, str(told)],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd="/",
                    env=server_environment(),
                    pass_fds=[told],
                    start_new_session=True,
                )
        except OSError:
            os.close(self.fd)
            raise
        finally:
            os.close(told)

    def outcome(self) -> dict[str, Any] | None:
        """What it said: {"ready": true} or {"error": {kind, message, hint}}; None where more is to come."""
        data = os.read(self.fd, 1 << 16)
        self._answer += data
        if data and not self._answer.endswith(b"\n"):
            return None
        os.close(self.fd)
        if data:
            outcome: dict[str, Any] = json.loads(self._answer)
            return outcome
        with open(self._log_path(), "rb") as log:
            tail = log.read()[-_LOG_TAIL_BYTES:].decode("utf-8", "replace").strip()
        return {
            "error": {"kind": "server_failed", "message": f"the server of {sys.executable} ended while it started", "hint": tail}
        }

    def _log_path(self) -> str:
        return self._path + ".log"
