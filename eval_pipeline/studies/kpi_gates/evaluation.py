"""Which gates a run does not pass: strictly above the threshold, and only where its KPI says something."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from eval_pipeline.arms import Arm, Assignment, arm_of
from eval_pipeline.records import Number
from eval_pipeline.stats.scalars import as_printed
from eval_pipeline.studies.kpi_gates.kpis import REAL_ONLY, Kpi, MachineClass, gate_name


@dataclass(frozen=True, slots=True)
class GateSet:
    """A threshold for each KPI; that of the wall time may be another one on machines of some classes."""

    thresholds: Mapping[Kpi, Fraction]
    wall_time: Mapping[MachineClass, Fraction] = field(default_factory=dict)

    def of(self, kpi: Kpi, machine: MachineClass) -> Fraction:
        """The threshold of a KPI on such a machine."""
        if kpi is Kpi.WALL_TIME_MS and machine in self.wall_time:
            return self.wall_time[machine]
        return self.thresholds[kpi]


@dataclass(frozen=True, slots=True)
class Violation:
    """A gate that a run does not pass, what was measured, and the threshold that it exceeds."""

    metric: str
    actual: Fraction
    threshold: Fraction


@dataclass(frozen=True, slots=True)
class Report:
    """What the gates say of a run; `suspended` are those that say nothing of it."""

    violations: tuple[Violation, ...]
    suspended: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether no gate fires."""
        return not self.violations


def says_nothing(kpi: Kpi, value: Number | None, *, canned: bool, cap_hit: bool) -> bool:
    """Whether the gate of a KPI is suspended for a run.

    Canned data decide two KPIs by themselves, and the mean number of attempts means nothing where the cap cut them off.
    """
    if value is None or (canned and kpi in REAL_ONLY):
        return True
    return kpi is Kpi.MEAN_SECTION_ATTEMPTS and cap_hit


def evaluated(values: Mapping[Kpi, Number | None], *, canned: bool, machine: MachineClass, gates: GateSet) -> Report:
    """The gates that a run does not pass, in the order of the KPIs; a value that equals its threshold passes.

    Args:
        values: the KPI vector; a float is taken for the decimal that it prints as.
        canned: whether the run was on canned data.
        machine: where it ran.
        gates: the thresholds.

    """
    violations: list[Violation] = []
    suspended: list[str] = []
    cap_hit = bool(values[Kpi.SAFETY_CAP_HIT])
    for kpi in Kpi:
        value = values[kpi]
        if value is None or says_nothing(kpi, value, canned=canned, cap_hit=cap_hit):
            suspended.append(gate_name(kpi))
        elif (actual := as_printed(value, kpi.value)) > (threshold := gates.of(kpi, machine)):
            violations.append(Violation(gate_name(kpi), actual, threshold))
    return Report(tuple(violations), tuple(suspended))


def gates_of_run(run_id: str, rule: Assignment, *, provisional: GateSet, calibrated: GateSet) -> GateSet:
    """The gates that a run is held to: those that stood before in the control arm, the calibrated ones in the other."""
    return provisional if arm_of(run_id, rule) is Arm.CONTROL else calibrated
