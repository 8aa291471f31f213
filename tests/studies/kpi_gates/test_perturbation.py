"""A synthetic run that was shifted is stopped, one that was moved by noise is not; each KPI by itself."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass, gate_name
from eval_pipeline.studies.kpi_gates.perturbation import perturbations
from tests.studies.kpi_gates.made_up import SHIPPED, calibrated_on, columns, gate_of, population

RULE = SHIPPED.promotion


def found_of(gates):
    return {one.gate: one for one in perturbations(gates, RULE)}


def test_every_calibrated_gate_stops_the_shift_and_lets_the_noise_pass():
    gates = calibrated_on(population())
    tried = [one for one in perturbations(gates, RULE) if one.promoted]
    assert {one.gate for one in tried} == {gate.name for gate in gates if gate.standing.promoted}
    assert len(tried) >= 5
    assert all(one.holds for one in tried)


def test_a_provisional_gate_may_be_blind_to_the_shift():
    # At 46 +- some, a fifth more is far from 100.
    gates = calibrated_on(columns({Kpi.ITERATION_COUNT: np.random.default_rng(1).normal(46, 4, 1000)}))
    held = tuple(gate.held("stopped") for gate in gates)
    assert found_of(gates)["iteration_count_max"].holds
    assert not found_of(held)["iteration_count_max"].fires_on_shift


@pytest.mark.parametrize(("factor", "on_shift", "on_noise"), [("1.04", True, True), ("1.25", False, False)])
def test_a_gate_at_the_wrong_height_is_found(factor, on_shift, on_noise):
    gates = calibrated_on(columns({Kpi.ITERATION_COUNT: np.random.default_rng(1).normal(46, 4, 1000)}))
    gate = gate_of(gates, Kpi.ITERATION_COUNT)
    wrong = replace(gate.standing, calibrated=Fraction(str(gate.bound.estimate)) * Fraction(factor))
    moved = tuple(replace(one, standing=wrong) if one is gate else one for one in gates)
    found = found_of(moved)["iteration_count_max"]
    assert (found.fires_on_shift, found.fires_on_noise, found.holds) == (on_shift, on_noise, False)


def test_the_wall_time_is_tried_on_each_class_by_its_own_gate():
    rng = np.random.default_rng(1)
    gates = calibrated_on(columns({Kpi.WALL_TIME_MS: rng.normal(250, 10, 1000)}, machine=MachineClass.X86_AMD))
    found = perturbations(gates, RULE)
    assert [(one.gate, one.holds) for one in found] == [("wall_time_ms_max[x86_amd]", True)]


def test_a_gate_whose_percentile_is_0_is_not_tried():
    gates = calibrated_on(columns({Kpi.ERROR_COUNT: [0] * 1000}))
    assert gate_name(Kpi.ERROR_COUNT) not in found_of(gates)
