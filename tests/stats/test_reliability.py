"""What one rater's score is worth, what several are worth together, and how many it takes."""

from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, pearsonr

from eval_pipeline.errors import InputRefused, NotIdentifiable, NoVariation, TooFewObservations
from eval_pipeline.stats.agreement import agreement_interval
from eval_pipeline.stats.reliability import (
    AGREEMENT_BANDS,
    band,
    composite_reliability,
    mean_correlation,
    raters_needed,
    spearman_brown,
)
from tests.stats.laws import LAW

RELIABILITIES = st.floats(0.01, 0.99)
NUMBERS = st.integers(2, 30)
STUDIES, RESAMPLES = 400, 300

# Six subjects, four judges: Shrout & Fleiss (1979), Psychological Bulletin 86(2), 420-428, table 2.
SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


def mean_squares(table):
    """Between units, and within them."""
    units, raters = table.shape
    between = raters * table.mean(axis=1).var(ddof=1)
    within = table.var(axis=1, ddof=1).mean()
    return between, within, units * raters


def test_composite_reliability_by_hand():
    found = composite_reliability([[1.0, 1.0], [2.0, 4.0], [4.0, None], [6.0, 6.0]])
    # Units rated twice: squares 0, 4, 0 within pairs: mean 4/3. All 15 pairs of 1 1 2 4 6 6: the sum of squares is 94,
    # of all 20, so 6 * 94 - 20^2 = 164 over 15.
    assert found.estimate == pytest.approx(1 - (4 / 3) / (164 / 15), abs=1e-14)
    assert (found.units, found.ratings) == (3, 6)


def test_composite_reliability_is_the_intraclass_correlation_but_for_the_small_sample_term():
    """Shrout & Fleiss (1979), table 4: ICC(1,1) = .17, of mean squares 11.24 and 6.26."""
    table = np.array(SHROUT_FLEISS, dtype=float)
    between, within, ratings = mean_squares(table)
    assert (between, within) == (pytest.approx(11.24, abs=0.005), pytest.approx(6.26, abs=0.005))
    icc = (between - within) / (between + 3 * within)
    assert icc == pytest.approx(0.17, abs=0.005)
    # Within units 6 * 3 degrees of freedom, between them 5.
    total = 5 * between + 18 * within
    found = composite_reliability(SHROUT_FLEISS).estimate
    assert found == pytest.approx(1 - within * (ratings - 1) / total, abs=1e-12)
    many = np.tile(table, (200, 1))
    between, within, _ = mean_squares(many)
    assert composite_reliability(many).estimate == pytest.approx((between - within) / (between + 3 * within), abs=1e-3)


@given(st.integers(0, 2**32 - 1), st.sampled_from([-2.0, 0.5, 100.0]), st.sampled_from([-7.0, 0.0, 1e4]))
@LAW
def test_composite_reliability_knows_neither_unit_nor_origin_nor_who_is_who(seed, unit, origin):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(12, 1)) + rng.normal(size=(12, 4))
    scores[rng.random(scores.shape) < 0.2] = np.nan
    expected = composite_reliability(scores).estimate
    moved = rng.permuted(unit * scores + origin, axis=1)
    assert composite_reliability(pd.DataFrame(moved)).estimate == pytest.approx(expected, abs=1e-8)


def test_intervals_of_the_reliability_of_three_raters_cover():
    """Both ends stepped up, with 150 units, of which a quarter of the variance of a score is their own."""
    rng, held = np.random.default_rng(12), 0
    for _ in range(STUDIES):
        scores = rng.normal(size=(150, 1)) + 3**0.5 * rng.normal(size=(150, 3))
        drawn = agreement_interval(
            composite_reliability(scores),
            np.arange(150),
            level=0.95,
            resamples=RESAMPLES,
            valid_at_least=RESAMPLES,
            ranks="symmetric",
            rng=rng,
        )
        held += spearman_brown(drawn.interval.low, 3) <= 0.5 <= spearman_brown(drawn.interval.high, 3)
    assert binomtest(held, STUDIES, 0.95).pvalue > 0.01


@pytest.mark.parametrize("raters", [2, 3, 8])
def test_the_mean_of_raters_is_as_reliable_as_spearman_and_brown_say(raters):
    """The squared correlation of 40,000 mean scores with what they measure, of raters whose reliability is .4."""
    rng = np.random.default_rng(raters)
    true = 0.4**0.5 * rng.normal(size=40_000)
    scores = true[:, np.newaxis] + 0.6**0.5 * rng.normal(size=(40_000, raters))
    assert pearsonr(true, scores.mean(axis=1)).statistic ** 2 == pytest.approx(spearman_brown(0.4, raters), abs=0.01)


@pytest.mark.parametrize(
    ("reliability", "raters", "together"),
    [
        (0.7, 2, 14 / 17),  # 1.4 / 1.7
        (0.5, 4, 0.8),  # 2 / 2.5
        (0.6, 1, 0.6),
        (0.0, 5, 0.0),
        (1.0, 3, 1.0),
        (0.5, 2.5, 1.25 / 1.75),
        (0.8, 0.5, 0.4 / 0.6),
        (-0.25, 3, -1.5),  # -.75 / .5
        (0.1657417684054755, 4, 0.44279713367926876),  # Shrout & Fleiss (1979), table 4: ICC(1,1) to ICC(1,4)
    ],
)
def test_several_raters_by_hand(reliability, raters, together):
    assert spearman_brown(reliability, raters) == pytest.approx(together, abs=1e-12)


@given(RELIABILITIES, NUMBERS, NUMBERS)
@LAW
def test_steps_up_follow_one_another(reliability, first, then):
    in_two_steps = spearman_brown(spearman_brown(reliability, first), then)
    assert in_two_steps == pytest.approx(spearman_brown(reliability, first * then), abs=1e-12)
    assert spearman_brown(spearman_brown(reliability, first), 1 / first) == pytest.approx(reliability, abs=1e-12)
    assert reliability < spearman_brown(reliability, first) < 1


@pytest.mark.parametrize(("reliability", "raters"), [(-0.5, 3), (-0.75, 3), (-1.0, 2)])
def test_a_reliability_at_or_beyond_the_pole_cannot_be_stepped_up(reliability, raters):
    with pytest.raises(NotIdentifiable, match=f"{reliability:g} cannot be stepped up to {raters} raters"):
        spearman_brown(reliability, raters)


@pytest.mark.parametrize(
    ("reliability", "raters"), [(1.01, 2), (nan, 2), (-inf, 1), (0.5, 0), (0.5, -1), (0.5, nan), (0.5, inf)]
)
def test_what_is_no_reliability_or_no_number_of_raters_is_refused(reliability, raters):
    with pytest.raises(InputRefused, match=f"found reliability {reliability} and {raters} raters"):
        spearman_brown(reliability, raters)


@pytest.mark.parametrize(
    ("reliability", "target", "raters"),
    [
        (0.7, 0.9, 4),  # .9 * .3 / (.7 * .1) = 3.857
        (0.5, 0.8, 4),  # .8 * .5 / (.5 * .2) = 4 exactly, and 4.000000000000001 in floating point
        (0.2, 0.5, 4),
        (0.1, 0.9, 81),
        (0.5, 0.75, 3),
        (0.9, 0.8, 1),
        (0.9, 0.01, 1),
        (0.001, 0.5, 999),
    ],
)
def test_the_raters_that_are_needed_by_hand(reliability, target, raters):
    assert raters_needed(reliability, target) == raters


@given(RELIABILITIES, st.floats(0.01, 0.99))
@LAW
def test_no_fewer_raters_reach_the_target(reliability, target):
    raters = raters_needed(reliability, target)
    assert spearman_brown(reliability, raters) >= target - 1e-9
    assert raters == 1 or spearman_brown(reliability, raters - 1) < target


@given(RELIABILITIES, NUMBERS)
@LAW
def test_a_target_that_so_many_reach_exactly_needs_so_many(reliability, raters):
    assert raters_needed(reliability, min(spearman_brown(reliability, raters), 1 - 1e-9)) == raters


@pytest.mark.parametrize("reliability", [0.0, -0.3])
def test_raters_who_agree_by_chance_are_never_enough(reliability):
    with pytest.raises(NotIdentifiable, match=f"{reliability:g} is not raised by more raters"):
        raters_needed(reliability, 0.8)


@pytest.mark.parametrize(("reliability", "target"), [(1.0, 0.9), (nan, 0.9), (0.5, 0.0), (0.5, 1.0), (0.5, nan)])
def test_a_target_or_reliability_out_of_range_is_refused(reliability, target):
    with pytest.raises(InputRefused, match=f"found reliability {reliability} and target {target}"):
        raters_needed(reliability, target)


def test_the_mean_correlation_by_hand():
    # The second judge is twice the first; the third is the first turned round: 1, -1, -1.
    assert mean_correlation([[1, 2, 3], [2, 4, 2], [3, 6, 1]]) == pytest.approx(-1 / 3, abs=1e-12)
    # Deviations -1 0 1 and -1 1 0: 1 / sqrt(2 * 2).
    assert mean_correlation([[1, 1], [2, 3], [3, 2]]) == pytest.approx(0.5, abs=1e-12)


def test_scipy_agrees_on_the_mean_correlation():
    scores = np.random.default_rng(3).normal(size=(30, 4)).cumsum(axis=1)
    theirs = [pearsonr(scores[:, i], scores[:, j]).statistic for i in range(4) for j in range(i)]
    assert mean_correlation(scores) == pytest.approx(np.mean(theirs), abs=1e-12)
    assert mean_correlation(scores * [1, 10, 0.1, 5] + [3, 0, -9, 1]) == pytest.approx(np.mean(theirs), abs=1e-12)


def test_a_judge_who_gives_one_score_correlates_with_nothing():
    with pytest.raises(NoVariation, match="judge 0 gives every unit the same score"):
        mean_correlation([[1, 2], [1, 3], [1, 4]])
    with pytest.raises(NoVariation, match="judge 2 gives every unit the same score"):
        mean_correlation([[1, 2, 0.1], [2, 3, 0.1], [0, 4, 0.1]])


@pytest.mark.parametrize("scores", [[[1, 2]], [[1], [2]], [1, 2, 3], [[[1, 2], [2, 1]]] * 2, np.empty((0, 2))])
def test_a_correlation_takes_two_units_and_two_judges(scores):
    with pytest.raises(TooFewObservations, match="expected two units and two judges or more"):
        mean_correlation(scores)


def test_a_correlation_takes_all_scores():
    with pytest.raises(InputRefused, match="scores: found a missing value"):
        mean_correlation([[1, 2], [2, None], [3, 1]])


def test_composites_are_refused_as_ratings_are():
    with pytest.raises(NoVariation, match="neither 0 nor 1"):
        composite_reliability([[2.5, 2.5], [2.5, 2.5]])
    with pytest.raises(TooFewObservations, match="no unit was rated twice"):
        composite_reliability([[2.5, None], [None, 1.0]])
    with pytest.raises(InputRefused, match="texts on an interval scale"):
        composite_reliability([["2.5", "1"]])


@pytest.mark.parametrize(
    ("coefficient", "name"),
    [
        (1.0, "substantial"),
        (0.8, "substantial"),
        (0.7999, "tentative"),
        (0.667, "tentative"),
        (0.6669, "moderate"),
        (0.6, "moderate"),
        (0.5999, "fair"),
        (0.4, "fair"),
        (0.3999, "slight"),
        (0.2, "slight"),
        (0.1999, "poor"),
        (-1.0, "poor"),
    ],
)
def test_a_band_begins_at_its_bar(coefficient, name):
    assert band(coefficient, AGREEMENT_BANDS, below="poor") == name


def test_no_bands_leave_the_lowest_name():
    assert band(0.9, (), below="poor") == "poor"


@pytest.mark.parametrize(
    ("coefficient", "bands", "found"),
    [
        (0.5, ((0.2, "low"), (0.8, "high")), r"found coefficient 0.5 and bars \[0.2, 0.8\]"),
        (nan, AGREEMENT_BANDS, "found coefficient nan"),
    ],
)
def test_bars_that_rise_and_no_number_are_refused(coefficient, bands, found):
    with pytest.raises(InputRefused, match=found):
        band(coefficient, bands, below="poor")
