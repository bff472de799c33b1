"""Settings of torch that hold for a whole process and change precision or speed: read, and set alike on both sides."""

from __future__ import annotations

import contextlib
from typing import Any

import torch


def read() -> dict[str, Any]:
    """The flags as they are now; one that this torch does not have is left out."""
    found: dict[str, Any] = {
        "default_dtype": str(torch.get_default_dtype()),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
    }
    for name in _SWITCHES:
        with contextlib.suppress(AttributeError, RuntimeError):  # RuntimeError: torch refuses a mix of its old and new names
            found[name] = _value(name)
    return found


_SWITCHES: dict[str, tuple[Any, str]] = {
    "matmul.allow_tf32": (torch.backends.cuda.matmul, "allow_tf32"),
    "matmul.allow_fp16_reduced_precision_reduction": (torch.backends.cuda.matmul, "allow_fp16_reduced_precision_reduction"),
    "matmul.allow_bf16_reduced_precision_reduction": (torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction"),
    "cudnn.allow_tf32": (torch.backends.cudnn, "allow_tf32"),
    "cudnn.benchmark": (torch.backends.cudnn, "benchmark"),
    "cudnn.deterministic": (torch.backends.cudnn, "deterministic"),
}


def _value(name: str) -> Any:
    owner, attribute = _SWITCHES[name]
    return getattr(owner, attribute)


def apply(flags: dict[str, Any]) -> None:
    """Set the switches among ``flags``, where they differ. The default dtype is only recorded: code may rely on its own."""
    for name, (owner, attribute) in _SWITCHES.items():
        with contextlib.suppress(AttributeError, RuntimeError):
            if name in flags and _value(name) != flags[name]:
                setattr(owner, attribute, flags[name])


def differences(flags: dict[str, Any], others: dict[str, Any]) -> list[str]:
    """``cudnn.benchmark is True, the reference's False`` for every flag that differs."""
    return [
        f"{name} is {value}, the reference's {others[name]}" for name, value in flags.items() if others.get(name, value) != value
    ]
