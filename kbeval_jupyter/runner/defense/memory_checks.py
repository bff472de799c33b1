"""Memory: what is moved, what is read before it is written, what is written out of bounds."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from ..judging.workers import WorkerDied, WorkerFailed
from ..report import DefenseCheck
from . import bandwidth
from .calls import expected_trial

if TYPE_CHECKING:
    from .bench import Bench


def physics_floor(bench: Bench) -> DefenseCheck:
    """No call can be faster than its output can be written at the processor's cache bandwidth."""
    device = bench.probe.context.device
    if device.vendor != "cpu":
        return DefenseCheck("physics_floor", True, f"not made on {device.vendor}: its bandwidth is not known here")
    written = bandwidth.written_bytes(bench.probe, expected_trial(bench.probe, bench.next_number()))
    peak = bandwidth.generous_bytes_per_ms(len(bench.probe.cpus))
    floor_ms, own = written / peak, statistics.median(call.own_ms for call in bench.survey.fresh)
    evidence = {"bytes": written, "floor_ms": floor_ms, "median_ms": own}
    if own < floor_ms:
        text = f"{own:.3g} ms a call is impossible: {written} bytes cannot be written in less than {floor_ms:.3g} ms here"
        return DefenseCheck("physics_floor", False, text, evidence)
    return DefenseCheck("physics_floor", True, "the times are possible on this processor", evidence)


def poisoned_memory(bench: Bench) -> DefenseCheck:
    """Freed memory is filled with far-off values: who reads what he has not written, gets them."""
    name, probe = "poisoned_memory", bench.probe
    if not probe.ask("defense_poison", {"on": True}).get("active"):
        return DefenseCheck(name, True, "not made: the C library of this machine cannot poison memory")
    try:
        calls = [probe.call(expected_trial(probe, bench.next_number())) for _ in range(2)]
        wrong = [call.found.reason for call in calls if not call.found.passed]
        probe.ask("defense_poison", {"on": False})
    except WorkerDied as died:
        wrong = [f"the process {died.reason}"]
    except WorkerFailed as failed:
        wrong = [f"the implementation raised {failed.summary}"]
        probe.ask("defense_poison", {"on": False})
    if wrong:
        return DefenseCheck(
            name, False, f"with freed memory poisoned the result is wrong, it reads what it has not written: {wrong[0]}"
        )
    return DefenseCheck(name, True, "right also where freed memory is poisoned")


def guard_bands(bench: Bench) -> DefenseCheck:
    """Known bytes before and behind every input: writes out of bounds show."""
    name, probe = "guard_bands", bench.probe
    try:
        probe.call(expected_trial(probe, bench.next_number()), "guarded")
        answer = probe.ask("defense_guards")
    except WorkerFailed as failed:
        return DefenseCheck(name, True, f"not made: with inputs in memory of ours the implementation raised {failed.summary}")
    except WorkerDied as died:
        return DefenseCheck(name, False, f"with guard bands around its inputs the process {died.reason}")
    broken = probe.texts(answer.get("broken"))
    evidence = {"guarded": answer.get("guarded") if type(answer.get("guarded")) is int else None, "broken": broken}
    if broken:
        return DefenseCheck(name, False, f"writes out of bounds: {', '.join(broken)}", evidence)
    return DefenseCheck(name, True, "nothing is written before or behind the inputs", evidence)
