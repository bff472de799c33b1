"""The arena that the judge writes and all workers of an evaluation read."""

from __future__ import annotations

from typing import Any

from ..exchange.arena import Arena
from ..exchange.encoding import encode_inputs, input_bytes
from ..exchange.materialise import build_inputs

FIRST_BYTES = 4 << 20
SLACK_BYTES = 64 << 10  # headers of many tiny tensors round up


class SharedInputs:
    """Arguments in memory that workers map. Putting new ones overwrites the old; the arena is replaced when it is too small."""

    def __init__(self) -> None:
        self.arena = Arena.create(FIRST_BYTES, read_only_for_others=True)
        self.generation = 0  # counts the times that the contents were replaced

    def put(self, value: Any) -> dict[str, Any]:
        """Lay a value down; its message is valid until the next ``put``. Raises CannotTravelError."""
        return self.put_all([value])[0]

    def put_all(self, values: list[Any]) -> list[dict[str, Any]]:
        """Lay several values down side by side."""
        needed = sum(input_bytes(value) for value in values) + SLACK_BYTES
        if needed > self.arena.size:
            self.arena.close()
            self.arena = Arena.create(max(needed, 2 * self.arena.size), read_only_for_others=True)
        self.arena.reset()
        self.generation += 1
        return [encode_inputs(value, self.arena) for value in values]

    def put_beside(self, value: Any) -> dict[str, Any] | None:
        """Lay a value down beside what is there, None where there is no room for it. Raises CannotTravelError."""
        if not self.arena.fits(input_bytes(value) + SLACK_BYTES):
            return None
        return encode_inputs(value, self.arena)

    def copy(self, message: dict[str, Any], device: str) -> Any:
        """A fresh private copy of what lies there."""
        return build_inputs(message, self.arena, device)

    def pristine(self, message: dict[str, Any]) -> Any:
        """What lies there itself, on the host, to compare with; not to be changed."""
        return build_inputs(message, self.arena, "cpu", copy=False)
