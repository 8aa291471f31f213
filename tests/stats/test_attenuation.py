"""Errors in labels: by hand, as a confusion matrix and a vote by enumeration, by their laws, and by simulation."""

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, ttest_rel

from eval_pipeline.errors import InputRefused, NotIdentifiable, TooFewObservations
from eval_pipeline.stats.attenuation import (
    Disattenuated,
    disattenuated_correlation,
    label_noise,
    majority_error,
    observed_accuracy,
    observed_gap,
    paired_gap,
    sample_size_inflation,
    true_accuracy,
    true_gap,
    true_gap_interval,
)
from tests.stats.laws import LAW

ERRORS = st.floats(0, 0.45)
ANSWERS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=30)


def test_raters_who_differ_in_18_percent_err_in_one_of_ten_and_none_errs_more_than_half():
    """Raters who err in one of ten differ in 2 * .1 * .9 = .18: (1 - sqrt(.64)) / 2 = .1."""
    assert label_noise(0.18) == pytest.approx(0.1, abs=1e-12)
    assert (label_noise(0), label_noise(0.5), label_noise(0.6), label_noise(1)) == (0, 0.5, 0.5, 0.5)


@LAW
@given(st.floats(0, 0.5))
def test_raters_who_err_so_often_differ_so_often(disagreement):
    eta = label_noise(disagreement)
    assert 2 * eta * (1 - eta) == pytest.approx(disagreement, abs=1e-9)


def test_three_votes_err_less_often_than_one_and_two_as_often_as_one():
    """Two or three of three wrong: 3 * .2^2 * .8 + .2^3 = .104; of two, half of the ties 2 * .2 * .8 and .2^2: .2."""
    assert majority_error(0.2, raters=3) == pytest.approx(0.104, abs=1e-12)
    assert majority_error(0.2, raters=2) == pytest.approx(0.2, abs=1e-12)
    assert majority_error(0.2, raters=1) == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize("raters", range(1, 9))
@pytest.mark.parametrize("eta", [0, 0.03, 0.23, 0.5])
def test_a_vote_errs_as_often_as_all_votes_counted_one_by_one(raters, eta):
    total = 0.0
    for wrong in (sum(votes) for votes in product([0, 1], repeat=raters)):
        weight = 1 if 2 * wrong > raters else 0.5 if 2 * wrong == raters else 0
        total += weight * eta**wrong * (1 - eta) ** (raters - wrong)
    assert majority_error(eta, raters=raters) == pytest.approx(total, abs=1e-12)


def test_a_panel_of_three_whose_members_differ_in_three_of_ten():
    """As computed by the audit of a public panel: a gap of .03 was .036488, shrunk by .822192."""
    eta = majority_error(label_noise(0.3), raters=3)
    assert 1 - 2 * eta == pytest.approx(0.822192, abs=1e-6)
    assert true_gap(0.03, eta=eta) == pytest.approx(0.036488, abs=1e-6)


def test_errors_in_labels_shrink_accuracies_and_gaps_and_inflate_sizes_as_worked_by_hand():
    """.9 * .95 + .1 * .05 = .86; .05 * (1 - .2) = .04; 1 / .8^2 = 1.5625."""
    assert observed_accuracy(0.9, eta=0.05) == pytest.approx(0.86, abs=1e-12)
    assert true_accuracy(0.86, eta=0.05) == pytest.approx(0.9, abs=1e-12)
    assert observed_gap(0.05, eta=0.1) == pytest.approx(0.04, abs=1e-12)
    assert true_gap(0.04, eta=0.1) == pytest.approx(0.05, abs=1e-12)
    assert sample_size_inflation(0.1) == pytest.approx(1.5625, abs=1e-12)


@LAW
@given(st.floats(0, 1), st.floats(0, 1), ERRORS)
def test_accuracy_is_a_confusion_matrix_and_a_gap_the_difference_of_two(one, other, eta):
    confusion = np.array([[1 - eta, eta], [eta, 1 - eta]])
    seen = [(confusion @ [p, 1 - p])[0] for p in (one, other)]
    assert observed_accuracy(one, eta=eta) == pytest.approx(seen[0], abs=1e-12)
    assert observed_gap(one - other, eta=eta) == pytest.approx(seen[0] - seen[1], abs=1e-12)
    assert true_accuracy(observed_accuracy(one, eta=eta), eta=eta) == pytest.approx(one, abs=1e-9)
    assert true_gap(observed_gap(one - other, eta=eta), eta=eta) == pytest.approx(one - other, abs=1e-9)


def test_an_estimate_beyond_the_end_of_the_scale_is_set_to_the_end():
    assert (true_accuracy(0.05, eta=0.2), true_accuracy(0.95, eta=0.2)) == (0, 1)
    assert (true_gap(-0.9, eta=0.2), true_gap(0.9, eta=0.2)) == (-1, 1)


def test_labels_that_are_wrong_half_of_the_time_show_nothing():
    assert (observed_gap(0.3, eta=0.5), observed_accuracy(0.9, eta=0.5)) == (0, 0.5)


def test_a_paired_gap_has_the_mean_and_the_spread_of_the_differences():
    """Differences 1, 0, -1, 1: mean 1/4, squares sum to 3, so sd^2 = (3 - 4/16) / 3 = 11/12; z = .25 / sqrt(11/48)."""
    gap = paired_gap([1, 1, 0, 1], [0, 1, 1, 0])
    assert (gap.n, gap.gap, gap.disagreement) == (4, Fraction(1, 4), Fraction(3, 4))
    assert (gap.sd, gap.z) == (pytest.approx(sqrt(11 / 12), abs=1e-12), pytest.approx(0.25 / sqrt(11 / 48), abs=1e-12))


@LAW
@given(ANSWERS)
def test_z_is_the_statistic_of_scipys_paired_test_and_turns_with_the_systems(pairs):
    a, b = np.array(pairs).T
    here, there = paired_gap(a, b), paired_gap(b, a)
    assert (there.gap, there.sd, there.disagreement) == (-here.gap, here.sd, here.disagreement)
    assert here.sd == pytest.approx(np.std(a - b, ddof=1), abs=1e-12)
    if len(set(a - b)) > 1:
        assert here.z == pytest.approx(ttest_rel(a, b).statistic, abs=1e-9)
    else:
        assert (here.sd, here.z) == (0, None)


def test_narrow_unsigned_integers_do_not_wrap_around():
    assert paired_gap(np.array([0, 0], dtype=np.uint8), np.array([1, 0], dtype=np.uint8)).gap == Fraction(-1, 2)


def test_the_interval_adds_an_item_for_either_system_and_the_error_of_eta():
    """5 + 1 and 1 + 1 of 18 + 2: centre 4/20, variance (8/20 - 1/25) / 20 = .018; 1 - 2 eta = .8."""
    gap = paired_gap([1] * 5 + [0] + [1] * 12, [0] * 5 + [1] + [1] * 12)
    interval = true_gap_interval(gap, eta=0.1, eta_error=0, level=0.9)
    half = norm.ppf(0.95) * sqrt(0.018)
    assert [interval.low, interval.high] == pytest.approx([(0.2 - half) / 0.8, (0.2 + half) / 0.8], abs=1e-12)
    # With an error of .05 in eta: d/d eta of .2 / (1 - 2 eta) is 2 * .2 / .64 = .625.
    wider = true_gap_interval(gap, eta=0.1, eta_error=0.05, level=0.9)
    half = norm.ppf(0.95) * sqrt(0.018 / 0.64 + (0.625 * 0.05) ** 2)
    assert [wider.low, wider.high] == pytest.approx([0.25 - half, 0.25 + half], abs=1e-12)


@LAW
@given(ANSWERS, ERRORS, st.floats(0, 0.1))
def test_the_interval_turns_with_the_systems_and_stays_on_the_scale(pairs, eta, eta_error):
    a, b = np.array(pairs).T
    ends = {"eta": eta, "eta_error": eta_error, "level": 0.95}
    here, there = (true_gap_interval(paired_gap(*order), **ends) for order in ((a, b), (b, a)))
    assert [here.low, here.high] == pytest.approx([-there.high, -there.low], abs=1e-12)
    assert -1 <= here.low < here.high <= 1


def studies(rng, n, p, eta, count=1000):
    """Paired gaps of two systems of accuracies `p`, measured against labels that err in `eta` of the items."""
    right_a, right_b = rng.random((count, n)) < p[0], rng.random((count, n)) < p[1]
    wrong_label = rng.random((count, n)) < eta
    return [paired_gap(a, b) for a, b in zip(right_a ^ wrong_label, right_b ^ wrong_label, strict=True)]


@pytest.mark.parametrize(("n", "p", "eta"), [(200, (0.8, 0.75), 0.1), (100, (0.7, 0.3), 0.2), (400, (0.9, 0.5), 0)])
def test_a_95_percent_interval_holds_the_true_gap_in_95_percent_of_studies(n, p, eta):
    truth, hits = p[0] - p[1], 0
    for gap in studies(np.random.default_rng(2), n, p, eta):
        interval = true_gap_interval(gap, eta=eta, eta_error=0, level=0.95)
        hits += interval.low <= truth <= interval.high
    assert binomtest(hits, 1000, 0.95).pvalue > 0.01


@pytest.mark.parametrize(("n", "p"), [(60, (0.97, 0.95)), (30, (0.02, 0.01)), (12, (0.9, 0.9))])
def test_it_holds_the_gap_at_least_as_often_near_0_and_1_and_in_small_studies(n, p):
    truth, hits = p[0] - p[1], 0
    for gap in studies(np.random.default_rng(3), n, p, 0.05):
        interval = true_gap_interval(gap, eta=0.05, eta_error=0, level=0.95)
        hits += interval.low <= truth <= interval.high
    assert binomtest(hits, 1000, 0.95, alternative="less").pvalue > 0.01


def test_the_error_of_an_estimated_eta_belongs_in_the_interval():
    """Eta from 150 pairs of ratings; by the delta method its error is that of the disagreement over 2 sqrt(1 - 2d)."""
    rng, eta, n = np.random.default_rng(4), 0.2, 150
    hits = {"with": 0, "without": 0}
    for gap in studies(rng, 600, (0.9, 0.4), eta):
        d = rng.binomial(n, 2 * eta * (1 - eta)) / n
        error = sqrt(d * (1 - d) / n) / (2 * sqrt(1 - 2 * d))
        for name, size in (("with", error), ("without", 0)):
            interval = true_gap_interval(gap, eta=label_noise(d), eta_error=size, level=0.95)
            hits[name] += interval.low <= 0.5 <= interval.high
    assert binomtest(hits["with"], 1000, 0.95).pvalue > 0.01
    assert hits["without"] < 900


def test_a_correlation_is_divided_by_the_root_of_both_reliabilities_and_capped_at_1():
    """.3 / sqrt(.9 * .4) = .5; .6 / sqrt(.36 * .64) = 1.25, which no correlation can be."""
    assert disattenuated_correlation(0.3, reliability_x=0.9, reliability_y=0.4).estimate == pytest.approx(
        0.5, abs=1e-12
    )
    assert disattenuated_correlation(0.6, reliability_x=0.36, reliability_y=0.64) == Disattenuated(
        1, pytest.approx(1.25)
    )
    assert disattenuated_correlation(-0.6, reliability_x=0.36, reliability_y=0.64).estimate == -1


def test_the_correlation_behind_noisy_measurements_is_found_again():
    """True correlation .6; x is half error and y a fifth. Four standard errors of 40,000 pairs are about .03."""
    rng = np.random.default_rng(6)
    x, e = rng.normal(size=(2, 40_000))
    y = 0.6 * x + 0.8 * e
    r = np.corrcoef(x + rng.normal(size=x.size), y + 0.5 * rng.normal(size=x.size))[0, 1]
    assert r < 0.5
    assert disattenuated_correlation(r, reliability_x=0.5, reliability_y=0.8).estimate == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize(
    "call",
    [
        lambda: true_gap(0, eta=0.5),
        lambda: true_accuracy(0.5, eta=0.5),
        lambda: sample_size_inflation(0.5),
        lambda: true_gap_interval(paired_gap([1, 0], [0, 0]), eta=0.5, eta_error=0, level=0.9),
    ],
)
def test_labels_that_are_wrong_half_of_the_time_cannot_be_corrected(call):
    with pytest.raises(NotIdentifiable, match="wrong half of the time"):
        call()


@pytest.mark.parametrize(
    ("call", "refusal", "words"),
    [
        (lambda: label_noise(1.1), InputRefused, r"disagreement: found 1.1, expected a number in \[0, 1\]"),
        (lambda: label_noise(float("nan")), InputRefused, "disagreement: found nan"),
        (lambda: majority_error(0.6, raters=3), InputRefused, r"eta: found 0.6, expected a number in \[0, 0.5\]"),
        (lambda: majority_error(0.1, raters=0), InputRefused, "raters: found 0"),
        (lambda: majority_error(0.1, raters=2.5), InputRefused, "raters: found 2.5"),
        (lambda: majority_error(0.1, raters=float("nan")), InputRefused, "raters: found nan"),
        (lambda: observed_accuracy(-0.1, eta=0.1), InputRefused, "accuracy: found -0.1"),
        (lambda: true_accuracy(1.1, eta=0.1), InputRefused, "observed: found 1.1"),
        (lambda: observed_gap(-1.1, eta=0.1), InputRefused, "gap: found -1.1"),
        (lambda: true_gap(1.1, eta=0.1), InputRefused, "observed: found 1.1"),
        (lambda: true_gap(0.1, eta=0.7), InputRefused, "eta: found 0.7"),
        (lambda: sample_size_inflation(-0.1), InputRefused, "eta: found -0.1"),
        (lambda: paired_gap([1], [0]), TooFewObservations, "at least 2 items and was given 1"),
        (lambda: paired_gap([1, 0], [0]), InputRefused, "2 a, 1 b"),
        (lambda: paired_gap([1, 2], [0, 1]), InputRefused, "found 2, expected 0 or 1"),
        (lambda: paired_gap([[1, 1]], [[0, 1]]), InputRefused, "a: found 2 dimensions"),
        (
            lambda: true_gap_interval(paired_gap([1, 0], [0, 0]), eta=0.1, eta_error=-1, level=0.9),
            InputRefused,
            "eta_error: found -1",
        ),
        (
            lambda: true_gap_interval(paired_gap([1, 0], [0, 0]), eta=0.1, eta_error=0, level=95),
            InputRefused,
            "level: found 95",
        ),
        (lambda: disattenuated_correlation(1.2, reliability_x=1, reliability_y=1), InputRefused, "r: found 1.2"),
        (
            lambda: disattenuated_correlation(0.2, reliability_x=1, reliability_y=2),
            InputRefused,
            "reliability_y: found 2",
        ),
        (
            lambda: disattenuated_correlation(0.2, reliability_x=0, reliability_y=1),
            NotIdentifiable,
            "reliability_x is 0",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(call, refusal, words):
    with pytest.raises(refusal, match=words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda kind: label_noise(kind(0.3)),
        lambda kind: majority_error(kind(0.2), raters=3),
        lambda kind: observed_accuracy(kind(0.9), eta=kind(0.1)),
        lambda kind: true_accuracy(kind(0.7), eta=kind(0.1)),
        lambda kind: observed_gap(kind(0.3), eta=kind(0.1)),
        lambda kind: true_gap(kind(0.3), eta=kind(0.1)),
        lambda kind: sample_size_inflation(kind(0.1)),
        lambda kind: disattenuated_correlation(kind(0.3), reliability_x=kind(0.9), reliability_y=kind(0.4)).estimate,
    ],
)
def test_half_precision_gives_python_floats_as_near_as_it_can_tell(call):
    assert type(call(np.float16)) is float
    assert call(np.float16) == pytest.approx(call(np.float64), rel=2e-3)
