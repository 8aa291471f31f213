"""Synthetic runs: one that lies by the shift above what a gate was calibrated on is stopped, and noise is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from eval_pipeline.stats.scalars import as_printed
from eval_pipeline.studies.kpi_gates.calibration import Gate, gate_set
from eval_pipeline.studies.kpi_gates.evaluation import evaluated
from eval_pipeline.studies.kpi_gates.kpis import Kpi, gate_name
from eval_pipeline.studies.kpi_gates.plan import Promotion
from eval_pipeline.studies.kpi_gates.runs import CLASSES


@dataclass(frozen=True, slots=True)
class Perturbation:
    """A synthetic run at the percentile of a gate, moved: whether the gate stops it.

    `fires_on_shift` with that KPI raised by the shift; `fires_on_noise` with it moved by the noise, up or down, in
    which the higher decides. `promoted` says whether the gate in force was calibrated; a provisional one may be blind.
    """

    gate: str
    promoted: bool
    at: float
    fires_on_shift: bool
    fires_on_noise: bool

    @property
    def holds(self) -> bool:
        """Whether it stops the one and not the other."""
        return self.fires_on_shift and not self.fires_on_noise


def perturbations(gates: Sequence[Gate], rule: Promotion) -> tuple[Perturbation, ...]:
    """What the gates in force say of synthetic runs, one pair for each gate that has a percentile above 0.

    Every other KPI stands at its own percentile, or at 0 where it has none.

    Args:
        gates: all of them, as calibrated.
        rule: the shift and the noise.

    """
    in_force = gate_set(tuple(gates))
    found: list[Perturbation] = []
    for gate in gates:
        if gate.bound is None or gate.bound.estimate <= 0:
            continue
        machine = gate.machine or CLASSES[0]
        values = {kpi: Fraction(0) for kpi in Kpi} | {
            one.kpi: as_printed(one.bound.estimate, one.name)
            for one in gates
            if one.bound is not None and one.machine in (None, machine)
        }

        def fires(factor: Fraction, gate: Gate = gate, values: dict[Kpi, Fraction] = values) -> bool:
            moved = values | {gate.kpi: values[gate.kpi] * factor}
            report = evaluated(moved, canned=False, machine=gate.machine or CLASSES[0], gates=in_force)
            return gate_name(gate.kpi) in {violation.metric for violation in report.violations}

        found.append(
            Perturbation(
                gate=gate.name,
                promoted=gate.standing.promoted,
                at=gate.bound.estimate,
                fires_on_shift=fires(1 + rule.shift),
                fires_on_noise=fires(1 + rule.noise) or fires(1 - rule.noise),
            )
        )
    return tuple(found)
