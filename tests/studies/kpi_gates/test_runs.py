"""Columns of runs say what the rows say."""

import numpy as np
import pytest

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass
from eval_pipeline.studies.kpi_gates.runs import KPIS, runs_of
from tests.studies.kpi_gates.made_up import SHIPPED, columns, row


def test_a_gate_says_nothing_of_a_run_for_which_it_is_suspended():
    rows = (row("a"), row("b", data="canned"), row("c", distribution_pass_rate=None), row("d", safety_cap_hit=True))
    runs = runs_of(rows, SHIPPED.arms.rule)
    says = {kpi: runs.says[:, KPIS.index(kpi)].tolist() for kpi in KPIS}
    assert says[Kpi.DISTRIBUTION_PASS_RATE] == [True, False, False, True]
    assert says[Kpi.CORTEX_RECALL_EMPTY_COUNT] == [True, False, True, True]
    assert says[Kpi.MEAN_SECTION_ATTEMPTS] == [True, True, True, False]
    assert says[Kpi.WALL_TIME_MS] == [True] * 4
    assert len(runs.of(Kpi.DISTRIBUTION_PASS_RATE, None)) == 2


def test_a_run_is_in_the_arm_of_its_hash():
    rows = tuple(row(f"run-{number}") for number in range(60))
    treated = runs_of(rows, SHIPPED.arms.rule).treated
    assert treated.tolist() == [arm_of(one.run_id, SHIPPED.arms.rule) is Arm.TREATMENT for one in rows]
    assert 0 < treated.sum() < 60


def test_values_are_of_one_class_where_it_is_named():
    runs = columns({Kpi.WALL_TIME_MS: [1.0, 2.0]}, machine=MachineClass.X86_AMD)
    assert runs.of(Kpi.WALL_TIME_MS, MachineClass.X86_AMD).tolist() == [1, 2]
    assert runs.of(Kpi.WALL_TIME_MS, MachineClass.X86_INTEL).tolist() == []


def test_a_kpi_is_raised_no_further_than_it_can_go_and_no_other_is():
    runs = columns({Kpi.DISTRIBUTION_PASS_RATE: [0.5, 0.9], Kpi.ERROR_COUNT: [3, 4]})
    raised = runs.raised(Kpi.DISTRIBUTION_PASS_RATE, 1.2)
    assert raised.of(Kpi.DISTRIBUTION_PASS_RATE, None) == pytest.approx([0.6, 1.0])
    assert raised.of(Kpi.ERROR_COUNT, None).tolist() == [3, 4]
    assert runs.of(Kpi.DISTRIBUTION_PASS_RATE, None).tolist() == [0.5, 0.9]


def test_no_rows_are_no_runs():
    runs = runs_of((), SHIPPED.arms.rule)
    assert (len(runs), runs.values.shape, runs.says.dtype) == (0, (0, 9), np.bool_)
