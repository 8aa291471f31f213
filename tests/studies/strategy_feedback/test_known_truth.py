"""What is true of 200 made-up generations each is found as often as it was promised, at the planned number.

Every generation has the planned executions in both arms, 1,130 with the loop off and 4,520 with it on, and 3 % more, so
that chance does not leave one short of them when some have no claims. Where a rate is held against a promise, it may
miss it by chance at 1 in 100.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.studies.strategy_feedback.decision import Word
from eval_pipeline.studies.strategy_feedback.generator import HELPFUL
from tests.studies.strategy_feedback.made_up import decided, made_up

GENERATIONS = 200
ONE_CLAIM = replace(HELPFUL, claims=1.0)  # the pass rate of an execution is 0 or 1, with the largest spread there is


@pytest.fixture(scope="module")
def arms(plan):
    """Which runs of a generation have the loop on; a hash would deal them out less evenly."""
    return np.arange(1500) % 5 != 0


def words(plan, truth, arms, *, seed):
    rng = np.random.default_rng(seed)
    return Counter(decided(made_up(plan, truth, treated=arms, rng=rng), plan).word for _ in range(GENERATIONS))


def test_the_made_up_generations_have_what_was_planned_and_hardly_more(plan, arms):
    executions = made_up(plan, HELPFUL, treated=arms, rng=np.random.default_rng(1)).recorded
    on = int(executions.treated.sum())
    assert 4520 <= on <= 1.04 * 4520
    assert 1130 <= len(executions.run) - on <= 1.04 * 1130


@pytest.mark.parametrize("truth", [HELPFUL, ONE_CLAIM], ids=["six-claims", "one-claim"])
def test_a_loop_that_helps_by_12_points_ships_with_a_power_of_80_percent(plan, truth, arms):
    found = words(plan, truth, arms, seed=21)
    assert found[Word.MORE_DATA] == found[Word.REVERT] == 0
    assert found[Word.SHIP] >= 0.80 * GENERATIONS


def test_a_loop_without_effect_ships_in_at_most_5_percent(plan, arms):
    found = words(plan, replace(ONE_CLAIM, effect=0.0), arms, seed=22)
    assert found[Word.SHIP] <= 0.05 * GENERATIONS
    # Half of the differences are 0 or less; of the others one in twenty leaves 0 out, which is 2.5 % of all.
    assert binomtest(found[Word.REVERT], GENERATIONS, 0.5).pvalue > 0.01
    assert binomtest(found[Word.BELOW_EFFECT], GENERATIONS, 0.025).pvalue > 0.01


def test_a_harmful_loop_is_reverted(plan, arms):
    """The error of a difference is at most .018, so that one of 5 points of harm shows a gain in 3 of 1,000."""
    found = words(plan, replace(ONE_CLAIM, effect=-0.05), arms, seed=23)
    assert found[Word.REVERT] >= 0.98 * GENERATIONS


def test_a_loop_that_helps_by_5_points_is_neither_shipped_nor_reverted(plan, arms):
    found = words(plan, replace(HELPFUL, effect=0.05), arms, seed=24)
    assert found[Word.BELOW_EFFECT] >= 0.95 * GENERATIONS
