"""What holds for every test: nothing of the user's is read, nothing of ours is left behind, and in CI nothing is skipped."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

MAY_BE_SKIPPED = {"gpu", "live"}
LEAVE_LIMIT_S = 20.0
SERVER_IDLE_S = "3"  # a server leaves by itself after so long, here soon

# Every process that a test starts inherits this path in its environment, which is how leftovers are found.
# It is short because a unix socket's path may have 107 characters.
SESSION_HOME = Path(tempfile.mkdtemp(prefix="kbt-"))
HOMES = {
    "HOME": "home",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
    "XDG_RUNTIME_DIR": "run",
    "IPYTHONDIR": "home/.ipython",
    "JUPYTER_CONFIG_DIR": "home/.jupyter",
}


class SessionGuard:
    """Fails the session when a process of ours stays, or when CI skipped a test that has no right to be skipped."""

    def __init__(self) -> None:
        self.offenders: list[str] = []

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A module that skips itself."""
        if report.skipped:
            self.offenders.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that was skipped; an expected failure is none."""
        if report.skipped and not hasattr(report, "wasxfail") and not MAY_BE_SKIPPED & set(report.keywords):
            self.offenders.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Say what was wrong, and make the session fail."""
        if background := sys.modules.get("kbeval_jupyter.background"):
            background._stop()  # as at the interpreter's end: connections of this very process are no leftovers
        deadline = time.monotonic() + LEAVE_LIMIT_S
        while (left := processes_of_this_session()) and time.monotonic() < deadline:
            time.sleep(0.1)  # the processes are not our children: there is nothing to wait on
        complaints = [f"process left behind: {process}" for process in left]
        if os.environ.get("CI"):
            complaints += [f"skipped in CI: {test}" for test in self.offenders]
        for complaint in complaints:
            print(complaint)
        if complaints:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        shutil.rmtree(SESSION_HOME, ignore_errors=True)


def pytest_configure(config: pytest.Config) -> None:
    """Give the session a home of its own before any test module is imported."""
    for variable, folder in HOMES.items():
        (SESSION_HOME / folder).mkdir(parents=True, exist_ok=True, mode=0o700)
        os.environ[variable] = str(SESSION_HOME / folder)
    os.environ["KBEVAL_SERVER_IDLE_S"] = SERVER_IDLE_S
    config.pluginmanager.register(SessionGuard())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what needs a GPU or a vendor's service where there is none."""
    missing = {}
    if not any(Path(node).exists() for node in ("/dev/nvidiactl", "/dev/kfd")):
        missing["gpu"] = pytest.mark.skip(reason="no GPU on this machine")
    if not os.environ.get("KBEVAL_LIVE"):
        missing["live"] = pytest.mark.skip(reason="KBEVAL_LIVE is not set")
    for item in items:
        for name in missing.keys() & set(item.keywords):
            item.add_marker(missing[name])


def processes_of_this_session() -> list[str]:
    """Pid and command of every living process that was started by a test."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int(process.name) == os.getpid() or (process / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
                continue
            if str(SESSION_HOME).encode() in (process / "environ").read_bytes():
                command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(f"{process.name}: {command}")
        except OSError:  # gone meanwhile, or another user's
            continue
    return found
