"""The red team: each probe by hand, at its bar, and where it cannot be tried."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm, spearmanr

from eval_pipeline.records import Interval
from eval_pipeline.studies.label_signal.comparisons import Comparison, SystemScore
from eval_pipeline.studies.label_signal.probes import (
    lazy,
    lazy_baseline,
    leave_one_out,
    left_out,
    length_bias,
    position_bias,
    probes,
    rubric_shortcut,
    shortcut,
)
from eval_pipeline.studies.label_signal.rubric import Dimension
from eval_pipeline.studies.label_signal.track import Response
from tests.studies.label_signal.conftest import ratings_of


@pytest.fixture
def plan(shipped):
    return shipped.probes


@pytest.fixture
def by_length(small, plan):
    """The probe of answers whose texts have these lengths, with their scores, the last `planted` of them planted."""

    def by_length(lengths, scores, planted=0, plan=plan, untold=0):
        rows = [(f"q{n:02d}", "old", "a", 1, 1) for n in range(len(lengths))]
        responses = tuple(
            Response(
                item_id=row[0],
                system_id="old",
                text="x" * length,
                planted_failure="T-01" if n >= len(lengths) - planted else None,
            )
            for n, (row, length) in enumerate(zip(rows, lengths, strict=True))
        )
        track = replace(small, responses=responses[untold:])
        return length_bias(ratings_of(small, rows), np.array(scores, dtype=float), track, plan)

    return by_length


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_length_bias_is_the_rank_correlation_of_length_and_score(by_length, seed):
    """scipy.stats.spearmanr, SciPy 1.15."""
    rng = np.random.default_rng(seed)
    lengths, scores = rng.integers(10, 60, 25).tolist(), np.round(rng.random(25), 1)
    found = by_length(lengths, scores)
    assert found.statistic == pytest.approx(spearmanr(lengths, scores).statistic, abs=1e-12)
    assert found.failed is (abs(found.statistic) > 0.3)
    assert found.detail == "rank correlation of length and score over 25 clean answers"


def test_short_answers_that_score_better_fail_as_long_ones_do(by_length):
    assert [by_length(lengths, [0.1, 0.2, 0.3, 0.4, 0.5]).failed for lengths in ([1, 2, 3, 4, 5], [5, 4, 3, 2, 1])] == [
        True,
        True,
    ]


def test_a_correlation_at_the_bar_has_not_failed(by_length, plan):
    lengths, scores = [1, 2, 3, 4, 5, 6], [0.1, 0.5, 0.2, 0.6, 0.3, 0.4]
    rho = by_length(lengths, scores).statistic
    for off, failed in ((0, False), (-Fraction(1, 10**9), True)):
        at = plan.model_copy(update={"length_at_most": Fraction(rho) + off})
        assert by_length(lengths, scores, plan=at).failed is failed


def test_clean_answers_are_preferred_if_there_are_enough_of_them(by_length):
    """Of the five clean ones length says nothing; the planted are short and bad."""
    lengths, scores = [10, 20, 30, 40, 50, 1, 2, 3], [0.6, 0.9, 0.5, 0.8, 0.7, 0.1, 0.2, 0.3]
    clean = by_length(lengths, scores, planted=3)
    assert clean.statistic == pytest.approx(spearmanr(lengths[:5], scores[:5]).statistic)
    assert not clean.failed
    four_clean = by_length(lengths, scores, planted=4)
    assert four_clean.statistic == pytest.approx(spearmanr(lengths, scores).statistic)
    assert four_clean.detail.endswith("over 8 answers")


def test_length_cannot_be_probed_of_few_answers_or_of_answers_without_text_or_without_spread(by_length):
    assert by_length([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4]).failed is None
    assert by_length([1, 2, 3, 4, 5], [0.1, 0.2, 0.3, 0.4, 0.5], untold=1).failed is None
    assert by_length([1, 2, 3, 4, 5], [0.1, 0.2, np.nan, 0.4, 0.5]).detail == "4 answers with a text are too few"
    constant = by_length([1, 2, 3, 4, 5], [0.5] * 5)
    assert (constant.statistic, constant.failed) == (None, None)
    assert "a correlation needs two that differ" in constant.detail


def test_a_rater_who_always_gives_the_most_frequent_level_is_right_as_often_as_it_is_given(small, plan):
    """On correct 2 is given in 3 of 5, on tone 0 in 3 of 4; one rating is missing."""
    rows = [("q1", "old", name, *scores) for name, scores in zip("abcde", [(2, 0), (2, 0), (2, 0), (1, 3), (0, None)],
            strict=True)]  # fmt: skip
    found = lazy_baseline(ratings_of(small, rows), small.rubric, plan)
    assert (found.statistic, found.failed) == (0.75, False)
    assert "'tone'" in found.detail


@pytest.mark.parametrize(
    ("rates", "statistic", "failed"), [((0.25, 1.0), 1.0, True), ((0.75,), 0.75, False), ((0.7501, 0.1), 0.7501, True)]
)
def test_the_bar_of_the_lazy_rater_is_passed_and_not_reached(plan, rates, statistic, failed):
    found = lazy({f"d{n}": rate for n, rate in enumerate(rates)}, plan)
    assert (found.statistic, found.bar, found.failed) == (statistic, 0.75, failed)


def test_a_dimension_that_was_never_rated_has_no_most_frequent_level(small, plan):
    rows = [("q1", "old", "a", 2, None), ("q1", "old", "b", 1, None)]
    assert lazy_baseline(ratings_of(small, rows), small.rubric, plan).statistic == 0.5


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_shortcut_is_the_largest_correlation_of_a_dimension_with_the_mean_of_the_others(plan, seed):
    """numpy.corrcoef, NumPy 2.2."""
    shares = np.random.default_rng(seed).random((30, 4))
    sizes = [
        abs(np.corrcoef(shares[:, k], np.delete(shares, k, axis=1).mean(axis=1))[0, 1]) for k in range(shares.shape[1])
    ]
    found = shortcut(shares, list("abcd"), plan)
    assert found.statistic == pytest.approx(max(sizes), abs=1e-12)
    assert f"'{'abcd'[int(np.argmax(sizes))]}'" in found.detail
    assert (found.failed, found.degenerate) == (False, ())


def test_one_dimension_that_stands_for_all_is_a_shortcut_and_so_is_its_opposite(plan):
    driver = np.arange(12) % 4 / 3
    for other in (driver, 1 - driver):
        assert shortcut(np.column_stack([driver, other]), ["a", "b"], plan).failed


def test_a_shortcut_fails_from_the_bar_on(plan):
    shares = np.random.default_rng(5).random((20, 3))
    found = shortcut(shares, list("abc"), plan)
    for off, failed in ((0, True), (Fraction(1, 10**9), False)):
        at = plan.model_copy(update={"shortcut_below": Fraction(found.statistic) + off})
        assert shortcut(shares, list("abc"), at).failed is failed


def test_a_dimension_behind_which_nothing_else_varies_is_the_whole_score(plan):
    shares = np.column_stack([np.arange(12) % 4 / 3, np.full(12, 0.5), np.full(12, 1.0)])
    found = shortcut(shares, ["driver", "x", "y"], plan)
    assert (found.statistic, found.failed, found.degenerate) == (1, True, ("driver",))


def test_a_shortcut_cannot_be_probed_where_all_is_constant_or_alone(plan):
    for shares, why in (
        (np.full((5, 3), 0.5), "every dimension is constant"),
        (np.random.default_rng(1).random((5, 1)), "two answers and two dimensions"),
        (np.random.default_rng(1).random((1, 3)), "two answers and two dimensions"),
    ):
        found = shortcut(shares, list("abc")[: shares.shape[1]], plan)
        assert (found.statistic, found.failed) == (None, None)
        assert found.detail.startswith(why)


def test_the_shortcut_reads_ordered_dimensions_by_what_is_better_and_answers_that_have_all_of_them(small, plan):
    """Where lower is better the share falls with the level; a nominal dimension is no part of any mean."""
    rng = np.random.default_rng(6)
    dimensions = (
        Dimension(key="kind", name="K", question="?", scale="nominal", levels=(0, 1, 2, 3), weight=Fraction(0)),
        Dimension(key="up", name="U", question="?", scale="ordinal", levels=(0, 1, 2, 3)),
        Dimension(key="down", name="D", question="?", scale="ordinal", levels=(0, 1, 2, 3), better="lower"),
        Dimension(key="other", name="O", question="?", scale="binary", levels=(0, 1)),
    )
    track = replace(small, rubric=small.rubric.model_copy(update={"dimensions": dimensions}))
    levels = [
        (*row, int(flag)) for row, flag in zip(rng.integers(0, 4, (20, 3)).tolist(), rng.random(20) < 0.5, strict=True)
    ]
    rows = [(f"q{n}", "old", "a", *row) for n, row in enumerate(levels)] + [("q99", "old", "a", 1, None, 2, 1)]
    found = rubric_shortcut(ratings_of(track, rows), track.rubric, plan)
    table = np.array(levels, dtype=float)
    shares = np.column_stack([table[:, 1] / 3, 1 - table[:, 2] / 3, table[:, 3]])
    assert found.statistic == pytest.approx(shortcut(shares, ["up", "down", "other"], plan).statistic, abs=1e-12)


def contrast(effect):
    return Comparison("new", "old", 10, effect, None, None, None, None, None)


@pytest.fixture
def noisy(small):
    """Ratings of pairs of raters and their composites, which lie so far apart in each answer."""

    def noisy(*apart):
        rows = [(f"q{n}", "old", name, 1, 1) for n in range(len(apart)) for name in "ab"]
        return ratings_of(small, rows), np.ravel([(0.5, 0.5 + gap) for gap in apart])

    return noisy


def test_the_advantage_that_turns_a_tenth_more_choices_is_that_of_the_normal_law(noisy, plan):
    """Pairs .2 and .4 apart have sd .1414 and .2828, their mean .2121; Phi(d / (sd sqrt 2)) = .6."""
    found = position_bias(*noisy(0.2, 0.4), [contrast(0.05)], plan)
    sd = (0.2 + 0.4) / 2**0.5 / 2
    assert found.statistic == pytest.approx(sd * 2**0.5 * norm.ppf(0.6), abs=1e-8)
    assert (found.bar, found.failed) == (0.05, False)


def test_order_alone_could_be_the_largest_difference_if_it_takes_less_than_that(noisy, plan):
    advantage = position_bias(*noisy(0.2, 0.4), [contrast(0.05)], plan).statistic
    for effects, failed in (
        ((advantage, 0.0, None), False),
        ((0.01, -(advantage + 1e-9)), True),
        ((None,), None),
        ((), None),
    ):
        assert position_bias(*noisy(0.2, 0.4), [contrast(one) for one in effects], plan).failed is failed


def test_without_noise_or_a_second_rater_order_cannot_be_probed(small, noisy, plan):
    for ratings, scores in (noisy(0.0, 0.0), (ratings_of(small, [("q1", "old", "a", 1, 1)]), np.array([0.5]))):
        found = position_bias(ratings, scores, [contrast(0.1)], plan)
        assert (found.statistic, found.failed) == (None, None)
        assert "rated twice" in found.detail


def test_the_rater_who_matters_most_is_found_by_hand(small, plan):
    """Scores a .2 .4, b .6, c 1.0: mean .55; without a .8, without b .5333, without c .4."""
    rows = [("q1", "old", "a", 1, 1), ("q2", "old", "a", 1, 1), ("q1", "old", "b", 1, 1), ("q2", "old", "c", 1, 1)]
    rows.append(("q3", "old", "c", None, None))
    ratings, scores = ratings_of(small, rows), np.array([0.2, 0.4, 0.6, 1.0, np.nan])
    found = leave_one_out(ratings, scores, 0.1, plan)
    assert (found.statistic, found.bar, found.failed) == (pytest.approx(0.25), 0.1, True)
    assert "rater 'a'" in found.detail


@pytest.mark.parametrize(
    ("change", "half_width", "failed"),
    [(0.0242, 0.068, False), (0.068, 0.068, False), (0.0681, 0.068, True), (0.03, None, False), (0.0301, None, True)],
)
def test_a_change_within_the_published_doubt_has_not_failed(plan, change, half_width, failed):
    """Where no interval is published the plan has a bar of its own."""
    assert left_out(change, "a", half_width, plan).failed is failed


def test_one_rater_cannot_be_left_out(small, plan):
    found = leave_one_out(ratings_of(small, [("q1", "old", "a", 1, 1)]), np.array([0.5]), 0.1, plan)
    assert (found.statistic, found.failed) == (None, None)


def test_a_rater_who_alone_scored_anything_is_not_left_out(small, plan):
    rows = [("q1", "old", "a", 1, 1), ("q1", "old", "b", None, None), ("q2", "old", "a", 2, 2)]
    found = leave_one_out(ratings_of(small, rows), np.array([0.2, np.nan, 0.4]), None, plan)
    assert (found.statistic, found.failed) == (0, False)


def test_all_five_are_run_in_their_order_and_the_widest_doubt_is_the_bar_of_the_last(small, plan):
    rng = np.random.default_rng(7)
    rows = [
        (one.item_id, one.system_id, name, *rng.integers(0, 4, 2).tolist()) for one in small.responses for name in "abc"
    ]
    scores = [
        SystemScore("old", 4, 0.5, Interval(0.4, 0.6, 0.95)),
        SystemScore("new", 4, 0.5, Interval(0.3, 0.6, 0.95)),
        SystemScore("third", 1, 0.5, None),
    ]
    found = probes(ratings_of(small, rows), rng.random(24), small, scores, [contrast(0.2)], plan)
    assert [one.name for one in found] == [
        "length_bias",
        "lazy_baseline",
        "rubric_shortcut",
        "position_bias_fragility",
        "annotator_leave_one_out",
    ]
    assert [one.bar for one in found] == [0.3, 0.75, 0.93, 0.2, pytest.approx(0.15)]
    # All texts are of one length, which goes with nothing.
    assert [one.failed is None for one in found] == [True, False, False, False, False]
