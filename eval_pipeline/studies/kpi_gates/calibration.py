"""The percentiles of each KPI over the runs of the baseline, and the threshold that comes of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from eval_pipeline.stats.percentile import Percentile, percentile
from eval_pipeline.studies.kpi_gates.evaluation import GateSet
from eval_pipeline.studies.kpi_gates.family import share_of_each
from eval_pipeline.studies.kpi_gates.kpis import SPECIAL_CAUSE, Kpi, MachineClass, gate_name
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.promotion import Standing, Why, standing_of
from eval_pipeline.studies.kpi_gates.runs import CLASSES, Runs


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate and what it was calibrated on; `machine` is None but for the wall time, which has a gate for each class.

    `n` runs say something of it. `anchor` is the percentile that later moves are held against, `bound` the higher one
    that the gate is calibrated on; both are None where there is no run, or where nothing is calibrated.
    """

    kpi: Kpi
    machine: MachineClass | None
    provisional: Fraction
    n: int
    no_variation: bool
    anchor: Percentile | None
    bound: Percentile | None
    standing: Standing

    @property
    def name(self) -> str:
        """What it is called, with its class of machines."""
        return gate_name(self.kpi) + (f"[{self.machine.value}]" if self.machine else "")

    @property
    def in_force(self) -> Fraction:
        """The threshold that holds: the calibrated one if it was promoted."""
        promoted = self.standing.calibrated if self.standing.promoted else None
        return self.provisional if promoted is None else promoted

    def held(self, why: Why) -> "Gate":
        """The same, not promoted, if it was."""
        return replace(self, standing=replace(self.standing, why=why)) if self.standing.promoted else self


def bounded_share(plan: KpiGatesPlan) -> float:
    """The percentile that each gate is calibrated on: so many good runs pass it that all gates together stop few."""
    return 1 - share_of_each(plan.family.alarms_at_most, len(Kpi), method=plan.family.method)


def provisional_gates(plan: KpiGatesPlan) -> GateSet:
    """The thresholds that stand before any run."""
    return GateSet(plan.thresholds)


def calibrated(runs: Runs, plan: KpiGatesPlan, *, before: GateSet) -> tuple[Gate, ...]:
    """Each gate by the runs of a baseline, in the order of the KPIs; the wall time by class of machines.

    Args:
        runs: of the baseline, all of them taken for good ones.
        plan: the rules.
        before: the thresholds that stand, and are provisional to these gates.

    """
    keys: list[tuple[Kpi, MachineClass | None]] = []
    for kpi in Kpi:
        keys += [(kpi, machine) for machine in CLASSES] if kpi is Kpi.WALL_TIME_MS else [(kpi, None)]
    return tuple(_gate(kpi, machine, runs, plan, before.of(kpi, machine or CLASSES[0])) for kpi, machine in keys)


def gate_set(gates: tuple[Gate, ...]) -> GateSet:
    """The thresholds that hold by these gates."""
    return _set_of(gates, lambda gate: gate.in_force)


def anchor_set(gates: tuple[Gate, ...]) -> GateSet:
    """The thresholds that the first version would have taken: each at the anchor percentile itself."""
    return _set_of(gates, lambda gate: gate.provisional if gate.anchor is None else Fraction(gate.anchor.estimate))


def _set_of(gates: tuple[Gate, ...], threshold: Callable[[Gate], Fraction]) -> GateSet:
    return GateSet(
        {gate.kpi: threshold(gate) for gate in gates},
        {gate.machine: threshold(gate) for gate in gates if gate.machine},
    )


def _gate(kpi: Kpi, machine: MachineClass | None, runs: Runs, plan: KpiGatesPlan, provisional: Fraction) -> Gate:
    values = runs.of(kpi, machine)
    alike = len(values) > 0 and bool(np.ptp(values) == 0)
    if kpi in SPECIAL_CAUSE or not len(values):
        why: Why = "special_cause" if kpi in SPECIAL_CAUSE else "no_runs"
        return Gate(kpi, machine, provisional, len(values), alike, None, None, Standing(None, None, why))
    level = plan.estimate.level
    anchor = percentile(values, share=float(plan.estimate.anchor), level=level)
    bound = percentile(values, share=bounded_share(plan), level=level)
    standing = standing_of(kpi, provisional, bound.estimate, bound.interval, plan.promotion, no_variation=alike)
    return Gate(kpi, machine, provisional, len(values), alike, anchor, bound, standing)
