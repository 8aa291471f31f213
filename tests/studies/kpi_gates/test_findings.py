"""What a whole log says: phases, stops, and the baseline that was frozen."""

from datetime import timedelta

import numpy as np
import pytest

from eval_pipeline.errors import TooFewObservations
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.observations import Log
from eval_pipeline.studies.kpi_gates.findings import KpiGatesFindings, findings, phases_of
from eval_pipeline.studies.kpi_gates.generator import Truth, generated
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from tests.studies.kpi_gates.made_up import SHIPPED, default_findings, default_parts, gate_of, planned, row

SMALL = planned(planned={"runs": 1200})


def of(truth, plan=SMALL, seed=1):
    return findings(generated(plan, truth, rng=np.random.default_rng(seed)), plan)


def test_rows_are_taken_in_the_order_of_time_whatever_the_order_of_the_log():
    log, _ = default_parts()
    turned = Log(log.rows[::-1], simulated=True)
    assert phases_of(turned.rows, SHIPPED) == phases_of(log.rows, SHIPPED)
    found = findings(turned, SHIPPED)
    assert (found.gates, found.charts, found.moves) == (
        default_findings().gates, default_findings().charts, default_findings().moves
    )  # fmt: skip


def test_a_run_that_starts_when_the_baseline_ends_is_watched():
    end = SHIPPED.planned.baseline_until
    rows = [
        row(name).model_copy(update={"started_at": end + timedelta(seconds=apart)})
        for name, apart in (("a", -1), ("b", 0))
    ]
    phases = phases_of(rows, SHIPPED)
    assert ([one.run_id for one in phases.baseline], [one.run_id for one in phases.watched]) == (["a"], ["b"])
    with pytest.raises(TooFewObservations, match="found no run that started before 2026-10-15"):
        findings(Log(tuple(rows[1:]), simulated=True), SHIPPED)


def test_the_default_log_promotes_and_stops_few_runs():
    found = default_findings()
    assert found.stopped is None
    assert gate_of(found.gates, Kpi.ITERATION_COUNT).standing.promoted
    assert found.alarms.share < 0.05 < found.anchor_alarms.share
    assert found.anchor_alarms.n == found.baseline
    assert not [move for move in found.moves if move.due]


def test_runs_that_other_code_measured_hold_every_gate():
    found = of(Truth(foreign=0.01))
    assert found.foreign > 0
    assert not [gate for gate in found.gates if gate.standing.promoted]
    assert "baseline_changed" in {gate.standing.why for gate in found.gates}
    skipped = planned(planned={"runs": 1200}, frozen={"check": "skipped"})
    assert [gate for gate in of(Truth(foreign=0.01), skipped).gates if gate.standing.promoted]


def test_a_gate_that_is_violated_five_times_in_a_hundred_runs_ends_the_calibration():
    found = of(Truth(scale={Kpi.CORTEX_RECALL_EMPTY_COUNT: 20}))
    assert found.stopped.gate == "cortex_recall_empty_count_max"
    assert found.stopped.place < 100
    assert not [gate for gate in found.gates if gate.standing.promoted]
    assert "stopped" in {gate.standing.why for gate in found.gates}


def test_violations_after_the_baseline_end_no_calibration():
    found = of(Truth(after={Kpi.CORTEX_RECALL_EMPTY_COUNT: 20}))
    assert found.stopped is None
    assert len([one for one in found.blocked if one.gate_name == "cortex_recall_empty_count_max"]) > 5


def test_a_threshold_may_rise_where_good_runs_exceed_the_provisional_one():
    """Some 3 % of runs lie above 5 errors, fewer than five of a hundred as a rule; the stop is put out of the way."""
    plan = planned(planned={"runs": 3200}, stop={"violations": 50})
    gate = gate_of(of(Truth(scale={Kpi.ERROR_COUNT: 3.2}), plan).gates, Kpi.ERROR_COUNT)
    assert gate.standing.promoted
    assert gate.in_force > gate.provisional


def test_a_stub_is_uninformative_and_its_chart_has_no_limits():
    found = of(Truth(constant=frozenset({Kpi.ITERATION_COUNT})))
    gate = gate_of(found.gates, Kpi.ITERATION_COUNT)
    assert (gate.standing.why, gate.in_force) == ("no_variation", 100)
    (chart,) = [one for one in found.charts if one.name == "iteration_count"]
    assert (chart.centre, chart.signals) == (None, ())


def test_stopped_runs_are_held_to_the_gates_of_their_arm():
    found = of(Truth(after={Kpi.ITERATION_COUNT: 1.6}), planned(planned={"runs": 2400}))
    thresholds = {one.threshold for one in found.blocked if one.gate_name == "iteration_count_max"}
    assert thresholds == {100.0, float(gate_of(found.gates, Kpi.ITERATION_COUNT).in_force)}


def test_charts_follow_the_baseline_and_what_comes_after_it():
    found = default_findings()
    (chart,) = [one for one in found.charts if one.name == "iteration_count"]
    assert chart.baseline == found.baseline // 20
    assert len(chart.points) == found.baseline // 20 + found.watched // 20
    assert [one.name for one in found.charts][1] == "wall_time_ms [m_series_high]"
    assert len(found.charts) == len(found.gates)


def test_findings_are_the_same_from_json():
    found = default_findings()
    assert read_json(json_bytes(found, KpiGatesFindings), KpiGatesFindings) == found
