"""Attacks, tried for real from inside a worker: they must fail in a hardened one, and work in one with the layers left out."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kbeval_jupyter.runner.isolation import BASIC, LAYERS, capabilities, environment, landlock, paths, seccomp
from kbeval_jupyter.runner.supervision import families

from .nursery_process import ask, attempt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .conftest import Spawn

COLUMN = {"x86_64": 0, "aarch64": 1}[os.uname().machine]
NUMBERS = {name: numbers[COLUMN] for name, numbers in seccomp._REFUSED.items()}
OPEN = {name: "left out by the test" for name in LAYERS if name not in BASIC}

# A process of the same user that must not be touched: closed like the judge, with a secret in its memory and descriptors.
VICTIM = """
import ctypes, os, socket, sys
from kbeval_jupyter.runner.supervision import processes
processes.hide_memory()
secret = ctypes.create_string_buffer(b"the input secret")
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0kbeval-test-%d" % os.getpid())
abstract.listen()
print(ctypes.addressof(secret), flush=True)
sys.stdin.read()
"""

TOOLS = """
import ctypes, os, resource, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    value = libc.syscall(number, *(a if isinstance(a, (bytes, type(None))) else ctypes.c_long(a) for a in arguments))
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value
"""


class Scene(NamedTuple):
    """What the attacks are aimed at."""

    victim: int
    prelude: str
    run_dir: Path


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    run_dir = tmp_path_factory.mktemp("run")
    (run_dir / "reference").mkdir()
    (run_dir / "reference" / "reference.py").write_text("the reference")
    (run_dir / "events.jsonl").write_text("{}\n")
    listening = socket.create_server(("127.0.0.1", 0))
    by_path = socket.socket(socket.AF_UNIX)
    by_path.bind(str(run_dir / "server.sock"))
    by_path.listen()
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(str(run_dir / "log.sock"))
    victim = subprocess.Popen([sys.executable, "-c", VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    values = {
        "VICTIM": victim.pid,
        "ADDRESS": int(victim.stdout.readline()),
        "NR": NUMBERS,
        "RUN_DIR": str(run_dir),
        "HOME": pwd.getpwuid(os.getuid()).pw_dir,
        "PORT": listening.getsockname()[1],
        "SITE": str(Path(pytest.__file__).parent),
        "CPU": min(os.sched_getaffinity(0)),
    }
    prelude = TOOLS + "".join(f"{name} = {value!r}\n" for name, value in values.items())
    yield Scene(victim.pid, prelude, run_dir)
    assert families.state(victim.pid) == "S", "the victim was stopped or killed"
    victim.communicate()
    for sock in (listening, by_path, datagrams):
        sock.close()


class Attack(NamedTuple):
    """``code`` sets ``result`` to something true where it succeeds."""

    code: str
    anywhere: bool = True  # works without the layers for every user and in containers too: the control is run


ATTACKS = {
    # the judge's memory, descriptors, environment
    "read memory": Attack("f = open(f'/proc/{VICTIM}/mem', 'rb'); f.seek(ADDRESS); result = f.read(16).hex()", anywhere=False),
    "ptrace": Attack("result = call(NR['ptrace'], 0x4206, VICTIM, 0, 0) == 0", anywhere=False),
    "process_vm_readv": Attack(
        """
buffer = ctypes.create_string_buffer(16)
local = struct.pack("QQ", ctypes.addressof(buffer), 16)
result = call(NR["process_vm_readv"], VICTIM, local, 1, struct.pack("QQ", ADDRESS, 16), 1, 0)
""",
        anywhere=False,
    ),
    "take a descriptor": Attack("result = call(NR['pidfd_getfd'], os.pidfd_open(VICTIM), 1, 0) + 1", anywhere=False),
    "read environment": Attack("result = open(f'/proc/{VICTIM}/environ').read()", anywhere=False),
    "look at a descriptor": Attack("result = os.readlink(f'/proc/{VICTIM}/fd/1')", anywhere=False),
    "follow its root": Attack("result = os.listdir(f'/proc/{VICTIM}/root/')", anywhere=False),
    # files
    "read the reference": Attack("result = open(f'{RUN_DIR}/reference/reference.py').read()"),
    "read the events": Attack("result = open(f'{RUN_DIR}/events.jsonl').read()"),
    "forge an event": Attack("result = open(f'{RUN_DIR}/events.jsonl', 'a').write('forged')"),
    "replace the events": Attack(
        "open('x', 'w').close(); os.rename('x', f'{RUN_DIR}/events2'); result = os.path.exists(f'{RUN_DIR}/events2')"
    ),
    "list the run directory": Attack("result = os.listdir(RUN_DIR)"),
    "list the home": Attack("result = os.listdir(HOME) or 'empty'"),
    "infect site-packages": Attack(
        "open(f'{SITE}/kbeval_attack', 'w'); os.remove(f'{SITE}/kbeval_attack'); result = 1",
        anywhere=os.access(pytest.__file__, os.W_OK),
    ),
    "hard link to a secret": Attack("os.link(f'{RUN_DIR}/reference/reference.py', 'mine'); result = open('mine').read()"),
    "symbolic link to a secret": Attack("os.symlink(f'{RUN_DIR}/reference/reference.py', 's'); result = open('s').read()"),
    "fill /dev/shm": Attack("p = f'/dev/shm/kbeval-{os.getpid()}'; open(p, 'w'); os.remove(p); result = 1"),
    "read password hashes": Attack("result = open('/etc/shadow').read()", anywhere=False),
    "read the disk": Attack(
        "d = [e for e in os.listdir('/dev') if e.startswith(('vd', 'sd', 'nvme'))]; result = open(f'/dev/{d[0]}', 'rb').read(1)",
        anywhere=False,
    ),
    # signals and scheduling
    "look for it by signal": Attack("os.kill(VICTIM, 0); result = 1"),
    "stop it": Attack("os.kill(VICTIM, signal.SIGCONT); result = 1"),
    "signal its group": Attack("os.killpg(os.getpgid(VICTIM), 0); result = 1"),
    "signal through a pidfd": Attack("signal.pidfd_send_signal(os.pidfd_open(VICTIM), 0); result = 1"),
    "pin it": Attack("os.sched_setaffinity(VICTIM, os.sched_getaffinity(VICTIM)); result = 1"),
    "change its scheduling": Attack("os.sched_setscheduler(VICTIM, os.SCHED_OTHER, os.sched_param(0)); result = 1"),
    "lower its priority": Attack("os.setpriority(os.PRIO_PROCESS, VICTIM, os.getpriority(os.PRIO_PROCESS, VICTIM)); result = 1"),
    "lower all priorities": Attack("os.setpriority(os.PRIO_USER, 0, 0); result = 1", anywhere=False),
    "limit it": Attack(
        "resource.prlimit(VICTIM, resource.RLIMIT_CPU, resource.prlimit(VICTIM, resource.RLIMIT_CPU)); result = 1"
    ),
    # network and sockets
    "connect by TCP": Attack("socket.create_connection(('127.0.0.1', PORT)); result = 1"),
    "listen on TCP": Attack("socket.create_server(('127.0.0.1', 0)); result = 1"),
    "send by UDP": Attack("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)); result = 1"),
    "netlink": Attack("socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); result = 1"),
    "connect to the server": Attack("socket.socket(socket.AF_UNIX).connect(f'{RUN_DIR}/server.sock'); result = 1"),
    "connect to an abstract socket": Attack("socket.socket(socket.AF_UNIX).connect(f'\\0kbeval-test-{VICTIM}'); result = 1"),
    "datagram to a socket": Attack(
        "a, b = socket.socketpair(type=socket.SOCK_DGRAM); a.sendto(b'x', f'{RUN_DIR}/log.sock'); result = 1"
    ),
    # rarer corners of the kernel
    "io_uring": Attack("result = call(NR['io_uring_setup'], 4, bytes(120))", anywhere=False),
    "perf": Attack(
        "result = call(NR['perf_event_open'], struct.pack('II', 1, 128) + bytes(120), VICTIM, -1, -1, 0)", anywhere=False
    ),
    "userfaultfd": Attack("result = call(NR['userfaultfd'], 1)", anywhere=False),
    "bpf": Attack(
        "result = call(NR['bpf'], 0, struct.pack('IIIIIIII', 2, 4, 4, 1, 0, 0, 0, 0) + bytes(100), 72)", anywhere=False
    ),
    "keyrings": Attack("result = call(NR['keyctl'], 0, -3, 1)", anywhere=False),
    "user namespace": Attack("call(NR['unshare'], 0x10000000); result = 1", anywhere=False),
    "mount": Attack("call(NR['mount'], b'none', os.getcwd().encode(), b'tmpfs', 0, None); result = 1", anywhere=False),
    "leave the family": Attack("result = libc.prctl(36, 0, 0, 0, 0) == 0"),
    "become a sibling": Attack(
        f"result = call({seccomp._CLONE[COLUMN]}, 0x8011, 0, 0, 0, 0)\nif result == 0: os._exit(0)", anywhere=True
    ),
    "raise a limit": Attack("resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192)); result = 1", anywhere=False),
    "write kernel settings": Attack("open('/proc/sys/kernel/hostname', 'a').write('x'); result = 1", anywhere=False),
}


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("role", ["implementation", "reference"])
def test_attack_fails(spawn: Spawn, scene: Scene, name: str, role: str) -> None:
    reply = attempt(spawn(role=role, hardening="full"), scene.prelude + ATTACKS[name].code)
    assert not reply.get("result"), reply
    assert "error" not in reply or reply["error"].split(":")[0] in (
        "PermissionError",
        "OSError",
        "FileNotFoundError",
        "ValueError",
    ), reply


@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if attack.anywhere])
def test_attack_is_real(spawn: Spawn, scene: Scene, name: str) -> None:
    assert ask(spawn(left_out=OPEN), scene.prelude + ATTACKS[name].code)


def test_all_layers_are_active_and_named_in_order(spawn: Spawn) -> None:
    layers = spawn(hardening="full").layers
    assert [layer.name for layer in layers] == list(LAYERS)
    assert all(layer.active for layer in layers)
    assert [layer.reason for layer in spawn(hardening="auto").layers] == [layer.reason for layer in layers]


def test_basic_names_what_is_missing(spawn: Spawn) -> None:
    missing = {layer.name: layer.reason for layer in spawn(hardening="basic").layers if not layer.active}
    assert missing == dict.fromkeys(("capabilities", "landlock", "seccomp"), "only basic isolation was asked for")


def test_layer_left_out_is_left_out_alone(spawn: Spawn) -> None:
    worker = spawn(left_out={"seccomp": "the device did not start with it"})
    assert {layer.name: layer.reason for layer in worker.layers if not layer.active} == {
        "seccomp": "the device did not start with it"
    }


@pytest.mark.parametrize("hardening", ["basic", "full"])
def test_worker_inherits_only_output_and_its_socket(spawn: Spawn, hardening: str) -> None:
    worker = spawn(hardening=hardening)
    code = """
import os
result = {}
for number in os.listdir("/proc/self/fd"):
    if os.path.lexists(f"/proc/self/fd/{number}"):  # the listing's own is gone
        result[number] = os.readlink(f"/proc/self/fd/{number}")
"""
    descriptors = ask(worker, code)
    assert descriptors["0"] == "/dev/null"
    assert descriptors["1"] == descriptors["2"]
    assert descriptors["1"].startswith("pipe:")
    others = [target for number, target in descriptors.items() if number not in "012"]
    assert len(others) == 1
    assert others[0].startswith("socket:")


def test_no_power_is_left_and_none_comes_back(spawn: Spawn) -> None:
    code = """
import subprocess
result = {}
for line in subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True, check=True).stdout.splitlines():
    name, _, value = line.partition(":")
    result[name] = value.strip()
"""
    status = ask(spawn(hardening="full"), code)
    assert {int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")


def test_limits(spawn: Spawn) -> None:
    code = """
import resource
result = [resource.getrlimit(k)[0] for k in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)]
result.append(open("/proc/self/oom_score_adj").read().strip())
"""
    assert ask(spawn(hardening="basic"), code) == [0, 8 << 30, 4096, "1000"]


def test_only_a_reference_is_closed_to_others_of_its_user(spawn: Spawn) -> None:
    code = "import ctypes; result = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)"  # PR_GET_DUMPABLE
    assert ask(spawn(hardening="full"), code) == 1
    assert ask(spawn(role="reference", hardening="full"), code) == 0


def test_an_implementation_cannot_touch_another_worker(spawn: Spawn) -> None:
    other, attacker = spawn(role="reference", hardening="full"), spawn(hardening="full")
    for code in (f"open('/proc/{other.pid}/mem', 'rb')", f"os.kill({other.pid}, 0)", f"os.sched_setaffinity({other.pid}, [0])"):
        assert "PermissionError" in attempt(attacker, f"import os; {code}")["error"]


# The kernel sends a signal of one's choice to a process of one's choice when something can be read.
SIGNAL_ON_INPUT = """
import fcntl, os, signal, socket
a, b = socket.socketpair()
fcntl.fcntl(a, 10, signal.SIGTERM)  # F_SETSIG
fcntl.fcntl(a, fcntl.F_SETOWN, {pid})
fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
b.send(b"x")
"""


def test_no_signal_on_input_to_another_worker(spawn: Spawn) -> None:
    other = spawn()
    attempt(spawn(hardening="full"), SIGNAL_ON_INPUT.format(pid=other.pid))
    assert ask(other, "result = 'alive'") == "alive"
    ask(spawn(left_out=OPEN), SIGNAL_ON_INPUT.format(pid=other.pid))
    assert other.exit_reason(10.0) == "was killed by signal 15 (SIGTERM)"


def test_own_folders_and_given_paths_are_reachable(spawn: Spawn, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "weights").write_text("numbers")
    (tmp_path / "cache").mkdir()
    worker = spawn(hardening="full", read_paths=[str(tmp_path / "given")], write_paths=[str(tmp_path / "cache")])
    assert ask(worker, f"result = open('{tmp_path}/given/weights').read()") == "numbers"
    assert "PermissionError" in attempt(worker, f"open('{tmp_path}/given/weights', 'a')")["error"]
    code = f"import os; open('a', 'w').close(); os.rename('a', '{tmp_path}/cache/b'); result = os.listdir('{tmp_path}/cache')"
    assert ask(worker, code) == ["b"]


def test_python_goes_on_importing_and_children_can_be_ended(spawn: Spawn) -> None:
    code = """
import subprocess, sys, wave, threading
subprocess.run([sys.executable, "-c", "import torch.utils.cpp_extension"], check=True)
thread = threading.Thread(target=list); thread.start(); thread.join()
try:
    subprocess.run(["sleep", "60"], timeout=0.05)
except subprocess.TimeoutExpired:
    result = "ended"
"""
    assert ask(spawn(hardening="full"), code) == "ended"


def test_triton_interpreter_in_a_hardened_worker(spawn: Spawn) -> None:
    code = '''
import os, sys
open("doubling.py", "w").write("""
import triton, triton.language as tl
@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask=offsets < n), mask=offsets < n)
""")
sys.path.insert(0, os.getcwd())
import torch
from doubling import double
x, out = torch.randn(100), torch.empty(100)
double[(2,)](x, out, 100, BLOCK=64)
result = torch.equal(out, 2 * x)
'''
    assert ask(spawn(hardening="full", environment={"TRITON_INTERPRET": "1"}), code) is True


def test_cpp_extension_builds_in_a_hardened_worker(spawn: Spawn) -> None:
    code = '''
from torch.utils.cpp_extension import load_inline
# Without torch's own headers the build takes half a second instead of half a minute; the tools are the same.
source = """
#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "tiny"};
PyMODINIT_FUNC PyInit_tiny() { return PyModule_Create(&definition); }
"""
result = load_inline("tiny", [source], no_implicit_headers=True).__name__
'''
    assert ask(spawn(hardening="full"), code) == "tiny"


# --- parts that need no process -------------------------------------------------------------------------------------------


def test_environment_keeps_only_what_is_listed() -> None:
    inherited = {"PATH": "/usr/bin", "HF_TOKEN": "secret", "CUDA_HOME": "/usr/local/cuda", "HOME": "/home/me"}
    variables = environment.build({"TORCH_EXTENSIONS_DIR": "/cache"}, inherited, "/private")
    assert variables["PATH"] == f"{Path(sys.executable).parent}:/usr/bin"
    assert variables["CUDA_HOME"] == "/usr/local/cuda"
    assert (variables["HOME"], variables["TMPDIR"], variables["TORCH_EXTENSIONS_DIR"]) == ("/private", "/private", "/cache")
    assert "HF_TOKEN" not in variables


def test_home_is_not_readable_but_packages_in_it_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    packages = home / ".local" / "lib" / "site-packages"
    packages.mkdir(parents=True)
    (home / "run").mkdir()
    monkeypatch.setattr(paths, "_real_home", lambda: str(home))
    monkeypatch.setattr(sys, "path", [str(packages), str(home), str(tmp_path), ""])
    readable = paths.readable(["/given"], str(home / "run" / "worker"))
    assert str(packages) in readable
    assert readable[-1] == "/given"
    assert not {str(home), str(tmp_path), "/"} & set(readable)


def test_a_folder_around_something_protected_loses_the_way_to_it(tmp_path: Path) -> None:
    for name in ("homes/me", "homes/you", "lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "link").symlink_to("homes/me")
    assert paths._without(str(tmp_path), str(tmp_path / "homes" / "me")) == [str(tmp_path / "lib")]


def test_mps_folder_opens_connect_and_is_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spawn: Spawn, scene: Scene
) -> None:
    worker = spawn(hardening="full", environment={"CUDA_MPS_PIPE_DIRECTORY": str(tmp_path)})
    assert {layer.name: layer.reason for layer in worker.layers}["seccomp"] == "connect stays allowed, for CUDA's MPS"
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(tmp_path / "control"))
        daemon.listen()
        ask(worker, f"import socket; socket.socket(socket.AF_UNIX).connect('{tmp_path}/control')")


def test_filter_jumps_stay_inside_for_both_architectures() -> None:
    for column, architecture in seccomp._ARCHITECTURES.values():
        for scoped in (True, False):
            program = seccomp.build(column, architecture, 1234, scoped, allow_connect=False)
            for place, (code, if_true, if_false, _) in enumerate(program):
                is_jump = code & 0x07 == 0x05
                assert not is_jump or place + 1 + max(if_true, if_false) < len(program)
            assert program[-1][0] == seccomp._RETURN


def test_signals_are_held_by_seccomp_where_landlock_cannot(spawn: Spawn, scene: Scene) -> None:
    worker = spawn(left_out={"landlock": "an old kernel"})
    for name in ("look for it by signal", "signal its group", "signal through a pidfd"):
        assert "PermissionError" in attempt(worker, scene.prelude + ATTACKS[name].code)["error"]
    assert "PermissionError" in attempt(worker, SIGNAL_ON_INPUT.format(pid=scene.victim))["error"]
    assert ask(worker, "import os, signal; os.kill(os.getpid(), 0); signal.raise_signal(signal.SIGCONT); result = 1") == 1


def test_capabilities_keep_reading_where_python_lies_in_a_closed_folder(tmp_path: Path) -> None:
    if os.getuid() != 0:
        assert capabilities.apply.__doc__  # only root can lose what opens other users' folders
        return
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    (closed / "os.py").write_text("")
    os.chown(closed, 12345, 12345)
    code = """
import sys
from kbeval_jupyter.runner.isolation import capabilities
print(capabilities.apply(sys.argv[1]))
open(sys.argv[1]).close()
"""
    done = subprocess.run([sys.executable, "-c", code, str(closed / "os.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("CAP_DAC_READ_SEARCH was kept")


def test_landlock_says_why_it_is_missing() -> None:
    code = """
from kbeval_jupyter.runner.isolation import landlock, layer
landlock._CREATE_RULESET = 9999
try:
    landlock.apply([], [], [])
except layer.LayerError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "the kernel has no Landlock (Function not implemented)\n"
    assert landlock.ABI_WITH_SIGNAL_SCOPE == 6
