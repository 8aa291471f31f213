"""A generated log holds the truth that was planted, in texts that look like those of real runs."""

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.observations import log_bytes
from eval_pipeline.studies.fire_rate.events import KINDS
from eval_pipeline.studies.fire_rate.generator import generated, log_of, steady
from eval_pipeline.studies.fire_rate.study import STUDY


def test_the_seed_of_the_plan_gives_one_log(shipped):
    log = generated(shipped)
    assert log.simulated
    assert log.hash == generated(shipped).hash
    assert len(log.rows) == shipped.simulation.runs
    assert log.hash != generated(shipped.model_copy(update={"seed": 1})).hash


def test_a_generated_log_can_be_read_as_a_real_one(shipped, tmp_path):
    log = generated(shipped)
    path = tmp_path / "log.jsonl"
    path.write_bytes(log_bytes(log.rows))
    assert STUDY.read(path).rows == log.rows


def test_what_was_planted_is_what_fires(shipped):
    """Of 400 runs the first half reports one kind for certain, every tenth run the other."""
    chances = np.zeros((400, 2))
    chances[:200, 0] = 1
    chances[::10, 1] = 1
    rows = log_of(chances, shipped.contexts, shipped.simulation, rng=np.random.default_rng(5)).rows
    assert [KINDS[0] in row.kinds for row in rows] == [True] * 200 + [False] * 200
    assert [KINDS[1] in row.kinds for row in rows] == [place % 10 == 0 for place in range(400)]
    assert [row.context for row in rows[:9]] == [*shipped.contexts, shipped.contexts[0]]
    assert [row.sequence for row in rows] == list(range(1, 401))


@pytest.mark.parametrize("rate", [0.01, 0.2])
def test_the_rates_of_a_steady_truth_come_out(shipped, rate):
    chances = steady(dict.fromkeys(KINDS, rate), 4000)
    rows = log_of(chances, shipped.contexts, shipped.simulation, rng=np.random.default_rng(6)).rows
    for kind in KINDS:
        assert binomtest(sum(kind in row.kinds for row in rows), 4000, rate).pvalue > 0.01
    twice = [len(row.errors) - len(set(row.errors)) > 0 for row in rows if row.kinds]
    assert binomtest(sum(twice), len(twice), 1 / 3).pvalue > 0.01
    beside = [bool(row.errors) for row in rows if not row.kinds]
    assert binomtest(sum(beside), len(beside), 1 / 6).pvalue > 0.01
