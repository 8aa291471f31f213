"""Calibrated gates as a document: the decision, the claims, every gate with what it rests on, and the file of gates."""

from collections.abc import Sequence
from typing import Any

from eval_pipeline.document import plain_interval, plain_number, plain_value
from eval_pipeline.loop import Constant
from eval_pipeline.records import Interval
from eval_pipeline.stats.percentile import Percentile
from eval_pipeline.studies.kpi_gates.calibration import Gate, bounded_share
from eval_pipeline.studies.kpi_gates.family import family_wise, fewest_runs
from eval_pipeline.studies.kpi_gates.findings import Alarms, KpiGatesFindings
from eval_pipeline.studies.kpi_gates.held_out import Compared, HeldOutFindings
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.plan import KpiGatesPlan
from eval_pipeline.studies.kpi_gates.promoted import gate_file
from eval_pipeline.studies.kpi_gates.promotion import WORDS
from eval_pipeline.studies.kpi_gates.verdict import decided, gates_after, verdicts
from eval_pipeline.studies.loop_document import loop_document

SCRIPT = "eval_pipeline.studies.kpi_gates.findings"


def document_of(found: KpiGatesFindings, compared: HeldOutFindings | None, plan: KpiGatesPlan) -> dict[str, Any]:
    """The document as plain values; None stands where nothing was measured."""
    gates = gates_after(found, compared)
    return loop_document(
        plan,
        simulated=found.simulated,
        verdicts=verdicts(found, compared, plan),
        decision=plain_value(decided(found, compared)),
        findings=_findings(found, gates, plan),
        held_out=None if compared is None else _held_out(compared),
        constants=constants(found, gates),
        charts=[plain_value(chart) for chart in found.charts],
    )


def constants(found: KpiGatesFindings, gates: Sequence[Gate]) -> tuple[Constant, ...]:
    """The thresholds in force; a provisional one is a heuristic, and so is what generated runs gave.

    A promoted one is dated by the last run that it rests on.
    """
    day = found.last_of_baseline.date()
    return tuple(
        Constant(gate.name, float(gate.in_force), SCRIPT, day, gate.n, found.observations)
        if gate.standing.promoted and not found.simulated
        else Constant(gate.name, float(gate.in_force))
        for gate in gates
    )


def _findings(found: KpiGatesFindings, gates: Sequence[Gate], plan: KpiGatesPlan) -> dict[str, Any]:
    share = bounded_share(plan)
    return {
        "runs": {"baseline": found.baseline, "watched": found.watched, "foreign": found.foreign},
        "frozen": plan.frozen.model_dump(mode="json"),
        "family": {
            "alarms_at_most": plain_number(plan.family.alarms_at_most),
            "method": plan.family.method,
            "percentile_of_each": plain_number(share),
            "runs_needed": fewest_runs(share, level=plan.estimate.level),
            "if_independent_at_anchor": plain_number(family_wise(1 - plan.estimate.anchor, len(Kpi))),
            "at_anchor": _alarms(found.anchor_alarms),
            "provisional": _alarms(found.provisional_alarms),
            "calibrated": _alarms(found.alarms),
        },
        "gates": [_gate(gate) for gate in gates],
        "perturbations": [plain_value(one) for one in found.perturbations],
        "moves": [plain_value(move) for move in found.moves],
        "stopped": plain_value(found.stopped),
        "blocked": [row.model_dump(mode="json") for row in found.blocked],
        "gate_file": gate_file(
            gates,
            plan,
            observations=found.observations,
            simulated=found.simulated,
            until=found.last_of_baseline,
        ),
    }


def _gate(gate: Gate) -> dict[str, Any]:
    return {
        "gate": gate.name,
        "in_force": plain_number(gate.in_force),
        "provisional": plain_number(gate.provisional),
        "calibrated": plain_number(gate.standing.calibrated),
        "relative_change": plain_number(gate.standing.change),
        "standing": "promoted" if gate.standing.promoted else "held",
        "why": WORDS[gate.standing.why],
        "n": gate.n,
        "no_variation": gate.no_variation,
        "anchor": _percentile(gate.anchor),
        "bound": _percentile(gate.bound),
    }


def _percentile(found: Percentile | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "estimate": plain_number(found.estimate),
        "interval": plain_interval(found.interval),
        "ranks": [found.low_rank, found.high_rank],
        "coverage": plain_number(found.coverage),
    }


def _alarms(alarms: Alarms) -> dict[str, Any]:
    return {
        "stopped": alarms.stopped,
        "n": alarms.n,
        "share": plain_number(alarms.share),
        "interval": plain_interval(alarms.interval),
    }


def _held_out(compared: HeldOutFindings) -> dict[str, Any]:
    return {
        "control": compared.control,
        "treated": compared.treated,
        "worth": plain_number(compared.worth),
        "enough": compared.enough,
        "foreign": compared.foreign,
        "recommendation": compared.recommendation,
        "rejected": compared.rejected,
        "family": _compared(compared.family),
        "gates": [
            {
                "gate": one.gate,
                "rejected": one.rejected,
                "false_alarms": _compared(one.alarms),
                "misses_of_the_shift": _compared(one.misses),
            }
            for one in compared.gates
        ],
    }


def _compared(one: Compared) -> dict[str, Any]:
    difference: Interval | None = one.difference
    return {
        "provisional": _alarms(one.provisional),
        "calibrated": _alarms(one.calibrated),
        "difference": plain_interval(difference),
    }
