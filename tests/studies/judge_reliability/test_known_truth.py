"""Worlds whose truth is planted, in many generations: harm is reverted, and what does no harm is kept."""

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.studies.judge_reliability.findings import findings
from eval_pipeline.studies.judge_reliability.generator import simulated
from eval_pipeline.studies.judge_reliability.held_out import held_out
from eval_pipeline.studies.judge_reliability.verdict import decide, verdicts
from tests.studies.judge_reliability.made_up import judge, judgment, log_of, world

GENERATIONS = 200
SHARP_THEN_POOR = (judge("a", 0.96, 0.96), judge("b", 0.5, 0.5), judge("c", 0.5, 0.5))
POOR_THEN_SHARP = (judge("a", 0.3, 0.3), judge("b", 0.9, 0.9), judge("c", 0.9, 0.9))


def decided(calibration, rest, plan, seed):
    rng = np.random.default_rng(seed)
    found = findings(simulated(world(*calibration, claims=80), rng=rng, prefix="c"), plan)
    tested = held_out(found, simulated(world(*rest, claims=40), rng=rng, prefix="h"), plan)
    return decide(found, tested, plan).word, tested


def words(calibration, rest, plan, generations=GENERATIONS):
    return [decided(calibration, rest, plan, seed)[0] for seed in range(generations)]


def test_a_harmful_calibration_is_reverted(light):
    """What was measured no longer holds: the judge that was trusted errs, and those that were not are right.

    The trusted judge then carries every panel against both others, and is right of 3 in 10 claims, where two of three
    are right of 6 in 7 under the prior. A rule that misses one in twenty such harms fails this test at 1 %.
    """
    found = words(SHARP_THEN_POOR, POOR_THEN_SHARP, light)
    assert binomtest(found.count("revert"), GENERATIONS, 0.95, alternative="less").pvalue > 0.01
    assert set(found) <= {"revert", "persist"}


def test_a_calibration_that_holds_is_reverted_hardly_ever(light):
    """It helps; and where it did nothing, a two-sided 95 % interval would lie below 0 in one of forty."""
    found = words(SHARP_THEN_POOR, SHARP_THEN_POOR, light, 40)
    assert binomtest(found.count("revert"), 40, 0.025, alternative="greater").pvalue > 0.01
    assert found.count("persist") > 36


def test_judges_that_are_what_the_prior_says_leave_the_prior_mostly_in_place(light):
    """Of 2 abilities an interval at 95 % excludes .70 wrongly in some 5 % each, and then nothing regresses."""
    as_the_prior = (judge("a", 0.7, 0.7),)
    found = words(as_the_prior, as_the_prior, light, 60)
    # At most 10 % by Bonferroni, and less, for the prior pulls towards .70.
    assert binomtest(60 - found.count("keep_prior"), 60, 0.10, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("truth", ["HOLDS", "FAILS"])
def test_a_perfect_judge_on_40_claims_of_one_truth_is_not_called_harmful(plan, truth):
    right = {"HOLDS": "PASS", "FAILS": "FAIL"}[truth]
    found = findings(log_of(judgment(f"c{n}", right, truth) for n in range(40)), plan)
    tested = held_out(found, log_of(judgment(f"h{n}", right, truth) for n in range(40)), plan)
    assert (tested.comparison.calibrated.share, tested.comparison.prior_only.share) == (1, 1)
    assert tested.comparison.recommendation == "inconclusive_underpowered"
    assert decide(found, tested, plan).word == "persist"
    assert not any(one.outcome == "fail" for one in verdicts(found, tested, plan))
