"""A gate fires strictly above its threshold, and only where its KPI says something."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.studies.kpi_gates.calibration import provisional_gates
from eval_pipeline.studies.kpi_gates.evaluation import GateSet, Violation, evaluated, gates_of_run
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass, gate_name
from eval_pipeline.studies.kpi_gates.runs import KPIS, any_fired, fired
from tests.stats.laws import LAW
from tests.studies.kpi_gates.made_up import SHIPPED, columns, vector

GATES = provisional_gates(SHIPPED)
HERE = MachineClass.M_SERIES_HIGH


def violated(gates=GATES, canned=False, machine=HERE, **kpis):
    report = evaluated(vector(**kpis), canned=canned, machine=machine, gates=gates)
    return [violation.metric for violation in report.violations]


@pytest.mark.parametrize(
    ("kpi", "at", "above"),
    [
        ("iteration_count", 100, 101),
        ("wall_time_ms", 500, 500.001),
        ("section_fail_count", 5, 6),
        ("distribution_pass_rate", 0.95, 0.9500001),
        ("error_count", 5, 6),
        ("safety_cap_hit", False, True),
        ("mean_section_attempts", 2.5, 2.51),
        ("structural_error_count", 0, 1),
        ("cortex_recall_empty_count", 3, 4),
    ],
)
def test_a_value_at_the_threshold_passes_and_one_above_does_not(kpi, at, above):
    assert violated(**{kpi: at}) == []
    assert violated(**{kpi: above}) == [f"{kpi}_max"]


def test_a_violation_says_what_was_measured_and_the_threshold():
    report = evaluated(vector(mean_section_attempts=2.6), canned=False, machine=HERE, gates=GATES)
    assert report.violations == (Violation("mean_section_attempts_max", Fraction("2.6"), Fraction("2.5")),)
    assert not report.passed


def test_canned_runs_are_not_held_to_what_canned_data_decide():
    assert violated(canned=True, distribution_pass_rate=1.0, cortex_recall_empty_count=11) == []
    report = evaluated(vector(), canned=True, machine=HERE, gates=GATES)
    assert report.suspended == ("distribution_pass_rate_max", "cortex_recall_empty_count_max")


def test_the_mean_number_of_attempts_is_not_judged_where_the_cap_cut_them_off():
    assert violated(mean_section_attempts=9.0, safety_cap_hit=True) == ["safety_cap_hit_max"]


def test_a_kpi_without_a_value_is_not_judged():
    assert violated(distribution_pass_rate=None, mean_section_attempts=None) == []


def test_the_wall_time_is_held_to_the_gate_of_its_class_and_to_the_common_one_elsewhere():
    gates = GateSet(GATES.thresholds, {HERE: Fraction(200)})
    assert violated(gates, wall_time_ms=240) == ["wall_time_ms_max"]
    assert violated(gates, machine=MachineClass.X86_AMD, wall_time_ms=240) == []


def test_a_control_run_is_held_to_the_provisional_gates():
    other = GateSet({kpi: Fraction(0) for kpi in Kpi})
    for number in range(50):
        run_id = f"run-{number}"
        found = gates_of_run(run_id, SHIPPED.arms.rule, provisional=GATES, calibrated=other)
        assert (found is GATES) == (arm_of(run_id, SHIPPED.arms.rule) is Arm.CONTROL)


@LAW
@given(
    st.lists(st.decimals(0, 9, places=3).map(str), min_size=9, max_size=9),
    st.lists(st.decimals(0, 9, places=3).map(str), min_size=9, max_size=9),
)
def test_columns_fire_as_single_runs_do(values, thresholds):
    gates = GateSet({kpi: Fraction(text) for kpi, text in zip(KPIS, thresholds, strict=True)})
    run = {kpi: float(text) for kpi, text in zip(KPIS, values, strict=True)} | {Kpi.SAFETY_CAP_HIT: 0.0}
    report = evaluated(run, canned=False, machine=HERE, gates=gates)
    runs = columns({kpi: [value] for kpi, value in run.items()})
    found = [gate_name(KPIS[place]) for place in np.flatnonzero(fired(runs, gates)[0])]
    assert found == [violation.metric for violation in report.violations]
    assert any_fired(runs, gates).tolist() == [not report.passed]


def test_decimals_decide_and_not_the_binary_numbers_that_stand_for_them():
    gates = GateSet({kpi: Fraction("2.3") for kpi in Kpi})
    assert float("2.3") != Fraction("2.3")
    assert violated(gates, iteration_count=2.3, wall_time_ms=2.3) == []
