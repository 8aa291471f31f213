"""Runs with a known truth: their KPIs, machines and times, and what moves in them after the baseline."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import numpy as np

from eval_pipeline.canonical import text_hash
from eval_pipeline.observations import Log
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.observations import KpiRun, Kpis, Machine
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan

KPI_SOURCE = text_hash("eval_pipeline.studies.kpi_gates.generator, version 1")
"""What the shipped plan freezes: there is no other code that measures the KPIs of generated runs."""

_MACHINES = (
    (Machine(cpu_model="Apple M2 Max", memory_gb=64), 0.34, 212.0),
    (Machine(cpu_model="Apple M1", memory_gb=16), 0.32, 268.0),
    (Machine(cpu_model="Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", memory_gb=32), 0.18, 301.0),
    (Machine(cpu_model="AMD EPYC 7763 64-Core Processor", memory_gb=16), 0.11, 287.0),
    (Machine(cpu_model="QEMU Virtual CPU version 2.5+", memory_gb=4), 0.05, 342.0),
)
_BASELINE_DAYS, _WATCHED_DAYS = 60, 20


@dataclass(frozen=True, slots=True)
class Truth:
    """What holds of the runs: how each KPI is scaled throughout, and once more after the baseline.

    `constant` KPIs have one value in all runs. `baseline` of the runs start before the baseline ends, `real` of them
    are on real data, and `foreign` of them were measured by other code than the frozen one.
    """

    scale: Mapping[Kpi, float] = field(default_factory=dict)
    after: Mapping[Kpi, float] = field(default_factory=dict)
    constant: frozenset[Kpi] = frozenset()
    baseline: float = 0.75
    real: float = 0.5
    foreign: float = 0.0


def generate(plan: KpiGatesPlan) -> Log[KpiRun]:
    """The planned number of runs, from the plan's seed, of which nothing moves."""
    return generated(plan, Truth(), rng=np.random.default_rng(plan.seed))


def generated(plan: KpiGatesPlan, truth: Truth, *, rng: np.random.Generator) -> Log[KpiRun]:
    """The planned number of runs of this truth, in the order of time."""
    n = plan.planned.runs
    first = round(truth.baseline * n)
    days = np.sort(np.concatenate([rng.uniform(-_BASELINE_DAYS, 0, first), rng.uniform(0, _WATCHED_DAYS, n - first)]))
    machine = rng.choice(len(_MACHINES), n, p=[share for _, share, _ in _MACHINES])
    values = _values(truth, machine, days >= 0, rng)
    real, foreign = rng.random(n) < truth.real, rng.random(n) < truth.foreign
    marks = rng.integers(0, 2**32, n)
    other = text_hash("other code")
    rows = tuple(
        KpiRun(
            schema_version=1,
            run_id=f"kpi-{place:05d}-{int(marks[place]):08x}",
            started_at=plan.planned.baseline_until + timedelta(seconds=round(86_400 * float(days[place]))),
            machine=_MACHINES[machine[place]][0],
            data="real" if real[place] else "canned",
            kpi_source=other if foreign[place] else plan.frozen.kpi_source,
            commit=plan.frozen.commit,
            kpis=Kpis(
                iteration_count=int(values[Kpi.ITERATION_COUNT][place]),
                wall_time_ms=round(float(values[Kpi.WALL_TIME_MS][place]), 2),
                section_fail_count=int(values[Kpi.SECTION_FAIL_COUNT][place]),
                distribution_pass_rate=round(float(values[Kpi.DISTRIBUTION_PASS_RATE][place]), 4),
                error_count=int(values[Kpi.ERROR_COUNT][place]),
                safety_cap_hit=bool(values[Kpi.SAFETY_CAP_HIT][place]),
                mean_section_attempts=round(float(values[Kpi.MEAN_SECTION_ATTEMPTS][place]), 4),
                structural_error_count=int(values[Kpi.STRUCTURAL_ERROR_COUNT][place]),
                cortex_recall_empty_count=int(values[Kpi.CORTEX_RECALL_EMPTY_COUNT][place]),
            ),
        )
        for place in range(n)
    )
    return Log(rows, simulated=True)


def _values(truth: Truth, machine: np.ndarray, after: np.ndarray, rng: np.random.Generator) -> dict[Kpi, Reals]:
    """The KPIs of each run; how hard its input was moves several of them together."""
    n = len(machine)
    hard = rng.standard_normal(n)

    def about(kpi: Kpi, centre: float | Reals, spread: float) -> Reals:
        together, alone = 0.6 * hard, 0.8 * rng.standard_normal(n)
        return np.asarray(centre * level(kpi) * np.exp(spread * (together + alone)))

    def level(kpi: Kpi) -> Reals:
        return np.where(after, truth.after.get(kpi, 1.0), 1.0) * truth.scale.get(kpi, 1.0)

    def events(kpi: Kpi, mean: float) -> Reals:
        return np.asarray(rng.poisson(mean * level(kpi) * np.exp(0.15 * hard)), dtype=np.float64)

    medians = np.array([median for _, _, median in _MACHINES])
    found = {
        Kpi.ITERATION_COUNT: np.rint(about(Kpi.ITERATION_COUNT, 46, 0.11)),
        Kpi.WALL_TIME_MS: about(Kpi.WALL_TIME_MS, medians[machine], 0.10),
        Kpi.SECTION_FAIL_COUNT: events(Kpi.SECTION_FAIL_COUNT, 0.7),
        Kpi.DISTRIBUTION_PASS_RATE: np.minimum(about(Kpi.DISTRIBUTION_PASS_RATE, 0.58, 0.09), 1),
        Kpi.ERROR_COUNT: events(Kpi.ERROR_COUNT, 0.7),
        Kpi.SAFETY_CAP_HIT: np.minimum(events(Kpi.SAFETY_CAP_HIT, 0.0003), 1),
        Kpi.MEAN_SECTION_ATTEMPTS: 1 + about(Kpi.MEAN_SECTION_ATTEMPTS, 0.5, 0.16),
        Kpi.STRUCTURAL_ERROR_COUNT: events(Kpi.STRUCTURAL_ERROR_COUNT, 0.0003),
        Kpi.CORTEX_RECALL_EMPTY_COUNT: events(Kpi.CORTEX_RECALL_EMPTY_COUNT, 0.25),
    }
    for kpi in truth.constant:
        found[kpi] = np.full(n, np.rint(np.median(found[kpi])) if kpi is not Kpi.WALL_TIME_MS else 250.0)
    return found
