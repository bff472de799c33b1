"""Defense: is the implementation what it seems? Named checks, each with its evidence, before anything is timed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import wire
from ..defense.bench import Bench
from ..defense.calls import survey
from ..defense.checks import CALLING, SEEN
from ..defense.probe import Probe
from ..exchange.encoding import CannotTravelError, input_bytes
from ..judging.reference import InvalidReference
from ..judging.workers import RequestTimedOut, WorkerDied, WorkerFailed
from .base import StageOutcome

if TYPE_CHECKING:
    from ..judging.reference import CaseInput
    from ..report import DefenseCheck, StageName
    from .base import StageContext

NOTE = "the implementation was rejected: its times below are what was measured, not what can be believed"


class DefenseStage:
    """The stage. A failed check rejects the implementation; the benchmark still runs."""

    name: StageName = "defense"

    def total(self, context: StageContext) -> int | None:
        """Number of checks."""
        del context
        return len(SEEN) + len(CALLING)

    def run(self, context: StageContext) -> StageOutcome:
        """Passed when every check passed. Raises InvalidReference."""
        case = _largest_case(context)
        probe, reference = Probe(context, "implementation", case), Probe(context, "reference", case)
        try:
            return _checked(context, probe, reference)
        except RequestTimedOut:
            return StageOutcome("failed", "no answer before the time limit, while it was checked", "timed_out")
        except WorkerFailed as failure:
            if failure.traceback:
                context.emit(wire.Log("implementation", failure.traceback))
            return StageOutcome("failed", f"the implementation raised {failure.summary}, while it was checked", "crashed")
        except WorkerDied as end:
            return StageOutcome("failed", f"the implementation's process {end.reason}, while it was checked", "crashed")
        except CannotTravelError as error:
            raise InvalidReference(f"the inputs cannot be used: {error}") from error
        finally:
            probe.close()
            reference.close()


def _largest_case(context: StageContext) -> CaseInput:
    """The case with the largest inputs: there is most to gain in it."""
    first = context.plan.trials
    sizes = [(input_bytes(context.problem.make_inputs(case, first)), -i) for i, case in enumerate(context.problem.cases)]
    return context.problem.cases[-max(sizes)[1]]


def _checked(context: StageContext, probe: Probe, reference: Probe) -> StageOutcome:
    bench = Bench(probe, reference, survey(probe, reference), context.crew.layers())
    total = len(SEEN) + len(CALLING)
    failed: list[DefenseCheck] = []
    for number, make in enumerate((*SEEN, *CALLING), 1):
        if number > len(SEEN) and any(check.name == "fresh_inputs" for check in failed):
            break
        check = make(bench)
        context.emit(wire.DefenseChecked(check))
        context.progress("defense", number, total, check.name)
        if not check.passed:
            failed.append(check)
    if not failed:
        return StageOutcome("passed", f"{total} checks passed")
    if "benchmark" in context.plan.stages:
        context.note("rejected", NOTE, "warning")
    more = f" ({len(failed) - 1} further checks failed)" if len(failed) > 1 else ""
    return StageOutcome("failed", f"{failed[0].message}{more}", "rejected", stops=False)
