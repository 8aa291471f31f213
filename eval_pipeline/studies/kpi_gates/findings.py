"""What the runs that are calibrated on say: thresholds, charts, and how often good runs would be stopped."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from eval_pipeline.errors import TooFewObservations
from eval_pipeline.loop import Chart
from eval_pipeline.observations import Log
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.studies.kpi_gates.blocked import BlockedRun, Stopped, report_of, rows_of, stopped
from eval_pipeline.studies.kpi_gates.calibration import Gate, anchor_set, calibrated, gate_set, provisional_gates
from eval_pipeline.studies.kpi_gates.charts import batch_means, event_chart, xmr_chart
from eval_pipeline.studies.kpi_gates.evaluation import GateSet
from eval_pipeline.studies.kpi_gates.kpis import SPECIAL_CAUSE, gate_name
from eval_pipeline.studies.kpi_gates.observations import KpiRun
from eval_pipeline.studies.kpi_gates.perturbation import Perturbation, perturbations
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.ratchet import Move, move_of
from eval_pipeline.studies.kpi_gates.runs import KPIS, Flags, Runs, any_fired, fired, runs_of


@dataclass(frozen=True, slots=True)
class Alarms:
    """How many of so many runs were stopped, with the exact interval of their share; None where there are no runs."""

    stopped: int
    n: int
    interval: Interval | None

    @property
    def share(self) -> float | None:
        """None where there are no runs."""
        return self.stopped / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class KpiGatesFindings:
    """All that was found in the runs that were not held out.

    `foreign` runs were measured by other code than the frozen one. The three counts of alarms are of the runs of the
    baseline: under the provisional gates, under gates at the anchor percentile, and under the gates in force.
    """

    observations: str
    simulated: bool
    baseline: int
    watched: int
    foreign: int
    last_of_baseline: datetime
    last: datetime
    gates: tuple[Gate, ...]
    provisional_alarms: Alarms
    anchor_alarms: Alarms
    alarms: Alarms
    perturbations: tuple[Perturbation, ...]
    charts: tuple[Chart, ...]
    moves: tuple[Move, ...]
    blocked: tuple[BlockedRun, ...]
    stopped: Stopped | None


@dataclass(frozen=True, slots=True)
class Phases:
    """The rows of a log in the order of time: those of the baseline, and those after it."""

    baseline: tuple[KpiRun, ...]
    watched: tuple[KpiRun, ...]


def phases_of(rows: Sequence[KpiRun], plan: KpiGatesPlan) -> Phases:
    """The rows before and after the end of the baseline; those of one moment by their ids."""
    ordered = sorted(rows, key=lambda row: (row.started_at, row.run_id))
    end = sum(row.started_at < plan.planned.baseline_until for row in ordered)
    return Phases(tuple(ordered[:end]), tuple(ordered[end:]))


def foreign_runs(rows: Sequence[KpiRun], plan: KpiGatesPlan) -> int:
    """How many runs were measured by other code than the frozen one."""
    return sum(row.kpi_source != plan.frozen.kpi_source for row in rows)


def alarms_of(stops: Flags, *, level: Number) -> Alarms:
    """How many runs are stopped; `stops` has a flag for each."""
    count, n = int(stops.sum()), len(stops)
    return Alarms(count, n, exact_interval(count, n, level=level) if n else None)


def findings(log: Log[KpiRun], plan: KpiGatesPlan) -> KpiGatesFindings:
    """Calibrates the gates on the baseline, tries them on synthetic runs, and watches the runs after it.

    Raises: TooFewObservations: no run started before the end of the baseline.
    """
    phases = phases_of(log.rows, plan)
    if not phases.baseline:
        until = plan.planned.baseline_until.isoformat()
        raise TooFewObservations(f"found no run that started before {until}, where the baseline ends; add such runs")
    runs, later = runs_of(phases.baseline, plan.arms.rule), runs_of(phases.watched, plan.arms.rule)
    before, level = provisional_gates(plan), plan.estimate.level
    stops = fired(runs, before)
    end = stopped([_names(row) for row in stops], plan.stop)
    foreign = foreign_runs(log.rows, plan)
    gates = calibrated(runs, plan, before=before)
    if foreign and plan.frozen.check == "required":
        gates = tuple(gate.held("baseline_changed") for gate in gates)
    if end:
        gates = tuple(gate.held("stopped") for gate in gates)
    in_force = gate_set(gates)
    charts, first = _charts(gates, runs, later, plan)
    now = max(row.started_at for row in log.rows)
    return KpiGatesFindings(
        observations=log.hash,
        simulated=log.simulated,
        baseline=len(runs),
        watched=len(later),
        foreign=foreign,
        last_of_baseline=phases.baseline[-1].started_at,
        last=now,
        gates=gates,
        provisional_alarms=alarms_of(any_fired(runs, before), level=level),
        anchor_alarms=alarms_of(any_fired(runs, anchor_set(gates)), level=level),
        alarms=alarms_of(any_fired(runs, in_force), level=level),
        perturbations=perturbations(gates, plan.promotion),
        charts=charts,
        moves=_moves(gates, calibrated(later, plan, before=in_force), charts, first, now, plan),
        blocked=(
            *_blocked(phases.baseline, stops, before, before, runs),
            *_blocked(phases.watched, _fired_by_arm(later, before, in_force), before, in_force, later),
        ),
        stopped=end,
    )


def _names(row: Flags) -> tuple[str, ...]:
    return tuple(gate_name(KPIS[place]) for place in np.flatnonzero(row))


def _fired_by_arm(runs: Runs, control: GateSet, treatment: GateSet) -> Flags:
    return np.where(runs.treated[:, None], fired(runs, treatment), fired(runs, control))


def _blocked(
    rows: Sequence[KpiRun], stops: Flags, control: GateSet, treatment: GateSet, runs: Runs
) -> tuple[BlockedRun, ...]:
    found: list[BlockedRun] = []
    for place in np.flatnonzero(stops.any(axis=1)).tolist():
        gates = treatment if runs.treated[place] else control
        found += rows_of(rows[place], report_of(rows[place], gates))
    return tuple(found)


def _charts(
    gates: Sequence[Gate], runs: Runs, later: Runs, plan: KpiGatesPlan
) -> tuple[tuple[Chart, ...], tuple[int, ...]]:
    """A chart for each gate, and how many of its points are of the baseline; no batch is of both parts."""
    size, least = plan.charts.batch, plan.charts.baseline_batches
    charts: list[Chart] = []
    before: list[int] = []
    for gate in gates:
        parts = [part.of(gate.kpi, gate.machine) for part in (runs, later)]
        name = gate.name.removesuffix("_max").replace("_max[", " [")
        if gate.kpi in SPECIAL_CAUSE:
            events = [(part > 0).astype(np.int64)[: len(part) // size * size] for part in parts]
            charts.append(
                event_chart(name, np.concatenate(events), size=size, baseline=max(least, len(events[0]) // size))
            )
            before.append(len(events[0]) // size)
        else:
            points = [batch_means(part, size) for part in parts]
            charts.append(xmr_chart(name, np.concatenate(points), baseline=max(least, len(points[0]))))
            before.append(len(points[0]))
    return tuple(charts), tuple(before)


def _moves(
    gates: Sequence[Gate],
    latest: Sequence[Gate],
    charts: Sequence[Chart],
    before: Sequence[int],
    now: datetime,
    plan: KpiGatesPlan,
) -> tuple[Move, ...]:
    return tuple(
        move_of(gate, new, chart, before=points, now=now, rule=plan.ratchet)
        for gate, new, chart, points in zip(gates, latest, charts, before, strict=True)
        if gate.kpi not in SPECIAL_CAUSE
    )
