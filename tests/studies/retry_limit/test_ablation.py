"""Pairs are the same section in both arms, drawn by the runs that they share, and few of them say nothing."""

from fractions import Fraction

import pytest
from scipy.stats import binomtest

from eval_pipeline.studies.retry_limit.ablation import Recommendation, ablation, paired
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, section

RULES = amended(SHIPPED, ablation={"resamples": 1000}).ablation


def test_a_pair_is_the_first_of_each_arm():
    sections = [
        section("w1", "x", "rp", WITH),
        section("w2", "x", "rt", WITH),  # the second run with prior violations has no part in it
        section("o1", "x", "rrt", WITHOUT),
        section("w1", "y", "p", WITH),  # only in one arm
        section("w1", "z", "rr", WITH),  # still to be tried
        section("o1", "z", "p", WITHOUT),
    ]
    found = ablation(sections, SHIPPED)
    assert (found.pairs, found.left_out) == (1, 1)
    assert (found.with_violations.passed, found.without_violations.passed) == (1, 0)


def test_a_section_passes_within_the_limit_that_every_run_has():
    """A fourth attempt is not allowed to control runs, so that it must not count in others."""
    sections = [section("w", "x", "rrrp", WITH), section("o", "x", "rrt", WITHOUT)]
    assert ablation(sections, SHIPPED).with_violations.passed == 0


def test_40_pairs_by_hand():
    """34 of 40 with and 20 without: a difference of 14/40, and its p is that of no resample as far off."""
    found = paired([k < 34 for k in range(40)], [k < 20 for k in range(40)], range(40), RULES, seed=1)
    assert found.difference.estimate == Fraction(14, 40)
    assert found.with_violations.rate == Fraction(34, 40)
    other = binomtest(34, 40).proportion_ci(0.95, method="exact")
    assert found.with_violations.interval.low == pytest.approx(other.low)
    assert found.recommendation is Recommendation.WITH_HELPS
    assert found.difference.p_value == pytest.approx(1 / 1001)
    assert found.why is None


def test_the_other_way_round_the_recommendation_turns():
    found = paired([k < 20 for k in range(40)], [k < 34 for k in range(40)], range(40), RULES, seed=1)
    assert found.recommendation is Recommendation.WITHOUT_HELPS


@pytest.mark.parametrize(
    ("pairs", "recommendation"), [(29, "inconclusive_underpowered"), (30, "with_prior_violations_helps")]
)
def test_fewer_than_30_pairs_say_nothing(pairs, recommendation):
    found = paired([True] * pairs, [k % 2 == 0 for k in range(pairs)], range(pairs), RULES, seed=1)
    assert found.recommendation.value == recommendation
    if pairs == 29:
        assert found.why == "29 pairs, and at least 30 are needed"


def test_an_interval_that_touches_0_says_nothing():
    """Of 40 pairs one gains: a third of resamples have none of it, so that the interval begins at 0."""
    found = paired([k < 1 for k in range(40)], [False] * 40, range(40), RULES, seed=1)
    assert found.difference.interval.low == 0
    assert found.recommendation is Recommendation.INCONCLUSIVE
    assert found.why == "the interval of the difference holds or touches 0"


def test_pairs_of_the_same_two_runs_are_drawn_together():
    """200 pairs of 4 pairs of runs, of which the runs of three gain in all sections, are not 200 pairs."""
    told, untold = [k < 150 for k in range(200)], [k >= 150 for k in range(200)]
    apart = paired(told, untold, range(200), RULES, seed=1)
    together = paired(told, untold, [k // 50 for k in range(200)], RULES, seed=1)
    assert apart.difference.estimate == together.difference.estimate == Fraction(1, 2)
    assert apart.recommendation is Recommendation.WITH_HELPS
    assert together.recommendation is Recommendation.INCONCLUSIVE


def test_one_pair_of_runs_has_no_interval():
    found = paired([True] * 40, [False] * 40, ["a b"] * 40, RULES, seed=1)
    assert found.difference is None
    assert found.recommendation is Recommendation.INCONCLUSIVE
    assert found.why.startswith("a bootstrap over clusters needs at least 2 clusters")


def test_no_pair_is_no_comparison():
    found = ablation([section("w", "x", "p", WITH), section("o", "y", "p", WITHOUT)], SHIPPED)
    assert (found.pairs, found.difference, found.with_violations) == (0, None, None)
    assert found.recommendation is Recommendation.INCONCLUSIVE
    assert found.why == "no section was tried in both arms; run the same inputs in both"


def test_the_seed_decides_the_draws():
    told, untold = [k % 3 > 0 for k in range(60)], [k % 2 > 0 for k in range(60)]
    once, again, other = (paired(told, untold, range(60), RULES, seed=seed) for seed in (1, 1, 2))
    assert once == again
    assert once != other
