"""The runs of a log as columns in the order of time, and which of them each threshold stops."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval_pipeline.arms import Arm, Assignment, arm_of
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.studies.kpi_gates.evaluation import GateSet, says_nothing
from eval_pipeline.studies.kpi_gates.kpis import LARGEST, Kpi, MachineClass
from eval_pipeline.studies.kpi_gates.observations import KpiRun

Flags = npt.NDArray[np.bool_]
KPIS, CLASSES = tuple(Kpi), tuple(MachineClass)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Columns of n runs; `values` and `says` have a column for each KPI, in the order of `KPIS`.

    Where `says` is false the gate is suspended, and the value stands for nothing. `machine` numbers `CLASSES`.
    """

    values: Reals
    says: Flags
    machine: npt.NDArray[np.int64]
    treated: Flags

    def __len__(self) -> int:
        """How many there are."""
        return len(self.machine)

    def where(self, chosen: Flags) -> "Runs":
        """Those that were chosen."""
        return Runs(self.values[chosen], self.says[chosen], self.machine[chosen], self.treated[chosen])

    def of(self, kpi: Kpi, machine: MachineClass | None) -> Reals:
        """The values that say something of a KPI, on one class of machines or on all."""
        place = KPIS.index(kpi)
        chosen = self.says[:, place]
        if machine is not None:
            chosen = chosen & (self.machine == CLASSES.index(machine))
        return np.asarray(self.values[chosen, place])

    def raised(self, kpi: Kpi, factor: float) -> "Runs":
        """The same runs with one KPI times a factor, up to the largest value that it can have."""
        values, place = self.values.copy(), KPIS.index(kpi)
        values[:, place] = np.minimum(values[:, place] * factor, LARGEST.get(kpi, np.inf))
        return Runs(values, self.says, self.machine, self.treated)


def runs_of(rows: Iterable[KpiRun], rule: Assignment) -> Runs:
    """The columns of rows that stand in the order of time.

    Args:
        rows: of a log.
        rule: by which a run is treated, or a control.

    """
    found = list(rows)
    vectors = [row.kpis.values for row in found]
    says = [
        [
            not says_nothing(kpi, vector[kpi], canned=row.data == "canned", cap_hit=row.kpis.safety_cap_hit)
            for kpi in KPIS
        ]
        for row, vector in zip(found, vectors, strict=True)
    ]
    return Runs(
        values=np.array([[vector[kpi] or 0.0 for kpi in KPIS] for vector in vectors], dtype=np.float64).reshape(-1, 9),
        says=np.array(says, dtype=np.bool_).reshape(-1, 9),
        machine=np.array([CLASSES.index(row.machine.of_class) for row in found], dtype=np.int64),
        treated=np.array([arm_of(row.run_id, rule) is Arm.TREATMENT for row in found], dtype=np.bool_),
    )


def fired(runs: Runs, gates: GateSet) -> Flags:
    """Which gates each run does not pass, shape (n, 9).

    Floats compare as the decimals do that they stand for, because rounding keeps order.
    """
    table = np.array([[float(gates.of(kpi, machine)) for kpi in KPIS] for machine in CLASSES])
    return np.asarray(runs.says & (runs.values > table[runs.machine]), dtype=np.bool_)


def any_fired(runs: Runs, gates: GateSet) -> Flags:
    """Whether each run does not pass one gate or more, shape (n,)."""
    return np.asarray(fired(runs, gates).any(axis=1), dtype=np.bool_)
