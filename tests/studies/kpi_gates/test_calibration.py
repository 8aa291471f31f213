"""Each gate rests on the runs that say something of it, between order statistics that bound the truth."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.stats.percentile import percentile
from eval_pipeline.studies.kpi_gates.calibration import anchor_set, bounded_share, gate_set
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass
from tests.studies.kpi_gates.made_up import SHIPPED, calibrated_on, columns, drawn, gate_of, planned, population

HIGH = MachineClass.M_SERIES_HIGH
OF_1_TO_100 = planned(family={"alarms_at_most": Fraction(45, 100)})  # .45 / 9 = 5 % of each gate


def test_p95_of_1_to_100_is_bounded_by_the_ranks_90_and_100():
    (gate,) = [
        one for one in calibrated_on(columns({Kpi.ITERATION_COUNT: range(1, 101)}), OF_1_TO_100)
        if one.kpi is Kpi.ITERATION_COUNT
    ]  # fmt: skip
    assert (gate.n, gate.bound.estimate) == (100, pytest.approx(95.05))
    assert (gate.bound.low_rank, gate.bound.high_rank) == (90, 100)
    assert gate.bound == gate.anchor


def test_the_interval_of_p95_covers_at_least_as_often_as_it_says():
    """Of 200 generations of 100 runs, ranks 90 and 100 hold the true P95 in .9826 of the cases, and in .95 at least."""
    rng = np.random.default_rng(9)
    hits = 0
    for _ in range(200):
        gate = gate_of(
            calibrated_on(columns({Kpi.ITERATION_COUNT: rng.permutation(10_000)[:100]}), OF_1_TO_100),
            Kpi.ITERATION_COUNT,
        )
        hits += gate.bound.interval.low <= 9499.5 <= gate.bound.interval.high
    # A one-sided test at 1 %, and not so wide that it never misses.
    assert binomtest(hits, 200, 0.95, alternative="less").pvalue > 0.01
    assert hits < 200


def test_a_percentile_is_taken_so_high_that_all_gates_together_stop_few():
    assert bounded_share(SHIPPED) == pytest.approx(1 - 0.05 / 9)


def test_the_wall_time_has_a_gate_for_each_class_and_the_rest_have_one():
    gates = calibrated_on(population())
    assert [gate.machine for gate in gates if gate.kpi is Kpi.WALL_TIME_MS] == list(MachineClass)
    assert len(gates) == 8 + len(MachineClass)
    high, mid = (gate_of(gates, Kpi.WALL_TIME_MS, one) for one in (HIGH, MachineClass.M_SERIES_MID))
    assert high.in_force < mid.in_force < high.provisional
    assert high.n == (population().machine == 0).sum()


def test_a_class_with_too_few_runs_keeps_the_provisional_threshold():
    runs = columns({Kpi.WALL_TIME_MS: np.random.default_rng(1).normal(250, 20, 662)}, machine=HIGH)
    gate = gate_of(calibrated_on(runs), Kpi.WALL_TIME_MS, HIGH)
    assert (gate.standing.why, gate.in_force) == ("too_few_runs", 500)
    more = columns({Kpi.WALL_TIME_MS: np.random.default_rng(1).normal(250, 20, 663)}, machine=HIGH)
    assert gate_of(calibrated_on(more), Kpi.WALL_TIME_MS, HIGH).standing.promoted
    other = gate_of(calibrated_on(more), Kpi.WALL_TIME_MS, MachineClass.X86_AMD)
    assert (other.n, other.standing.why, other.bound) == (0, "no_runs", None)


def test_a_stub_that_always_does_the_same_is_declared_uninformative():
    gate = gate_of(calibrated_on(columns({Kpi.ITERATION_COUNT: [64] * 1000})), Kpi.ITERATION_COUNT)
    assert (gate.no_variation, gate.standing.why, gate.in_force) == (True, "no_variation", 100)


def test_special_causes_are_not_calibrated():
    gates = calibrated_on(drawn(1000, np.random.default_rng(1)))
    for kpi in (Kpi.SAFETY_CAP_HIT, Kpi.STRUCTURAL_ERROR_COUNT):
        assert (gate_of(gates, kpi).standing.why, gate_of(gates, kpi).in_force) == ("special_cause", 0)


def test_the_gates_in_force_are_the_promoted_ones_and_else_the_provisional_ones():
    gates = calibrated_on(population())
    found = gate_set(gates)
    for gate in gates:
        assert found.of(gate.kpi, gate.machine or HIGH) == gate.in_force
    held = gate_of(gates, Kpi.ITERATION_COUNT).held("stopped")
    assert (held.in_force, held.standing.why) == (100, "stopped")
    assert held.held("worse_on_held_out").standing.why == "stopped"


def test_gates_at_the_anchor_are_the_percentiles_themselves():
    runs = population()
    expected = percentile(runs.of(Kpi.ERROR_COUNT, None), share=0.95, level=0.95).estimate
    found = anchor_set(calibrated_on(runs))
    assert found.of(Kpi.ERROR_COUNT, HIGH) == expected
    assert found.of(Kpi.SAFETY_CAP_HIT, HIGH) == 0
