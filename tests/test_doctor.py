import sys
from pathlib import Path

import pytest

from kbeval_jupyter import doctor
from kbeval_jupyter.cli import main


def by_name(findings: list[doctor.Finding]) -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in findings}


@pytest.fixture
def small_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A torch that is imported quickly: what the doctor asks of it, and no GPU."""
    (tmp_path / "torch.py").write_text(
        "from types import SimpleNamespace as N\n__version__ = '2.9'\nversion = N(cuda='12.8', hip=None)\n"
        "cuda = N(device_count=lambda: 0)\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return tmp_path


def test_this_machine() -> None:
    findings = doctor.examine()
    found = by_name(findings)
    assert set(found) == {"python", "torch", "GPU", "triton", "ninja", "C++", "nvcc", "hipcc", "landlock", "seccomp"}
    assert doctor.can_evaluate(findings)
    assert sys.executable in found["python"].detail


def test_a_broken_torch_is_named_with_the_command_that_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise OSError('libtorch.so is damaged')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    findings = doctor.examine()
    torch = by_name(findings)["torch"]
    assert torch.status == "missing"
    assert "libtorch.so is damaged" in torch.detail
    assert torch.fix == f"{sys.executable} -m pip install 'kbeval-jupyter[local]'"
    assert not doctor.can_evaluate(findings)
    assert torch.fix in doctor.render(findings)


def test_a_torch_that_kills_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("import os\nos.abort()")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "ended the process with status -6" in by_name(doctor.examine())["torch"].detail


def test_what_is_not_on_the_path(small_torch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(small_torch))
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    found = by_name(doctor.examine())
    assert found["torch"].detail == "2.9, built for CUDA 12.8"
    assert found["C++"].status == found["nvcc"].status == "missing"
    assert found["hipcc"].status == "note"
    (small_torch / "apt-get").touch(mode=0o755)
    found = by_name(doctor.examine())
    assert found["C++"].fix == "sudo apt-get install -y build-essential"
    assert found["nvcc"].fix == "sudo apt-get install -y nvidia-cuda-toolkit"


@pytest.mark.usefixtures("small_torch")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "ok  torch     2.9, built for CUDA 12.8" in capsys.readouterr().out
