from pathlib import Path

import platformdirs
import pytest

from kbeval_jupyter.errors import ConfigurationError
from kbeval_jupyter.model.capabilities import Capabilities
from kbeval_jupyter.targets.config import FILE_NAME, load_configuration
from kbeval_jupyter.targets.local import LocalSettings


def configure(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE_NAME).write_text(text)
    return folder


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return platformdirs.user_config_path("kbeval")


def test_without_any_file_there_is_local(tmp_path: Path) -> None:
    configuration = load_configuration(tmp_path)
    assert configuration.resolve(None) == LocalSettings("local")
    assert configuration.origins == {"local": None}


def test_a_file_above_the_notebook_is_found(tmp_path: Path) -> None:
    configure(tmp_path, 'default = "mine"\n[targets.mine]\nkind = "local"\nvendor = "cpu"\ngpu_ids = [0, 1]\nisolation = "basic"')
    (tmp_path / "a" / "b").mkdir(parents=True)
    settings = load_configuration(tmp_path / "a" / "b").resolve(None)
    assert settings == LocalSettings("mine", "cpu", (0, 1), isolation="basic")
    assert settings.capabilities() == Capabilities("cpu", (0, 1), "basic")


def test_the_nearer_file_wins(tmp_path: Path, own_folder: Path) -> None:
    configure(own_folder, 'default = "b"\n[targets.a]\nkind = "local"\n[targets.b]\nkind = "local"')
    configure(tmp_path / "project", 'default = "a"\n[targets.a]\nkind = "local"\nvendor = "cpu"')
    configuration = load_configuration(tmp_path / "project")
    assert configuration.resolve(None) == LocalSettings("a", "cpu")
    assert configuration.resolve("b") == LocalSettings("b")
    assert configuration.origins["a"] == tmp_path / "project" / FILE_NAME
    assert configuration.origins["b"] == own_folder / FILE_NAME


def test_local_can_be_configured_under_its_own_name(tmp_path: Path) -> None:
    configure(tmp_path, '[targets.local]\nkind = "local"\nvendor = "cpu"')
    assert load_configuration(tmp_path).resolve(None) == LocalSettings("local", "cpu")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("default = ", r"cannot read .*kbeval\.toml"),
        ('defualt = "x"', r"unknown key 'defualt' \(did you mean 'default'\?\); valid: default, targets"),
        ("default = 3", "default must be a target's name, got 3"),
        ('default = "locale"', r"default: unknown target 'locale' \(did you mean 'local'\?\)"),
        ("targets = 3", "targets are tables"),
        ("[targets.a]\nvendor = 'cpu'", r"\[targets\.a\]: kind is missing; valid: local"),
        ('[targets.a]\nkind = "locl"', r"\[targets\.a\]: unknown kind 'locl' \(did you mean 'local'\?\); valid: local"),
        ('[targets.a]\nkind = "local"\nvendr = "cpu"',
         r"\[targets\.a\]: unknown key 'vendr' \(did you mean 'vendor'\?\); valid: gpu_ids, isolation, kind, python, vendor"),
        ('[targets.a]\nkind = "local"\nname = "b"', "unknown key 'name'"),
        ('[targets.a]\nkind = "local"\nvendor = "intel"', "vendor: expected one of auto, nvidia, amd, cpu, got 'intel'"),
        ('[targets.a]\nkind = "local"\ngpu_ids = ["0"]', r"gpu_ids\[0\]: expected int, got '0'"),
    ],
)  # fmt: skip
def test_a_wrong_file_says_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    configure(tmp_path, text)
    with pytest.raises(ConfigurationError, match=message):
        load_configuration(tmp_path)


def test_targets_without_a_default_must_be_named(tmp_path: Path) -> None:
    configure(tmp_path, '[targets.a]\nkind = "local"')
    with pytest.raises(ConfigurationError, match="no target was named and no default is set; valid: a, local"):
        load_configuration(tmp_path).resolve(None)


def test_unknown_target_names_the_valid_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"unknown target 'locale' \(did you mean 'local'\?\); valid: local"):
        load_configuration(tmp_path).resolve("locale")
