"""Sizes and effects are those of the tests they plan, and simulated studies of that size have the power."""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm, ttest_1samp, ttest_ind
from statsmodels.stats.power import NormalIndPower, TTestIndPower, TTestPower
from statsmodels.stats.proportion import power_proportions_2indep, proportion_effectsize

from eval_pipeline.errors import InputRefused, NoEffect, NotIdentifiable, NoVariation, TooFewObservations
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.power import (
    mean_power,
    mean_size,
    minimum_detectable_effect,
    one_proportion_size,
    true_effect,
    two_proportion_power,
    two_proportion_size,
)
from tests.stats.laws import LAW

USUAL = {"alpha": 0.05, "power": 0.8}
DESIGNS, DISTRIBUTIONS = st.sampled_from(["paired", "unpaired"]), st.sampled_from(["normal", "t"])
CONVENTIONS = ["arcsine", "pooled", "unpooled"]
SHARES = st.floats(0.02, 0.98)


@pytest.mark.parametrize(
    ("sd", "n", "design", "effect"),
    [
        # (1.959964 + .841621) * .25 / sqrt(36), and so on.
        (0.25, 36, "paired", 0.116733),
        (0.2963, 48, "paired", 0.119816),
        (0.3, 48, "paired", 0.121312),
        (0.3, 48, "unpaired", 0.121312 * sqrt(2)),
    ],
)
def test_the_smallest_effect_by_hand(sd, n, design, effect):
    found = minimum_detectable_effect(sd, n, **USUAL, design=design, distribution="normal")
    assert found == pytest.approx(effect, abs=1e-6)


def test_reliability_widens_the_true_effect_once():
    """.121312 / sqrt(.6) = .156613."""
    observed = minimum_detectable_effect(0.3, 48, **USUAL, design="paired", distribution="normal")
    assert true_effect(observed, reliability=0.6) == pytest.approx(0.156613, abs=1e-6)
    assert true_effect(observed, reliability=1) == observed


def test_the_sizes_for_a_twentieth_of_a_standard_deviation():
    # (2.801585 / .05)^2 = 3139.55, and twice that.
    sizes = [mean_size(1.0, effect=0.05, **USUAL, design=d, distribution="normal") for d in ("paired", "unpaired")]
    assert sizes == [3140, 6280]


@pytest.mark.parametrize(("n", "alpha", "power"), [(5, 0.05, 0.8), (20, 0.01, 0.9), (48, 0.05, 0.8), (400, 0.1, 0.5)])
def test_statsmodels_finds_the_same_effects_by_t(n, alpha, power):
    """statsmodels 0.15.0, TTestPower and TTestIndPower.solve_power on the effect's side, by the noncentral t."""
    for design, theirs in (("paired", TTestPower()), ("unpaired", TTestIndPower())):
        found = minimum_detectable_effect(1.0, n, alpha=alpha, power=power, design=design, distribution="t")
        size = {"nobs": n} if design == "paired" else {"nobs1": n}
        expected = theirs.solve_power(**size, alpha=alpha / 2, power=power, alternative="larger")
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("effect", "paired", "unpaired"), [(0.2, 199, 394), (0.5, 34, 64), (0.8, 15, 26)])
def test_the_sizes_of_cohens_small_medium_and_large_effects(effect, paired, unpaired):
    """Cohen (1988), tables 2.4.1: .05 two-sided, power .80; pairs as G*Power 3.1 has them."""
    assert mean_size(1.0, effect=effect, **USUAL, design="unpaired", distribution="t") == unpaired
    assert mean_size(1.0, effect=-effect, **USUAL, design="paired", distribution="t") == paired


def test_t_power_as_in_the_first_example_of_r():
    """R, ?power.t.test: power.t.test(n = 20, delta = 1, sd = 1) has power .8689528."""
    found = mean_power(1.0, 20, effect=1.0, alpha=0.05, design="unpaired", distribution="t")
    assert found == pytest.approx(0.8689528, abs=5e-8)


@LAW
@given(st.floats(0.01, 50), st.integers(2, 3000), st.floats(0.001, 0.2), st.floats(0.25, 0.999), DESIGNS, DISTRIBUTIONS)
def test_at_the_smallest_effect_the_power_is_the_one_asked_for(sd, n, alpha, power, design, distribution):
    kind = {"design": design, "distribution": distribution}
    effect = minimum_detectable_effect(sd, n, alpha=alpha, power=power, **kind)
    assert mean_power(sd, n, effect=effect, alpha=alpha, **kind) == pytest.approx(power, abs=1e-8)


@pytest.mark.parametrize("n", [2, 3, 17, 400, 3000])
def test_the_smallest_effect_is_twice_as_large_where_scores_vary_twice_as_much(n):
    for design, distribution in product(("paired", "unpaired"), ("t", "normal")):
        how = {"alpha": 0.03, "power": 0.85, "design": design, "distribution": distribution}
        effect = minimum_detectable_effect(0.7, n, **how)
        assert minimum_detectable_effect(1.4, n, **how) == pytest.approx(2 * effect)


@LAW
@given(st.floats(0.08, 4), st.floats(0.001, 0.2), st.floats(0.25, 0.99), DESIGNS, DISTRIBUTIONS)
def test_the_size_reaches_the_power_and_one_less_does_not(effect, alpha, power, design, distribution):
    kind = {"design": design, "distribution": distribution, "alpha": alpha}
    n = mean_size(1.0, effect=effect, power=power, **kind)
    smallest = 2 if distribution == "t" else 1
    assert mean_power(1.0, n, effect=effect, **kind) >= power - 1e-12
    assert n == smallest or mean_power(1.0, n - 1, effect=effect, **kind) < power


@pytest.mark.parametrize("design", ["paired", "unpaired"])
@pytest.mark.parametrize(("n", "power"), [(3, 0.9), (8, 0.8), (40, 0.6)])
def test_simulated_t_tests_find_the_effect_as_often_as_planned(design, n, power):
    rng = np.random.default_rng(n)
    effect = minimum_detectable_effect(2.0, n, alpha=0.05, power=power, design=design, distribution="t")
    treated, control = rng.normal(effect, 2.0, (2000, n)), rng.normal(0, 2.0, (2000, n))
    test = ttest_1samp(treated, 0, axis=1) if design == "paired" else ttest_ind(treated, control, axis=1)
    found = (test.pvalue <= 0.05) & (test.statistic > 0)
    assert binomtest(int(found.sum()), 2000, power).pvalue > 0.01


def test_what_the_normal_effect_promises_a_t_test_of_eight_pairs_does_not_keep():
    rng = np.random.default_rng(1)
    effect = minimum_detectable_effect(1.0, 8, **USUAL, design="paired", distribution="normal")
    found = ttest_1samp(rng.normal(effect, 1.0, (2000, 8)), 0, axis=1).pvalue <= 0.05
    assert binomtest(int(found.sum()), 2000, 0.8, alternative="less").pvalue < 1e-6


def test_two_pairs_and_a_strict_alpha_have_an_answer():
    """The smallest effect at one degree of freedom: the critical t is 636.6; power again by simulation of the ratio."""
    effect = minimum_detectable_effect(1.0, 2, alpha=0.001, power=0.8, design="paired", distribution="t")
    rng = np.random.default_rng(2)
    pairs = rng.normal(effect, 1.0, (2000, 2))
    found = pairs.mean(axis=1) > 636.6192 * abs(pairs[:, 0] - pairs[:, 1]) / 2
    assert binomtest(int(found.sum()), 2000, 0.8).pvalue > 0.01


def test_the_usual_formulas_for_seventy_against_eighty_percent():
    sizes = [two_proportion_size(0.7, 0.8, **USUAL, convention=convention) for convention in CONVENTIONS]
    # (2.801585 / h)^2 * 2 with h = .231984; (1.959964 sqrt(.375) + .841621 sqrt(.37))^2 / .01; 7.848880 * .37 / .01.
    assert sizes == [292, 294, 291]


def test_one_share_against_another_that_is_fixed():
    # (1.959964 * sqrt(.21) + .841621 * .4)^2 / .01 = (.898168 + .336648)^2 * 100 = 152.48
    assert one_proportion_size(0.7, 0.8, **USUAL, method="score") == 153


def test_the_power_of_fifty_in_each_arm_as_in_the_first_example_of_r():
    """R, ?power.prop.test: power.prop.test(n = 50, p1 = .50, p2 = .75) has power 0.7401659."""
    found = two_proportion_power(0.5, 0.75, 50, alpha=0.05, convention="pooled")
    assert found == pytest.approx(0.7401659, abs=5e-8)


@pytest.mark.parametrize(("first", "second", "n"), [(0.5, 0.75, 50), (0.02, 0.1, 120), (0.9, 0.6, 30)])
def test_statsmodels_has_the_same_powers(first, second, n):
    """statsmodels 0.15.0, power_proportions_2indep (both sides, pooled) and NormalIndPower (arcsine)."""
    theirs = power_proportions_2indep(first - second, second, n, alpha=0.05, return_results=False)
    assert two_proportion_power(first, second, n, alpha=0.05, convention="pooled") == pytest.approx(theirs, abs=1e-4)
    theirs = NormalIndPower().power(proportion_effectsize(first, second), n, 0.05, alternative="two-sided")
    assert two_proportion_power(first, second, n, alpha=0.05, convention="arcsine") == pytest.approx(theirs, abs=1e-4)


@LAW
@given(SHARES, SHARES, st.floats(0.001, 0.2), st.floats(0.25, 0.99), st.sampled_from(CONVENTIONS))
def test_a_size_for_two_shares_reaches_the_power_and_one_less_does_not(first, second, alpha, power, convention):
    if abs(first - second) < 0.01:
        second = 1 - first if abs(first - 0.5) > 0.01 else first / 2
    kind = {"alpha": alpha, "convention": convention}
    n = two_proportion_size(first, second, power=power, **kind)
    assert two_proportion_power(first, second, n, **kind) >= power - 1e-12
    assert n == 1 or two_proportion_power(first, second, n - 1, **kind) < power
    # Arms may change names, and successes with failures.
    assert abs(two_proportion_size(second, first, power=power, **kind) - n) <= 1
    assert abs(two_proportion_size(1 - first, 1 - second, power=power, **kind) - n) <= 1


@pytest.mark.parametrize(("first", "second", "power"), [(0.7, 0.8, 0.8), (0.3, 0.2, 0.9), (0.5, 0.6, 0.5)])
def test_simulated_pooled_tests_find_the_difference_about_as_often_as_planned(first, second, power):
    """Within .01 of the power, counts being whole and the normal an approximation."""
    n = two_proportion_size(first, second, alpha=0.05, power=power, convention="pooled")
    rng = np.random.default_rng(9)
    shares = rng.binomial(n, [first, second], (2000, 2)) / n
    pooled = shares.mean(axis=1)
    z = (shares[:, 1] - shares[:, 0]) / np.sqrt(2 * pooled * (1 - pooled) / n)
    found = int((z * np.sign(second - first) > norm.isf(0.025)).sum())
    assert binomtest(found, 2000, power - 0.01, alternative="less").pvalue > 0.01
    assert binomtest(found, 2000, power + 0.01, alternative="greater").pvalue > 0.01


def exact_power(null, alternative, n):
    """The chance that the exact interval at 95% lies on the alternative's side of the null, over all outcomes."""
    intervals = [exact_interval(x, n, level=0.95) for x in range(n + 1)]
    excludes = [i.low >= null if alternative > null else i.high <= null for i in intervals]
    return binom.pmf(range(n + 1), n, alternative)[excludes].sum()


@pytest.mark.parametrize(("null", "alternative"), [(0.7, 0.9), (0.9, 0.7), (0.05, 0.3), (0.97, 0.8), (0.5, 0.2)])
def test_the_exact_size_is_the_first_whose_exact_intervals_exclude_the_null_often_enough(null, alternative):
    n = one_proportion_size(null, alternative, **USUAL, method="exact")
    assert n == next(n for n in range(1, 200) if exact_power(null, alternative, n) >= 0.8)


@pytest.mark.parametrize(("null", "alternative", "power"), [(0.7, 0.8, 0.8), (0.9, 0.95, 0.9), (0.2, 0.1, 0.8)])
def test_simulated_exact_tests_keep_the_power_of_their_size(null, alternative, power):
    n = one_proportion_size(null, alternative, alpha=0.05, power=power, method="exact")
    counts, times = np.unique(np.random.default_rng(5).binomial(n, alternative, 1000), return_counts=True)
    side = "greater" if alternative > null else "less"
    found = sum(int(t) for x, t in zip(counts, times, strict=True) if binomtest(int(x), n, null, side).pvalue <= 0.025)
    assert binomtest(found, 1000, power, alternative="less").pvalue > 0.01


@pytest.mark.parametrize(("null", "alternative"), [(0.7, 0.8), (0.3, 0.2), (0.1, 0.2)])
def test_the_score_size_approximates_the_exact_one(null, alternative):
    score, exact = (one_proportion_size(null, alternative, **USUAL, method=method) for method in ("score", "exact"))
    assert score == pytest.approx(exact, rel=0.12)


def test_a_share_that_needs_no_more_than_one_unit_needs_one():
    """The alternative's spread alone reaches a power of .06: the size's root is negative, not to be squared."""
    assert one_proportion_size(0.01, 0.5, alpha=0.05, power=0.06, method="score") == 1


def test_a_size_in_eight_bits_does_not_wrap_around():
    kind = {"alpha": 0.05, "design": "unpaired", "distribution": "t"}
    assert mean_power(1, np.uint8(200), effect=0.2, **kind) == mean_power(1, 200, effect=0.2, **kind)


def test_no_effect_is_refused():
    with pytest.raises(NoEffect, match="the effect to be found is 0"):
        mean_size(1.0, effect=0.0, **USUAL, design="paired", distribution="normal")
    with pytest.raises(NoEffect, match="the effect to be found is 0"):
        mean_power(1.0, 10, effect=0.0, alpha=0.05, design="paired", distribution="t")
    for method in ("score", "exact"):
        with pytest.raises(NoEffect, match=r"both shares are 0\.7"):
            one_proportion_size(0.7, 0.7, **USUAL, method=method)
    for convention in CONVENTIONS:
        with pytest.raises(NoEffect, match=r"both shares are 0\.7"):
            two_proportion_size(0.7, 0.7, **USUAL, convention=convention)
        with pytest.raises(NoEffect, match=r"both shares are 0\.7"):
            two_proportion_power(0.7, 0.7, 10, alpha=0.05, convention=convention)


def test_no_variation_is_refused():
    with pytest.raises(NoVariation, match="with a standard deviation of 0"):
        minimum_detectable_effect(0.0, 10, **USUAL, design="paired", distribution="t")
    with pytest.raises(NoVariation, match="with a standard deviation of 0"):
        mean_size(0.0, effect=1.0, **USUAL, design="unpaired", distribution="normal")


def test_too_few_units_are_refused():
    with pytest.raises(TooFewObservations, match="n: found 1, expected 2 or more"):
        minimum_detectable_effect(1.0, 1, **USUAL, design="paired", distribution="t")
    with pytest.raises(TooFewObservations, match="n: found 0, expected 1 or more"):
        minimum_detectable_effect(1.0, 0, **USUAL, design="paired", distribution="normal")
    with pytest.raises(TooFewObservations, match="n: found 1, expected 2 or more"):
        mean_power(1.0, 1, effect=1.0, alpha=0.05, design="unpaired", distribution="t")
    with pytest.raises(TooFewObservations, match="n: found 0, expected 1 or more"):
        two_proportion_power(0.1, 0.2, 0, alpha=0.05, convention="pooled")


def test_a_score_that_is_noise_has_no_true_effect():
    with pytest.raises(NotIdentifiable, match="reliability 0 is noise alone"):
        true_effect(0.1, reliability=0.0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("sd", value) for value in (-1.0, float("nan"), None, [1.0, 2.0])],
        *[("n", value) for value in (2.5, None, [3, 4])],
        *[("alpha", value) for value in (0, 1, -0.1, float("nan"))],
        *[("power", value) for value in (0.05, 0.01, 1, float("nan"))],
    ],
)
def test_arguments_out_of_range_are_refused_by_name(name, value):
    arguments = {"sd": 1.0, "n": 20, **USUAL, "design": "paired", "distribution": "normal", name: value}
    with pytest.raises(InputRefused, match=name):
        minimum_detectable_effect(arguments.pop("sd"), arguments.pop("n"), **arguments)


@pytest.mark.parametrize("share", [0, 1, -0.1, 1.1, float("nan")])
def test_shares_out_of_range_are_refused(share):
    with pytest.raises(InputRefused, match=r"^share"):
        two_proportion_size(0.5, share, **USUAL, convention="pooled")
    with pytest.raises(InputRefused, match=r"^share"):
        one_proportion_size(share, 0.5, **USUAL, method="exact")


@pytest.mark.parametrize("reliability", [-0.1, 1.1, float("nan")])
def test_a_reliability_out_of_range_is_refused(reliability):
    with pytest.raises(InputRefused, match="reliability"):
        true_effect(0.1, reliability=reliability)


@pytest.mark.parametrize("effect", [float("nan"), float("inf"), None])
def test_an_effect_that_is_no_number_is_refused(effect):
    with pytest.raises(InputRefused, match="effect"):
        mean_size(1.0, effect=effect, **USUAL, design="paired", distribution="normal")
