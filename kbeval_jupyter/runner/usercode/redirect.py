"""Hard-coded CUDA on a machine without a GPU: devices named "cuda" become the CPU, so that a course runs on laptops.

Used only where the device is the CPU and the source mentions cuda. A torch function mode rewrites the device arguments of every
call; what does not pass through it (``torch.Generator``, methods of modules, the functions of ``torch.cuda``) is replaced.
``torch.cuda.is_available()`` and ``tensor.is_cuda`` say True to the user's code and the truth to torch's own.
"""

from __future__ import annotations

import contextlib
import re
import sys
from typing import Any, Callable

import torch
from torch.overrides import TorchFunctionMode

NOTE_CODE = "cuda_redirected"
NOTE_TEXT = 'no GPU here: .cuda() and device="cuda" in the code were redirected to the CPU'
_MENTION = re.compile(r"\bcuda\b")
_CPU = torch.device("cpu")
_RealGenerator = torch.Generator
_IS_CUDA = torch.Tensor.is_cuda.__get__


def mentions_cuda(source: str) -> bool:
    """Whether source text speaks of cuda as a word of its own: not only in names such as ``cuda_sources``."""
    return bool(_MENTION.search(source))


def _to_cpu(value: Any) -> Any:
    if isinstance(value, str) and value.split(":")[0] == "cuda":
        return "cpu"
    return _CPU if isinstance(value, torch.device) and value.type == "cuda" else value


def _asked_by_torch(depth: int) -> bool:
    name = sys._getframe(depth + 1).f_globals.get("__name__", "")  # noqa: SLF001 - the only way to see the caller cheaply
    return str(name).split(".")[0] == "torch"


class CudaToCpu(TorchFunctionMode):  # type: ignore[misc]  # torch is untyped here
    """Rewrites device arguments while active."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by torch for every function and method."""
        del types
        if func in (torch.Tensor.cuda, torch.Tensor.pin_memory):
            return args[0]
        if func == _IS_CUDA and not _asked_by_torch(1):
            return True
        kwargs = {key: _to_cpu(value) for key, value in (kwargs or {}).items() if key != "pin_memory"}
        return func(*(_to_cpu(arg) for arg in args), **kwargs)


class _GeneratorMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _RealGenerator)

    def __call__(cls, device: Any = "cpu") -> Any:
        return _RealGenerator(_to_cpu(device))


class _Generator(metaclass=_GeneratorMeta):
    """Stands for ``torch.Generator``."""


class _Event:
    """Stands for ``torch.cuda.Event``: work on the CPU is done when a call returns."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        del args, kwargs

    def record(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """All work is done."""
        return True

    def elapsed_time(self, other: Any) -> float:
        """No device, no device time."""
        del other
        return 0.0


class _Stream(_Event):
    """Stands for ``torch.cuda.Stream``."""

    cuda_stream = 0

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""

    def record_event(self, event: Any = None) -> Any:
        """An event that has happened."""
        return event or _Event()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _does_nothing() -> Callable[..., None]:
    """A new function each time: torch.compile keeps a table by identity and refuses one object under two names."""
    return lambda *_, **__: None


def _replace_modules() -> None:
    original = torch.nn.Module.to

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        return original(self, *map(_to_cpu, args), **{key: _to_cpu(value) for key, value in kwargs.items()})

    torch.nn.Module.to = to
    torch.nn.Module.cuda = lambda self, *_, **__: self


def _replace_cuda() -> None:
    cuda = torch.cuda
    available, count = cuda.is_available, cuda.device_count
    cuda.is_available = lambda: available() if _asked_by_torch(1) else True
    cuda.device_count = lambda: count() if _asked_by_torch(1) else 1
    cuda.current_device = lambda: 0
    for name in ("synchronize", "empty_cache", "set_device", "manual_seed", "manual_seed_all", "init", "reset_peak_memory_stats"):
        setattr(cuda, name, _does_nothing())
    cuda.Event, cuda.Stream = _Event, _Stream
    cuda.current_stream = lambda *_, **__: _Stream()
    cuda.default_stream = lambda *_, **__: _Stream()
    cuda.stream = lambda *_: contextlib.nullcontext()
    cuda.device = lambda *_: contextlib.nullcontext()


def install() -> None:
    """Replace, in this process, what the mode cannot see. Idempotent."""
    if torch.Generator is not _Generator:
        torch.Generator = _Generator
        _replace_modules()
        _replace_cuda()


def redirected(active: bool) -> Any:
    """A context in which devices named "cuda" are the CPU, if ``active``."""
    return CudaToCpu() if active else contextlib.nullcontext()
