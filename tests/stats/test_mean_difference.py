"""A difference of means is Welch's where values stand alone, and goes by whole clusters where they do not."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, t, ttest_ind

from eval_pipeline.errors import InputRefused, NoVariation, TooFewClusters, TooFewObservations
from eval_pipeline.stats.mean_difference import (
    Moments,
    clustered_difference,
    effective_size,
    welch_difference,
)
from tests.stats.laws import LAW

SHARES = st.lists(st.integers(0, 12).map(lambda twelfths: Fraction(twelfths, 12)), min_size=2, max_size=15)


def moments(values):
    exact = [Fraction(value) for value in values]
    return Moments(len(exact), sum(exact, Fraction(0)), sum((value**2 for value in exact), Fraction(0)))


def test_welch_by_hand():
    # Means 3 and 1; variances 4 (over 3 values) and 2 (over 2): 4/3 + 2/2 = 7/3 of the means' difference.
    # Degrees (7/3)^2 / ((4/3)^2 / 2 + 1^2 / 1) = (49/9) / (17/9) = 49/17.
    found = welch_difference(moments([1, 3, 5]), moments([0, 2]), level=0.95)
    assert (found.estimate, found.std_error) == (2.0, pytest.approx(sqrt(7 / 3)))
    assert found.degrees == pytest.approx(49 / 17)
    half = t.ppf(0.975, 49 / 17) * sqrt(7 / 3)
    assert [found.interval.low, found.interval.high] == pytest.approx([2 - half, 2 + half])


def test_clusters_by_hand():
    # First: clusters {1, 1} and {0, 1, 1}: sums 2 and 2, mean 4/5, away 2 - 8/5 = 2/5 and 2 - 12/5 = -2/5;
    # variance 2 (4/25 + 4/25) / 25 = 16/625. Second: {0} and {1}, mean 1/2, away -1/2 and 1/2: 2 (1/2) / 4 = 1/4.
    found = clustered_difference([1, 1, 0, 1, 1], [7, 7, 8, 8, 8], [0, 1], ["a", "b"], level=0.9)
    assert found.estimate == pytest.approx(0.3)
    assert found.std_error == pytest.approx(sqrt(16 / 625 + 1 / 4))
    assert found.degrees == pytest.approx((16 / 625 + 1 / 4) ** 2 / ((16 / 625) ** 2 + 1 / 16))


def test_welch_is_that_of_scipy():
    """ttest_ind(x, y, equal_var=False), SciPy 1.15."""
    rng = np.random.default_rng(5)
    x, y = rng.normal(1, 2, 30), rng.normal(0, 1, 12)
    found, other = welch_difference(moments(x), moments(y), level=0.9), ttest_ind(x, y, equal_var=False)
    assert found.p_value == pytest.approx(other.pvalue, rel=1e-9)
    ends = other.confidence_interval(0.9)
    assert [found.interval.low, found.interval.high] == pytest.approx([ends.low, ends.high])


def test_clusters_are_those_of_statsmodels():
    """OLS on the arm with cov_type="cluster" and no correction, statsmodels 0.14; it lacks the factor k / (k - 1)."""
    rng = np.random.default_rng(6)
    clusters = np.repeat(np.arange(40), rng.integers(1, 6, 40))
    on = clusters < 20
    y = rng.normal(size=len(clusters)) + rng.normal(size=40)[clusters] + 0.3 * on
    found = clustered_difference(y[on], clusters[on], y[~on], clusters[~on], level=0.95)
    fit = sm.OLS(y, sm.add_constant(on.astype(float))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    assert found.estimate == pytest.approx(fit.params[1])
    assert found.std_error == pytest.approx(fit.bse[1] * sqrt(20 / 19))


@LAW
@given(SHARES, SHARES)
def test_clusters_of_one_value_give_welch(x, y):
    if len(set(x)) == len(set(y)) == 1:
        return
    by_cluster = clustered_difference(
        list(map(float, x)), range(len(x)), list(map(float, y)), range(len(y)), level=0.95
    )
    alone = welch_difference(moments(x), moments(y), level=0.95)
    assert by_cluster.std_error == pytest.approx(alone.std_error, rel=1e-6)
    assert by_cluster.degrees == pytest.approx(alone.degrees, rel=1e-6)
    assert by_cluster.p_value == pytest.approx(alone.p_value, abs=1e-9)


@LAW
@given(SHARES, SHARES)
def test_moments_of_two_samples_add_up_to_those_of_both(x, y):
    assert moments(x) + moments(y) == moments(x + y)
    assert float(moments(x).variance) == pytest.approx(np.var(np.array(x, dtype=float), ddof=1), abs=1e-12)


@LAW
@given(SHARES, SHARES, st.integers(-5, 5))
def test_a_shift_of_the_first_shifts_the_interval_and_an_exchange_mirrors_it(x, y, shift):
    if len(set(x)) == len(set(y)) == 1:
        return
    here, there = (welch_difference(moments(a), moments(b), level=0.9) for a, b in ((x, y), (y, x)))
    moved = welch_difference(moments([value + shift for value in x]), moments(y), level=0.9)
    assert moved.interval.low == pytest.approx(here.interval.low + shift, abs=1e-9)
    assert [-there.interval.high, -there.interval.low] == pytest.approx([here.interval.low, here.interval.high])
    assert there.p_value == pytest.approx(here.p_value)


def studies(rng, *, n, clusters, spread, studies=500):
    """Two-sided coverage of 0 over studies whose clusters share a part of their values, with and without clusters."""
    hits = alone = 0
    for _ in range(studies):
        sides = []
        for k in clusters:
            cluster = np.repeat(np.arange(k), n)
            sides.append((rng.normal(size=k)[cluster] * spread + rng.normal(size=k * n), cluster))
        (x, of_x), (y, of_y) = sides
        found = clustered_difference(x, of_x, y, of_y, level=0.95).interval
        other = clustered_difference(x, range(len(x)), y, range(len(y)), level=0.95).interval
        hits += found.low <= 0 <= found.high
        alone += other.low <= 0 <= other.high
    return hits, alone


@pytest.mark.parametrize("clusters", [(40, 160), (25, 25)])
def test_a_95_percent_interval_holds_the_difference_in_95_percent_of_studies_of_clusters(clusters):
    hits, alone = studies(np.random.default_rng(8), n=4, clusters=clusters, spread=1.0)
    assert binomtest(hits, 500, 0.95).pvalue > 0.01
    # Values of a cluster go together by .5, so that the variance is 1 + 3 (.5) = 2.5 times what Welch takes it for.
    assert binomtest(alone, 500, 0.95).pvalue < 1e-6


def test_the_p_value_is_below_alpha_exactly_where_the_interval_leaves_0_out():
    rng = np.random.default_rng(9)
    for _ in range(100):
        found = clustered_difference(
            rng.normal(0.4, 1, 30), np.arange(30) // 3, rng.normal(size=30), np.arange(30) // 3, level=0.95
        )
        assert (found.p_value < 0.05) == (not found.interval.low <= 0 <= found.interval.high)


def test_a_tiny_p_value_is_not_0():
    assert 0 < welch_difference(moments([0, 1e-3] * 50), moments([9, 9.001] * 50), level=0.95).p_value < 1e-100


def test_arms_of_unequal_size_are_worth_their_harmonic_mean():
    # 1/246 + 1/984 = 5/984 = 2/393.6.
    assert effective_size(246, 984) == Fraction(3936, 10)
    assert effective_size(393, 393) == 393
    assert effective_size(0, 10) == effective_size(10, 0) == 0


@pytest.mark.parametrize("size", [-1, 1.5])
def test_a_size_that_counts_nothing_is_refused(size):
    with pytest.raises(InputRefused, match="second: found"):
        effective_size(3, size)


@pytest.mark.parametrize(("x", "y"), [([], [1, 2]), ([1], [1, 2]), ([1, 2], [3])])
def test_samples_without_two_values_are_refused(x, y):
    with pytest.raises(TooFewObservations, match="expected 2 values or more"):
        welch_difference(moments(x), moments(y), level=0.95)


def test_a_sample_without_a_value_is_refused():
    with pytest.raises(TooFewObservations, match="second: found no value"):
        clustered_difference([1, 2], [1, 2], [], [], level=0.95)


def test_one_cluster_is_refused():
    with pytest.raises(TooFewClusters, match="first: found 1 cluster"):
        clustered_difference([1, 2], [1, 1], [1, 2], [1, 2], level=0.95)


def test_samples_that_are_constant_are_refused_however_far_apart():
    with pytest.raises(NoVariation, match="no value differs"):
        welch_difference(moments([1, 1]), moments([0, 0, 0]), level=0.95)
    # In floats the mean of three times .1 is not .1.
    with pytest.raises(NoVariation, match="no value differs"):
        clustered_difference([0.1] * 3, [1, 2, 2], [0.7] * 7, [1, 1, 1, 2, 3, 4, 4], level=0.95)


def test_clusters_of_another_length_are_refused():
    with pytest.raises(InputRefused, match="2 first, 3 first_clusters"):
        clustered_difference([1, 2], [1, 1, 2], [1, 2], [1, 2], level=0.95)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_that_is_no_coverage_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        welch_difference(moments([1, 2]), moments([1, 2]), level=level)
