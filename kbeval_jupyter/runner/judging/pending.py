"""The trials that are still to run, in batches where there are many: of small ones, the requests cost more than the work.

A batch shows a worker several inputs at once. For correctness that gives nothing away, since it must give every output all the
same; timed calls never come in batches. The price: of a process that ends, the answers of its last batch are lost.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .reference import CaseInput
    from .trials import Trial, Trials

BATCH = 16
BATCHED_FROM = 64  # trials: with fewer there is nothing to gain
BATCH_OUTPUT_BYTES = 1 << 20


class PendingTrials:
    """Gives out trials with their expected values, in order."""

    def __init__(self, trials: Trials, selected: list[tuple[CaseInput, int]]) -> None:
        self._trials = trials
        self._left = deque(selected)
        self._size = BATCH if len(selected) >= BATCHED_FROM and not trials.backward else 1

    def __len__(self) -> int:
        return len(self._left)

    def next(self) -> list[Trial]:
        """Trials whose inputs lie in the arena side by side, at least one. Raises InvalidReference, CannotTravelError."""
        batch = [self._trials.prepare(*self._left.popleft())]
        output_bytes = self._expect(batch[0])
        while self._left and len(batch) < self._size and output_bytes <= BATCH_OUTPUT_BYTES:
            trial = self._trials.prepare_beside(*self._left[0])
            if trial is None:
                break
            self._left.popleft()
            output_bytes += self._expect(trial)
            batch.append(trial)
        return batch

    def _expect(self, trial: Trial) -> int:
        self._trials.expect(trial)
        return trial.output_bytes

    def put_back(self, trials: list[Trial]) -> None:
        """Take back what was not run."""
        self._left.extendleft((trial.case, trial.number) for trial in reversed(trials))

    def one_by_one(self) -> None:
        """No batches any more."""
        self._size = 1

    def drop(self, case: CaseInput) -> None:
        """Leave out what is left of a case."""
        self._left = deque(pair for pair in self._left if pair[0] is not case)
