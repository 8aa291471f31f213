"""The made-up runs have the truths that were planted, in the arms that their hash gives, and are the same each time."""

from dataclasses import replace

import numpy as np
import pytest

from eval_pipeline.arms import Arm, arm_of
from eval_pipeline.studies.strategy_feedback.executions import executions_of
from eval_pipeline.studies.strategy_feedback.generator import HELPFUL, generate, generated, run_ids, treated
from tests.studies.strategy_feedback.made_up import changed, made_up


def test_the_log_is_the_same_each_time_and_another_for_another_seed(plan):
    few = changed(plan, power={"n": 5})
    assert generate(few).hash == generate(few).hash
    assert generate(few).hash != generate(few.model_copy(update={"seed": 1})).hash


def test_the_log_says_that_it_is_made_up_and_reads_as_one(plan):
    log = generate(changed(plan, power={"n": 5}))
    assert log.simulated
    assert [row.sequence for row in log.rows] == list(range(len(log.rows)))
    assert len(executions_of(log, plan).run) == len(log.rows)


def test_it_leaves_the_planned_executions_once_a_part_is_held_out(found):
    assert found.whole.enough
    assert all(one.enough for one in found.strategies)


@pytest.fixture(scope="module")
def many(plan):
    rng = np.random.default_rng(5)
    return made_up(plan, HELPFUL, treated=np.arange(20_000) % 2 == 1, rng=rng)


def test_the_planted_truths_are_those_of_many_executions(plan, many):
    """80,000 executions: a pass rate is known to .002, a gain to .001, a share without claims to .002, in 3 sigmas."""
    recorded = many.recorded
    off, on = (recorded.rates[recorded.treated == word].mean() for word in (False, True))
    assert off == pytest.approx(0.62, abs=0.006)
    assert on - off == pytest.approx(0.12, abs=0.009)
    assert (many.claims == 0).mean() == pytest.approx(0.03, abs=0.002)
    assert recorded.claims.mean() == pytest.approx(6, abs=0.03)
    gains = many.confidence - many.reference
    for number, gain in enumerate(HELPFUL.gain):
        assert gains[many.strategy == number].mean() == pytest.approx(gain, abs=0.002)
    shares = np.bincount(many.strategy[many.treated]) / many.treated.sum()
    assert shares == pytest.approx(np.array(HELPFUL.preferences), abs=0.008)
    assert np.bincount(many.strategy[~many.treated]) / (~many.treated).sum() == pytest.approx(
        np.full(4, 0.25), abs=0.008
    )


def test_executions_of_a_run_go_together_as_the_plan_allows(plan, many):
    """One-way analysis of variance over runs without executions to leave out: MSB - MSW over MSB + 3 MSW."""
    truth = replace(HELPFUL, without_claims=0.0)
    executions = made_up(plan, truth, treated=np.ones(20_000, dtype=bool), rng=np.random.default_rng(6))
    table = executions.rates.reshape(-1, 4)
    between, within = 4 * table.mean(axis=1).var(ddof=1), table.var(axis=1, ddof=1).mean()
    assert 0.03 < (between - within) / (between + 3 * within) < 0.07


def test_contexts_and_tiers_are_those_of_the_plan(plan):
    wide = changed(plan, design={"contexts": ["feature", "bug"], "tiers": ["standard", "deep"]})
    log = generated(wide, HELPFUL, runs=30, rng=np.random.default_rng(1))
    assert {(row.context, row.tier) for row in log.rows} == {
        (context, tier) for context in ("feature", "bug") for tier in ("standard", "deep")
    }


def test_arms_are_those_of_the_hash(plan):
    ids = run_ids(50)
    assert treated(ids, plan).tolist() == [arm_of(one, plan.arms.rule) is Arm.TREATMENT for one in ids]
