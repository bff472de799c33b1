"""What the checks work with."""

from __future__ import annotations

from dataclasses import dataclass

from ..report import IsolationLayer
from .calls import Survey
from .probe import Probe


@dataclass
class Bench:
    """One side each in a worker, the calls that were made, and how the implementation's worker is isolated."""

    probe: Probe
    reference: Probe
    survey: Survey
    layers: list[IsolationLayer]

    def next_number(self) -> int:
        """A trial that nobody has seen."""
        self.survey.last_number += 1
        return self.survey.last_number
