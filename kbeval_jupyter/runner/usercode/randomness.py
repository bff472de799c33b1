"""Seeds: the input secret, what is derived from it, and setting all generators of a process.

CPU seeds of torch have 32 bits (manual_seed(1) equals manual_seed(1 + 2**32)) and its generator can be predicted from its output,
so every trial gets a seed of its own, derived by SHA-256 from a secret that no worker ever sees.
"""

from __future__ import annotations

import hashlib
import importlib
import os
import random
import sys
from dataclasses import dataclass
from typing import Any, Callable

import torch
from torch.overrides import TorchFunctionMode

SECRET_BYTES = 32


@dataclass(frozen=True)
class InputSecret:
    """The judge's randomness for one evaluation. ``secret`` is None with ``--public-inputs``."""

    secret: bytes | None
    weight_seed: int

    @classmethod
    def make(cls, weight_seed: int, public: bool, replayed: str | None) -> InputSecret:
        """A fresh secret; or none, or the one of an earlier evaluation (hexadecimal) for a replay."""
        if public:
            return cls(None, weight_seed)
        return cls(bytes.fromhex(replayed) if replayed else os.urandom(SECRET_BYTES), weight_seed)

    @property
    def hex(self) -> str | None:
        """The secret as text, None where there is none."""
        return None if self.secret is None else self.secret.hex()

    def seed(self, purpose: str, case: str, trial: int) -> int:
        """32-bit seed for one purpose ("inputs", "forward", "cotangents", …) of one trial of one case."""
        text = f"kbeval/1\0{purpose}\0{self.weight_seed}\0{case}\0{trial}".encode("utf-8", "surrogatepass")
        digest = hashlib.sha256((self.secret or b"") + b"\0" + text).digest()
        return int.from_bytes(digest[:4], "little")


# A build for the CPU alone seeds its one generator directly: torch.manual_seed also queues a call for GPUs that may appear later,
# each with a formatted stack: 100 us and more before every forward, against 1 us.
_CPU_BUILD = torch.version.cuda is None and getattr(torch.version, "hip", None) is None
_seed_torch = torch.default_generator.manual_seed if _CPU_BUILD else torch.manual_seed


# torch has loaded NumPy where there is one, but not NumPy's generators: now, in the server, instead of in every process after it.
if "numpy" in sys.modules:
    importlib.import_module("numpy.random")


def seed_everything(seed: int) -> None:
    """Set every generator of this process: torch on all devices, ``random``, NumPy where it is installed."""
    _seed_torch(seed)
    random.seed(seed)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(seed % (1 << 32))


class RandomnessWatch(TorchFunctionMode):  # type: ignore[misc]  # torch is not type-checked here
    """While it is entered: does code draw from torch's generators, the process's or one of its own?

    Under equal seeds such numbers still differ between dtypes.
    """

    def __enter__(self) -> RandomnessWatch:
        self._own_generator = False
        self._before = _generator_states()
        super().__enter__()
        return self

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if kwargs.get("generator") is not None:
            self._own_generator = True
        return func(*args, **kwargs)

    @property
    def drawn(self) -> bool:
        """Whether anything was drawn so far."""
        return self._own_generator or any(not torch.equal(*pair) for pair in zip(self._before, _generator_states()))


def _generator_states() -> list[Any]:
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state()] if torch.cuda.is_initialized() else [])]
