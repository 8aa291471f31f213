"""The exact binomial intervals exclude no more than they may, and the p-value is the probability it says it is."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Interval
from eval_pipeline.stats.binomial import exact_interval, lower_bound, shortfall_p_value, upper_bound
from tests.stats.laws import LAW

COUNTS = st.integers(1, 300).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


def chance_of_at_most(successes: int, trials: int, share: Fraction) -> Fraction:
    """P(X <= successes), summed term by term in fractions."""
    terms = (comb(trials, x) * share**x * (1 - share) ** (trials - x) for x in range(successes + 1))
    return sum(terms, Fraction(0))


@pytest.mark.parametrize(
    ("successes", "trials", "level", "low"),
    [
        # All succeed: the share at which that has a chance of 5 % is .05^(1/n).
        pytest.param(20, 20, 0.95, 0.05 ** (1 / 20), id="20-of-20"),
        pytest.param(1, 1, 0.95, 0.05, id="1-of-1"),
        # One succeeds: 1 - (1 - p)^n = .05.
        pytest.param(1, 10, 0.95, 1 - 0.95 ** (1 / 10), id="1-of-10"),
        pytest.param(0, 10, 0.95, 0.0, id="0-of-10"),
        pytest.param(0, 0, 0.95, 0.0, id="0-of-0"),
    ],
)
def test_the_lower_bound_by_hand(successes, trials, level, low):
    found = lower_bound(successes, trials, level=level)
    assert found == Interval(pytest.approx(low, abs=1e-12), 1.0, level)


def test_19_of_20_are_bounded_at_784_thousandths():
    assert lower_bound(19, 20, level=0.95).low == pytest.approx(0.7839, abs=5e-5)


@pytest.mark.parametrize(
    ("successes", "trials", "two_sided_level", "low"),
    [
        pytest.param(1, 10, 0.95, 0.0025, id="clopper_pearson-02"),
        pytest.param(5, 10, 0.95, 0.1871, id="clopper_pearson-03"),
        pytest.param(10, 10, 0.95, 0.6915, id="clopper_pearson-04"),
        pytest.param(0, 18, 0.99, 0.0, id="clopper_pearson-08"),
        pytest.param(0, 0, 0.95, 0.0, id="clopper_pearson-14"),
    ],
)
def test_the_lower_bound_is_the_lower_end_of_the_tabled_interval(successes, trials, two_sided_level, low):
    level = 1 - (1 - two_sided_level) / 2
    assert lower_bound(successes, trials, level=level).low == pytest.approx(low, abs=6e-5)


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 7), (7, 7), (19, 20), (180, 200), (950, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_lower_bound_is_that_of_scipys_root_search(successes, trials, level):
    """scipy 1.17.1, binomtest(...).proportion_ci(method="exact"), which solves the tail equation by bisection."""
    theirs = binomtest(successes, trials, alternative="greater").proportion_ci(confidence_level=level, method="exact")
    assert lower_bound(successes, trials, level=level).low == pytest.approx(theirs.low, abs=1e-9)


@LAW
@given(COUNTS.filter(lambda counts: counts[0] > 0), st.floats(0.5, 0.999))
def test_at_the_bound_so_many_successes_have_the_chance_that_the_level_leaves(counts, level):
    successes, trials = counts
    low = lower_bound(successes, trials, level=level).low
    assert binom.sf(successes - 1, trials, low) == pytest.approx(1 - level, rel=1e-6)


@LAW
@given(COUNTS)
def test_one_more_success_raises_the_bound_and_one_more_failure_lowers_it(counts):
    successes, trials = counts
    low = lower_bound(successes, trials, level=0.95).low
    assert lower_bound(successes + 1, trials + 1, level=0.95).low > low
    assert lower_bound(successes, trials + 1, level=0.95).low < low or low == 0
    assert low < successes / trials or low == 0


@pytest.mark.parametrize("share", [0.05, 0.5, 0.8, 0.949, 0.95, 0.99])
@pytest.mark.parametrize("trials", [20, 57])
def test_the_bound_is_below_the_true_share_at_least_as_often_as_its_level_says(share, trials):
    """Summed over all outcomes, so that there is no chance in it."""
    held = [lower_bound(successes, trials, level=0.95).low <= share for successes in range(trials + 1)]
    assert binom.pmf(range(trials + 1), trials, share)[held].sum() >= 0.95 - 1e-12


def test_the_bound_covers_in_simulated_studies():
    rng = np.random.default_rng(12)
    held = sum(lower_bound(int(x), 200, level=0.95).low <= 0.95 for x in rng.binomial(200, 0.95, 500))
    assert binomtest(held, 500, 0.95, alternative="less").pvalue > 0.01


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (4, 3), (1, 0)])
def test_successes_outside_the_trials_are_refused(successes, trials):
    """clopper_pearson-15."""
    with pytest.raises(ValueError, match=rf"successes: found {successes}, expected 0..{trials}"):
        lower_bound(successes, trials, level=0.95)


@pytest.mark.parametrize(
    ("successes", "trials", "level", "low", "high"),
    [
        # All succeed: p^n = .025 at the lower end. None does: (1 - p)^n = .025 at the upper.
        pytest.param(20, 20, 0.95, 0.025 ** (1 / 20), 1.0, id="20-of-20"),
        pytest.param(0, 20, 0.95, 0.0, 1 - 0.025 ** (1 / 20), id="0-of-20"),
        pytest.param(1, 1, 0.9, 0.05, 1.0, id="1-of-1"),
        # One of two: 1 - (1 - p)^2 = .025 at the lower end, and at the upper 1 - p^2 = .025.
        pytest.param(1, 2, 0.95, 1 - 0.975**0.5, 0.975**0.5, id="1-of-2"),
        # Without a trial nothing is excluded.
        pytest.param(0, 0, 0.95, 0.0, 1.0, id="0-of-0"),
    ],
)
def test_the_exact_interval_by_hand(successes, trials, level, low, high):
    found = exact_interval(successes, trials, level=level)
    assert found == Interval(pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12), level)


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 7), (7, 7), (19, 20), (1, 40), (180, 200), (950, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_exact_interval_is_that_of_scipys_root_search(successes, trials, level):
    """scipy 1.17.1, binomtest(...).proportion_ci(method="exact"), which solves both tail equations by bisection."""
    theirs = binomtest(successes, trials).proportion_ci(confidence_level=level, method="exact")
    found = exact_interval(successes, trials, level=level)
    assert (found.low, found.high) == (pytest.approx(theirs.low, abs=1e-9), pytest.approx(theirs.high, abs=1e-9))


@LAW
@given(COUNTS, st.floats(0.5, 0.999))
def test_at_either_end_of_the_interval_the_tail_has_half_of_what_the_level_leaves(counts, level):
    successes, trials = counts
    found = exact_interval(successes, trials, level=level)
    if successes:
        assert binom.sf(successes - 1, trials, found.low) == pytest.approx((1 - level) / 2, rel=1e-6)
    if successes < trials:
        assert binom.cdf(successes, trials, found.high) == pytest.approx((1 - level) / 2, rel=1e-6)


@LAW
@given(COUNTS, st.floats(0.5, 0.999))
def test_successes_and_failures_change_places_and_the_interval_is_mirrored(counts, level):
    successes, trials = counts
    found, mirrored = (exact_interval(x, trials, level=level) for x in (successes, trials - successes))
    assert (mirrored.low, mirrored.high) == (
        pytest.approx(1 - found.high, abs=1e-9),
        pytest.approx(1 - found.low, abs=1e-9),
    )


@LAW
@given(COUNTS)
def test_the_interval_holds_the_observed_share_and_widens_with_the_level(counts):
    successes, trials = counts
    narrow, wide = (exact_interval(successes, trials, level=level) for level in (0.9, 0.99))
    assert wide.low <= narrow.low <= successes / trials <= narrow.high <= wide.high
    assert wide.high - wide.low > narrow.high - narrow.low


@pytest.mark.parametrize("share", [0.01, 0.05, 0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("trials", [1, 20, 57])
def test_the_interval_holds_the_true_share_at_least_as_often_as_its_level_says(share, trials):
    """Summed over all outcomes, so that there is no chance in it."""
    found = [exact_interval(successes, trials, level=0.95) for successes in range(trials + 1)]
    held = [interval.low <= share <= interval.high for interval in found]
    assert binom.pmf(range(trials + 1), trials, share)[held].sum() >= 0.95 - 1e-12


def test_the_interval_covers_in_simulated_studies():
    rng = np.random.default_rng(12)
    found = [exact_interval(int(x), 100, level=0.95) for x in rng.binomial(100, 0.07, 500)]
    held = sum(interval.low <= 0.07 <= interval.high for interval in found)
    assert binomtest(held, 500, 0.95, alternative="less").pvalue > 0.01


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (4, 3), (1, 0)])
def test_an_interval_of_successes_outside_the_trials_is_refused(successes, trials):
    with pytest.raises(ValueError, match=rf"successes: found {successes}, expected 0..{trials}"):
        exact_interval(successes, trials, level=0.95)


@pytest.mark.parametrize(
    ("successes", "trials", "share", "chance"),
    [
        # 1 - .95^20 - 20 * .95^19 * .05 = 1 - .358486 - .377354
        pytest.param(18, 20, 0.95, 0.264160, id="18-of-20"),
        # 1 - .95^20
        pytest.param(19, 20, 0.95, 0.641514, id="19-of-20"),
        pytest.param(20, 20, 0.95, 1.0, id="20-of-20"),
        # .5^3
        pytest.param(0, 3, 0.5, 0.125, id="0-of-3"),
    ],
)
def test_the_chance_of_so_few_successes_by_hand(successes, trials, share, chance):
    assert shortfall_p_value(successes, trials, share) == pytest.approx(chance, abs=1e-6)


@LAW
@given(COUNTS, st.integers(1, 19))
def test_the_chance_of_so_few_successes_is_the_sum_of_its_terms(counts, twentieths):
    successes, trials = counts
    expected = chance_of_at_most(successes, trials, Fraction(twentieths, 20))
    assert shortfall_p_value(successes, trials, twentieths / 20) == pytest.approx(float(expected), rel=1e-8)


@LAW
@given(COUNTS, st.integers(1, 18))
def test_fewer_successes_or_a_higher_bar_are_more_surprising(counts, twentieths):
    successes, trials = counts
    chance = shortfall_p_value(successes, trials, twentieths / 20)
    assert shortfall_p_value(successes, trials, (twentieths + 1) / 20) <= chance
    if successes:
        assert shortfall_p_value(successes - 1, trials, twentieths / 20) <= chance


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_a_share_at_the_bar_is_called_harmful_no_more_often_than_the_level_allows(alpha):
    rejected = [shortfall_p_value(successes, 200, 0.95) <= alpha for successes in range(201)]
    assert 0 < binom.pmf(range(201), 200, 0.95)[rejected].sum() <= alpha


@pytest.mark.parametrize(
    ("successes", "trials", "level", "high"),
    [
        # None succeeds: the share at which that has a chance of 5 % is 1 - .05^(1/n).
        pytest.param(0, 20, 0.95, 1 - 0.05 ** (1 / 20), id="0-of-20"),
        pytest.param(0, 1, 0.95, 0.95, id="0-of-1"),
        # One of two: 1 - p^2 = .05.
        pytest.param(1, 2, 0.95, 0.95**0.5, id="1-of-2"),
        # Twice the tail makes a two-sided interval at 95 %: 1 - .025^(1/200).
        pytest.param(0, 200, 0.975, 0.0182753, id="0-of-200"),
        pytest.param(10, 10, 0.95, 1.0, id="10-of-10"),
        pytest.param(0, 0, 0.95, 1.0, id="0-of-0"),
    ],
)
def test_the_upper_bound_by_hand(successes, trials, level, high):
    assert upper_bound(successes, trials, level=level) == Interval(0.0, pytest.approx(high, abs=1e-7), level)


def test_367_clean_trials_do_not_exclude_one_in_a_hundred_and_368_do():
    assert exact_interval(0, 367, level=0.95).high > 0.01 > exact_interval(0, 368, level=0.95).high
    assert exact_interval(0, 459, level=0.95).high == pytest.approx(0.0080046, abs=5e-8)
    assert exact_interval(0, 460, level=0.95).high == pytest.approx(0.0079872, abs=5e-8)


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (3, 7), (7, 7), (1, 20), (20, 200), (950, 1000)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_upper_bound_is_that_of_scipys_root_search(successes, trials, level):
    """scipy 1.17.1, binomtest(...).proportion_ci(method="exact"), which solves the tail equation by bisection."""
    theirs = binomtest(successes, trials, alternative="less").proportion_ci(confidence_level=level, method="exact")
    assert upper_bound(successes, trials, level=level).high == pytest.approx(theirs.high, abs=1e-9)


@LAW
@given(COUNTS, st.floats(0.5, 0.999))
def test_the_upper_bound_of_successes_mirrors_the_lower_bound_of_failures(counts, level):
    successes, trials = counts
    mirrored = 1 - lower_bound(trials - successes, trials, level=level).low
    assert upper_bound(successes, trials, level=level).high == pytest.approx(mirrored, abs=1e-9)


def test_the_upper_bound_covers_in_simulated_studies_of_a_rare_event():
    rng = np.random.default_rng(13)
    held = sum(upper_bound(int(x), 150, level=0.9).high >= 0.02 for x in rng.binomial(150, 0.02, 500))
    assert binomtest(held, 500, 0.9, alternative="less").pvalue > 0.01
    assert held < 500


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64, float, np.float32])
def test_counts_of_any_type_are_the_numbers_that_they_stand_for(kind):
    """In uint8, trials - successes + 1 of 0 in 127 and 1 + 255 wrap around."""
    assert upper_bound(kind(0), kind(127), level=0.95) == upper_bound(0, 127, level=0.95)
    assert lower_bound(kind(127), kind(127), level=0.95) == lower_bound(127, 127, level=0.95)
    assert exact_interval(kind(100), kind(120), level=0.95) == exact_interval(100, 120, level=0.95)
    assert shortfall_p_value(kind(100), kind(120), 0.9) == shortfall_p_value(100, 120, 0.9)


def test_255_of_255_in_eight_bits():
    assert upper_bound(np.uint8(254), np.uint8(255), level=0.95) == upper_bound(254, 255, level=0.95)
    assert exact_interval(np.uint8(255), np.uint8(255), level=0.95) == exact_interval(255, 255, level=0.95)


@pytest.mark.parametrize("estimate", [lower_bound, upper_bound, exact_interval])
@pytest.mark.parametrize("level", [0, 1, 95, -0.5, float("nan"), None, [0.9, 0.95]])
def test_a_level_outside_0_to_1_is_refused(estimate, level):
    with pytest.raises(InputRefused, match="level"):
        estimate(1, 2, level=level)


@pytest.mark.parametrize("estimate", [lower_bound, upper_bound, exact_interval])
@pytest.mark.parametrize("value", [1.5, float("nan"), None, "1", [1, 2]])
def test_what_is_no_count_is_refused_by_name(estimate, value):
    with pytest.raises(InputRefused, match="successes"):
        estimate(value, 5, level=0.95)
    with pytest.raises(InputRefused, match="trials"):
        estimate(0, value, level=0.95)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 5), (6, 5), (4, 3), (1, 0)])
def test_every_estimate_refuses_successes_outside_the_trials(successes, trials):
    message = rf"successes: found {successes}, expected 0..{trials}"
    with pytest.raises(InputRefused, match=message):
        upper_bound(successes, trials, level=0.95)
    with pytest.raises(InputRefused, match=message):
        shortfall_p_value(successes, trials, 0.5)


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_refused(share):
    with pytest.raises(InputRefused, match="share"):
        shortfall_p_value(1, 2, share)
