"""Generated runs are what their truth says."""

from dataclasses import fields

import numpy as np
import pytest

from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.kpi_gates.generator import Truth, generated
from eval_pipeline.studies.kpi_gates.kpis import Kpi, MachineClass
from eval_pipeline.studies.kpi_gates.observations import read
from eval_pipeline.studies.kpi_gates.study import STUDY
from tests.studies.kpi_gates.made_up import SHIPPED, planned

SMALL = planned(planned={"runs": 1000})


def rows(truth=None, seed=1):
    return generated(SMALL, truth or Truth(), rng=np.random.default_rng(seed)).rows


def means(kpi, truth):
    end = SMALL.planned.baseline_until
    parts = ([row for row in rows(truth) if (row.started_at >= end) == later] for later in (False, True))
    return [float(np.mean([row.kpis.values[kpi] for row in part])) for part in parts]


def test_the_default_log_has_the_planned_runs_and_is_the_same_each_time(tmp_path):
    log = STUDY.generate(SHIPPED)
    assert (len(log.rows), log.simulated, log.hash) == (SHIPPED.planned.runs, True, STUDY.generate(SHIPPED).hash)
    assert len({row.run_id for row in log.rows}) == SHIPPED.planned.runs
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes(log.rows))
    assert read(path).rows == log.rows


def test_machines_of_every_class_run_both_kinds_of_data():
    found = rows()
    assert {row.machine.of_class for row in found} == set(MachineClass)
    assert {row.data for row in found} == {"canned", "real"}
    assert list(found) == sorted(found, key=lambda row: row.started_at)


@pytest.mark.parametrize("kpi", [Kpi.ITERATION_COUNT, Kpi.WALL_TIME_MS, Kpi.ERROR_COUNT])
def test_a_kpi_moves_as_the_truth_says(kpi):
    before, after = means(kpi, Truth())
    assert after == pytest.approx(before, rel=0.15)
    before, after = means(kpi, Truth(after={kpi: 2.0}))
    assert after == pytest.approx(2 * before, rel=0.15)
    assert means(kpi, Truth(scale={kpi: 2.0}))[0] == pytest.approx(2 * before, rel=0.15)


def test_a_constant_kpi_has_one_value_and_foreign_runs_another_source():
    found = rows(Truth(constant=frozenset(Kpi) - {Kpi.SAFETY_CAP_HIT}, foreign=0.1))
    assert len({row.kpis.model_dump_json(exclude={"safety_cap_hit"}) for row in found}) == 1
    foreign = [row for row in found if row.kpi_source != SMALL.frozen.kpi_source]
    assert len(foreign) == pytest.approx(100, abs=40)


def test_hard_inputs_move_several_kpis_together():
    found = rows()
    columns = [[row.kpis.values[kpi] for row in found] for kpi in (Kpi.ITERATION_COUNT, Kpi.MEAN_SECTION_ATTEMPTS)]
    assert np.corrcoef(columns)[0, 1] > 0.2


def test_every_part_of_the_truth_can_be_planted():
    assert {one.name for one in fields(Truth)} == {"scale", "after", "constant", "baseline", "real", "foreign"}
    assert {row.data for row in rows(Truth(real=1.0))} == {"real"}
    assert all(row.started_at < SMALL.planned.baseline_until for row in rows(Truth(baseline=1.0)))
