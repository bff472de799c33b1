"""The guards of conftest.py do fire: in CI a skipped test fails the session, and so does a process left behind."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MARKERS = "[pytest]\nmarkers =\n    gpu: g\n    live: l\n"
SKIPPED = "import pytest\ndef test_right(): pass\n@pytest.mark.skip\ndef test_skipped(): pass\n"
MODULE = "import pytest\npytest.importorskip('no_such_module')\n"
ALLOWED = "import pytest\ndef test_right(): pass\n@pytest.mark.live\ndef test_live(): assert False\n"
EXPECTED = "import pytest\n@pytest.mark.xfail(strict=True)\ndef test_known(): assert False\n"
LEFT_BEHIND = (
    "import subprocess\ndef test_leaves(tmp_path):\n"
    "    subprocess.Popen(['sleep', '60'], start_new_session=True).returncode = 0\n"  # 0: it will not warn when it is collected
)


def run(folder: Path, text: str, ci: str, **constants: str) -> subprocess.CompletedProcess[str]:
    conftest = Path(__file__).with_name("conftest.py").read_text()
    for name, value in constants.items():
        conftest = conftest.replace(f"{name} = 20.0", f"{name} = {value}")
    (folder / "conftest.py").write_text(conftest)
    (folder / "pytest.ini").write_text(MARKERS)
    (folder / "test_it.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    environment = {"PATH": str(Path(sys.executable).parent), "CI": ci}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize(("text", "offender"), [(SKIPPED, "test_skipped"), (MODULE, "test_it.py")])
def test_a_skipped_test_fails_the_session_in_ci_only(tmp_path: Path, text: str, offender: str) -> None:
    in_ci = run(tmp_path, text, ci="1")
    assert in_ci.returncode == 1
    assert "skipped in CI: " in in_ci.stdout
    assert offender in in_ci.stdout.split("skipped in CI: ")[1]
    assert run(tmp_path, text + "\ndef test_other(): pass\n", ci="").returncode in {0, 5}


@pytest.mark.parametrize("text", [ALLOWED, EXPECTED])
def test_what_may_be_skipped_does_not_fail_the_session(tmp_path: Path, text: str) -> None:
    result = run(tmp_path, text, ci="1")
    assert result.returncode == 0, result.stdout


def test_a_process_left_behind_fails_the_session(tmp_path: Path) -> None:
    assert shutil.which("sleep")
    result = run(tmp_path, LEFT_BEHIND.replace("'sleep'", repr(shutil.which("sleep"))), ci="", LEAVE_LIMIT_S="0.2")
    assert result.returncode == 1, result.stdout
    left = result.stdout.split("process left behind: ")[1].splitlines()[0]
    pid, command = left.split(": ", 1)
    assert command.split() == [shutil.which("sleep"), "60"]
    subprocess.run(["kill", pid], check=True)
