"""A gold set of the planned size shows what it was planned to show, and a smaller one does not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from eval_pipeline.errors import InputRefused, NoEffect
from eval_pipeline.stats.binomial import upper_bound
from eval_pipeline.stats.gold_size import chance_to_show, errors_allowed, size_for_power, smallest_size
from tests.stats.laws import LAW

BOUNDS, LEVELS = st.floats(0.02, 0.9), st.floats(0.5, 0.999)


@pytest.mark.parametrize(
    ("errors", "bound", "level", "units"),
    [
        # .9^28 = .0523 and .9^29 = .0471; .85^18 = .0536 and .85^19 = .0456.
        pytest.param(0, 0.10, 0.95, 29, id="no-error-below-.10"),
        pytest.param(0, 0.15, 0.95, 19, id="no-error-below-.15"),
        # .9^46 + 46 * .1 * .9^45 = .00786 + .04017 = .0480, and with 45 units .0524.
        pytest.param(1, 0.10, 0.95, 46, id="one-error-below-.10"),
        # .85^30 + 30 * .15 * .85^29 = .00763 + .04040 = .0480, and with 29 units .0549.
        pytest.param(1, 0.15, 0.95, 30, id="one-error-below-.15"),
        # .99^367 = .02501 and .99^368 = .02476: the upper end of a two-sided interval at 95%.
        pytest.param(0, 0.01, 0.975, 368, id="no-error-below-.01-two-sided"),
        # (1/2)^5 = 1/32 exactly: a chance as small as the level leaves is small enough.
        pytest.param(0, 0.5, 1 - 1 / 32, 5, id="a-tie-shows-it"),
    ],
)
def test_the_smallest_set_by_hand(errors, bound, level, units):
    assert smallest_size(errors, bound=bound, level=level) == units
    assert errors_allowed(units, bound=bound, level=level) == errors
    assert errors_allowed(units - 1, bound=bound, level=level) == (errors - 1 if errors else None)


@pytest.mark.parametrize("errors", [0, 1, 5, 40])
@pytest.mark.parametrize("bound", [0.02, 0.1, 0.5, 0.85])
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_scipys_exact_bound_comes_below_at_that_size_and_not_one_unit_earlier(errors, bound, level):
    """scipy 1.17.1, binomtest(..., alternative="less").proportion_ci, which solves the tail equation by bisection."""

    def theirs(units):
        test = binomtest(errors, units, alternative="less")
        return test.proportion_ci(confidence_level=level, method="exact").high

    units = smallest_size(errors, bound=bound, level=level)
    assert theirs(units) <= bound
    assert units == errors + 1 or theirs(units - 1) > bound


@LAW
@given(st.integers(0, 60), BOUNDS, LEVELS)
def test_the_smallest_set_allows_its_errors_and_no_more_and_its_upper_bound_agrees(errors, bound, level):
    units = smallest_size(errors, bound=bound, level=level)
    assert errors_allowed(units, bound=bound, level=level) == errors
    assert upper_bound(errors, units, level=level).high <= bound + 1e-9
    assert upper_bound(errors + 1, units, level=level).high > bound


@LAW
@given(st.integers(0, 300), BOUNDS, LEVELS)
def test_errors_are_allowed_up_to_the_last_that_is_rare_enough_at_the_bound(units, bound, level):
    rare = [errors for errors in range(units + 1) if binom.cdf(errors, units, bound) <= 1 - level]
    assert errors_allowed(units, bound=bound, level=level) == (rare[-1] if rare else None)


def test_without_a_unit_nothing_is_shown():
    assert errors_allowed(0, bound=0.1, level=0.95) is None
    assert chance_to_show(0, rate=0.0, bound=0.1, level=0.95) == 0.0
    assert chance_to_show(28, rate=0.0, bound=0.1, level=0.95) == 0.0


def test_the_chance_to_show_it_by_hand():
    # 46 units allow one error: .98^46 + 46 * .02 * .98^45 = .39482 + .37065.
    assert chance_to_show(46, rate=0.02, bound=0.10, level=0.95) == pytest.approx(0.76547, abs=1e-5)
    assert chance_to_show(46, rate=0.0, bound=0.10, level=0.95) == 1.0


@pytest.mark.parametrize(("units", "rate"), [(60, 0.01), (100, 0.04), (30, 0.0), (500, 0.07), (200, 0.1)])
def test_simulated_studies_show_it_as_often_as_planned(units, rate):
    """The last setting is the size of the test: at the bound, 5% of the studies at most are fooled."""
    rng = np.random.default_rng(units)
    errors, times = np.unique(rng.binomial(units, rate, 1000), return_counts=True)
    shown = [upper_bound(int(x), units, level=0.95).high <= 0.1 for x in errors]
    chance = chance_to_show(units, rate=rate, bound=0.1, level=0.95)
    assert binomtest(int(times[shown].sum()), 1000, chance).pvalue > 0.01
    assert rate < 0.1 or chance <= 0.05


@pytest.mark.parametrize(
    ("rate", "bound", "level", "power"),
    [
        (0.02, 0.1, 0.95, 0.8),
        (0.05, 0.1, 0.95, 0.9),
        (0.6, 0.75, 0.9, 0.8),
        (0.0, 0.1, 0.95, 0.99),
        (0.01, 0.02, 0.9, 0.5),
    ],
)
def test_the_size_for_a_power_is_the_first_of_all_sizes_to_reach_it(rate, bound, level, power):
    """Every smaller size is tried, since power is not monotone in the size."""
    size = size_for_power(rate, bound=bound, level=level, power=power)
    first = next(n for n in range(1, 2000) if chance_to_show(n, rate=rate, bound=bound, level=level) >= power)
    assert size == first


def test_a_size_that_allows_thousands_of_errors_is_found():
    """More than are tried together; a normal approximation with a term for continuity comes within half a percent."""
    size = size_for_power(0.48, bound=0.5, level=0.95, power=0.9)
    assert size * 0.48 > 2048
    # (1.64485 * .5 + 1.28155 * .49960)^2 / .02^2 = 5348.8, and 1 / .02 = 50 for continuity.
    assert size == pytest.approx(5398.8, rel=0.005)
    assert chance_to_show(size, rate=0.48, bound=0.5, level=0.95) >= 0.9


@LAW
@given(st.floats(0.0, 0.6), st.floats(0.05, 0.95), st.floats(0.5, 0.95))
def test_more_power_takes_more_units(share_of_bound, bound, power):
    sizes = [size_for_power(share_of_bound * bound, bound=bound, level=0.95, power=p) for p in (power / 2, power, 0.99)]
    assert sizes == sorted(sizes)


def test_counts_of_any_integer_type_are_taken():
    assert smallest_size(np.uint8(250), bound=0.9, level=0.95) == smallest_size(250, bound=0.9, level=0.95)
    assert errors_allowed(np.uint8(200), bound=0.9, level=0.95) == errors_allowed(200, bound=0.9, level=0.95)
    assert chance_to_show(np.int8(46), rate=0, bound=0.1, level=0.95) == 1.0


def test_a_rate_that_is_not_below_the_bound_is_refused():
    with pytest.raises(NoEffect, match=r"a rate of 0\.1 is not below the bound of 0\.1"):
        size_for_power(0.1, bound=0.1, level=0.95, power=0.8)
    with pytest.raises(NoEffect, match=r"a rate of 0\.2 is not below"):
        size_for_power(0.2, bound=0.1, level=0.95, power=0.8)


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.1, float("nan"), None])
def test_shares_outside_their_range_are_refused_by_name(value):
    with pytest.raises(InputRefused, match="bound"):
        smallest_size(0, bound=value, level=0.95)
    with pytest.raises(InputRefused, match="level"):
        errors_allowed(20, bound=0.1, level=value)
    with pytest.raises(InputRefused, match="power"):
        size_for_power(0.01, bound=0.1, level=0.95, power=value)


@pytest.mark.parametrize("value", [-1, 2.5, None])
def test_counts_that_are_none_are_refused_by_name(value):
    with pytest.raises(InputRefused, match="errors"):
        smallest_size(value, bound=0.1, level=0.95)
    with pytest.raises(InputRefused, match="units"):
        errors_allowed(value, bound=0.1, level=0.95)
    with pytest.raises(InputRefused, match="units"):
        chance_to_show(value, rate=0.0, bound=0.1, level=0.95)


def test_a_rate_outside_0_to_1_is_refused():
    with pytest.raises(InputRefused, match="rate"):
        chance_to_show(20, rate=-0.1, bound=0.1, level=0.95)
    with pytest.raises(InputRefused, match="rate"):
        size_for_power(1.1, bound=0.1, level=0.95, power=0.8)


@pytest.mark.parametrize(
    "size",
    [
        lambda: smallest_size(0, bound=1e-19, level=0.95),
        lambda: smallest_size(2**60, bound=0.1, level=0.95),
        lambda: smallest_size(10**15, bound=0.1, level=0.95),
        lambda: size_for_power(0, bound=1e-20, level=0.95, power=0.8),
    ],
)
def test_a_gold_set_that_nobody_can_build_is_refused_before_numbers_run_over(size):
    with pytest.raises(InputRefused, match="more than 1e\\+07 units"):
        size()
