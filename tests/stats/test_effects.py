"""Cliff's delta, Spearman's correlation and parts against their rest: by hand, by SciPy, by law, by simulation."""

from fractions import Fraction
from math import asin, atanh, pi, sqrt, tanh

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binomtest, brunnermunzel, mannwhitneyu, norm, pearsonr, spearmanr, t

from eval_pipeline.errors import InputRefused, NoVariation, TooFewObservations
from eval_pipeline.stats.effects import (
    PartCorrelation,
    cliffs_delta,
    leave_one_out_correlations,
    magnitude,
    spearman,
)
from tests.stats.laws import LAW

TREATED = [10, 10, 20, 20, 20, 30, 30, 30, 40, 50]
CONTROL = [10, 20, 30, 40, 40, 50]
BANDS = {"small": 0.147, "medium": 0.33, "large": 0.474}
SAMPLES = st.lists(st.integers(-5, 5), min_size=2, max_size=12)


def interval_of_the_matrix(x, y, level):
    """Cliff's interval from all n m dominances; the degrees of freedom are those that explain SciPy's p."""
    dominance = np.sign(np.subtract.outer(x, y)).astype(float)
    (n, m), d = dominance.shape, dominance.mean()
    rows = ((dominance.mean(axis=1) - d) ** 2).sum() / (n - 1)
    columns = ((dominance.mean(axis=0) - d) ** 2).sum() / (m - 1)
    cells = ((dominance - d) ** 2).sum() / ((n - 1) * (m - 1))
    variance = max(((m - 1) * rows + (n - 1) * columns + cells) / (n * m), (1 - d**2) / (n * m - 1))
    test = brunnermunzel(x, y)
    freedom = brentq(lambda df: 2 * t.sf(abs(test.statistic), df) - test.pvalue, 1, 1000)
    q2 = t.ppf((1 + level) / 2, freedom) ** 2 * variance
    ends = [(d - d**3 + sign * sqrt(q2) * sqrt((1 - d**2) ** 2 + q2)) / (1 - d**2 + q2) for sign in (-1, 1)]
    return [max(ends[0], -1), min(ends[1], 1)]


def test_delta_is_the_share_of_pairs_won_less_the_share_lost():
    """1 < 2, 1 < 3, 2 = 2, 2 < 3, 4 > 2, 4 > 3: two wins and three losses of six."""
    result = cliffs_delta([1, 2, 4], [2, 3], level=0.95)
    assert (result.delta, result.wins, result.losses) == (Fraction(-1, 6), 2, 3)


def test_the_published_example_gives_minus_a_quarter():
    """The example of R's effsize 0.8.1, cliff.delta(treatment, control): -0.25."""
    assert cliffs_delta(TREATED, CONTROL, level=0.95).delta == Fraction(-1, 4)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("level", [0.8, 0.99])
def test_the_interval_is_that_of_the_whole_matrix_with_the_freedom_of_brunner_and_munzel(seed, level):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(2, 9, 9 + seed), rng.integers(0, 8, 14)
    found = cliffs_delta(x, y, level=level).interval
    assert [found.low, found.high] == pytest.approx(interval_of_the_matrix(x, y, level), abs=1e-9)


@LAW
@given(SAMPLES, SAMPLES)
def test_delta_is_twice_the_share_of_mann_and_whitney_less_one(x, y):
    u = mannwhitneyu(x, y, method="asymptotic").statistic
    assert float(cliffs_delta(x, y, level=0.9).delta) == pytest.approx(2 * u / (len(x) * len(y)) - 1, abs=1e-12)


@LAW
@given(SAMPLES, SAMPLES)
def test_only_order_counts_and_the_other_side_sees_the_mirror_image(x, y):
    here, there = cliffs_delta(x, y, level=0.9), cliffs_delta(y, x, level=0.9)
    assert cliffs_delta(np.exp(x), np.exp(y), level=0.9) == here
    assert (there.delta, there.wins) == (-here.delta, here.losses)
    assert [-there.interval.high, -there.interval.low] == pytest.approx([here.interval.low, here.interval.high])
    assert -1 <= here.interval.low <= here.delta <= here.interval.high <= 1


def test_narrow_unsigned_integers_do_not_wrap_around():
    result = cliffs_delta(np.array([0, 1], dtype=np.uint8), np.array([200, 255], dtype=np.uint8), level=0.95)
    assert (result.delta, result.losses) == (-1, 4)


@pytest.mark.parametrize("sign", [1, -1])
def test_samples_that_do_not_overlap_end_at_wilsons_bound_for_the_smaller(sign):
    result = cliffs_delta(sign * np.arange(10, 17), sign * np.arange(9), level=0.9)
    wilson = binomtest(7, 7).proportion_ci(0.9, method="wilson").low
    ends = sorted([sign * 1.0, sign * (2 * wilson - 1)])
    assert [result.interval.low, result.interval.high] == pytest.approx(ends, abs=1e-12)


def test_samples_that_are_all_tied_still_leave_room_for_a_difference():
    """No dominance varies, and the variance is held at 1 / (4 * 5 - 1); the smaller sample has 3 degrees of freedom."""
    interval = cliffs_delta([1] * 4, [1] * 5, level=0.95).interval
    q2 = t.ppf(0.975, 3) ** 2 / 19
    assert interval.high == pytest.approx(sqrt(q2 * (1 + q2)) / (1 + q2), abs=1e-12)
    assert interval.low == -interval.high


def test_a_sample_of_one_has_a_delta_and_no_interval():
    result = cliffs_delta([3], [1, 2, 3, 4], level=0.95)
    assert (result.delta, result.interval) == (Fraction(1, 4), None)


def held(draw, truth, studies=600):
    rng = np.random.default_rng(3)
    intervals = [cliffs_delta(*draw(rng), level=0.95).interval for _ in range(studies)]
    return sum(interval.low <= truth <= interval.high for interval in intervals)


def normals(n, m, shift, spread):
    return lambda rng: (rng.normal(shift, 1, n), rng.normal(0, spread, m))


@pytest.mark.parametrize(("n", "m", "shift", "spread"), [(50, 50, 0.5, 1), (10, 30, 0.8, 1), (40, 40, 0, 3)])
def test_a_95_percent_interval_holds_delta_in_95_percent_of_studies(n, m, shift, spread):
    truth = 2 * norm.cdf(shift / sqrt(1 + spread**2)) - 1
    assert binomtest(held(normals(n, m, shift, spread), truth), 600, 0.95).pvalue > 0.01


@pytest.mark.parametrize(("n", "m", "shift"), [(15, 15, 2), (8, 8, 1.5), (20, 20, 3), (30, 10, 0.8), (5, 40, 1)])
def test_it_holds_delta_at_least_as_often_in_small_samples_and_near_1(n, m, shift):
    hits = held(normals(n, m, shift, 1), 2 * norm.cdf(shift / sqrt(2)) - 1)
    assert binomtest(hits, 600, 0.95, alternative="less").pvalue > 0.01


def test_it_holds_delta_where_most_pairs_are_tied():
    """Four levels: delta is the sum over pairs of levels of their chances, with the sign of their difference."""
    of_x, of_y, levels = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.3, 0.3, 0.3, 0.1]), np.arange(4)
    truth = of_x @ np.sign(np.subtract.outer(levels, levels)) @ of_y
    hits = held(lambda rng: (rng.choice(levels, 25, p=of_x), rng.choice(levels, 40, p=of_y)), truth)
    assert binomtest(hits, 600, 0.95).pvalue > 0.01


@pytest.mark.parametrize(
    ("effect", "name"),
    [(0, "none"), (0.146, "none"), (0.147, "small"), (Fraction(33, 100), "medium"), (-0.33, "medium"), (-1, "large")],
)
def test_an_effect_has_the_name_of_the_highest_threshold_that_its_size_reaches(effect, name):
    assert magnitude(effect, thresholds=BANDS, otherwise="none") == name


@LAW
@given(st.fractions(-1, 1, max_denominator=500), st.permutations(list(BANDS)))
def test_the_order_and_the_sign_do_not_matter_to_the_name(effect, names):
    shuffled = {name: BANDS[name] for name in names}
    expected = magnitude(-effect, thresholds=BANDS, otherwise="none")
    assert magnitude(effect, thresholds=shuffled, otherwise="none") == expected
    assert (expected == "none") == (abs(effect) < Fraction(147, 1000))


def test_spearman_has_the_correlation_of_the_ranks_and_an_interval_on_fishers_scale():
    """Ranks 1 2 3 4 5 against 2 1 4 3 5: 1 - 6 * 4 / (5 * 24) = 0.8; half width z sqrt(1.32 / 2) on Fisher's scale."""
    result = spearman([1, 2, 3, 4, 50], [7, 5, 9, 8, 10], level=0.95)
    half = 1.959963984540054 * sqrt(1.32 / 2)
    assert result.estimate == pytest.approx(0.8, abs=1e-12)
    assert [result.interval.low, result.interval.high] == pytest.approx(
        [tanh(atanh(0.8) - half), tanh(atanh(0.8) + half)], abs=1e-12
    )


@LAW
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=5, max_size=20))
def test_spearman_is_pearsons_correlation_of_the_ranks_and_turns_with_its_sign(pairs):
    x, y = np.array(pairs).T
    if np.ptp(x) and np.ptp(y):
        here, turned = spearman(x, y, level=0.9), spearman(x, -y, level=0.9)
        assert here.estimate == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
        assert turned.estimate == pytest.approx(-here.estimate, abs=1e-12)
        assert (here.interval is None) == (abs(here.estimate) > 1 - 1e-12)
        assert spearman(np.exp(y), x, level=0.9).estimate == pytest.approx(here.estimate, abs=1e-12)


@pytest.mark.parametrize("rho", [0, 0.5, 0.85])
def test_a_95_percent_interval_holds_spearmans_correlation_in_95_percent_of_studies(rho):
    """Of two normal variables it is 6/pi asin(rho / 2)."""
    rng, truth, hits = np.random.default_rng(5), 6 / pi * asin(rho / 2), 0
    for _ in range(600):
        x = rng.normal(size=40)
        interval = spearman(x, rho * x + sqrt(1 - rho**2) * rng.normal(size=40), level=0.95).interval
        hits += interval.low <= truth <= interval.high
    assert binomtest(hits, 600, 0.95).pvalue > 0.01


@pytest.mark.parametrize("y", [[2, 4, 6, 8], [9, 7, 5, 3]])
def test_a_perfect_correlation_shows_no_spread_to_build_an_interval_on(y):
    result = spearman([1, 2, 3, 4], y, level=0.95)
    assert (abs(result.estimate), result.interval) == (pytest.approx(1), None)


def test_three_pairs_have_a_correlation_and_no_interval():
    assert spearman([1, 2, 3], [2, 1, 3], level=0.95).interval is None


def test_a_part_is_correlated_with_the_sum_of_the_others():
    """Part 1 2 3 against the sums 3 3 6 of the rest: 3 / sqrt(2 * 6) = sqrt(3)/2."""
    first, *_ = leave_one_out_correlations([[1, 1, 2], [2, 2, 1], [3, 3, 3]])
    assert first == PartCorrelation(pytest.approx(sqrt(3) / 2, abs=1e-12), None)


@LAW
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=3, max_size=12))
def test_each_part_is_correlated_as_scipy_correlates_it_with_the_mean_of_the_others(rows):
    table = np.array(rows)
    for part, found in enumerate(leave_one_out_correlations(table)):
        rest = np.delete(table, part, axis=1)
        if np.ptp(table[:, part]) == 0:
            assert found == PartCorrelation(None, "constant part")
        elif np.ptp(rest.sum(axis=1)) == 0:
            assert found == PartCorrelation(None, "constant remainder")
        else:
            assert found.correlation == pytest.approx(pearsonr(table[:, part], rest.mean(axis=1)).statistic, abs=1e-9)


def test_constant_parts_and_constant_remainders_are_named():
    driver = [[i % 4, 2, 5] for i in range(12)]
    assert [part.degenerate for part in leave_one_out_correlations(driver)] == [
        "constant remainder", "constant part", "constant part",
    ]  # fmt: skip


def test_a_remainder_that_varies_by_rounding_alone_is_constant():
    """0.1 + 0.7 and 0.3 + 0.5 differ in their last bit."""
    table = [[1, 0.1, 0.7], [2, 0.3, 0.5], [3, 0.7, 0.1], [5, 0.5, 0.3]]
    assert 0.1 + 0.7 != 0.3 + 0.5
    assert leave_one_out_correlations(table)[0] == PartCorrelation(None, "constant remainder")


@pytest.mark.parametrize(
    ("call", "refusal", "words"),
    [
        (lambda: cliffs_delta([], [1], level=0.9), TooFewObservations, "x: found no value"),
        (lambda: cliffs_delta([1], [], level=0.9), TooFewObservations, "y: found no value"),
        (lambda: cliffs_delta([[1]], [1], level=0.9), InputRefused, "2 dimensions"),
        (lambda: cliffs_delta([1, np.nan], [1], level=0.9), InputRefused, "finite"),
        (lambda: cliffs_delta([1, 2], [1, 2], level=1), InputRefused, "level: found 1"),
        (lambda: spearman([1, 2], [1, 2], level=95), InputRefused, "level: found 95"),
        (lambda: spearman([1, 2, 3], [1, 2], level=0.9), InputRefused, "3 x, 2 y"),
        (lambda: spearman([1], [1], level=0.9), TooFewObservations, "at least 2 pairs"),
        (lambda: spearman([1, 2, 3], [4, 4, 4], level=0.9), NoVariation, "y: all 3 values are 4"),
        (lambda: spearman([4, 4, 4], [1, 2, 3], level=0.9), NoVariation, "x: all 3 values are 4"),
        (lambda: leave_one_out_correlations([[1, 2]]), TooFewObservations, "at least 2 units"),
        (lambda: leave_one_out_correlations([[1], [2]]), InputRefused, "two parts or more"),
        (lambda: leave_one_out_correlations([1, 2]), InputRefused, "two parts or more"),
        (lambda: magnitude(0.3, thresholds={"any": 0}, otherwise="none"), InputRefused, "sizes above 0"),
        (lambda: magnitude(np.nan, thresholds={"any": 0.1}, otherwise="none"), InputRefused, "effect: found nan"),
        (lambda: magnitude(0.3, thresholds={"any": np.nan}, otherwise="none"), InputRefused, "any: found nan"),
    ],
)
def test_what_cannot_be_said_is_refused(call, refusal, words):
    with pytest.raises(refusal, match=words):
        call()


def test_correlations_of_parts_do_not_depend_on_their_unit():
    table = np.array([[1, 2, 4], [2, 1, 5], [3, 5, 1], [0, 2, 2]])
    expected = [part.correlation for part in leave_one_out_correlations(table)]
    for scale in (1e-200, 1e200):
        found = [part.correlation for part in leave_one_out_correlations(table * scale)]
        assert found == pytest.approx(expected, abs=1e-9)


def test_a_level_next_to_1_has_an_interval_of_numbers():
    interval = cliffs_delta([1, 2, 3, 5], [2, 4, 6, 1], level=1 - 1e-16 * 2).interval
    assert -1 <= interval.low <= interval.high <= 1
