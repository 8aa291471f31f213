"""Limits are those of the handbooks, and a point is called out when, and only when, a rule of the handbooks does."""

from fractions import Fraction
from math import nextafter, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm, ttest_1samp

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewObservations
from eval_pipeline.stats.control_charts import (
    SpecialCause,
    XmrLimits,
    p_chart,
    p_chart_centre,
    runs_of_8,
    special_causes,
    xmr_limits,
)
from tests.stats.laws import LAW

SERIES = st.lists(st.integers(-50, 50), min_size=2, max_size=40)
FLOWRATE = [49.6, 47.6, 49.9, 51.3, 47.8, 51.2, 52.6, 52.4, 53.6, 52.1]
JUICE = [12, 15, 8, 10, 4, 7, 16, 9, 14, 10, 5, 6, 17, 12, 22, 8, 10, 5, 13, 11, 20, 18, 24, 15, 9, 12, 7, 13, 9, 6]


def test_the_limits_of_an_individuals_chart_by_hand():
    # Mean 12/4 = 3; moving ranges 2, 1, 4 with mean 7/3; 3 (7/3) / 1.128 = 7/1.128; 3.267 (7/3) = 7.623.
    assert xmr_limits([1, 3, 2, 6]) == XmrLimits(
        centre=3.0,
        mean_moving_range=pytest.approx(7 / 3),
        lower=pytest.approx(3 - 7 / 1.128),
        upper=pytest.approx(3 + 7 / 1.128),
        moving_range_upper=pytest.approx(7.623),
    )


def test_two_points_are_enough_for_limits():
    # Mean .564, one moving range of 1.128, hence three units on either side.
    found = xmr_limits([0, 1.128])
    assert (found.centre, found.lower, found.upper) == (0.564, -2.436, 3.564)


def test_the_flow_rates_have_the_limits_of_the_nist_handbook():
    """NIST/SEMATECH e-Handbook, 6.3.2.2, as printed."""
    found = xmr_limits(FLOWRATE)
    printed = {"centre": 50.81, "mean_moving_range": 1.8778, "lower": 45.8159, "upper": 55.8041}
    assert {name: getattr(found, name) for name in printed} == pytest.approx(printed, abs=5e-5)
    assert found.moving_range_upper == pytest.approx(6.135, abs=5e-4)


def test_limits_are_those_of_another_program_to_the_digits_of_its_constants():
    """statprocon 2.0.0, XmR(counts=x), which rounds to 2.660 and 3.268 and its results to three places."""
    found = xmr_limits([25.0, 24.0, 23.5, 27.1, 23.2, 22.9, 24.7, 29.3, 25.6, 24.4, 26.0, 18.2])
    assert found.centre == pytest.approx(24.492, abs=6e-4)
    assert found.mean_moving_range == pytest.approx(2.727, abs=6e-4)
    assert (found.lower, found.upper) == pytest.approx((17.238, 31.746), abs=2e-3)
    assert found.moving_range_upper == pytest.approx(8.912, abs=4e-3)


@pytest.mark.parametrize("value", [0.1, 0.7, 1 / 3, 5, 1e-9, 123456.789, -2.3])
def test_a_constant_baseline_is_its_own_limits_whatever_its_length(value):
    for length in range(2, 60):
        found = xmr_limits([value] * length)
        assert found == XmrLimits(value, 0.0, value, value, 0.0)
        assert found.no_variation
        assert special_causes([value] * 20, limits=found) == ()


def test_after_a_constant_baseline_any_other_value_lies_outside():
    limits = xmr_limits([0.1] * 12)
    later = [0.1, nextafter(0.1, 1), 0.1, nextafter(0.1, 0)]
    assert special_causes(later, limits=limits) == (
        SpecialCause(1, "outside_3sigma"),
        SpecialCause(3, "outside_3sigma"),
    )
    assert not xmr_limits([3, 3, 3, 3 + 1e-12]).no_variation


def test_a_point_on_a_limit_in_decimals_is_within_it():
    for tenths in range(200):
        a = Fraction(tenths, 10)
        limits = xmr_limits([float(a), float(a + Fraction("1.128"))])
        on_lower, on_upper = float(a - Fraction("2.436")), float(a + Fraction("3.564"))
        assert special_causes([on_lower, on_upper], limits=limits) == ()
        beyond = [nextafter(on_lower, -np.inf), nextafter(on_upper, np.inf)]
        assert [cause.index for cause in special_causes(beyond, limits=limits)] == [0, 1]


def test_a_point_on_the_centre_in_decimals_ends_a_run():
    """In floats .1, .2 and .3 have the mean .20000000000000004."""
    limits = xmr_limits([0.1, 0.2, 0.3])
    assert limits.centre == 0.2
    assert special_causes([0.19] * 7 + [0.2] + [0.19] * 7, limits=limits) == ()


def test_new_points_are_held_against_the_frozen_limits():
    causes = special_causes([60.0, 55.8, 45.8], limits=xmr_limits(FLOWRATE))
    assert causes == (SpecialCause(0, "outside_3sigma"), SpecialCause(2, "outside_3sigma"))


@pytest.mark.parametrize(
    ("series", "causes"),
    [
        pytest.param([10, 10, 10, 10, 10, 10, 11, 9, 10, 10, 11, 10, 100], [(12, "outside_3sigma")], id="outlier"),
        pytest.param(
            [5, 6, 4, 5, 7, 5, 6, 4, 5, 6, 5, 4, 9, 2, 5, 6, 6, 6, 6, 6, 6, 6, 6, 6],
            [(12, "outside_3sigma"), (22, "run_of_8")],
            id="outlier-then-run",
        ),
    ],
)
def test_the_points_of_baseline_and_sequel_are_scanned_together(series, causes):
    limits = xmr_limits(series[:12])
    assert special_causes(series, limits=limits) == tuple(SpecialCause(*cause) for cause in causes)


def test_a_point_may_be_outside_and_end_a_run_at_once():
    limits = XmrLimits(centre=0.0, mean_moving_range=1.128, lower=-3.0, upper=3.0, moving_range_upper=3.7)
    found = special_causes([1] * 7 + [4, 4], limits=limits)
    assert [(cause.index, cause.rule) for cause in found] == [
        (7, "outside_3sigma"),
        (7, "run_of_8"),
        (8, "outside_3sigma"),
    ]


@pytest.mark.parametrize(
    ("points", "told"),
    [
        pytest.param([10, 12, 9, 11, 10, 8, 9, 11, 12, 11, 13, 11, 12, 11, 12], (14,), id="8-at-the-end"),
        pytest.param([10, 12, 9, 11, 10, 8, 9, 11, 12, 11, 13, 11, 12, 11], (), id="7-at-the-end"),
        pytest.param([9, 11] * 8, (), id="alternating"),
        pytest.param([9] * 8, (7,), id="8-below"),
        pytest.param([11] * 20, (7,), id="a-long-run-once"),
        pytest.param([11] * 8 + [9] * 8, (7, 15), id="two-sides"),
        pytest.param([11] * 8 + [10] + [11] * 8, (7, 16), id="equal-begins-anew"),
        pytest.param([11] * 4 + [10] + [11] * 4, (), id="equal-interrupts"),
        pytest.param([10] * 30, (), id="always-equal"),
        pytest.param([], (), id="empty"),
    ],
)
def test_a_run_of_8_is_told_once_at_its_8th_point(points, told):
    assert runs_of_8(points, centre=10) == told


@LAW
@given(st.lists(st.sampled_from([-1, -1, -1, 0, 1]), max_size=60))
def test_runs_are_those_that_a_count_by_hand_finds(points):
    told, length, last = [], 0, 0
    for index, side in enumerate(points):
        length = length + 1 if side == last else 1
        last = side
        if length == 8 and side != 0:
            told.append(index)
    assert runs_of_8(points, centre=0) == tuple(told)


@LAW
@given(SERIES, st.integers(-1000, 1000), st.integers(1, 9))
def test_limits_shift_and_stretch_with_the_points_and_do_not_know_which_way_time_runs(series, shift, factor):
    found = xmr_limits(series)
    moved = xmr_limits([factor * x + shift for x in series][::-1])
    for name in ("centre", "lower", "upper"):
        assert getattr(moved, name) == pytest.approx(factor * getattr(found, name) + shift, abs=1e-9)
    for name in ("mean_moving_range", "moving_range_upper"):
        assert getattr(moved, name) == pytest.approx(factor * getattr(found, name), abs=1e-9)


@LAW
@given(SERIES, SERIES)
def test_a_chart_upside_down_calls_out_the_same_points(baseline, points):
    upright = special_causes(points, limits=xmr_limits(baseline))
    assert special_causes([-x for x in points], limits=xmr_limits([-x for x in baseline])) == upright


def test_limits_lie_on_average_three_standard_deviations_from_the_mean():
    """Over 1,000 baselines of 15 normal points with standard deviation 2; the mean range of pairs is 1.128 of it."""
    rng = np.random.default_rng(20)
    limits = [xmr_limits(rng.normal(7, 2, 15).round(3)) for _ in range(1000)]
    assert ttest_1samp([found.upper for found in limits], 7 + 3 * 2).pvalue > 0.01
    assert ttest_1samp([found.lower for found in limits], 7 - 3 * 2).pvalue > 0.01
    assert ttest_1samp([found.moving_range_upper for found in limits], 3.267 * 1.128 * 2).pvalue > 0.01


def test_a_stable_process_falls_outside_27_times_in_10_000():
    """Limits frozen from 20,000 points, 100,000 points after them."""
    rng = np.random.default_rng(21)
    limits = xmr_limits(rng.normal(size=20_000).round(4))
    causes = special_causes(rng.normal(size=100_000), limits=limits)
    outside = sum(cause.rule == "outside_3sigma" for cause in causes)
    assert binomtest(outside, 100_000, 2 * norm.sf(3)).pvalue > 0.01


def test_a_stable_process_of_20_points_has_a_run_of_8_as_often_as_coins_do():
    """Sequences of 20 tosses whose runs all stay below 8 are twice the ways to write 20 as a sum of parts up to 7."""
    ways = [1]
    for n in range(1, 21):
        ways.append(sum(ways[max(0, n - 7) : n]))
    rng = np.random.default_rng(22)
    with_run = sum(bool(runs_of_8(points, centre=0)) for points in rng.normal(size=(4000, 20)))
    assert binomtest(with_run, 4000, 1 - 2 * ways[20] / 2**20).pvalue > 0.01


def test_the_orange_juice_cans_have_the_limits_of_the_textbook():
    """Montgomery, as R's qcc 2.7 has it in its data set orangejuice; NIST/SEMATECH e-Handbook, 6.3.3.2."""
    chart = p_chart(JUICE, [50] * 30, centre=p_chart_centre(JUICE, [50] * 30))
    assert chart.centre == Fraction(347, 1500)
    assert chart.lower == pytest.approx(np.full(30, 0.0524), abs=5e-5)
    assert chart.upper == pytest.approx(np.full(30, 0.4102), abs=5e-5)
    assert (np.flatnonzero(chart.outside) + 1).tolist() == [15, 23]


def test_a_p_chart_of_unequal_subgroups_by_hand():
    # Centre 10/100. For 9: sqrt(.1 * .9 / 9) = .1, so .4 above and -.2, clipped to 0, below; 100: .1 +- .09;
    # 900: .1 +- .03.
    centre = p_chart_centre([1, 9], [20, 80])
    assert centre == Fraction(1, 10)
    chart = p_chart([4, 0, 100], [9, 100, 900], centre=centre)
    assert chart.shares == pytest.approx(np.array([4 / 9, 0, 1 / 9]))
    assert chart.lower == pytest.approx(np.array([0, 0.01, 0.07]))
    assert chart.upper == pytest.approx(np.array([0.4, 0.19, 0.13]))
    assert chart.outside.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("centre", "total", "low", "high"),
    [("1/2", 36, 9, 27), ("1/10", 100, 1, 19), ("1/5", 100, 8, 32), ("1/10", 400, 22, 58), ("9/10", 400, 342, 378)],
)
def test_a_share_on_its_limit_is_within_it(centre, total, low, high):
    """Each centre +- 3 sigma is low/total and high/total exactly."""
    chart = p_chart([low - 1, low, high, high + 1], [total] * 4, centre=Fraction(centre))
    assert chart.outside.tolist() == [True, False, False, True]


def test_limits_reach_neither_below_0_nor_above_1():
    chart = p_chart([0, 2], [2, 2], centre=Fraction(1, 2))
    assert (chart.lower.tolist(), chart.upper.tolist()) == ([0, 0], [1, 1])


@pytest.mark.parametrize(("hits", "same"), [([0, 0, 0], 0), ([10, 10, 10], 10)])
def test_after_a_baseline_without_spread_any_other_share_lies_outside(hits, same):
    centre = p_chart_centre(hits, [10] * 3)
    chart = p_chart([same, 1], [10, 10], centre=centre)
    assert (chart.lower.tolist(), chart.upper.tolist()) == ([float(centre)] * 2, [float(centre)] * 2)
    assert chart.outside.tolist() == [False, True]


@LAW
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)).filter(any), min_size=1, max_size=20))
def test_a_chart_of_misses_is_the_chart_of_hits_upside_down(pairs):
    hits, misses = np.array(pairs).T
    total = hits + misses
    chart = p_chart(hits, total, centre=p_chart_centre(hits, total))
    mirrored = p_chart(misses, total, centre=p_chart_centre(misses, total))
    assert mirrored.centre == 1 - chart.centre
    assert mirrored.lower == pytest.approx(1 - chart.upper, abs=1e-12)
    assert mirrored.outside.tolist() == chart.outside.tolist()


@pytest.mark.parametrize("share", ["1/100", "1/5", "19/20"])
@pytest.mark.parametrize("total", [7, 60, 450])
def test_a_stable_share_falls_outside_as_often_as_the_binomial_says(share, total):
    """20,000 subgroups against the limits of the true share."""
    centre, k = Fraction(share), np.arange(total + 1)
    beyond = k[np.abs(k - total * float(centre)) > 3 * sqrt(total * centre * (1 - centre)) + 1e-9]
    drawn = np.random.default_rng(24).binomial(total, float(centre), 20_000)
    outside = p_chart(drawn, np.full(20_000, total), centre=centre).outside.sum()
    assert binomtest(int(outside), 20_000, binom.pmf(beyond, total, float(centre)).sum()).pvalue > 0.01


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.float32, object, pd.Series])
def test_narrow_numbers_give_what_wide_ones_give(kind):
    def given_as(values):
        return pd.Series(values) if kind is pd.Series else np.array(values, dtype=kind)

    assert xmr_limits(given_as([200, 10, 100])) == xmr_limits([200, 10, 100])
    assert runs_of_8(given_as([1] * 8), centre=2) == (7,)
    assert p_chart_centre(given_as([90, 90, 90]), given_as([100, 100, 100])) == Fraction(9, 10)
    assert p_chart(given_as([90]), given_as([100]), centre=Fraction(1, 2)).outside.tolist() == [True]


def test_counts_whose_products_exceed_64_bits_are_compared_exactly():
    # 3 sigma are 3 * 10^9 / 2 of 10^18 trials.
    half, total = 5 * 10**17, 10**18
    chart = p_chart([half + 1_500_000_000, half + 1_500_000_001], [total] * 2, centre=Fraction(1, 2))
    assert chart.outside.tolist() == [False, True]


@pytest.mark.parametrize(
    ("baseline", "refusal", "message"),
    [
        ([5], TooFewObservations, "found a baseline of 1, expected 2"),
        ([], TooFewObservations, "found a baseline of 0, expected 2"),
        ([1, np.nan], InputRefused, "baseline: found nan"),
        ([1, np.inf], InputRefused, "baseline: found inf"),
        ([1, None], InputRefused, "baseline: found a missing value"),
        ([[1, 2], [3, 4]], InputRefused, "baseline: found 2 dimensions"),
        (3, InputRefused, "baseline: found 0 dimensions"),
    ],
)
def test_a_baseline_without_moving_ranges_is_refused(baseline, refusal, message):
    with pytest.raises(refusal, match=message):
        xmr_limits(baseline)


def test_points_that_are_no_series_of_numbers_are_refused():
    with pytest.raises(InputRefused, match="points: found nan"):
        special_causes([1, np.nan], limits=xmr_limits([1, 2]))
    with pytest.raises(InputRefused, match="points: found 2 dimensions"):
        runs_of_8([[1, 2]], centre=0)
    with pytest.raises(InputRefused, match="centre: found nan"):
        runs_of_8([1, 2], centre=np.nan)
    with pytest.raises(InputRefused, match="centre: found an array, expected one number"):
        runs_of_8([1, 2], centre=[1, 2])


@pytest.mark.parametrize(
    ("hits", "totals", "refusal", "message"),
    [
        ([1, 5], [4, 4], InputRefused, "subgroup 1: found 5 successes in 4 trials"),
        ([-1], [4], InputRefused, "successes: found -1"),
        ([0.5], [4], InputRefused, "successes: found 0.5, expected whole numbers"),
        ([1], [4, 4], InputRefused, "found 1 successes, 2 trials"),
        ([[1]], [[4]], InputRefused, "successes: found 2 dimensions"),
        ([1], [[4]], InputRefused, "trials: found 2 dimensions"),
    ],
)
def test_what_are_no_subgroups_is_refused(hits, totals, refusal, message):
    with pytest.raises(refusal, match=message):
        p_chart_centre(hits, totals)
    with pytest.raises(refusal, match=message):
        p_chart(hits, totals, centre=Fraction(1, 2))


def test_a_share_of_no_trials_is_refused():
    with pytest.raises(RatioUndefined, match="the baseline has no trials"):
        p_chart_centre([0, 0], [0, 0])
    with pytest.raises(RatioUndefined, match="subgroup 1 has no trials"):
        p_chart([1, 0], [2, 0], centre=Fraction(1, 2))


@pytest.mark.parametrize("centre", [Fraction(-1, 10), Fraction(11, 10)])
def test_a_centre_that_is_no_share_is_refused(centre):
    with pytest.raises(InputRefused, match=f"centre: found {centre}"):
        p_chart([1], [2], centre=centre)
