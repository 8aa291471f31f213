"""Pooled shares and their differences: what the clusters are worth, the exact interval of that, and what it covers."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewClusters
from eval_pipeline.stats.cluster_share import effective_trials, share_difference, share_interval
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from tests.stats.laws import LAW
from tests.stats.simulate import clustered, ends, holds

STUDIES = 600
CELL = st.integers(0, 6).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))
CLUSTERS = st.lists(CELL, min_size=3, max_size=12).filter(lambda cells: sum(trials > 0 for _, trials in cells) >= 2)
PAIRS = st.lists(st.tuples(CELL, CELL), min_size=3, max_size=12).filter(
    lambda rows: all(sum(row[j][1] > 0 for row in rows) >= 2 for j in (0, 1))
)
# Quantiles of Student's t at .975, from printed tables.
T_3, T_9 = 3.182446, 2.262157


def columns(cells):
    return tuple(np.array(column) for column in zip(*cells, strict=True))


def two_columns(rows):
    table = np.array(rows)
    return table[:, :, 0], table[:, :, 1]


def test_what_four_clusters_are_worth_by_hand():
    """2/2, 1/2, 0/2, 3/4: 6/10."""
    # Off their expectation by .8, -.2, -1.2, .6: squares .64 + .04 + 1.44 + .36 = 2.48; variance 4/3 of 2.48/100.
    # .24 over that is 7.258; times (t_9 / t_3)^2 = .5053 for so few clusters: 3.667.
    worth = 0.24 / (4 / 3 * 0.0248) * (T_9 / T_3) ** 2
    assert worth == pytest.approx(3.667, abs=5e-4)
    successes, trials = np.array([2, 1, 0, 3]), np.array([2, 2, 2, 4])
    assert effective_trials(successes, trials, tail=0.025) == pytest.approx(worth, rel=1e-6)


def test_clusters_that_fail_alike_are_worth_their_trials_and_no_more():
    """2/5, 3/5, 2/5, 3/5: .25 over 4/3 of 1/400 is 75, times (t_19 / t_3)^2 = .43: 32, but there are 20."""
    assert effective_trials(np.array([2, 3, 2, 3]), np.full(4, 5), tail=0.025) == 20
    assert effective_trials(np.full(4, 1), np.full(4, 2), tail=0.025) == 8  # no variance at all


@pytest.mark.parametrize(("tails", "tail"), [("two", 0.025), ("upper", 0.05)])
def test_no_success_bounds_the_share_by_hand(tails, tail):
    """None of 10: the share u at which (1 - u)^10 is the tail."""
    found = share_interval([0, 0, 0, 0], [1, 2, 3, 4], level=0.95, tails=tails)
    assert found.estimate == 0
    assert found.interval.low == (0 if tails == "two" else None)
    assert found.interval.high == pytest.approx(1 - tail**0.1, abs=1e-12)


@pytest.mark.parametrize(("tails", "tail"), [("two", 0.025), ("lower", 0.05)])
def test_no_failure_bounds_the_share_by_hand(tails, tail):
    """All of 10: the share l at which l^10 is the tail."""
    found = share_interval([1, 2, 3, 4], [1, 2, 3, 4], level=0.95, tails=tails)
    assert found.estimate == 1
    assert found.interval.low == pytest.approx(tail**0.1, abs=1e-12)
    assert found.interval.high == (1 if tails == "two" else None)
    assert found.interval.level == 0.95


def test_nothing_against_everything_by_hand():
    """0/10 less 10/10 is -1, and does not go lower; both may be off by u = 1 - .025^(1/10), together by u sqrt 2."""
    found = share_difference([[0, 4], [0, 6]], [[5, 4], [5, 6]], level=0.95, tails="two")
    assert found.estimate == -1
    assert found.interval.low == -1
    assert found.interval.high == pytest.approx(-1 + sqrt(2) * (1 - 0.025**0.1), abs=1e-12)


@pytest.mark.parametrize(
    ("successes", "trials", "worth"),
    [
        pytest.param([2, 1, 0, 3], [2, 2, 2, 4], 0.24 / (4 / 3 * 0.0248) * (T_9 / T_3) ** 2, id="unequal"),
        # Five of one trial each: .24 over 5/4 of 5 (.24) / 25 is 4, and no cluster makes up for fewer.
        pytest.param([1, 0, 1, 1, 0], [1] * 5, 4, id="single trials"),
        pytest.param([2, 3, 2, 3], [5] * 4, 20, id="as many as trials"),
        # 9/10, off by .2, .2, -.6, .2: squares .48; a cluster without trials does not count.
        pytest.param([2, 2, 3, 2, 0], [2, 2, 4, 2, 0], 0.09 / (4 / 3 * 0.0048) * (T_9 / T_3) ** 2, id="an empty one"),
    ],
)
def test_statsmodels_agrees_on_so_many_trials(successes, trials, worth):
    found = share_interval(successes, trials, level=0.95, tails="two")
    share = sum(successes) / sum(trials)
    assert found.estimate == share
    expected = proportion_confint(share * worth, worth, alpha=0.05, method="beta")
    assert ends(found) == pytest.approx(expected, abs=1e-6)


def test_a_difference_is_put_together_from_what_statsmodels_and_numpy_say():
    """MOVER from two Clopper-Pearson intervals, with numpy's correlation of what the clusters add."""
    hits, trials = np.array([[2, 1], [1, 0], [0, 1], [3, 3]]), np.array([[2, 2], [2, 3], [2, 2], [4, 3]])
    shares = hits.sum(axis=0) / trials.sum(axis=0)
    added = hits - shares * trials
    variance = 4 / 3 * (added**2).sum(axis=0) / trials.sum(axis=0) ** 2
    worth = shares * (1 - shares) / variance * (T_9 / T_3) ** 2  # ten trials and four clusters in either column
    (l0, u0), (l1, u1) = (
        proportion_confint(share * n, n, alpha=0.05, method="beta") for share, n in zip(shares, worth, strict=True)
    )
    r = np.corrcoef(added.T)[0, 1]
    assert abs(r) > 0.1
    down, up, down_1, up_1 = shares[0] - l0, u0 - shares[0], shares[1] - l1, u1 - shares[1]
    low = shares[0] - shares[1] - sqrt(down**2 - 2 * r * down * up_1 + up_1**2)
    high = shares[0] - shares[1] + sqrt(up**2 - 2 * r * up * down_1 + down_1**2)
    found = share_difference(hits, trials, level=0.95, tails="two")
    assert found.estimate == pytest.approx(shares[0] - shares[1], abs=1e-15)
    assert ends(found) == pytest.approx((low, high), abs=1e-6)


@LAW
@given(CLUSTERS, st.randoms())
def test_neither_the_order_of_clusters_nor_one_without_trials_matters(cells, random):
    found = share_interval(*columns(cells), level=0.9, tails="two")
    random.shuffle(other := [*cells, (0, 0)])
    again = share_interval(*columns(other), level=0.9, tails="two")
    assert ends(again) == pytest.approx(ends(found), abs=1e-9)


@LAW
@given(CLUSTERS)
def test_counting_failures_mirrors_the_interval(cells):
    successes, trials = columns(cells)
    found = share_interval(successes, trials, level=0.9, tails="two")
    mirrored = share_interval(trials - successes, trials, level=0.9, tails="two")
    assert mirrored.estimate == pytest.approx(1 - found.estimate, abs=1e-12)
    assert ends(mirrored) == pytest.approx((1 - found.interval.high, 1 - found.interval.low), abs=1e-9)


@LAW
@given(PAIRS)
def test_swapping_the_two_shares_mirrors_their_difference(rows):
    hits, trials = two_columns(rows)
    found = share_difference(hits, trials, level=0.9, tails="two")
    mirrored = share_difference(hits[:, ::-1], trials[:, ::-1], level=0.9, tails="two")
    assert mirrored.estimate == pytest.approx(-found.estimate, abs=1e-12)
    assert ends(mirrored) == pytest.approx((-found.interval.high, -found.interval.low), abs=1e-9)


@LAW
@given(PAIRS)
def test_two_tails_of_5_percent_are_the_two_bounds_of_95_percent(rows):
    hits, trials = two_columns(rows)
    for interval, table in (
        (share_interval, (hits[:, 0], trials[:, 0])),
        (share_difference, (hits, trials)),
    ):
        both = interval(*table, level=0.9, tails="two")
        lower, upper = (interval(*table, level=0.95, tails=tails) for tails in ("lower", "upper"))
        assert (lower.interval.high, upper.interval.low) == (None, None)
        assert (lower.interval.low, upper.interval.high) == pytest.approx(ends(both), abs=1e-9)


@LAW
@given(CLUSTERS, st.floats(0.55, 0.9), st.floats(0.01, 0.09))
def test_a_higher_level_takes_in_a_lower_one(cells, level, more):
    narrow = share_interval(*columns(cells), level=level, tails="two")
    wide = share_interval(*columns(cells), level=level + more, tails="two")
    assert wide.interval.low <= narrow.interval.low <= narrow.estimate <= narrow.interval.high <= wide.interval.high


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.8, 0.95, 0.99])
def test_20_unequal_clusters_hold_the_true_share_in_95_percent_of_studies_or_more(rate):
    rng = np.random.default_rng(11)
    studies = zip(*clustered(rng, STUDIES, 20, [rate]), strict=True)
    hits = sum(
        holds(share_interval(successes[:, 0], trials[:, 0], level=0.95, tails="two").interval, rate)
        for successes, trials in studies
    )
    assert binomtest(hits, STUDIES, 0.95, alternative="less").pvalue > 0.01


@pytest.mark.parametrize("clusters", [20, 90])
def test_at_a_share_of_a_half_it_holds_the_truth_no_more_often_than_it_says(clusters):
    rng = np.random.default_rng(12)
    studies = zip(*clustered(rng, STUDIES, clusters, [0.5]), strict=True)
    hits = sum(
        holds(share_interval(successes[:, 0], trials[:, 0], level=0.9, tails="two").interval, 0.5)
        for successes, trials in studies
    )
    assert binomtest(hits, STUDIES, 0.9).pvalue > 0.01


@pytest.mark.parametrize("rates", [(0.05, 0.05), (0.5, 0.5), (0.8, 0.7), (0.95, 0.95), (0.99, 0.99)])
def test_the_upper_bound_of_a_difference_holds_with_20_clusters(rates):
    rng = np.random.default_rng(13)
    hits = sum(
        holds(share_difference(*study, level=0.95, tails="upper").interval, rates[0] - rates[1])
        for study in zip(*clustered(rng, STUDIES, 20, rates), strict=True)
    )
    assert binomtest(hits, STUDIES, 0.95, alternative="less").pvalue > 0.01


def test_a_difference_of_moderate_shares_is_held_no_more_often_than_it_says():
    """Without what the groups of a cluster have in common, the interval would be too wide."""
    rng = np.random.default_rng(14)
    hits = sum(
        holds(share_difference(*study, level=0.9, tails="two").interval, 0.1)
        for study in zip(*clustered(rng, STUDIES, 60, (0.6, 0.5)), strict=True)
    )
    assert binomtest(hits, STUDIES, 0.9).pvalue > 0.01


def test_counting_each_trial_for_itself_holds_the_truth_too_seldom():
    """Why the clusters come in: the exact interval of all trials, had they been independent."""
    rng = np.random.default_rng(15)
    successes, trials = (table.sum(axis=1)[:, 0] for table in clustered(rng, STUDIES, 20, [0.5]))
    low, high = proportion_confint(successes, trials, alpha=0.05, method="beta")
    hits = int(((low <= 0.5) & (high >= 0.5)).sum())
    assert binomtest(hits, STUDIES, 0.9, alternative="less").pvalue < 0.01


def test_near_1_a_bootstrap_of_20_clusters_holds_the_truth_too_seldom_and_this_does_not():
    """Where no cluster fails, resamples show no failure either."""
    rng = np.random.default_rng(16)
    resampled = exact = 0
    for successes, trials in zip(*clustered(rng, 400, 20, [0.98]), strict=True):
        drawn = ratio_contrast(
            successes, trials, [1], level=0.95, tails="two", method="percentile", resamples=199, valid_at_least=1,
            ranks="symmetric", rng=rng,
        )  # fmt: skip
        resampled += holds(drawn.interval, 0.98)
        exact += holds(share_interval(successes[:, 0], trials[:, 0], level=0.95, tails="two").interval, 0.98)
    assert binomtest(resampled, 400, 0.9, alternative="less").pvalue < 0.01
    assert binomtest(exact, 400, 0.95, alternative="less").pvalue > 0.01


def test_no_trials_at_all_are_refused():
    with pytest.raises(RatioUndefined, match="no trials in any cluster"):
        share_interval([0, 0], [0, 0], level=0.95, tails="two")
    with pytest.raises(RatioUndefined, match="no trials in any cluster"):
        share_difference([[1, 0], [1, 0]], [[1, 0], [2, 0]], level=0.95, tails="two")


def test_trials_in_one_cluster_alone_are_refused():
    with pytest.raises(TooFewClusters, match="at least 2 clusters and has them in 1"):
        share_interval([3, 0], [5, 0], level=0.95, tails="two")
    with pytest.raises(TooFewClusters, match="at least 2 clusters and has them in 1"):
        share_difference([[1, 0], [1, 2]], [[1, 0], [2, 4]], level=0.95, tails="two")


@pytest.mark.parametrize(
    ("successes", "trials", "message"),
    [
        ([3, 1], [2, 1], "more of them than trials"),
        ([3, 1], [2, 1, 4], r"shapes \(2,\) and \(3,\)"),
        ([[1], [1]], [[2], [1]], r"expected \(clusters,\)"),
        ([-1, 1], [2, 1], "successes: found -1"),
        ([1, 1], [2, 1.5], "trials: found 1.5"),
        ([1, None], [2, 1], "missing value"),
    ],
)
def test_what_are_no_counts_of_clusters_is_refused(successes, trials, message):
    with pytest.raises(InputRefused, match=message):
        share_interval(successes, trials, level=0.95, tails="two")


@pytest.mark.parametrize("width", [1, 3])
def test_a_difference_of_other_than_two_shares_is_refused(width):
    with pytest.raises(InputRefused, match=r"expected \(clusters, 2\)"):
        share_difference(np.ones((3, width)), np.ones((3, width)), level=0.95, tails="two")


@pytest.mark.parametrize(("level", "tails"), [(0, "two"), (1, "two"), (95, "upper"), (0.5, "lower"), (0.3, "upper")])
def test_a_level_that_bounds_nothing_is_refused(level, tails):
    with pytest.raises(InputRefused, match="level: found"):
        share_interval([1, 2], [2, 3], level=level, tails=tails)
