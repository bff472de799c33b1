"""The checks in the order in which they are made. Every threshold is far from what honest code shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from .memory_checks import guard_bands, physics_floor, poisoned_memory
from .output_checks import (
    determinism,
    fresh_inputs,
    inputs_unchanged,
    one_element,
    plain_outputs,
    precision,
    repeated_contents,
    same_address,
)
from .process_checks import global_flags_equal, isolation, timers, untimed_work, wall_clock, work_after_return

if TYPE_CHECKING:
    from ..report import DefenseCheck
    from .bench import Bench

Check = Callable[["Bench"], "DefenseCheck"]
# From the calls that were made and from what the process has become.
SEEN: tuple[Check, ...] = (
    isolation, fresh_inputs, inputs_unchanged, repeated_contents, determinism, plain_outputs, untimed_work, wall_clock, timers,
    global_flags_equal,
)  # fmt: skip
# With further calls: these say nothing where the outputs are wrong anyway.
CALLING: tuple[Check, ...] = (
    same_address, one_element, work_after_return, physics_floor, poisoned_memory, guard_bands, precision,
)  # fmt: skip
