"""Adjusted p-values are those of the definitions, ties are decided exactly, and the error rates hold."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control, norm
from statsmodels.stats.multitest import multipletests

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.multiplicity import benjamini_hochberg, bonferroni, holm
from tests.stats.laws import LAW

ALL = [bonferroni, holm, benjamini_hochberg]
FAMILIES = st.lists(st.floats(0, 1) | st.sampled_from([0.0, 0.01, 0.05, 1.0]), max_size=12)

THROMBOLYSIS = [
    0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0,
]  # fmt: skip


def test_the_thrombolysis_trial_as_its_authors_have_it():
    """Benjamini & Hochberg (1995), section 4: at .05 Bonferroni rejects 3 of 15, the false discovery rate 4."""
    assert [int(method(THROMBOLYSIS, alpha=0.05).rejected.sum()) for method in ALL] == [3, 3, 4]
    # Step down from 15 p_(1): 14 * .0004 = .0056, 13 * .0019 = .0247, 12 * .0095 = .114; 10 * .0278 = .278 exceeds
    # 9 * .0298 = .2682 and stands for it and the next.
    found = holm(THROMBOLYSIS, alpha=0.05).p_values
    assert found[:8] == pytest.approx([0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278], abs=1e-12)
    # Step up: 15 * .0298 / 7 = .063857 is less than 15 * .0278 / 6 = .0695 and stands for it.
    found = benjamini_hochberg(THROMBOLYSIS, alpha=0.05).p_values
    assert found[3:8] == pytest.approx([0.035625, 0.0603, 0.0638571428571, 0.0638571428571, 0.0645], abs=1e-12)


def test_the_order_is_that_of_the_input():
    p_values = [0.01, 0.04, 0.03, 0.005]
    found = bonferroni(p_values, alpha=0.05)
    assert found.p_values.tolist() == [0.04, 0.16, 0.12, 0.02]
    assert found.rejected.tolist() == [True, False, False, True]
    # Sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04, and the last may not fall below .06.
    found = holm(p_values, alpha=0.05)
    assert found.p_values.tolist() == [0.03, 0.06, 0.06, 0.02]
    assert found.rejected.tolist() == [True, False, False, True]
    # Times 4/1 4/2 4/3 4/4: .02 .02 .04 .04.
    found = benjamini_hochberg(p_values, alpha=0.05)
    assert found.p_values.tolist() == [0.02, 0.04, 0.04, 0.02]
    assert found.rejected.tolist() == [True, True, True, True]


@pytest.mark.parametrize(
    ("p_values", "rejected"),
    [
        pytest.param([0.05, 0.05, 0.05], 3, id="all-at-alpha"),
        pytest.param([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216], 2, id="ten"),
        pytest.param([0.001, 0.03, 0.049], 3, id="step-up"),
        # .04 > .05 * 1/2 and .05 = .05 * 2/2: the last pulls the first along.
        pytest.param([0.04, 0.05], 2, id="the-largest-decides"),
        pytest.param([0.0, 1.0, 0.5], 1, id="zero-and-one"),
        pytest.param([0.03], 1, id="alone"),
        pytest.param([], 0, id="none"),
    ],
)
def test_benjamini_hochberg_steps_up(p_values, rejected):
    assert benjamini_hochberg(p_values, alpha=0.05).rejected.tolist() == [True] * rejected + [False] * (
        len(p_values) - rejected
    )


@pytest.mark.parametrize(("p", "m", "alpha"), [(0.1, 3, 0.3), (0.05, 3, 0.15), (0.07, 7, 0.49), (0.01, 5, 0.05)])
def test_a_tie_is_decided_on_the_decimals_and_not_on_their_rounding(p, m, alpha):
    """In floats .1 * 3 > .3, .07 * 7 > .49."""
    p_values = [p] + [1.0] * (m - 1)
    for method in ALL:
        assert method(p_values, alpha=alpha).rejected[0]
        assert not method(p_values, alpha=float(np.nextafter(alpha, 0))).rejected[0]


def test_three_at_alpha_keep_their_p_value():
    assert benjamini_hochberg([0.05] * 3, alpha=0.05).p_values.tolist() == [0.05] * 3
    assert holm([0.05] * 3, alpha=0.05).p_values.tolist() == [0.15] * 3
    assert not holm([0.05] * 3, alpha=0.05).rejected.any()


@pytest.mark.parametrize("method", ALL)
def test_an_empty_family_has_empty_answers(method):
    found = method([], alpha=0.05)
    assert (found.p_values.shape, found.rejected.shape, found.rejected.dtype) == ((0,), (0,), bool)


@pytest.mark.parametrize(
    ("method", "theirs"), [(bonferroni, "bonferroni"), (holm, "holm"), (benjamini_hochberg, "fdr_bh")]
)
@pytest.mark.parametrize("m", [1, 2, 9, 60])
def test_statsmodels_adjusts_alike(method, theirs, m):
    """statsmodels 0.15.0, multipletests."""
    p_values = norm.sf(np.random.default_rng(m).normal(1, 1.5, m))
    rejected, adjusted, _, _ = multipletests(p_values, alpha=0.1, method=theirs)
    found = method(p_values, alpha=0.1)
    assert found.p_values == pytest.approx(adjusted, abs=1e-12)
    assert found.rejected.tolist() == rejected.tolist()


@LAW
@given(FAMILIES.filter(len))
def test_scipy_adjusts_alike(p_values):
    """scipy 1.17.1, false_discovery_control."""
    found = benjamini_hochberg(p_values, alpha=0.05).p_values
    assert found == pytest.approx(false_discovery_control(p_values), abs=1e-12)


@LAW
@given(FAMILIES, st.floats(0.001, 0.5))
def test_rejections_are_those_of_the_sequential_definitions(p_values, alpha):
    """Holm stops at the first p that is too large; Benjamini-Hochberg goes on from the last that is small enough."""
    m, ranked = len(p_values), sorted(Fraction(repr(p)) for p in p_values)
    limit = Fraction(repr(alpha))
    down = next((i for i, p in enumerate(ranked) if p > limit / (m - i)), m)
    up = max((i + 1 for i, p in enumerate(ranked) if p <= limit * (i + 1) / m), default=0)
    assert holm(p_values, alpha=alpha).rejected.sum() == down
    assert benjamini_hochberg(p_values, alpha=alpha).rejected.sum() == up
    assert bonferroni(p_values, alpha=alpha).rejected.sum() == sum(p <= limit / m for p in ranked)


@LAW
@given(FAMILIES.filter(len), st.randoms(use_true_random=False))
def test_a_family_in_another_order_has_its_answers_in_that_order(p_values, random):
    order = random.sample(range(len(p_values)), len(p_values))
    for method in ALL:
        found, shuffled = method(p_values, alpha=0.05), method([p_values[i] for i in order], alpha=0.05)
        assert shuffled.p_values.tolist() == found.p_values[order].tolist()
        assert shuffled.rejected.tolist() == found.rejected[order].tolist()


@LAW
@given(FAMILIES)
def test_bonferroni_is_never_below_holm_nor_holm_below_benjamini_hochberg(p_values):
    ours = [method(p_values, alpha=0.05).p_values for method in ALL]
    assert (ours[0] >= ours[1]).all()
    assert (ours[1] >= ours[2]).all()
    assert (ours[2] >= np.array(p_values)).all()
    assert (ours[0] <= 1).all()


@pytest.mark.parametrize(
    ("method", "alpha", "nominal"),
    [
        # Six independent tests of nothing: some p is below .1 / 6 in 1 - (1 - .1 / 6)^6 of the families, which is what
        # Bonferroni and the first step of Holm ask; Simes' inequality holds with equality.
        pytest.param(bonferroni, 0.1, 1 - (1 - 0.1 / 6) ** 6, id="bonferroni"),
        pytest.param(holm, 0.1, 1 - (1 - 0.1 / 6) ** 6, id="holm"),
        pytest.param(benjamini_hochberg, 0.1, 0.1, id="benjamini-hochberg"),
    ],
)
def test_families_in_which_nothing_is_true_are_wronged_as_often_as_promised(method, alpha, nominal):
    families = np.random.default_rng(5).random((1000, 6))
    wronged = sum(bool(method(family, alpha=alpha).rejected.any()) for family in families)
    assert binomtest(wronged, 1000, nominal).pvalue > 0.01


def test_among_mixed_hypotheses_each_error_rate_holds():
    """4 of 10 are true effects. False rejections come in at most 10% of families; 6% of discoveries are false."""
    rng = np.random.default_rng(6)
    families = norm.sf(rng.normal([3.0] * 4 + [0.0] * 6, 1, (1000, 10)))
    wronged = sum(bool(holm(family, alpha=0.1).rejected[4:].any()) for family in families)
    assert binomtest(wronged, 1000, 0.1, alternative="greater").pvalue > 0.01
    rejected = np.array([benjamini_hochberg(family, alpha=0.1).rejected for family in families])
    false_share = rejected[:, 4:].sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)
    # Under independence the rate is alpha m0 / m = .1 * 6 / 10 exactly.
    assert abs(false_share.mean() - 0.06) < 2.6 * false_share.std() / 1000**0.5


@pytest.mark.parametrize("make", [tuple, np.array, pd.Series, lambda p: np.array(p, dtype=object), iter])
def test_families_of_any_kind_are_taken(make):
    assert holm(make([0.01, 0.5]), alpha=0.05).p_values.tolist() == [0.02, 0.5]


def test_zeros_and_ones_of_narrow_integers_are_p_values():
    assert bonferroni(np.array([0, 1, 1], dtype=np.uint8), alpha=0.05).p_values.tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("value", [float("nan"), None, pd.NA, 1.2, -0.01, float("inf"), "0.1", [0.1, 0.2]])
def test_what_is_no_p_value_is_refused_with_its_place(method, value):
    with pytest.raises(InputRefused, match="p-value 1"):
        method([0.01, value, 0.04], alpha=0.05)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("alpha", [0, 1, -0.1, float("nan")])
def test_an_alpha_that_is_no_share_is_refused(method, alpha):
    with pytest.raises(InputRefused, match="alpha"):
        method([0.01], alpha=alpha)
