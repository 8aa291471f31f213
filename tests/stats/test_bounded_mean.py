"""Means of values in [0, 1], and their paired differences: by hand, beside other programs, by law, and by coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binomtest, t
from statsmodels.stats.proportion import proportion_confint

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.stats.bounded_mean import bounded_difference, bounded_mean, effective_trials
from eval_pipeline.stats.cluster_share import share_difference, share_interval
from tests.stats.laws import LAW
from tests.stats.simulate import ends, holds

STUDIES = 600
SCORES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]), min_size=2, max_size=12)


def test_what_four_values_are_worth_by_hand():
    """1, .5, .5, 0: mean .5, variance of the mean (2 x .25 / 3) / 4 = .0416667; .25 over that is 6."""
    # By Student's t at .975, from printed tables, of 5.9999 and 3 degrees: (t_6 / t_3)^2 = (2.446912 / 3.182446)^2.
    worth = 6 * (2.446912 / 3.182446) ** 2
    assert effective_trials(np.array([1, 0.5, 0.5, 0]), tail=0.025) == pytest.approx(worth, rel=1e-6)


def test_values_that_are_all_the_same_count_once_each():
    assert effective_trials(np.full(7, 0.6), tail=0.025) == 7
    found = bounded_mean(np.ones(10), level=0.95, tails="two")
    assert found.estimate == 1
    assert found.interval.high == 1
    assert found.interval.low == pytest.approx(0.025**0.1, abs=1e-12)  # all of 10: l^10 is the tail


def test_yes_or_no_is_the_interval_of_a_share_by_item():
    """Of values of 0 and 1 it is `share_interval`, but for the cap that so many values put on what they are worth."""
    values = np.array([1] * 17 + [0] * 3)
    ours = bounded_mean(values, level=0.95, tails="two")
    theirs = share_interval(values, np.ones(20, dtype=int), level=0.95, tails="two")
    assert ends(ours) == pytest.approx(ends(theirs), abs=1e-9)
    # And near that of statsmodels 0.14 for 20 independent trials.
    assert ends(ours) == pytest.approx(proportion_confint(17, 20, alpha=0.05, method="beta"), abs=0.02)


def test_of_many_values_amid_the_range_it_is_students_interval():
    """SciPy's beta and Student's t agree where the mean is far from 0 and 1 and there are many values."""
    values = beta(6, 4).rvs(2_000, random_state=11)
    ours = bounded_mean(values, level=0.95, tails="two")
    spread = values.std(ddof=1) / np.sqrt(len(values))
    assert ends(ours) == pytest.approx(t(len(values) - 1, values.mean(), spread).interval(0.95), abs=2e-4)


def test_the_difference_of_yes_or_no_is_that_of_two_shares():
    rng = np.random.default_rng(5)
    first, second = (rng.random(30) < rate for rate in (0.8, 0.6))
    ours = bounded_difference(first, second, level=0.95, tails="two")
    theirs = share_difference(
        np.column_stack([first, second]).astype(int), np.ones((30, 2), dtype=int), level=0.95, tails="two"
    )
    assert ours.estimate == pytest.approx(theirs.estimate)
    assert ends(ours) == pytest.approx(ends(theirs), abs=1e-9)


@given(SCORES)
@LAW
def test_failures_are_the_mirror_of_successes(values):
    ours = bounded_mean(values, level=0.9, tails="two")
    mirrored = bounded_mean([1 - value for value in values], level=0.9, tails="two")
    assert mirrored.estimate == pytest.approx(1 - ours.estimate)
    assert ends(mirrored) == pytest.approx([1 - end for end in reversed(ends(ours))], abs=1e-9)


@given(SCORES, st.randoms(use_true_random=False))
@LAW
def test_the_order_of_values_makes_no_difference_and_the_ends_hold_the_mean(values, random):
    ours = bounded_mean(values, level=0.95, tails="two")
    mixed = bounded_mean(random.sample(values, len(values)), level=0.95, tails="two")
    assert ends(mixed) == pytest.approx(ends(ours), abs=1e-9)
    assert 0 <= ours.interval.low <= ours.estimate <= ours.interval.high <= 1


@given(SCORES, SCORES)
@LAW
def test_a_difference_turns_its_sign_with_its_systems(first, second):
    n = min(len(first), len(second))
    one, other = first[:n], second[:n]
    forth = bounded_difference(one, other, level=0.95, tails="two")
    back = bounded_difference(other, one, level=0.95, tails="two")
    assert back.estimate == pytest.approx(-forth.estimate)
    assert ends(back) == pytest.approx([-end for end in reversed(ends(forth))], abs=1e-9)
    assert bounded_difference(one, one, level=0.95, tails="two").estimate == 0


def few_failures(rng):
    """One value in ten is anything, the others are 1: a mean of .95, which most bootstraps miss with 20 values."""
    return np.where(rng.random(20) < 0.1, rng.random(20), 1.0)


@pytest.mark.parametrize(
    ("draw", "truth"),
    [
        (lambda rng: rng.beta(8, 2, 20), 0.8),
        (few_failures, 0.95),
        (lambda rng: rng.binomial(5, rng.beta(4.75, 0.25, 20)) / 5, 0.95),
    ],
    ids=["graded", "few failures", "epochs"],
)
def test_a_95_percent_interval_of_20_items_holds_the_truth_as_often(draw, truth):
    rng = np.random.default_rng(21)
    hits = sum(holds(bounded_mean(draw(rng), level=0.95, tails="two").interval, truth) for _ in range(STUDIES))
    assert binomtest(hits, STUDIES, 0.95, alternative="less").pvalue > 0.01


def test_a_paired_interval_holds_the_difference_as_often():
    """Both systems find the same items hard; the second keeps .95 of the first's chance."""
    rng = np.random.default_rng(22)
    hits = 0
    for _ in range(STUDIES):
        chance = rng.beta(6, 1.5, 20)
        first, second = rng.binomial(4, chance) / 4, rng.binomial(4, 0.95 * chance) / 4
        hits += holds(bounded_difference(first, second, level=0.95, tails="two").interval, 0.05 * 0.8)
    assert binomtest(hits, STUDIES, 0.95, alternative="less").pvalue > 0.01


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5], "values: found 1, expected 2 or more"),
        ([], "values: found 0, expected 2 or more"),
        ([0.5, 1.5], r"values: found 1.5, expected numbers in \[0, 1\]"),
        ([0.5, -0.5], r"values: found -0.5, expected numbers in \[0, 1\]"),
        ([0.5, float("nan")], "values: found a missing value|values: found nan"),
        ([[0.5, 0.5]], "values: found 2 dimensions"),
    ],
)
def test_what_is_no_row_of_scores_is_refused(values, said):
    refusal = TooFewObservations if len(values) < 2 and "dimensions" not in said else InputRefused
    with pytest.raises(refusal, match=said):
        bounded_mean(values, level=0.95, tails="two")


def test_pairs_that_do_not_match_and_levels_that_are_none_are_refused():
    with pytest.raises(InputRefused, match="found 2 first, 3 second"):
        bounded_difference([0, 1], [0, 1, 1], level=0.95, tails="two")
    with pytest.raises(InputRefused, match=r"found 0\.4 for one bound, expected more than 0\.5"):
        bounded_mean([0, 1], level=0.4, tails="lower")
