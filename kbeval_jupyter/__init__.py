"""Evaluate GPU kernels from a Jupyter cell, a command line or Python: is it right, where is it wrong, is it really faster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import aevaluate, astream, evaluate
    from .comparing import compare
    from .model.comparison import ComparisonResult
    from .model.result import EvaluationResult

__all__ = [
    "ComparisonResult",
    "EvaluationResult",
    "aevaluate",
    "astream",
    "compare",
    "evaluate",
    "load_ipython_extension",
    "unload_ipython_extension",
]
__version__ = "0.1.0"

_HOMES = {
    "aevaluate": ".api",
    "astream": ".api",
    "compare": ".comparing",
    "evaluate": ".api",
    "ComparisonResult": ".model.comparison",
    "EvaluationResult": ".model.result",
}


def __getattr__(name: str) -> Any:
    """Import the public names when they are first used: a notebook that loads the extension must not wait for all of it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    _show_results()
    return getattr(importlib.import_module(_HOMES[name], __name__), name)


def _show_results() -> None:
    """Let a notebook that does not load the extension show results as such too."""
    import sys

    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        from .rendering.mimebundle import register

        register(shell)


def load_ipython_extension(ipython: Any) -> None:
    """``%load_ext kbeval_jupyter``."""
    from .magics import load_ipython_extension as load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """``%unload_ext kbeval_jupyter``."""
    from .magics import unload_ipython_extension as unload

    unload(ipython)
