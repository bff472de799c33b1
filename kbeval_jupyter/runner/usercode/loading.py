"""Importing the user's modules from their real files, and taking the asked name out of them."""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
from typing import Any

from .failures import UserCodeError

_loaded: set[str] = set()


def load_module(folder: str, path: str, names: dict[str, Any] | None = None) -> Any:
    """The module in ``folder``/``path``, imported once per process under a name of its own; ``names`` are in it before.

    A real file, because Triton and ``inspect`` read sources. Its folder comes first on ``sys.path`` while it is imported and
    last afterwards, so that helper modules beside it are found, also by imports inside functions, without shadowing ours.
    """
    file = os.path.join(folder, path)
    if file in _loaded:  # a second TORCH_LIBRARY with the same namespace aborts the process
        raise RuntimeError(f"{path} is already imported in this process")
    _loaded.add(file)
    stem = os.path.splitext(path)[0].replace(os.sep, "_").replace("-", "_")
    name = f"kbeval_user_{stem}_{len(_loaded)}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UserCodeError(f"{path} is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(names or {})
    sys.modules[name] = module  # dataclasses, pickle and Triton look it up there
    home = os.path.dirname(file)
    sys.path.insert(0, home)
    try:
        spec.loader.exec_module(module)
    finally:
        if home in sys.path:
            sys.path.remove(home)
        sys.path.append(home)
    return module


def public_names(module: Any, kind: type = object) -> str:
    """The classes and functions that a module defines or imports by name, as text for a message."""
    found = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (inspect.isclass(value) or inspect.isfunction(value)) and isinstance(value, kind)
    ]
    own = [name for name in found if getattr(getattr(module, name), "__module__", "") == module.__name__]
    return ", ".join((own or found)[:12]) or "no class or function"


def take(module: Any, name: str, path: str) -> Any:
    """The callable ``name`` of a module; raises UserCodeError that says what is there instead."""
    value = getattr(module, name, None)
    if value is None:
        raise UserCodeError(f"{path}: no {name}; found {public_names(module)}")
    if not callable(value):
        raise UserCodeError(f"{path}: {name} is a {type(value).__name__}, not a class or function")
    return value
