"""Confidence sequences hold at all looks together, at the price of some width, and at any share or sample size."""

from fractions import Fraction
from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln
from scipy.stats import betabinom, binom, binomtest

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Interval
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.confidence_sequence import mean_sequence, normal_mixture_boundary, normal_mixture_rho
from tests.stats.laws import LAW

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
SUMS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.floats(0, n), st.just(n)))
STREAMS, LENGTH = 400, 2000


def concentration(level: float, tightest_at: float) -> float:
    """Of the beta mixture: rho - 1 for a variance of tightest_at, and not below a thousandth."""
    twice = 2 * log(1 / (1 - level))
    return max(tightest_at / (twice + log(1 + twice)) - 1, 1e-3)


def misses(streams: np.ndarray, mean: float, *, level: float, tightest_at: float) -> int:
    """How many streams have the mean outside the interval at the look where the evidence against it is largest."""
    m, n = concentration(level, tightest_at), np.arange(1, streams.shape[1] + 1)
    totals = streams.cumsum(axis=1)
    evidence = betaln(m * mean + totals, m * (1 - mean) + n - totals)
    evidence -= betaln(m * mean, m * (1 - mean)) + totals * log(mean) + (n - totals) * log(1 - mean)
    worst = evidence.argmax(axis=1)
    found = [
        mean_sequence(min(total[look], look + 1), look + 1, level=level, tightest_at=tightest_at)
        for total, look in zip(totals, worst, strict=True)
    ]
    return sum(not one.low <= mean <= one.high for one in found)


def test_two_of_two_by_hand():
    # Evidence against p: (mp)(mp + 1) / (m (m + 1) p^2) = (mp + 1) / ((m + 1) p), 20 at p = 1 / (20 (m + 1) - m).
    # tightest_at of ten times 2 log 20 + log(1 + 2 log 20) makes rho 10 and m 9, hence 1/191.
    tightest_at = 10 * (2 * log(20) + log(1 + 2 * log(20)))
    assert mean_sequence(2, 2, level=0.95, tightest_at=tightest_at) == Interval(pytest.approx(1 / 191), 1.0, 0.95)
    assert mean_sequence(0, 2, level=0.95, tightest_at=tightest_at) == Interval(0.0, pytest.approx(190 / 191), 0.95)


@pytest.mark.parametrize(
    ("total", "n", "tightest_at", "low", "high"),
    [
        (700, 1000, 100, 0.651629, 0.745949),
        (15, 50, 50, 0.129556, 0.511896),
        (1, 2, 50, 0.0, 1.0),
        (0, 1, 50, 0.0, 1.0),
    ],
)
def test_intervals_are_those_of_the_authors_program(total, n, tightest_at, low, high):
    """confseq, BernoulliConfidenceIntervalTest in test/uniform_boundaries_unittest.cpp, at alpha .05."""
    found = mean_sequence(total, n, level=0.95, tightest_at=tightest_at)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-5)


def test_the_normal_mixture_is_that_of_the_authors_program():
    """confseq, TwoSidedNormalMixture in test/uniform_boundaries_unittest.cpp, at v = v_opt = 100 and alpha .05."""
    rho = normal_mixture_rho(tightest_at=100, level=0.95)
    assert rho == pytest.approx(12.60056, abs=1e-5)
    assert normal_mixture_boundary([100], rho=rho, level=0.95) == pytest.approx([30.35209], abs=1e-5)


def test_the_normal_mixture_by_hand():
    # At v = 3, rho = 1, level = 1/2: sqrt(4 log(4 / .25)) = sqrt(16 log 2); at v = 0: sqrt(log 4).
    found = normal_mixture_boundary([[0], [3]], rho=1, level=0.5)
    assert found == pytest.approx(np.array([[sqrt(log(4))], [4 * sqrt(log(2))]]))


@pytest.mark.parametrize(("total", "n"), [(0, 0), (0, 1), (1, 1), (0.5, 1), (1, 2)])
def test_before_anything_can_be_excluded_the_interval_is_whole(total, n):
    assert mean_sequence(total, n, level=0.95, tightest_at=100) == Interval(0.0, 1.0, 0.95)


@LAW
@given(COUNTS, st.sampled_from([0.5, 0.9, 0.95, 0.999]), st.floats(0.5, 1e4))
def test_at_an_end_the_mixture_is_as_much_likelier_as_the_level_asks(pair, level, tightest_at):
    """Beta-binomial over binomial, from scipy; at an end that is 0 or 1 nothing just inside it is excluded."""
    total, n = pair
    m = concentration(level, tightest_at)
    found = mean_sequence(total, n, level=level, tightest_at=tightest_at)

    def evidence(mean):
        return betabinom.logpmf(total, n, m * mean, m * (1 - mean)) - binom.logpmf(total, n, mean)

    for end, inside in ((found.low, 1e-9), (found.high, 1 - 1e-9)):
        if 1e-9 < end < 1 - 1e-9:
            assert evidence(end) == pytest.approx(log(1 / (1 - level)), abs=1e-6)
        else:
            assert evidence(inside) <= log(1 / (1 - level)) + 1e-6


@pytest.mark.parametrize("total", [0, 1, 2, 3, 500_000, 999_000, 999_997, 999_998, 999_999, 1_000_000])
def test_a_million_values_leave_ends_that_solve_the_equation(total):
    n, m = 1_000_000, concentration(0.95, 1000)
    found = mean_sequence(total, n, level=0.95, tightest_at=1000)
    assert 0 <= found.low <= total / n <= found.high <= 1
    assert (found.low > 0, found.high < 1) == (total > 1, n - total > 1)
    for end in {found.low, found.high} - {0.0, 1.0}:
        k, mean = (total, end) if end < 0.5 else (n - total, 1 - end)  # small means have the digits
        evidence = betabinom.logpmf(k, n, m * mean, m * (1 - mean)) - binom.logpmf(k, n, mean)
        assert evidence == pytest.approx(log(20), abs=1e-3)


@LAW
@given(SUMS, st.floats(0.5, 1e4))
def test_the_interval_of_the_complement_is_the_complement_of_the_interval(pair, tightest_at):
    total, n = pair
    found = mean_sequence(total, n, level=0.9, tightest_at=tightest_at)
    mirrored = mean_sequence(n - total, n, level=0.9, tightest_at=tightest_at)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-9)


@LAW
@given(SUMS, st.floats(0.01, 5))
def test_a_larger_sum_moves_no_end_down_and_the_mean_is_always_within(pair, more):
    total, n = pair
    found = mean_sequence(total, n, level=0.9, tightest_at=100)
    larger = mean_sequence(min(total + more, n), n, level=0.9, tightest_at=100)
    assert larger.low >= found.low - 1e-12
    assert larger.high >= found.high - 1e-12
    assert found.low <= total / n <= found.high


@LAW
@given(SUMS, st.sampled_from([(0.5, 0.8), (0.8, 0.95), (0.95, 0.99)]))
def test_a_higher_level_gives_a_wider_interval_with_the_same_mixture(pair, levels):
    total, n = pair
    rho = 30
    narrow, wide = (
        mean_sequence(total, n, level=level, tightest_at=rho / normal_mixture_rho(tightest_at=1, level=level))
        for level in levels
    )
    assert wide.low <= narrow.low + 1e-12
    assert wide.high >= narrow.high - 1e-12


@pytest.mark.parametrize(("total", "n"), [(700, 1000), (15, 50), (10, 1000), (200, 400)])
def test_an_interval_for_every_look_is_wider_than_one_for_a_single_look(total, n):
    every, single = mean_sequence(total, n, level=0.95, tightest_at=n), exact_interval(total, n, level=0.95)
    assert every.low < single.low
    assert every.high > single.high


@pytest.mark.parametrize("n", [50, 1000, 20_000])
def test_the_interval_is_narrowest_where_it_was_asked_to_be(n):
    widths = {}
    for tightest_at in (n / 10, n, n * 10):
        found = mean_sequence(0.3 * n, n, level=0.95, tightest_at=tightest_at)
        widths[tightest_at] = found.high - found.low
    assert min(widths, key=widths.get) == n


@pytest.mark.parametrize("v", [5.0, 100.0, 30_000.0])
def test_the_normal_boundary_is_lowest_where_it_was_asked_to_be(v):
    heights = {
        factor: normal_mixture_boundary(v, rho=normal_mixture_rho(tightest_at=factor * v, level=0.9), level=0.9).item()
        for factor in (0.5, 1, 2)
    }
    assert min(heights, key=heights.get) == 1


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.9])
def test_the_true_share_is_in_all_2000_intervals_as_often_as_was_asked(mean):
    """In 400 streams of yes and no, looked at after every value."""
    streams = (np.random.default_rng(41).random((STREAMS, LENGTH)) < mean).astype(float)
    assert binomtest(misses(streams, mean, level=0.95, tightest_at=100), STREAMS, 0.05, "greater").pvalue > 0.01


def test_coverage_is_bought_without_much_waste():
    """At level .8, streams of 2,000 values miss about three quarters of what an endless one may."""
    streams = (np.random.default_rng(42).random((STREAMS, LENGTH)) < 0.5).astype(float)
    missed = misses(streams, 0.5, level=0.8, tightest_at=100)
    assert binomtest(missed, STREAMS, 0.2, "greater").pvalue > 0.01
    assert missed > STREAMS * 0.1


@pytest.mark.parametrize(("a", "b"), [(0.1, 0.1), (0.2, 3.8), (5, 2)])
def test_the_true_mean_of_values_between_0_and_1_is_covered_too(a, b):
    """In 400 streams of beta-distributed values."""
    streams = np.random.default_rng(43).beta(a, b, size=(STREAMS, LENGTH))
    assert binomtest(misses(streams, a / (a + b), level=0.8, tightest_at=100), STREAMS, 0.2, "greater").pvalue > 0.01


def test_an_interval_made_for_one_look_misses_far_more_often_when_every_look_counts():
    """Clopper-Pearson at 95% excludes 1/2 when either tail of the count is at most .025."""
    totals = (np.random.default_rng(44).random((STREAMS, LENGTH)) < 0.5).cumsum(axis=1)
    n = np.arange(1, LENGTH + 1)
    smaller = np.minimum(totals, n - totals)
    missed = (2 * binom.cdf(smaller, n, 0.5) <= 0.05).any(axis=1)
    assert binomtest(int(missed.sum()), STREAMS, 0.2, "greater").pvalue < 1e-6


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_a_random_walk_stays_within_the_normal_boundary_as_often_as_was_asked(level):
    """400 walks of 2,000 normal steps with variance 4; an endless one would miss with 1 - level at most."""
    walks = np.random.default_rng(45).normal(0, 2, size=(STREAMS, LENGTH)).cumsum(axis=1)
    rho = normal_mixture_rho(tightest_at=400, level=level)
    boundary = normal_mixture_boundary(4 * np.arange(1, LENGTH + 1), rho=rho, level=level)
    missed = int((np.abs(walks) >= boundary).any(axis=1).sum())
    assert binomtest(missed, STREAMS, 1 - level, "greater").pvalue > 0.01
    assert missed > STREAMS * (1 - level) / 3


@pytest.mark.parametrize("level", [1e-3, 1e-6, 1e-9, 1e-20, 1 - 1e-14, 1 - Fraction(1, 10**20)])
def test_a_level_next_to_0_or_1_leaves_the_observed_mean_within_its_interval(level):
    for total, n in [(2, 2), (2, 3), (3, 6), (20, 50), (50, 50), (500_000, 1_000_000), (999_998, 1_000_000)]:
        found = mean_sequence(total, n, level=level, tightest_at=50)
        assert 0 <= found.low <= total / n <= found.high <= 1


@pytest.mark.parametrize(
    ("total", "n", "message"),
    [
        (3, 2, r"total: found 3, expected a number in \[0, 2\]"),
        (-1, 2, "total: found -1"),
        (float("nan"), 2, "total: found nan"),
        (None, 2, "total: found a missing value"),
        (1, 2.5, "n: found 2.5, expected whole numbers"),
        (0, -1, "n: found -1"),
    ],
)
def test_a_sum_that_n_values_cannot_have_is_refused(total, n, message):
    with pytest.raises(InputRefused, match=message):
        mean_sequence(total, n, level=0.95, tightest_at=100)


def test_numbers_of_values_in_a_list_are_refused():
    with pytest.raises(InputRefused, match="n: found an array, expected one number"):
        mean_sequence(1, [5], level=0.95, tightest_at=100)


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, float("nan")])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        mean_sequence(1, 2, level=level, tightest_at=100)
    with pytest.raises(InputRefused, match="level: found"):
        normal_mixture_rho(tightest_at=100, level=level)
    with pytest.raises(InputRefused, match="level: found"):
        normal_mixture_boundary([1], rho=1, level=level)


@pytest.mark.parametrize("outside", [0, -1, float("inf"), float("nan")])
def test_a_place_to_be_tightest_at_that_cannot_be_is_refused(outside):
    with pytest.raises(InputRefused, match="tightest_at: found"):
        mean_sequence(1, 2, level=0.95, tightest_at=outside)
    with pytest.raises(InputRefused, match="tightest_at: found"):
        normal_mixture_rho(tightest_at=outside, level=0.95)
    with pytest.raises(InputRefused, match="rho: found"):
        normal_mixture_boundary([1], rho=outside, level=0.95)


def test_a_variance_that_cannot_be_is_refused():
    with pytest.raises(InputRefused, match="variances: found -1"):
        normal_mixture_boundary([1, -1], rho=1, level=0.95)
