"""Whether calibrated gates do worse than provisional ones on runs that neither was made from."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from eval_pipeline.observations import Log
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.cluster_share import BoundedShare, difference_of
from eval_pipeline.stats.mean_difference import effective_size
from eval_pipeline.studies.kpi_gates.calibration import Gate, gate_set, provisional_gates
from eval_pipeline.studies.kpi_gates.evaluation import GateSet
from eval_pipeline.studies.kpi_gates.family import share_of_each
from eval_pipeline.studies.kpi_gates.findings import Alarms, KpiGatesFindings, alarms_of, foreign_runs, phases_of
from eval_pipeline.studies.kpi_gates.kpis import Kpi, gate_name
from eval_pipeline.studies.kpi_gates.observations import KpiRun
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.runs import KPIS, Flags, Runs, any_fired, fired, runs_of

Recommendation = Literal["treatment_better", "control_better", "no_difference_shown", "inconclusive_underpowered"]


@dataclass(frozen=True, slots=True)
class Compared:
    """A share of runs of either arm, and that of the calibrated gates less that of the provisional ones.

    `difference` is None where an arm has no such run.
    """

    provisional: Alarms
    calibrated: Alarms
    difference: Interval | None

    @property
    def worse(self) -> bool:
        """Whether the share is higher under the calibrated gates, beyond chance."""
        return self.difference is not None and self.difference.low is not None and self.difference.low > 0

    @property
    def better(self) -> bool:
        """Whether it is lower, beyond chance."""
        return self.difference is not None and self.difference.high is not None and self.difference.high < 0


@dataclass(frozen=True, slots=True)
class GateCompared:
    """One gate: how often it stops good runs, and how often it lets one pass that is raised by the shift."""

    gate: str
    alarms: Compared
    misses: Compared
    rejected: Literal["false_alarms", "misses"] | None


@dataclass(frozen=True, slots=True)
class HeldOutFindings:
    """The comparison of control runs under the provisional gates with other, treated runs under the calibrated ones.

    `worth` is the size of two equal arms that would tell as much apart; below the plan's, nothing is concluded from
    what was not seen. `rejected` says that all gates together do worse than the provisional ones.
    """

    foreign: int
    control: int
    treated: int
    worth: Fraction
    enough: bool
    family: Compared
    gates: tuple[GateCompared, ...]
    rejected: bool
    recommendation: Recommendation


def held_out(found: KpiGatesFindings, log: Log[KpiRun], plan: KpiGatesPlan) -> HeldOutFindings:
    """The held-out runs of the baseline's time, each arm under its own gates.

    Args:
        found: what was calibrated.
        log: the held-out runs.
        plan: the rules.

    """
    rows = phases_of(log.rows, plan).baseline
    return compared(runs_of(rows, plan.arms.rule), found.gates, plan, foreign=foreign_runs(rows, plan))


def compared(runs: Runs, gates: tuple[Gate, ...], plan: KpiGatesPlan, *, foreign: int) -> HeldOutFindings:
    """The comparison by the columns of the runs; a gate that was not promoted is in none.

    All gates together are rejected if they stop good runs more often than the provisional ones, beyond the interval,
    and more often than the plan allows. So is one gate by its own share of that, at an interval that allows for their
    number; or if it lets more raised runs pass, where the provisional one keeps to that share: one that does not buys
    its detection with alarms.
    """
    control, treated = runs.where(~runs.treated), runs.where(runs.treated)
    before, after, level = provisional_gates(plan), gate_set(gates), plan.estimate.level
    family = unpaired(any_fired(control, before), any_fired(treated, after), level=level)
    promoted = [kpi for kpi in KPIS if any(gate.kpi is kpi and gate.standing.promoted for gate in gates)]
    each = 1 - (1 - level) / max(1, len(promoted))
    found = tuple(_gate(kpi, control, treated, before, after, plan, each) for kpi in promoted)
    worth = effective_size(len(control), len(treated))
    enough = worth >= plan.power.n and not (foreign and plan.frozen.check == "required")
    rejected = family.worse and (family.calibrated.share or 0) > plan.family.alarms_at_most
    return HeldOutFindings(
        foreign=foreign,
        control=len(control),
        treated=len(treated),
        worth=worth,
        enough=enough,
        family=family,
        gates=found,
        rejected=rejected,
        recommendation=_recommended(family, found, rejected=rejected, enough=enough),
    )


def unpaired(control: Flags, treated: Flags, *, level: Number) -> Compared:
    """The shares of two independent samples, and the interval of their difference from the exact one of either.

    Source: Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702 (MOVER); Newcombe (1998), Statistics in
        Medicine 17(8), 873-890, method 10, which takes Wilson's intervals.
    """
    before, after = alarms_of(control, level=level), alarms_of(treated, level=level)
    first, second = _bounded(after), _bounded(before)
    if first is None or second is None:
        return Compared(before, after, None)
    return Compared(before, after, difference_of(first, second, level=level, tails="two").interval)


def _bounded(alarms: Alarms) -> BoundedShare | None:
    """The share with its exact bounds; runs of one arm say nothing of those of the other, hence no influence."""
    share, interval = alarms.share, alarms.interval
    if share is None or interval is None or interval.low is None or interval.high is None:
        return None
    return BoundedShare(share, float(interval.low), float(interval.high), np.zeros(1))


def _gate(
    kpi: Kpi, control: Runs, treated: Runs, before: GateSet, after: GateSet, plan: KpiGatesPlan, level: Number
) -> GateCompared:
    place, factor = KPIS.index(kpi), float(1 + plan.promotion.shift)
    stops, misses = [], []
    for runs, gates in ((control, before), (treated, after)):
        says, alarm = runs.says[:, place], fired(runs, gates)[:, place]
        raised = fired(runs.raised(kpi, factor), gates)[:, place]
        stops.append(alarm[says])
        misses.append(~raised[says & ~alarm])
    alarms, missed = unpaired(*stops, level=level), unpaired(*misses, level=level)
    allowed = share_of_each(plan.family.alarms_at_most, len(KPIS), method=plan.family.method)
    rejected: Literal["false_alarms", "misses"] | None = None
    if alarms.worse and (alarms.calibrated.share or 0) > allowed:
        rejected = "false_alarms"
    elif missed.worse and (alarms.provisional.share or 0) <= allowed:
        rejected = "misses"
    return GateCompared(gate_name(kpi), alarms, missed, rejected)


def _recommended(family: Compared, gates: Sequence[GateCompared], *, rejected: bool, enough: bool) -> Recommendation:
    if rejected or (gates and all(gate.rejected for gate in gates)):
        return "control_better"
    if not enough:
        return "inconclusive_underpowered"
    kept = [gate for gate in gates if not gate.rejected]
    better = family.better or any(gate.misses.better for gate in kept)
    return "treatment_better" if better else "no_difference_shown"
