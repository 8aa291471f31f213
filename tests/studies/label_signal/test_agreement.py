"""What raters agree on: alpha on the scale of each dimension, other coefficients, and the composite's reliability."""

from dataclasses import replace
from fractions import Fraction

import krippendorff
import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from eval_pipeline.studies.label_signal.agreement import alphas, coefficients, composite_agreement, is_paradox
from eval_pipeline.studies.label_signal.rubric import Dimension, composites
from tests.studies.label_signal.conftest import ratings_of

SEED = 5
ONE_LEVEL = "all ratings that count are of one category"


def dimension(key="d", scale="ordinal", levels=(0, 1, 2, 3), **fields):
    weight = {"weight": Fraction(0)} if scale == "nominal" else {}
    return Dimension(key=key, name=key, question="?", scale=scale, levels=levels, **(weight | fields))


@pytest.fixture
def on(small):
    """The small track with these dimensions instead of its own."""

    def on(*dimensions):
        return replace(small, rubric=small.rubric.model_copy(update={"dimensions": tuple(dimensions)}))

    return on


@pytest.fixture
def agreed(on, shipped):
    """Alphas and coefficients of one dimension, from a row of ratings for each answer; None is no rating."""

    def agreed(rows, one=None, plan=shipped.agreement):
        track = on(one or dimension())
        ratings = rated(track, rows)
        found = alphas(ratings, track.rubric, plan, seed=SEED)
        (beside,) = coefficients(ratings, track.rubric, found, plan, seed=SEED)
        return found[beside.key], beside

    return agreed


def rated(track, rows, systems=("old",)):
    """Ratings of one dimension; the rows are answers, those of an item one after the other."""
    return ratings_of(
        track,
        [
            (f"q{place // len(systems)}", systems[place % len(systems)], f"r{rater}", score)
            for place, row in enumerate(rows)
            for rater, score in enumerate(row)
            if score is not None
        ],
    )


def noisy(rng, answers, raters, levels=4, missing=0.2):
    """Levels of answers as raters see them, a fifth of them missing; no answer is without a rating."""
    truth = rng.integers(0, levels, answers)
    seen = np.clip(truth[:, None] + rng.integers(-1, 2, (answers, raters)), 0, levels - 1).astype(object)
    gone = rng.random((answers, raters)) < missing
    gone[:, 0] = False
    seen[gone] = None
    return seen.tolist()


def test_alpha_by_hand(agreed):
    """Eight ratings, five 0 and three 1; one pair differs: 1 - 7 * 2 / (2 * 5 * 3) = 8 / 15."""
    alpha, _ = agreed([(0, 0), (0, 0), (0, 1), (1, 1)], dimension(scale="binary", levels=(0, 1)))
    assert alpha.estimate == pytest.approx(8 / 15, abs=1e-12)
    assert alpha.why is None
    assert alpha.interval.low <= alpha.estimate <= alpha.interval.high


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_alpha_is_that_of_another_program_on_the_scale_of_the_dimension(agreed, scale, seed):
    """krippendorff.alpha(reliability_data, value_domain, level_of_measurement), krippendorff 0.8."""
    rows = noisy(np.random.default_rng(seed), 30, 4)
    alpha, _ = agreed(rows, dimension(scale=scale))
    table = np.array(rows, dtype=float).T
    expected = krippendorff.alpha(reliability_data=table, level_of_measurement=scale, value_domain=[0, 1, 2, 3])
    assert alpha.estimate == pytest.approx(expected, abs=1e-10)


def test_levels_are_as_far_apart_as_they_say_on_an_interval_scale_and_only_ordered_on_an_ordinal_one(agreed):
    rows = noisy(np.random.default_rng(4), 30, 3)
    far = [[score and (score if score < 3 else 30) for score in row] for row in rows]
    for scale, alike in (("ordinal", True), ("interval", False), ("nominal", True)):
        near_alpha, _ = agreed(rows, dimension(scale=scale))
        far_alpha, _ = agreed(far, dimension(scale=scale, levels=(0, 1, 2, 30)))
        assert (near_alpha.estimate == pytest.approx(far_alpha.estimate, abs=1e-9)) is alike


def test_each_dimension_has_its_own_alpha(on, shipped):
    """Raters agree on the first, and on the second as they would by chance or less."""
    track = on(dimension("same"), dimension("apart", scale="binary", levels=(0, 1)))
    rows = [(f"q{n}", "old", rater, n % 4, (n + place) % 2) for n in range(12) for place, rater in enumerate("ab")]
    found = alphas(ratings_of(track, rows), track.rubric, shipped.agreement, seed=SEED)
    assert list(found) == ["same", "apart"]
    # 24 ratings, 12 of each level, and all 12 pairs differ: 1 - 23 * 24 / (2 * 12 * 12).
    assert (found["same"].estimate, found["apart"].estimate) == (1, pytest.approx(1 - 23 / 12))


def test_an_answer_that_was_rated_once_has_no_part_in_it(agreed):
    rows = [(0, 0, 1), (1, 1, 1), (2, 2, None), (0, None, 3), (3, 3, 3)]
    alpha, beside = agreed(rows)
    more, beside_more = agreed([*rows, (None, 3, None), (0, None, None)])
    assert alpha.estimate == more.estimate
    assert (beside.units, beside.ratings) == (beside_more.units, beside_more.ratings) == (5, 13)


def test_where_all_ratings_are_of_one_level_agreement_is_undefined_and_neither_0_nor_1(agreed):
    alpha, beside = agreed([(2, 2, 2)] * 25)
    assert (alpha.estimate, alpha.interval, beside.band) == (None, None, None)
    assert alpha.why.startswith(ONE_LEVEL)
    assert beside.raw.estimate == 1
    assert (beside.fleiss.estimate, beside.fleiss.interval) == (None, None)
    assert beside.fleiss.why
    assert not beside.paradox


def test_where_no_answer_was_rated_twice_nothing_is_agreed_on(agreed):
    alpha, beside = agreed([(0, None), (None, 1), (2, None)])
    for measure in (alpha, beside.raw, beside.fleiss, beside.ac1):
        assert (measure.estimate, measure.interval) == (None, None)
        assert "twice" in measure.why
    assert (beside.units, beside.ratings, beside.band, beside.paradox) == (0, 0, None, False)


def test_of_one_item_there_is_an_estimate_and_no_interval(on, shipped):
    track = on(dimension())
    ratings = rated(track, [(0, 1), (2, 2), (3, 1)], systems=("old", "new", "third"))
    found = alphas(ratings, track.rubric, shipped.agreement, seed=SEED)["d"]
    assert found.estimate is not None
    assert (found.interval, bool(found.why)) == (None, True)


def test_where_too_few_resamples_have_two_levels_there_is_no_interval(agreed):
    """One answer of 20 tells levels apart; 36% of the resamples, (19/20)^20, lack it."""
    alpha, _ = agreed([(0, 0)] * 19 + [(1, 1)])
    assert (alpha.estimate, alpha.interval) == (1, None)
    assert "one category" in alpha.why


def test_intervals_draw_items_with_all_of_their_answers(on, shipped):
    """Of a second system whose answers are rated as the first one's are, nothing new is learnt but for n - 1."""
    track = on(dimension())
    rows = noisy(np.random.default_rng(6), 40, 3, missing=0)
    plan = shipped.agreement.model_copy(update={"resamples": 3000, "valid_at_least": 2700})
    once = alphas(rated(track, rows), track.rubric, plan, seed=SEED)["d"].interval
    doubled = [row for row in rows for _ in range(2)]
    twice = alphas(rated(track, doubled, ("old", "new")), track.rubric, plan, seed=SEED)["d"].interval
    apart = alphas(rated(track, doubled), track.rubric, plan, seed=SEED)["d"].interval
    assert twice.high - twice.low == pytest.approx(once.high - once.low, rel=0.03)
    assert apart.high - apart.low == pytest.approx((once.high - once.low) / 2**0.5, rel=0.08)


def test_an_interval_is_of_the_seed_and_of_the_dimension_and_of_nothing_else(on, shipped):
    rng = np.random.default_rng(7)
    first, second = (noisy(rng, 30, 2, missing=0) for _ in range(2))
    track, alone = on(dimension("x"), dimension("y")), on(dimension("y"))
    rows = [(f"q{n}", "old", f"r{rater}", first[n][rater], second[n][rater]) for n in range(30) for rater in range(2)]
    both = alphas(ratings_of(track, rows), track.rubric, shipped.agreement, seed=SEED)
    single = alphas(rated(alone, second), alone.rubric, shipped.agreement, seed=SEED)
    assert both["y"] == single["y"]
    other = alphas(rated(alone, second), alone.rubric, shipped.agreement, seed=SEED + 1)["y"]
    assert (other.estimate, other.interval == both["y"].interval) == (both["y"].estimate, False)


def test_the_coefficients_by_hand(agreed):
    """Pairs agree in 3 of 4; marginals 5/8 and 3/8: kappa (.75 - 34/64) / (30/64), AC1 (.75 - 30/64) / (34/64)."""
    _, found = agreed([(0, 0), (0, 0), (0, 1), (1, 1)], dimension(scale="binary", levels=(0, 1)))
    assert found.raw.estimate == pytest.approx(0.75)
    assert found.fleiss.estimate == pytest.approx(7 / 15, abs=1e-12)
    assert found.ac1.estimate == pytest.approx(9 / 17, abs=1e-12)
    assert (found.units, found.ratings) == (4, 8)


def test_marginals_are_averaged_over_answers_and_not_over_ratings(agreed):
    """Raw agreement 0 and 1/3 and 1; marginals of level 1 are the mean of 1/2, 1/3 and 0, which is 5/18."""
    _, found = agreed([(0, 1, None), (0, 0, 1), (0, 0, None)], dimension(scale="binary", levels=(0, 1)))
    raw, p = (0 + 1 / 3 + 1) / 3, 5 / 18
    assert found.raw.estimate == pytest.approx(raw, abs=1e-12)
    by_chance = p**2 + (1 - p) ** 2
    assert found.fleiss.estimate == pytest.approx((raw - by_chance) / (1 - by_chance), abs=1e-12)
    assert found.ac1.estimate == pytest.approx((raw - 2 * p * (1 - p)) / (1 - 2 * p * (1 - p)), abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_fleiss_kappa_is_that_of_statsmodels(agreed, seed):
    """fleiss_kappa(aggregate_raters(table)[0]), statsmodels 0.14."""
    rows = noisy(np.random.default_rng(seed), 40, 3, missing=0)
    _, found = agreed(rows)
    expected = fleiss_kappa(aggregate_raters(np.array(rows, dtype=int))[0])
    assert found.fleiss.estimate == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("apart", "band"),
    [
        (0, "substantial"),
        (2, "substantial"),
        (3, "tentative"),
        (4, "moderate"),
        (6, "fair"),
        (8, "slight"),
        (10, "poor"),
    ],
)
def test_alpha_has_a_name(agreed, apart, band):
    """Twenty answers and as many ratings of either level: alpha is 1 - 39 apart / 400, as long as that holds."""
    half = apart // 2
    rows = [(0, 0)] * (10 - half) + [(1, 1)] * (10 - apart + half) + [(0, 1)] * apart
    alpha, found = agreed(rows, dimension(scale="binary", levels=(0, 1)))
    assert found.band == band
    if apart % 2 == 0:
        assert alpha.estimate == pytest.approx(1 - 39 * apart / 400)


@pytest.mark.parametrize(
    ("raw", "kappa", "ac1", "found"),
    [
        (0.85, 0.39, 0.9, True),
        (0.85 - 1e-9, 0.39, 0.9, False),
        (0.95, 0.4, 0.9, False),
        (0.95, 0.4 - 1e-9, 0.9, True),
        (0.95, 0.25, 0.5, False),
        (0.95, 0.25, 0.5 + 1e-9, True),
        (None, 0.1, 0.9, False),
        (0.95, None, 0.9, False),
        (0.95, 0.1, None, False),
    ],
)
def test_the_paradox_of_raters_who_agree_with_a_low_kappa_has_three_bars(raw, kappa, ac1, found):
    assert is_paradox(raw, kappa, ac1) is found


def test_one_level_that_prevails_makes_kappa_low_and_is_said(agreed):
    """89 answers of 0 0 0 and 6 of 0 0 1: raw (89 + 6 / 3) / 95; of 285 ratings 6 are 1."""
    _, found = agreed([(0, 0, 0)] * 89 + [(0, 0, 1)] * 6, dimension(scale="binary", levels=(0, 1)))
    raw, p = 91 / 95, 6 / 285
    assert found.raw.estimate == pytest.approx(raw)
    assert found.fleiss.estimate == pytest.approx(1 - (1 - raw) / (2 * p * (1 - p)), abs=1e-12)
    assert found.fleiss.estimate < 0 < 0.95 < found.ac1.estimate
    assert found.paradox


def reliability(on, plan, scores, seed=SEED, systems=("old",)):
    """Of composites, shape (answers, raters), NaN where there is none; the scores of the ratings are not read."""
    track = on(dimension())
    ratings = rated(track, [[0] * scores.shape[1]] * len(scores), systems)
    return composite_agreement(ratings, scores.ravel(), plan, seed=seed)


def true_and_seen(rng, answers, raters, one):
    """True scores, and ratings whose reliability is `one`: the share of their variance that is of the true score."""
    truth = rng.normal(0, one**0.5, answers)
    return truth, truth[:, None] + rng.normal(0, (1 - one) ** 0.5, (answers, raters))


def test_the_reliability_of_a_composite_by_hand(on, shipped):
    """Ratings 0 0, 0 .5, .5 1 and 1 1, whose sum is 4, and of their squares 3.5: 8 * 3.5 - 4^2 = 12.

    Two pairs are .5 apart: alpha 1 - 7 * 2 * .25 / 12 = 17 / 24; of two raters' mean (2 * 17 / 24) / (1 + 17 / 24).
    """
    found = reliability(on, shipped.agreement, np.array([[0, 0], [0, 0.5], [0.5, 1], [1, 1]]))
    assert found.one.estimate == pytest.approx(17 / 24, abs=1e-12)
    assert (found.raters, found.mean.estimate) == (2, pytest.approx(34 / 41, abs=1e-12))


def test_the_reliability_of_one_is_that_of_another_program(on, shipped):
    """krippendorff.alpha(reliability_data, level_of_measurement="interval"), krippendorff 0.8."""
    _, scores = true_and_seen(np.random.default_rng(2), 40, 3, 0.6)
    scores[3, 1] = np.nan
    expected = krippendorff.alpha(reliability_data=scores.T, level_of_measurement="interval")
    assert reliability(on, shipped.agreement, scores).one.estimate == pytest.approx(expected, abs=1e-10)


def test_the_ends_of_the_interval_are_stepped_up_as_the_estimate_is(on, shipped):
    _, scores = true_and_seen(np.random.default_rng(3), 60, 3, 0.6)
    found = reliability(on, shipped.agreement, scores)
    for one, mean in (
        (found.one.estimate, found.mean.estimate),
        (found.one.interval.low, found.mean.interval.low),
        (found.one.interval.high, found.mean.interval.high),
    ):
        assert mean == pytest.approx(3 * one / (1 + 2 * one), abs=1e-12)
    assert found.mean.interval.level == 0.95


def test_raters_are_counted_as_they_rated_on_average(small, shipped):
    rows = [("q1", "old", "a", 0, 0), ("q1", "old", "b", 1, 1), ("q2", "old", "a", 3, 3)]
    rows += [("q2", "old", "b", 3, 2), ("q2", "old", "c", 2, 3)]
    ratings = ratings_of(small, rows)
    scores = composites(small.rubric, ratings.scores, unscored="undefined")
    found = composite_agreement(ratings, scores, shipped.agreement, seed=SEED)
    assert found.raters == 2.5
    one = found.one.estimate
    assert found.mean.estimate == pytest.approx(2.5 * one / (1 + 1.5 * one), abs=1e-12)


@pytest.mark.parametrize(
    ("scores", "why"),
    [
        (np.full((5, 2), 0.4), ONE_LEVEL),
        (np.array([[0.2, np.nan], [0.4, np.nan], [0.9, np.nan]]), "no unit was rated twice"),
    ],
)
def test_composites_that_do_not_vary_or_are_alone_have_no_reliability(on, shipped, scores, why):
    found = reliability(on, shipped.agreement, scores)
    for measure in (found.one, found.mean):
        assert (measure.estimate, measure.interval) == (None, None)
        assert measure.why.startswith(why)


def test_raters_who_disagree_beyond_chance_have_a_mean_of_no_reliability(on, shipped):
    """Two raters of 40 answers, and six of 10, half of whom say 0 and half 1 of every one.

    Of 140 ratings 70 are 1; pairs of two differ by 1, and 9 of the 15 of six: 1 - 139 (40 * 2 + 10 * 18 / 5) / 9800.
    One rater at -.65 is beyond the pole of 2.8.
    """
    two, six = [0, 1, *[np.nan] * 4], [0, 1, 0, 1, 0, 1]
    found = reliability(on, shipped.agreement, np.array([two] * 40 + [six] * 10))
    assert found.raters == 2.8
    assert found.one.estimate == pytest.approx(1 - 139 * 116 / 9800, abs=1e-12)
    assert (found.mean.estimate, found.mean.interval) == (None, None)
    assert "cannot be stepped up to 2.8 raters" in found.mean.why


def test_raters_without_a_composite_are_in_no_mean(on, shipped):
    """Of three who rated each answer, the third scored nothing that has a weight."""
    _, scores = true_and_seen(np.random.default_rng(5), 30, 3, 0.6)
    scores[:, 2] = np.nan
    found = reliability(on, shipped.agreement, scores)
    assert (found.raters, found.mean) == (2, reliability(on, shipped.agreement, scores[:, :2]).mean)


def test_the_reliability_of_the_mean_is_how_far_it_goes_with_the_true_score(on, shipped):
    """The squared correlation of the raters' mean with the true scores, in studies of 4,000 answers."""
    rng = np.random.default_rng(4)
    for raters, one in ((3, 0.3), (3, 0.6), (2, 0.5), (5, 0.2)):
        truth, scores = true_and_seen(rng, 4000, raters, one)
        found = reliability(on, shipped.agreement.model_copy(update={"resamples": 2, "valid_at_least": 1}), scores)
        assert found.one.estimate == pytest.approx(one, abs=0.04)
        assert found.mean.estimate == pytest.approx(np.corrcoef(truth, scores.mean(axis=1))[0, 1] ** 2, abs=0.03)


def test_a_95_percent_interval_holds_the_reliability_of_the_mean_in_nearly_95_percent_of_studies(on, shipped):
    """Of 200 studies of 48 items by two systems whose answers to an item are alike; the bootstrap is a little short."""
    rng, one, raters = np.random.default_rng(9), 0.5, 3
    plan = shipped.agreement.model_copy(update={"resamples": 200, "valid_at_least": 180})
    true, hits = raters * one / (1 + (raters - 1) * one), 0
    for study in range(200):
        of_item = np.repeat(rng.normal(0, (one / 2) ** 0.5, 48), 2)
        truth = of_item + rng.normal(0, (one / 2) ** 0.5, 96)
        scores = truth[:, None] + rng.normal(0, (1 - one) ** 0.5, (96, raters))
        held = reliability(on, plan, scores, seed=study, systems=("old", "new")).mean.interval
        hits += held.low <= true <= held.high
    assert hits >= binom.ppf(0.005, 200, 0.93)
    assert hits <= binom.ppf(0.995, 200, 0.95)
