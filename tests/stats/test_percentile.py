"""The interval of a percentile stands on the ranks that the binomial distribution gives, and covers as it says."""

from fractions import Fraction
from itertools import accumulate
from math import comb

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, expon, norm, poisson, quantile_test, uniform

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Interval
from eval_pipeline.stats.percentile import Percentile, percentile
from tests.stats.laws import LAW

SHARES = st.integers(1, 99).map(lambda hundredths: Fraction(hundredths, 100))
LEVELS = st.sampled_from(["0.5", "0.9", "0.95", "0.99"]).map(Fraction)


def chances_below(n: int, share: Fraction) -> list[Fraction]:
    """P(X < x) for X ~ Binomial(n, share) and x = 0..n+1, summed term by term in fractions."""
    terms = (comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(n + 1))
    return list(accumulate(terms, initial=Fraction(0)))


def test_the_95th_percentile_of_1_to_100_lies_between_ranks_90_and_100():
    # P(X < 90) = .0115 and P(X < 91) = .0282 at a tail of .025; P(X >= 100) = .95^100 = .0059, P(X >= 99) = .0371.
    found = percentile(range(1, 101), share=0.95, level=0.95)
    assert found == Percentile(
        estimate=pytest.approx(95.05),
        interval=Interval(90.0, 100.0, 0.95),
        low_rank=90,
        high_rank=100,
        coverage=pytest.approx(0.982607, abs=1e-6),
    )


def test_the_median_of_5_lies_between_the_extremes_30_times_in_32():
    # All five fall on one side of the median once in 32, within the tail of .05; on either side: 1 - 2/32.
    found = percentile([50, 10, 30, 20, 40], share=0.5, level=0.9)
    assert (found.estimate, found.low_rank, found.high_rank) == (30.0, 1, 5)
    assert found.interval == Interval(10.0, 50.0, 0.9)
    assert found.coverage == pytest.approx(30 / 32)


def test_the_estimate_interpolates_as_type_7_does():
    # Position 1 + .25 * 3 = 1.75, between the first value and the second.
    assert percentile([40, 10, 30, 20], share=0.25, level=0.5).estimate == pytest.approx(17.5)


@pytest.mark.parametrize(
    ("n", "share", "level", "ranks", "coverage"),
    [
        # .5^5 = 1/32 = .03125 exceeds the tail of .025 on both sides.
        pytest.param(5, 0.5, 0.95, (None, None), 1.0, id="median-of-5"),
        # .95^20 = .358: the maximum does not bound the 95th percentile; P(X < 17) = .0159, P(X < 18) = .0755.
        pytest.param(20, 0.95, 0.9, (17, None), 1 - 0.015902, id="95th-of-20"),
        pytest.param(20, 0.05, 0.9, (None, 4), 1 - 0.015902, id="5th-of-20"),
        pytest.param(1, 0.5, 0.95, (None, None), 1.0, id="one-value"),
    ],
)
def test_an_end_that_no_value_bounds_is_open(n, share, level, ranks, coverage):
    found = percentile(range(1, n + 1), share=share, level=level)
    assert (found.low_rank, found.high_rank) == (found.interval.low, found.interval.high) == ranks
    assert found.coverage == pytest.approx(coverage, abs=1e-6)


@pytest.mark.parametrize(
    ("n", "share", "level", "ranks"),
    [
        pytest.param(6, 0.5, 31 / 32, (1, 6), id="1/64"),  # .5^6 = (1 - 31/32) / 2
        pytest.param(1, 0.975, 0.95, (1, None), id="1/40"),  # 1 - .975 = (1 - .95) / 2
        pytest.param(2, 0.9, 0.98, (1, None), id="1/100"),  # (1 - .9)^2 = (1 - .98) / 2
        pytest.param(2, 0.1, 0.98, (None, 2), id="1/100-above"),
        pytest.param(2, 0.3, 0.02, (1, 2), id="49/100"),  # (1 - .3)^2 = (1 - .02) / 2, and P(X >= 2) = .09
    ],
)
def test_a_tail_that_is_just_what_is_allowed_is_allowed(n, share, level, ranks):
    found = percentile(range(n), share=share, level=level)
    assert (found.low_rank, found.high_rank) == ranks


@LAW
@given(st.integers(1, 150), SHARES, LEVELS)
def test_no_rank_further_in_keeps_its_tail_and_the_coverage_is_what_the_ranks_achieve(n, share, level):
    found = percentile(range(1, n + 1), share=float(share), level=float(level))
    chance, tail = chances_below(n, share), (1 - level) / 2
    low = max((rank for rank in range(1, n + 1) if chance[rank] <= tail), default=None)
    high = min((rank for rank in range(1, n + 1) if 1 - chance[rank] <= tail), default=None)
    assert (found.low_rank, found.high_rank) == (low, high)
    below, above = chance[low or 0], 1 - chance[high or n + 1]
    assert found.coverage == pytest.approx(float(1 - below - above), abs=1e-12)
    assert found.coverage >= float(level) - 1e-12


@LAW
@given(st.integers(1, 300), st.floats(0.01, 0.99), st.sampled_from([0.5, 0.9, 0.95, 0.99]), st.integers(0, 2**32))
def test_the_ends_are_those_of_scipys_quantile_test(n, share, level, seed):
    values = np.random.default_rng(seed).normal(size=n)
    theirs = quantile_test(values, q=0, p=share).confidence_interval(confidence_level=level)
    ours = percentile(values, share=share, level=level).interval
    ends = [None if np.isnan(end) else end for end in (theirs.low, theirs.high)]
    assert [ours.low, ours.high] == ends


@LAW
@given(st.lists(st.integers(-9, 9), min_size=1, max_size=80), SHARES.map(float))
def test_the_estimate_is_numpys_default(values, share):
    assert percentile(values, share=share, level=0.9).estimate == pytest.approx(np.percentile(values, 100 * share))


@LAW
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=80), SHARES)
def test_of_the_negated_values_the_opposite_percentile_is_the_negated_one(values, share):
    found = percentile(values, share=float(share), level=0.9)
    mirrored = percentile([-x for x in values], share=float(1 - share), level=0.9)
    assert mirrored.estimate == pytest.approx(-found.estimate, abs=1e-9)
    assert mirrored.interval.low == (None if found.interval.high is None else -found.interval.high)
    assert mirrored.interval.high == (None if found.interval.low is None else -found.interval.low)
    assert mirrored.coverage == pytest.approx(found.coverage, abs=1e-12)


@LAW
@given(st.lists(st.integers(-40, 40), min_size=1, max_size=80), SHARES.map(float))
def test_ranks_and_ends_follow_any_increasing_change_of_unit(values, share):
    found = percentile(values, share=share, level=0.9)
    cubed = percentile(np.array(values, dtype=float) ** 3 + 7, share=share, level=0.9)
    assert (cubed.low_rank, cubed.high_rank) == (found.low_rank, found.high_rank)
    for end in ("low", "high"):
        before = getattr(found.interval, end)
        assert getattr(cubed.interval, end) == (None if before is None else before**3 + 7)


@pytest.mark.parametrize(
    ("n", "share", "distribution"),
    [(12, 0.5, norm()), (60, 0.05, uniform()), (100, 0.95, expon()), (50, 0.95, expon())],
)
def test_the_true_percentile_is_covered_as_often_as_is_said(n, share, distribution):
    """Over 600 studies; the chance is exact for a continuous distribution, also where one end is open."""
    rng, truth = np.random.default_rng(31), distribution.ppf(share)
    found = [percentile(distribution.rvs(n, random_state=rng), share=share, level=0.9) for _ in range(600)]
    hits = sum(
        (one.low_rank is None or one.interval.low <= truth) and (one.high_rank is None or truth <= one.interval.high)
        for one in found
    )
    assert found[0].coverage >= 0.9
    assert binomtest(hits, 600, found[0].coverage).pvalue > 0.01


def test_values_with_ties_are_covered_at_least_as_often():
    rng, distribution = np.random.default_rng(32), poisson(2)
    found = [percentile(distribution.rvs(100, random_state=rng), share=0.9, level=0.9) for _ in range(400)]
    hits = sum(one.interval.low <= distribution.ppf(0.9) <= one.interval.high for one in found)
    assert binomtest(hits, 400, found[0].coverage, alternative="less").pvalue > 0.01


def test_a_million_values_have_the_ranks_of_the_normal_approximation():
    # n q +- 1.96 sqrt(n q (1 - q)) = 950,000 +- 427.2
    found = percentile(np.arange(1, 1_000_001), share=0.95, level=0.95)
    assert found.low_rank == pytest.approx(950_000 - 427.2, abs=2)
    assert found.high_rank == pytest.approx(950_000 + 427.2, abs=2)
    assert 0.95 <= found.coverage < 0.951


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32, object, pd.Series])
def test_narrow_numbers_give_what_wide_ones_give(kind):
    values = [200, 10, 100, 255, 0, 7, 7]
    given_as = pd.Series(values) if kind is pd.Series else np.array(values, dtype=kind)
    assert percentile(given_as, share=0.4, level=0.8) == percentile(values, share=0.4, level=0.8)


def test_the_values_are_left_in_their_order():
    values = np.array([3.0, 1.0, 2.0])
    percentile(values, share=0.5, level=0.5)
    assert values.tolist() == [3.0, 1.0, 2.0]


def test_a_percentile_of_nothing_is_refused():
    with pytest.raises(TooFewObservations, match="values: found no value"):
        percentile([], share=0.5, level=0.95)


@pytest.mark.parametrize(
    ("values", "message"),
    [([1, np.nan], "values: found nan"), ([1, None], "a missing value"), ([[1, 2]], "2 dimensions"), (1, "0 dim")],
)
def test_values_that_are_no_sample_of_numbers_are_refused(values, message):
    with pytest.raises(InputRefused, match=message):
        percentile(values, share=0.5, level=0.95)


@pytest.mark.parametrize("outside", [0, 1, 95, -0.1, float("nan")])
def test_a_share_or_level_outside_0_to_1_is_refused(outside):
    with pytest.raises(InputRefused, match="share: found"):
        percentile([1, 2], share=outside, level=0.95)
    with pytest.raises(InputRefused, match="level: found"):
        percentile([1, 2], share=0.5, level=outside)
