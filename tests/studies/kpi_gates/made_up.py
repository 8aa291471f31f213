"""Plans, rows and columns of runs that the tests change one thing of."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from eval_pipeline.heldout import drawn_by_stratum
from eval_pipeline.observations import Log
from eval_pipeline.plan import read_plan
from eval_pipeline.studies.kpi_gates.calibration import calibrated, provisional_gates
from eval_pipeline.studies.kpi_gates.findings import phases_of
from eval_pipeline.studies.kpi_gates.generator import Truth, generated
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass
from eval_pipeline.studies.kpi_gates.observations import KpiRun
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.runs import CLASSES, KPIS, Runs, runs_of
from eval_pipeline.studies.kpi_gates.study import STUDY

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = read_plan(ROOT / "data" / "plans" / "kpi-gates.toml", KpiGatesPlan)

QUIET = {
    "iteration_count": 46,
    "wall_time_ms": 240.0,
    "section_fail_count": 1,
    "distribution_pass_rate": 0.6,
    "error_count": 0,
    "safety_cap_hit": False,
    "mean_section_attempts": 1.5,
    "structural_error_count": 0,
    "cortex_recall_empty_count": 0,
}


def planned(**changes: Mapping[str, Any] | Any) -> KpiGatesPlan:
    """The shipped plan with fields of its tables changed: `planned(stop={"violations": 2})`."""
    updates = {
        name: getattr(SHIPPED, name).model_copy(update=value) if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    return SHIPPED.model_copy(update=updates)


def fields(run_id: str = "run-1", *, data: str = "real", **kpis: Any) -> dict[str, Any]:
    """A line of a log as JSON holds it."""
    return {
        "schema_version": 1,
        "run_id": run_id,
        "started_at": "2026-10-01T12:00:00Z",
        "machine": {"cpu_model": "Apple M2 Max", "memory_gb": 64},
        "data": data,
        "kpi_source": SHIPPED.frozen.kpi_source,
        "commit": SHIPPED.frozen.commit,
        "kpis": QUIET | kpis,
    }


def row(run_id: str = "run-1", **changes: Any) -> KpiRun:
    return KpiRun.model_validate(fields(run_id, **changes))


def vector(**kpis: Any) -> dict[Kpi, Any]:
    return {Kpi(name): float(value) if value is not None else None for name, value in (QUIET | kpis).items()}


def columns(
    values: Mapping[Kpi, Any], *, machine: MachineClass = MachineClass.M_SERIES_HIGH, treated: Any = True
) -> Runs:
    """Runs on one class of machines, with these columns; they say nothing of any other KPI."""
    n = len(next(iter(values.values())))
    table, says = np.zeros((n, len(KPIS))), np.zeros((n, len(KPIS)), dtype=bool)
    for kpi, column in values.items():
        table[:, KPIS.index(kpi)] = column
        says[:, KPIS.index(kpi)] = True
    arms = np.broadcast_to(np.asarray(treated, dtype=bool), n)
    return Runs(table, says, np.full(n, CLASSES.index(machine)), arms.copy())


def parts(log: Log[KpiRun], plan: KpiGatesPlan) -> tuple[Log[KpiRun], Log[KpiRun]]:
    """What is calibrated on, and what is held out, as the loop draws them."""
    strata: dict[str, list[str]] = {}
    for one in log.rows:
        strata.setdefault(STUDY.stratum(one), []).append(STUDY.unit(one))
    held = set(drawn_by_stratum(strata, share=plan.held_out.share, seed=str(plan.held_out.seed)).held_out)
    return (
        Log(tuple(one for one in log.rows if one.run_id not in held), log.simulated),
        Log(tuple(one for one in log.rows if one.run_id in held), log.simulated),
    )


@cache
def default_parts() -> tuple[Log[KpiRun], Log[KpiRun]]:
    return parts(STUDY.generate(SHIPPED), SHIPPED)


@cache
def default_findings() -> Any:
    return STUDY.findings(default_parts()[0], SHIPPED)


@cache
def default_comparison() -> Any:
    return STUDY.held_out(default_findings(), default_parts()[1], SHIPPED)


@cache
def population() -> Runs:
    """Good runs from which simulated generations are drawn."""
    log = generated(planned(planned={"runs": 6000}), Truth(baseline=1.0), rng=np.random.default_rng(11))
    return runs_of(phases_of(log.rows, SHIPPED).baseline, SHIPPED.arms.rule)


def drawn(n: int, rng: np.random.Generator) -> Runs:
    """So many runs of the population, in arms as the plan assigns them on average."""
    found = population()
    chosen = rng.integers(0, len(found), n)
    return Runs(found.values[chosen], found.says[chosen], found.machine[chosen], rng.random(n) >= 0.2)


def calibrated_on(runs: Runs, plan: KpiGatesPlan = SHIPPED) -> Any:
    return calibrated(runs, plan, before=provisional_gates(plan))


def gate_of(gates: Any, kpi: Kpi, machine: MachineClass | None = None) -> Any:
    (found,) = [gate for gate in gates if gate.kpi is kpi and gate.machine is machine]
    return found


def simulated(generation: Callable[[np.random.Generator], bool], *, times: int, seed: int) -> int:
    """How many of so many simulated generations come out as asked for."""
    rng = np.random.default_rng(seed)
    return sum(generation(rng) for _ in range(times))
