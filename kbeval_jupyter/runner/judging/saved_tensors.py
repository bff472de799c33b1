"""Tensors kept for debugging, loadable with ``torch.load(path, weights_only=True)``."""

from __future__ import annotations

import dataclasses
import io
import re
from typing import TYPE_CHECKING, Any

import torch

from ..exchange.encoding import tensors_of
from ..exchange.structure import is_array
from .artifacts import save_artifact

if TYPE_CHECKING:
    from ..report import Artifact

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_NAME_CHARACTERS = 80


def plain(value: Any) -> Any:
    """The same structure of dicts, lists, tuples, tensors, numbers and text only; tensors lose what they share a storage with."""
    if isinstance(value, torch.Tensor):
        tensor = value.detach().cpu().resolve_conj().resolve_neg()
        return tensor.contiguous() if tensor.untyped_storage().nbytes() <= tensor.nbytes else tensor.clone()
    if is_array(value):
        return torch.from_numpy(value.copy())
    if isinstance(value, tuple):
        return tuple(plain(item) for item in value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key if isinstance(key, (str, int, float, bool)) else repr(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name, None)) for f in dataclasses.fields(value)}
    if type(value).__name__ == "SimpleNamespace":
        return plain(vars(value))
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def file_name(kind: str, case: str, trial: int) -> str:
    """Such as ``failed_small_0.pt``, whatever a case is called."""
    return f"{kind}_{_UNSAFE.sub('_', case)[:_NAME_CHARACTERS]}_{trial}.pt"


def save_tensors(run_dir: str, name: str, values: dict[str, Any], limit_bytes: int) -> Artifact | str:
    """Save values as an artifact; a sentence where they are larger than the limit (0: none) allows."""
    ready = plain(values)
    size = sum(tensor.nbytes for tensor in tensors_of(ready))
    if limit_bytes and size > limit_bytes:
        return f"the tensors of {name} were not saved: {size >> 20} MB, the limit is {limit_bytes >> 20} MB"
    buffer = io.BytesIO()
    torch.save(ready, buffer)
    return save_artifact(run_dir, name, buffer.getvalue())
