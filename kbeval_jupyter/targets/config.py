"""Which targets are configured: ``kbeval.toml`` beside the notebook or above it, then the user's own."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kbeval_jupyter.errors import ConfigurationError, unknown_name
from kbeval_jupyter.model.codec import DecodeError, decode

from .local import LocalSettings
from .registry import KINDS, TargetSettings

FILE_NAME = "kbeval.toml"
TOP_LEVEL_KEYS = ("default", "targets")
LOCAL = "local"


@dataclass(frozen=True)
class Configuration:
    """All targets by name, where each was configured, and the default."""

    targets: dict[str, TargetSettings] = field(default_factory=dict)
    origins: dict[str, Path | None] = field(default_factory=dict)  # None: built in
    default: str | None = LOCAL

    def resolve(self, name: str | None) -> TargetSettings:
        """The target of this name, or the default; raises ConfigurationError with the valid names."""
        if name is None and self.default is None:
            raise ConfigurationError(
                f"no target was named and no default is set; valid: {', '.join(sorted(self.targets))}",
                f'give --target NAME, or write default = "NAME" at the top of {FILE_NAME}',
            )
        wanted = name or self.default or LOCAL
        if wanted not in self.targets:
            raise ConfigurationError(unknown_name("target", wanted, self.targets), f"targets are configured in {FILE_NAME}")
        return self.targets[wanted]


def load_configuration(directory: Path | None = None) -> Configuration:
    """Read the files that apply to a directory (the working directory); the nearer one wins; raises ConfigurationError."""
    targets: dict[str, TargetSettings] = {LOCAL: LocalSettings(LOCAL)}
    origins: dict[str, Path | None] = {LOCAL: None}
    files = configuration_files(directory or Path.cwd())
    default = None
    for path in reversed(files):
        data = _read(path)
        default = data.get("default", default)
        for name, settings in _targets(path, data).items():
            targets[name] = settings
            origins[name] = path
    if default is not None and default not in targets:
        raise ConfigurationError(f"{files[0]}: default: {unknown_name('target', str(default), targets)}")
    if default is None and len(targets) == 1:
        default = LOCAL
    return Configuration(targets, origins, default)


def configuration_files(directory: Path) -> list[Path]:
    """The files that exist, the nearest first."""
    import platformdirs

    folders = (directory.absolute(), *directory.absolute().parents)
    beside = next((folder / FILE_NAME for folder in folders if (folder / FILE_NAME).is_file()), None)
    own = platformdirs.user_config_path("kbeval") / FILE_NAME
    return [path for path in dict.fromkeys((beside, own)) if path is not None and path.is_file()]


def _read(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(f"cannot read {path}: {error}") from error
    for key in data:
        if key not in TOP_LEVEL_KEYS:
            raise ConfigurationError(f"{path}: {unknown_name('key', key, TOP_LEVEL_KEYS)}")
    if not isinstance(data.get("default", ""), str):
        raise ConfigurationError(f"{path}: default must be a target's name, got {data['default']!r}")
    return data


def _targets(path: Path, data: dict[str, Any]) -> dict[str, TargetSettings]:
    tables = data.get("targets", {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise ConfigurationError(f"{path}: targets are tables, such as [targets.mine]")
    return {name: _settings(f"{path}, [targets.{name}]", name, table) for name, table in tables.items()}


def _settings(where: str, name: str, table: dict[str, Any]) -> TargetSettings:
    if "kind" not in table:
        raise ConfigurationError(f"{where}: kind is missing; valid: {', '.join(sorted(KINDS))}")
    kind = KINDS.get(str(table["kind"]))
    if kind is None:
        raise ConfigurationError(f"{where}: {unknown_name('kind', str(table['kind']), KINDS)}")
    valid = [f.name for f in dataclasses.fields(kind) if f.name != "name"]  # type: ignore[arg-type]  # a Protocol of dataclasses
    for key in table:
        if key not in ("kind", *valid):
            raise ConfigurationError(f"{where}: {unknown_name('key', key, ['kind', *valid])}")
    try:
        return decode(kind, {**table, "name": name})
    except DecodeError as error:
        raise ConfigurationError(f"{where}: {error}") from error
