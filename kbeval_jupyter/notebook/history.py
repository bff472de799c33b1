"""The evaluations of this kernel session, by number, id and label. In memory; whatever keeps them longer has this interface."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kbeval_jupyter import sources
from kbeval_jupyter.errors import RequestError, unknown_name
from kbeval_jupyter.model.request import TORCH_COMPILE, EvaluationRequest, RivalSource
from kbeval_jupyter.model.result import EvaluationResult
from kbeval_jupyter.rendering import findings, units
from kbeval_jupyter.rendering.text import table
from kbeval_jupyter.running import RunningEvaluation


@dataclass
class Entry:
    """One evaluation. ``result`` is None while it runs."""

    number: int
    label: str
    request: EvaluationRequest
    running: RunningEvaluation
    result: EvaluationResult | None = None

    @property
    def id(self) -> str:
        """The evaluation's id."""
        return self.running.id


class History:
    """Entries in the order in which they were started."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def next_label(self) -> str:
        """A label for an implementation that was given none: v1, v2 and so on."""
        taken = {entry.label for entry in self.entries}
        number = len(self.entries) + 1
        while f"v{number}" in taken:
            number += 1
        return f"v{number}"

    def add(self, running: RunningEvaluation) -> Entry:
        """Keep an evaluation that was started."""
        request = running.request
        entry = Entry(len(self.entries) + 1, request.label, request, running)
        self.entries.append(entry)
        return entry

    def find(self, key: str) -> Entry:
        """The newest entry with this label, the one with this id or its beginning, or number; raises RequestError."""
        by_label = [entry for entry in self.entries if entry.label == key]
        by_id = [entry for entry in self.entries if entry.id == key] or [
            entry for entry in self.entries if len(key) >= 8 and entry.id.startswith(key)
        ]
        by_number = [entry for entry in self.entries if str(entry.number) == key]
        for found in (by_label, by_id, by_number):
            if found:
                return found[-1]
        if not self.entries:
            raise RequestError("nothing was evaluated in this session yet")
        raise RequestError(unknown_name("label or id", key, dict.fromkeys(entry.label for entry in self.entries)))

    def rival(self, key: str) -> RivalSource:
        """The implementation of an entry (by label, id or number), of a file, or torch.compile; raises RequestError."""
        if key == TORCH_COMPILE:
            return RivalSource(TORCH_COMPILE, None)
        entry = self.known(key)
        if entry is not None:
            return RivalSource(entry.label, entry.request.implementation, entry.request.files)
        if not ("/" in key or "." in key or Path(key).exists()):
            labels = dict.fromkeys([*(entry.label for entry in self.entries), TORCH_COMPILE])
            raise RequestError(f"{unknown_name('implementation', key, labels)}, or a file")
        source = sources.from_path(key)
        return RivalSource(source.name, source)

    def known(self, key: str) -> Entry | None:
        """What ``find`` finds, or None."""
        try:
            return self.find(key)
        except RequestError:
            return None

    def finished(self, key: str) -> tuple[Entry, EvaluationResult]:
        """The entry with its result; raises RequestError while it runs."""
        entry = self.find(key)
        if entry.result is None:
            raise RequestError(f"{entry.label} is still running; stop it with: %kernelbench cancel {entry.label}")
        return entry, entry.result

    def running(self) -> list[Entry]:
        """Those that are not finished."""
        return [entry for entry in self.entries if entry.result is None]

    def render(self) -> str:
        """All entries as a table, the newest last."""
        if not self.entries:
            return "nothing was evaluated in this session yet"
        return "\n".join(
            table([("#", "label", "problem", "target", "verdict", "speedup", "time", "id"), *map(_row, self.entries)], "")
        )


def _row(entry: Entry) -> tuple[str, ...]:
    result = entry.result
    if result is None:
        target = entry.request.target or ""
        return (str(entry.number), entry.label, entry.request.problem_name, target, "running", "", "", entry.id)
    speedup = units.ratio(result.speedup) if result.speedup is not None else ""
    verdict = findings.verdict_words(result.verdict).lower()
    took = units.seconds(result.seconds) if result.seconds is not None else ""
    return (str(entry.number), entry.label, result.problem, result.target.name, verdict, speedup, took, entry.id)
