"""What does the implementation's process do beside its calls, and is its clock believable?"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from ..report import DefenseCheck
from ..working import global_flags
from .calls import expected_trial, same_values

if TYPE_CHECKING:
    from .bench import Bench
    from .probe import Call, Probe

CLOCK_FACTOR, CLOCK_SLACK_MS = 1.5, 0.2
AFTER_CALLS = 2
WATCHED_S, LOOKS, WHILES = 0.005, 6, 20  # threads of OpenBLAS wait for more work by spinning, for 25 ms and more
UNTIMED_SLACK_MS, UNTIMED_SHARE, UNTIMED_FACTOR = 1.0, 0.5, 4.0
LAYERS_THAT_HIDE = ("landlock", "dumpable", "descriptors", "environment")


def isolation(bench: Bench) -> DefenseCheck:
    """Own processes, private folders, no reference or result within reach."""
    off = [f"{layer.name} ({layer.reason})" for layer in bench.layers if not layer.active and layer.name in LAYERS_THAT_HIDE]
    names = {"active": [layer.name for layer in bench.layers if layer.active]}
    if off:
        text = f"separate processes and private folders; not every layer is active on this machine: {', '.join(off)}"
    else:
        text = "separate processes, private HOME, TMPDIR and caches; reference, secret and results are out of reach"
    return DefenseCheck("isolation", True, text, names)


def work_after_return(bench: Bench) -> DefenseCheck:
    """What the worker's whole family does between its answer and the next request, and outputs read twice."""
    probe, busy, differs = bench.probe, [], False
    threads = processes = 0
    for _ in range(AFTER_CALLS):
        trial = expected_trial(probe, bench.next_number())
        call = probe.call(trial, at_return=True)
        busy.append(_busy_whiles(probe))
        threads, processes = probe.threads(), len(probe.family())
        differs |= not same_values(call.value, probe.read_again(trial)) or not call.found.passed
    evidence = {"busy_whiles": min(busy), "of": WHILES, "threads": threads, "processes": processes}
    if differs:
        text = "the output was not final when the call returned: it is another one later"
        return DefenseCheck("work_after_return", False, text, evidence)
    if min(busy) == WHILES:
        text = "the call goes on after it has returned: a thread or child of the implementation never stops running"
        return DefenseCheck("work_after_return", False, text, evidence)
    return DefenseCheck("work_after_return", True, "nothing works on after the call has returned", evidence)


def _busy_whiles(probe: Probe) -> int:
    """After how many whiles there was one in which nothing wanted to run, though nothing was asked of the worker."""
    for number in range(WHILES):
        looks = []
        for _ in range(LOOKS):
            time.sleep(WATCHED_S)
            looks.append(probe.wants_to_run())
        if not any(looks):
            return number
    return WHILES


def untimed_work(bench: Bench) -> DefenseCheck:
    """Processor time of the phases before and after the timed window, against that of the reference's worker."""

    def outside(calls: list[Call]) -> float:
        return float(statistics.median(call.ready_cpu_ms + call.read_cpu_ms for call in calls))

    own, usual = outside(bench.survey.fresh), outside(bench.survey.reference)
    call_ms = statistics.median(call.own_ms for call in bench.survey.reference)
    evidence = {"outside_ms": own, "reference_outside_ms": usual}
    if own - usual > max(UNTIMED_SLACK_MS, UNTIMED_SHARE * call_ms, UNTIMED_FACTOR * usual):
        text = f"{own:.3g} ms of work lie outside the timed window (the reference's worker: {usual:.3g} ms): it is smuggled out"
        return DefenseCheck("untimed_work", False, text, evidence)
    return DefenseCheck("untimed_work", True, "no work is smuggled out of the timed window", evidence)


def timers(bench: Bench) -> DefenseCheck:
    """Clocks, comparisons and our own functions are the objects that they were before the code was imported."""
    answer = bench.probe.ask("defense_look")
    replaced = bench.probe.texts(answer.get("replaced"))
    if replaced:
        return DefenseCheck("timers", False, f"the implementation replaced {', '.join(replaced)}", {"replaced": replaced})
    return DefenseCheck("timers", True, "clocks and comparisons are the original ones")


def wall_clock(bench: Bench) -> DefenseCheck:
    """The worker's clock is a claim; the judge's wall clock bounds it."""
    gaps = sorted(call.wall_ms - call.own_ms for call in (*bench.survey.fresh, *bench.survey.again))
    usual = sorted(call.wall_ms - call.own_ms for call in bench.survey.reference)
    own = statistics.median(call.own_ms for call in bench.survey.fresh)
    evidence = {"gap_ms": gaps[0], "reference_gap_ms": usual[len(usual) * 3 // 4], "claimed_ms": own}
    # The least gap: a lie is in every one of them, a busy machine leaves some alone.
    hidden = evidence["gap_ms"] - evidence["reference_gap_ms"]
    if gaps[0] < 0 or hidden > max(CLOCK_SLACK_MS, (CLOCK_FACTOR - 1) * own):
        text = f"the implementation's clock says {own:.3g} ms a call, the judge's {own + max(hidden, 0.0):.3g} ms"
        return DefenseCheck("wall_clock", False, text, evidence)
    return DefenseCheck("wall_clock", True, "the implementation's clock agrees with the judge's", evidence)


def global_flags_equal(bench: Bench) -> DefenseCheck:
    """Process-wide flags: recorded, and set as the reference has them before each call."""
    flags = bench.probe.ask("defense_look").get("flags")
    theirs = {str(k): v for k, v in flags.items() if type(v) in (bool, str, int)} if type(flags) is dict else {}
    found = global_flags.differences(theirs, {name: value for name, value in bench.probe.flags.items() if name in theirs})
    text = f"after a call {', '.join(found)}; set alike before each timed call" if found else "the same on both sides"
    return DefenseCheck("global_flags", True, text, {"implementation": theirs, "reference": bench.probe.flags})
