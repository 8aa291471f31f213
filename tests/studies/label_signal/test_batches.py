"""Drift from batch to batch: by hand, within an answer or a rater, what cannot be tested, and how often it is found."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from eval_pipeline.studies.label_signal.batches import drift_found, is_drift
from eval_pipeline.studies.label_signal.rubric import unweighted
from eval_pipeline.studies.label_signal.track import Design
from tests.studies.label_signal.conftest import ratings_of

SEED = 3


@pytest.fixture
def within(small):
    """The small track's, with ratings that trade places within an answer or within a rater."""
    return lambda what: small.about.model_copy(update={"design": Design(drift_within=what)})


@pytest.fixture
def found(small, shipped, within):
    """Drift of rows (item, system, rater, both scores) in batches."""

    def found(rows, batch, what="response", plan=shipped.drift, seed=SEED):
        ratings = ratings_of(small, rows, batch=batch)
        return drift_found(ratings, unweighted(small.rubric, ratings.scores), within(what), plan, seed=seed)

    return found


def rising(answers, by=1):
    """Each answer rated 1 by a in the first batch, and so much higher by b in the second."""
    rows = [(f"q{n}", "old", rater, score, score) for n in range(answers) for rater, score in (("a", 1), ("b", 1 + by))]
    return rows, ["one", "two"] * answers


def test_the_means_of_the_batches_are_of_the_plain_mean_of_all_dimensions(found):
    """Answers of (0, 3) and (3, 3) on a scale to 3 are .5 and 1; means .75, 1 and .5: range .5, slope -.125."""
    rows = [("q1", "old", "a", 0, 3), ("q1", "old", "b", 3, 3), ("q2", "old", "a", 3, 3), ("q2", "old", "c", 0, 3)]
    rows += [("q3", "new", "a", 3, 3)]
    drift = found(rows, ["mon", "mon", "tue", "wed", "tue"])
    assert (drift.batches, drift.means) == (("mon", "tue", "wed"), pytest.approx((0.75, 1.0, 0.5)))
    assert (drift.range, drift.slope) == (pytest.approx(0.5), pytest.approx(-0.125))
    assert drift.why is None


def test_a_rise_within_every_answer_is_drift(found):
    """All 12 answers keep their order, or all turn, in 2 of 4,096 cases; a third of the scale."""
    drift = found(*rising(12))
    assert (drift.range, drift.slope) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert drift.p_value < 0.005
    assert drift.detected


def test_without_batches_it_cannot_be_told_and_is_not_ruled_out(small, shipped, within):
    ratings = ratings_of(small, rising(3)[0])
    drift = drift_found(ratings, np.zeros(len(ratings)), within("response"), shipped.drift, seed=SEED)
    assert (drift.batches, drift.means, drift.range, drift.p_value, drift.detected) == ((), (), None, None, False)
    assert drift.why == "the ratings do not say when they were given"


def test_one_batch_is_too_few(found):
    rows, _ = rising(3)
    drift = found(rows, ["one"] * 6)
    assert (drift.batches, drift.p_value, drift.detected) == (("one",), None, False)
    assert drift.why == "drift needs at least 2 batches and was given 1"


def test_answers_that_each_lie_in_one_batch_say_nothing_and_their_raters_may(found):
    """Whole answers differ in quality; raters who rate in both batches tell a rise from that."""
    rows = [(f"q{n}", "old", rater, n % 2 + 1, 2) for n in range(20) for rater in "ab"]
    batch = ["one" if n % 2 == 0 else "two" for n in range(20) for _ in "ab"]
    by_answer = found(rows, batch)
    assert (by_answer.p_value, by_answer.detected) == (None, False)
    assert "moves a score to another batch" in by_answer.why
    by_rater = found(rows, batch, "rater")
    assert (by_rater.range, by_rater.detected) == (pytest.approx(1 / 6), True)


def test_ratings_trade_places_within_an_answer_and_not_between_them(found):
    """Good answers are rated in the second batch first: that is no drift of raters, and their order within none."""
    rng = np.random.default_rng(4)
    rows, batch = [], []
    for n in range(60):
        good = n % 2
        for place, rater in enumerate("abc"):
            score = int(np.clip(2 * good + rng.integers(0, 2), 0, 3))
            rows.append((f"q{n}", "old", rater, score, score))
            batch.append(["one", "two"][good if place < 2 else 1 - good])
    drift = found(rows, batch)
    assert drift.range > 0.15
    assert (drift.p_value > 0.05, drift.detected) == (True, False)
    assert found(rows, batch, "rater").p_value < 0.01


def test_a_score_that_is_missing_is_left_out(found):
    rows, batch = rising(12)
    more = [*rows, ("q0", "new", "a", None, None), ("q0", "new", "b", None, None)]
    one, other = found(rows, batch), found(more, [*batch, "two", "three"])
    assert (one.means, one.range) == (other.means, other.range)
    assert other.batches == ("one", "two")


@pytest.mark.parametrize(
    ("p_value", "width", "drifts"),
    [
        (0.01, 0.25, True),
        (0.01, 1 / 15, True),
        (0.01, 1 / 15 - 1e-9, False),
        (0.05 - 1e-9, 0.25, True),
        (0.05, 0.25, False),
        (None, 0.25, False),
        (0.01, None, False),
    ],
)
def test_drift_is_both_significant_and_large(shipped, p_value, width, drifts):
    """A fifteenth of the scale is a fifth of a level of 0 to 3."""
    assert is_drift(p_value, width, shipped.drift) is drifts


def test_a_small_rise_that_is_certain_is_no_drift(found, shipped):
    """A third of a scale of 0 to 3 in one of ten answers is a thirtieth."""
    rows, batch = rising(200, by=0)
    rows = [row if n % 20 != 1 else (*row[:3], 2, 2) for n, row in enumerate(rows)]
    drift = found(rows, batch)
    assert (drift.range, drift.p_value < 0.01, drift.detected) == (pytest.approx(1 / 30), True, False)
    lower = shipped.drift.model_copy(update={"range_at_least": Fraction(1, 30)})
    assert found(rows, batch, plan=lower).detected


def test_the_seed_decides_what_chance_does_and_nothing_else(found):
    rng = np.random.default_rng(5)
    rows = [(f"q{n}", "old", rater, int(score), int(score)) for n in range(15) for rater, score in
            zip("ab", rng.integers(0, 4, 2), strict=True)]  # fmt: skip
    batch = ["one", "two"] * 15
    assert found(rows, batch) == found(rows, batch)
    other = found(rows, batch, seed=4)
    assert other.means == found(rows, batch).means
    assert other.p_value != found(rows, batch).p_value


def test_where_nothing_drifts_it_is_significant_in_no_more_studies_than_alpha(small, shipped, within):
    """300 studies of 30 answers of unlike quality by three raters, dealt over three batches."""
    rng, plan = np.random.default_rng(6), shipped.drift.model_copy(update={"permutations": 99})
    rows = [(f"q{n}", "old", rater, 0, 0) for n in range(30) for rater in "abc"]
    ratings = ratings_of(small, rows, batch=[str((n + j) % 3) for n in range(30) for j in range(3)])
    significant = 0
    for study in range(300):
        quality = rng.normal(0.6, 0.25, 30)[ratings.unit]
        scores = np.clip(quality + rng.normal(0, 0.15, len(quality)), 0, 1)
        significant += drift_found(ratings, scores, within("response"), plan, seed=study).p_value <= 0.05
    assert binom.ppf(0.005, 300, 0.05) <= significant <= binom.ppf(0.995, 300, 0.05)


def test_a_drift_of_a_tenth_of_the_scale_a_batch_is_nearly_always_found(small, shipped, within):
    rng, plan = np.random.default_rng(7), shipped.drift.model_copy(update={"permutations": 199})
    rows = [(f"q{n}", "old", rater, 0, 0) for n in range(30) for rater in "abc"]
    ratings = ratings_of(small, rows, batch=[str((n + j) % 3) for n in range(30) for j in range(3)])
    detected, slopes = 0, []
    for study in range(50):
        scores = rng.normal(0.5, 0.25, 30)[ratings.unit] + rng.normal(0, 0.15, 90) + 0.1 * ratings.batch
        drift = drift_found(ratings, scores, within("response"), plan, seed=study)
        detected += drift.detected
        slopes.append(drift.slope)
    assert detected >= 48
    assert np.mean(slopes) == pytest.approx(0.1, abs=0.01)
