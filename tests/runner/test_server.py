"""The warm server: one per environment, clean, replaced when dead, gone when idle."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from .link_client import LinkClient, make_plan, text_of

numbers = itertools.count()
ABOUT = """
import os
server = int(open("/proc/%d/stat" % os.getppid()).read().rpartition(")")[2].split()[1])
print(server)
"""
PASS = "\nchannel.emit(wire.Finished('passed', ''))"


def own_server() -> dict[str, str]:
    """An environment that no other test's server has."""
    return {"LC_CTYPE": f"C.UTF-8@{os.getpid()}-{next(numbers)}"}


def server_of(link: LinkClient, tmp_path: Path) -> int:
    plan = make_plan(f"who{next(numbers)}", ABOUT + PASS, tmp_path)
    link.run(plan)
    return int(text_of(link.events(plan.id)))


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def sockets() -> set[Path]:
    return set((Path(os.environ["XDG_RUNTIME_DIR"]) / "kbeval").glob("*.sock"))


def test_evaluations_and_links_share_one_server(tmp_path: Path) -> None:
    env = own_server()
    with LinkClient(env) as first, LinkClient(env) as second:
        servers = {server_of(link, tmp_path) for link in (first, second, first)}
    assert len(servers) == 1


def test_two_links_that_start_at_once_share_one_server(tmp_path: Path) -> None:
    env = own_server()
    with LinkClient(env) as first, LinkClient(env) as second:
        plans = [make_plan(f"at-once{i}", ABOUT + PASS, tmp_path) for i in range(2)]
        first.run(plans[0])
        second.run(plans[1])
        assert text_of(first.events("at-once0")) == text_of(second.events("at-once1"))


def test_a_killed_server_is_replaced(tmp_path: Path) -> None:
    before = sockets()
    with LinkClient(own_server()) as link:
        server = server_of(link, tmp_path)
        (path,) = sockets() - before
        os.kill(server, signal.SIGKILL)
        while listens(path):  # its standby notices, and leaves
            pass
        replacement = server_of(link, tmp_path)
    assert replacement != server


def test_an_evaluation_survives_its_server(tmp_path: Path) -> None:
    with LinkClient(own_server()) as link:
        judge = ABOUT + "import os\nwhile not os.path.exists(run_dir + '/artifacts/go'): pass" + PASS
        link.run(make_plan("survivor", judge, tmp_path))
        run_dir = Path(link.until("accepted")["run_dir"])
        os.kill(int(link.log_until("\n")), signal.SIGKILL)
        (run_dir / "artifacts" / "go").touch()
        assert link.events("survivor")[-1]["verdict"] == "passed"


def test_an_idle_server_leaves_and_takes_its_socket(tmp_path: Path) -> None:
    before = sockets()
    with LinkClient({**own_server(), "KBEVAL_SERVER_IDLE_S": "0.2"}) as link:
        server = server_of(link, tmp_path)
        deadline = time.monotonic() + 10
        while Path(f"/proc/{server}").exists() or sockets() - before:
            assert time.monotonic() < deadline
        assert server_of(link, tmp_path) != server


def test_its_environment_is_clean_and_says_what_torch_needs(tmp_path: Path) -> None:
    env = own_server() | {"SECRET_TOKEN": "hunter2", "CUDA_HOME": "/opt/cuda"}
    judge = "import json, os; print(json.dumps(dict(os.environ)))" + PASS
    with LinkClient(env) as link:
        link.run(make_plan("environment", judge, tmp_path))
        seen = json.loads(text_of(link.events("environment")))
    assert "SECRET_TOKEN" not in seen
    assert seen["CUDA_HOME"] == "/opt/cuda"
    assert (seen["OMP_WAIT_POLICY"], seen["PYTHONUNBUFFERED"], seen["PYTORCH_NVML_BASED_CUDA_CHECK"]) == ("PASSIVE", "1", "1")
    assert seen["PATH"].split(":")[0] == str(Path(sys.executable).parent)


def test_its_socket_is_for_its_user_alone(tmp_path: Path) -> None:
    with LinkClient(own_server()) as link:
        before = sockets()
        server_of(link, tmp_path)
        (path,) = sockets() - before
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_worker_cannot_start_an_evaluation(tmp_path: Path) -> None:
    before = sockets()
    with LinkClient(own_server()) as link:
        server_of(link, tmp_path)
        (path,) = sockets() - before
        judge = f"""
import socket
s = socket.socket(socket.AF_UNIX)
s.settimeout(5)
s.connect({str(path)!r})
print("refused" if s.recv(1) == b"" else "served")
"""
        link.run(make_plan("inside", judge + PASS, tmp_path))
        assert text_of(link.events("inside")) == "refused\n"


def test_the_judges_memory_is_closed_to_others(tmp_path: Path) -> None:
    judge = "import ctypes\nPR_GET_DUMPABLE = 3\nprint(ctypes.CDLL(None).prctl(PR_GET_DUMPABLE, 0, 0, 0, 0))"
    with LinkClient(own_server()) as link:
        link.run(make_plan("dumpable", judge + PASS, tmp_path))
        assert text_of(link.events("dumpable")) == "0\n"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (None, "no_torch"),
        ("raise OSError('libcudart.so.13: cannot open shared object file')", "broken_torch"),
        ("import no_such_module_of_torch", "broken_torch"),
        ("x = 1", "broken_torch"),
        ("import os; os._exit(1)", "server_failed"),
        ("import os; os.abort()", "server_failed"),
    ],
)
def test_no_torch_and_broken_torch_are_told(tmp_path: Path, content: Any, kind: Any) -> None:
    (tmp_path / "torch").mkdir()
    init = "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')" if content is None else content
    (tmp_path / "torch" / "__init__.py").write_text(init)
    (tmp_path / "torch" / "nn").mkdir()
    (tmp_path / "torch" / "nn" / "__init__.py").touch()
    (tmp_path / "torch" / "nn" / "functional.py").touch()
    with LinkClient({"PYTHONPATH": str(tmp_path)}) as link:
        link.run(make_plan("t1", PASS, tmp_path))
        error = link.until("failed", "t1")["error"]
        assert error["kind"] == kind
        assert error["message"]
        if content and "libcudart" in content:
            assert "libcudart" in error["message"]
            assert "Traceback" in error["hint"]
        if content is None:
            assert "-m pip install torch" in error["hint"]
        link.run(make_plan("t2", PASS, tmp_path))  # the link lives on and tries again
        assert link.until("failed", "t2")["error"]["kind"] == kind


def test_cancel_while_the_server_starts(tmp_path: Path) -> None:
    with LinkClient(own_server()) as link:
        link.run(make_plan("early", PASS, tmp_path))
        link.send(op="cancel", id="early")
        assert link.events("early")[-1]["verdict"] == "cancelled"
        assert server_of(link, tmp_path)


def test_a_folder_that_others_can_write_is_refused(tmp_path: Path) -> None:
    runtime = tmp_path / "runtime"
    (runtime / "kbeval").mkdir(parents=True, mode=0o700)
    (runtime / "kbeval").chmod(0o777)
    with LinkClient({"XDG_RUNTIME_DIR": str(runtime)}) as link:
        link.run(make_plan("unsafe", PASS, tmp_path))
        error = link.until("failed", "unsafe")["error"]
        assert "must belong to user" in error["message"]
        assert "mode 0777" in error["message"]


def test_a_burst_of_evaluations_is_served(tmp_path: Path) -> None:
    with LinkClient(own_server()) as link:
        plans = [make_plan(f"burst{i}", f"print({i})" + PASS, tmp_path) for i in range(12)]
        for plan in plans:
            link.run(plan)
        texts: dict[str, str] = {}
        open_ids = {plan.id for plan in plans}
        while open_ids:
            name, message = link.line()
            assert message["kind"] != "failed", message
            if message["kind"] == "log":
                texts[name] = texts.get(name, "") + message["text"]
            if message["kind"] == "finished":
                open_ids.remove(name)
        assert texts == {f"burst{i}": f"{i}\n" for i in range(12)}
