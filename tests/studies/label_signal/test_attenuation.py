"""Two systems on a yes-or-no dimension: who is ahead, how much of the gap errors hide, and whether it is there."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm, ttest_1samp

from eval_pipeline.stats.attenuation import paired_gap
from eval_pipeline.studies.label_signal.attenuation import binary_comparisons, consistency, direction, shrunk
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Dimension
from eval_pipeline.studies.label_signal.words import Standing
from tests.stats.laws import LAW
from tests.studies.label_signal.conftest import ratings_of

PASS, WARN, BLOCK = Standing.PASS, Standing.WARN, Standing.BLOCK


@pytest.fixture
def plan(shipped):
    return shipped.attenuation


@pytest.fixture
def binary(small):
    """The small track with one dimension, whether an answer is right, and three systems."""
    right = Dimension(key="right", name="Right", question="Is it right?", scale="binary", levels=(0, 1))
    return replace(
        small,
        about=small.about.model_copy(update={"systems": ("old", "new", "third")}),
        rubric=small.rubric.model_copy(update={"dimensions": (right,)}),
    )


def gap_of(wins, losses, ties):
    """The gap of a system that alone is right on `wins` items, and alone wrong on `losses`."""
    return paired_gap([1] * wins + [0] * losses + [1] * ties, [0] * wins + [1] * losses + [1] * ties)


def shrink(gap, plan, disagreement=0.3, raters=3, effect=None):
    return shrunk(gap, rater_disagreement=disagreement, raters=raters, requested_effect=effect, plan=plan)


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "standing"),
    [
        (40, 10, 100, PASS),
        (10, 40, 100, BLOCK),  # as far apart, the other way round
        (20, 20, 100, BLOCK),
        (14, 4, 82, BLOCK),  # gap .1, sd sqrt(.18 - .01) = .414: z = 2.41
        (15, 4, 81, PASS),  # gap .11, z = 2.60
    ],
)
def test_a_direction_is_shown_by_more_than_the_planned_standard_errors(plan, wins, losses, ties, standing):
    assert direction(gap_of(wins, losses, ties), plan) is standing


def test_a_gap_of_exactly_the_planned_standard_errors_does_not_show_a_direction(plan):
    gap = gap_of(15, 4, 81)
    at, under = (plan.model_copy(update={"z_direction": Fraction(gap.z) - off}) for off in (0, Fraction(1, 10**9)))
    assert (direction(gap, at), direction(gap, under)) == (BLOCK, PASS)


def test_where_all_items_differ_by_the_same_there_is_no_error_and_the_sign_decides(plan):
    assert [direction(gap_of(*counts), plan) for counts in ((5, 0, 0), (0, 5, 0), (0, 0, 5))] == [PASS, BLOCK, BLOCK]


def test_the_number_of_standard_errors_is_that_of_a_paired_t_test(plan):
    """scipy.stats.ttest_1samp, SciPy 1.15."""
    rng = np.random.default_rng(3)
    first, second = rng.random(60) < 0.8, rng.random(60) < 0.6
    expected = ttest_1samp(first.astype(int) - second.astype(int), 0).statistic
    assert paired_gap(first, second).z == pytest.approx(expected, abs=1e-12)


def test_the_gap_is_freed_of_the_errors_of_the_majority(plan):
    """Raters who differ in .32 of pairs err in (1 - sqrt(.36)) / 2 = .2; most of three in 3 .04 .8 + .008 = .104.

    Factor 1 - .208 = .792. Gap 30 / 100; sd sqrt((.5 - .09) 100 / 99).
    """
    found = shrink(gap_of(40, 10, 50), plan, disagreement=0.32)
    assert (found.eta, found.eta_majority, found.factor) == pytest.approx((0.2, 0.104, 0.792), abs=1e-12)
    assert found.gap_true == pytest.approx(0.3 / 0.792, abs=1e-12)
    sd = (0.41 * 100 / 99) ** 0.5
    assert found.mde_observed == pytest.approx((2.58 + 0.8416) * sd / 10, abs=1e-12)
    assert found.mde_true == pytest.approx(found.mde_observed / 0.792, abs=1e-12)
    assert not found.warning


def test_raters_who_never_differ_leave_the_gap_as_it_is(plan):
    found = shrink(gap_of(40, 10, 50), plan, disagreement=0.0)
    assert (found.eta, found.factor, found.gap_true) == (0, 1, pytest.approx(0.3))
    assert found.mde_true == found.mde_observed


def test_raters_who_differ_as_coins_do_leave_nothing_of_a_gap(plan):
    for disagreement in (0.5, 0.7):
        found = shrink(gap_of(40, 10, 50), plan, disagreement=disagreement)
        assert (found.eta, found.factor, found.gap_true, found.mde_true, found.warning) == (0.5, 0, None, None, False)
        assert shrink(gap_of(40, 10, 50), plan, disagreement=disagreement, effect=0.9).warning


def test_it_warns_of_an_effect_that_is_finer_than_what_is_resolved(plan):
    gap = gap_of(40, 10, 50)
    resolved = shrink(gap, plan).mde_true
    assert [shrink(gap, plan, effect=effect).warning for effect in (resolved - 1e-9, resolved, 0.9)] == [
        True,
        False,
        False,
    ]


def test_where_no_item_tells_the_systems_apart_nothing_says_what_is_resolved(plan):
    found = shrink(gap_of(0, 0, 20), plan, effect=0.1)
    assert (found.gap_true, found.mde_observed, found.mde_true, found.warning) == (0, None, None, True)
    assert not shrink(gap_of(0, 0, 20), plan).warning


@LAW
@given(st.floats(0, 0.49), st.floats(0, 0.49), st.sampled_from([1, 3, 5, 7]))
def test_more_errors_hide_more_and_more_raters_hide_less(shipped, one, other, raters):
    gap = gap_of(20, 10, 70)
    few, many = (shrink(gap, shipped.attenuation, each, raters) for each in sorted((one, other)))
    assert many.factor <= few.factor + 1e-12
    assert many.gap_true >= few.gap_true - 1e-12
    assert (
        shrink(gap, shipped.attenuation, one, raters + 2).factor
        >= shrink(gap, shipped.attenuation, one, raters).factor - 1e-12
    )


def differences(wins, losses, ties):
    return [1] * wins + [-1] * losses + [0] * ties


@pytest.mark.parametrize(
    ("agreed", "split", "standing"),
    [
        ((60, 0, 340), (0, 60, 340), BLOCK),
        ((60, 0, 340), (60, 0, 340), PASS),
        ((60, 0, 340), (25, 0, 375), WARN),  # far apart, and of one sign
        ((60, 0, 340), (0, 0, 400), WARN),  # a gap of nothing has no sign
        ((12, 8, 80), (8, 12, 80), PASS),  # opposite, and near: z = .08 / sqrt(2 .2 / 100) = 1.27
        ((14, 6, 80), (7, 12, 81), WARN),  # opposite, z = .13 / sqrt(.00399) = 2.1
        ((16, 5, 79), (6, 16, 78), BLOCK),  # opposite, z = .21 / sqrt(.0041) = 3.3
    ],
)
def test_items_on_which_raters_agree_and_those_on_which_they_split_may_contradict(plan, agreed, split, standing):
    assert consistency(differences(*agreed), differences(*split), plan) is standing
    assert consistency(differences(*split), differences(*agreed), plan) is standing


def test_it_warns_where_it_cannot_be_computed(plan):
    assert consistency([1], differences(5, 5, 5), plan) is WARN
    assert consistency(differences(5, 5, 5), [], plan) is WARN
    assert consistency([1, 1], [0, 0], plan) is WARN  # they differ, and nothing says by how much by chance
    assert consistency([1, 1], [1, 1], plan) is PASS


def test_the_bars_of_consistency_are_passed_and_not_reached(plan):
    agreed, split = differences(16, 5, 79), differences(6, 16, 78)
    first, second = np.array(agreed), np.array(split)
    z = abs(first.mean() - second.mean()) / (first.var(ddof=1) / 100 + second.var(ddof=1) / 100) ** 0.5
    at = plan.model_copy(update={"z_direction": Fraction(z), "z_warn": Fraction(z)})
    assert consistency(agreed, split, at) is PASS
    above = plan.model_copy(update={"z_direction": Fraction(z) - Fraction(1, 10**9)})
    assert consistency(agreed, split, above) is BLOCK
    assert consistency(agreed, split, at.model_copy(update={"z_warn": Fraction(z) - Fraction(1, 10**9)})) is WARN


@pytest.mark.parametrize(("z", "name"), [("z_direction", BLOCK), ("z_warn", WARN)])
def test_a_contradiction_that_is_none_is_found_as_seldom_as_the_bar_says(plan, z, name):
    """The share of studies beyond the bar, of 2,000 in which both kinds of items have one gap of 0."""
    rng = np.random.default_rng(8)
    draws = rng.choice([-1, 0, 1], p=[0.1, 0.8, 0.1], size=(2000, 2, 150))
    found = [consistency(agreed, split, plan) for agreed, split in draws]
    beyond = 2 * norm.sf(float(getattr(plan, z)))
    errors = sum(one in (BLOCK, name) for one in found)
    # Of 2.58 and more only those of opposite signs block, which nearly all are.
    assert errors <= binom.ppf(0.999, 2000, beyond)
    assert errors >= binom.ppf(0.001, 2000, 0.7 * beyond)


def votes(binary, by_answer):
    """Ratings by raters a, b, ... of each answer (item, system): a string of their votes, "-" for none."""
    rows = [
        (item, system, rater, int(vote))
        for (item, system), given in by_answer.items()
        for rater, vote in zip("abcdefg", given, strict=False)
        if vote != "-"
    ]
    return ratings_of(binary, rows)


def test_systems_are_compared_by_majority_over_the_items_that_both_have(binary, plan):
    """q1 and q2: new alone is right; q3: both; q4: new has a tie; q5: old was not rated. Gap 2 / 3."""
    ratings = votes(
        binary,
        {
            ("q1", "old"): "000",
            ("q1", "new"): "110",
            ("q2", "old"): "001",
            ("q2", "new"): "111",
            ("q3", "old"): "101",
            ("q3", "new"): "111",
            ("q4", "old"): "111",
            ("q4", "new"): "10-",
            ("q5", "new"): "000",
        },
    )
    (found,) = binary_comparisons(ratings, binary, plan)
    assert (found.dimension, found.system, found.other) == ("right", "new", "old")
    assert (found.gap.n, found.gap.gap, found.gap.disagreement) == (3, Fraction(2, 3), Fraction(2, 3))
    # Of 8 answers with 3 pairs of raters, 2 pairs differ in 110, 001 and 101, and the one pair of 10.
    eta = (1 - (1 - 2 * 7 / 25) ** 0.5) / 2
    assert found.shrunk.eta == pytest.approx(eta, abs=1e-12)
    assert found.shrunk.eta_majority == pytest.approx(3 * eta**2 * (1 - eta) + eta**3, abs=1e-12)
    # No item has raters who agree on both of its answers.
    assert found.consistency is WARN


def test_an_item_is_agreed_on_if_raters_agree_on_both_of_its_answers(binary, plan):
    """Agreed on, new is ahead in 20 of 40; split, it is behind in 20 of 40."""
    answers = {}
    for n in range(40):
        answers[f"a{n}", "old"], answers[f"a{n}", "new"] = "000", "111" if n % 2 else "000"
        answers[f"s{n}", "old"], answers[f"s{n}", "new"] = "110", "000" if n % 2 else "111"
    (found,) = binary_comparisons(votes(binary, answers), binary, plan)
    assert (found.gap.gap, found.direction, found.consistency) == (0, BLOCK, BLOCK)


def test_later_systems_are_held_against_earlier_ones_and_the_reference_is_one_of_them(binary, plan):
    answers = {(f"q{n}", system): "111" for n in range(3) for system in ("third", "new", "old")}
    found = binary_comparisons(votes(binary, answers), binary, plan)
    assert [(one.system, one.other) for one in found] == [("new", "old"), ("third", "old"), ("third", "new")]


def test_where_lower_is_better_the_system_with_fewer_is_ahead(binary, plan):
    harm = Dimension(key="harm", name="H", question="Does it harm?", scale="binary", levels=(0, 1), better="lower")
    track = replace(binary, rubric=binary.rubric.model_copy(update={"dimensions": (harm,)}))
    answers = {(f"q{n}", system): "111" if system == "old" else "000" for n in range(9) for system in ("old", "new")}
    (found,) = binary_comparisons(votes(track, answers), track, plan)
    assert (found.gap.gap, found.direction) == (1, PASS)


def test_nothing_is_compared_without_a_binary_dimension_a_second_rating_or_a_second_item(small, binary, plan):
    assert binary_comparisons(ratings_of(small, [("q1", "old", "a", 1, 1)]), small, plan) == ()
    once = {(f"q{n}", system): "1" for n in range(4) for system in ("old", "new")}
    assert binary_comparisons(votes(binary, once), binary, plan) == ()
    one_item = {("q1", "old"): "111", ("q1", "new"): "110"}
    assert binary_comparisons(votes(binary, one_item), binary, plan) == ()
    apart = {("q1", "old"): "111", ("q2", "new"): "110"}
    assert binary_comparisons(votes(binary, apart), binary, plan) == ()


def simulated(binary, rng, *, items, raters, error, right):
    """Ratings of answers that are right with these chances by system, hard items being hard for all of them.

    Each rater errs with the chance `error` on either label; two systems have their ratings, and one number of raters.
    """
    hard = rng.random(items)
    truth = np.column_stack([0.5 * hard + 0.5 * rng.random(items) < share for share in right]).ravel()
    given = truth[:, np.newaxis] ^ (rng.random((2 * items, raters)) < error)
    rows = 2 * items * raters
    ratings = Ratings(
        units=tuple((str(item), system) for item in range(items) for system in ("old", "new")),
        raters=tuple("abcdefg"[:raters]),
        dimensions=("right",),
        unit=np.repeat(np.arange(2 * items), raters),
        rater=np.tile(np.arange(raters), 2 * items),
        scores=given.astype(np.float64).reshape(-1, 1),
        batches=(),
        batch=np.array([], dtype=np.int64),
        duration_s=np.full(rows, np.nan),
        codes=None,
        source="people",
        rubric_version="",
    )
    old, new = truth.reshape(items, 2).T
    return ratings, float(new.mean() - old.mean())


@pytest.mark.parametrize("raters", [2, 3, 4, 5])
def test_a_known_gap_is_recovered_from_raters_who_err(binary, plan, raters):
    """One rater in four errs. Ties are left out, so that two raters who agree err more seldom than one, in .1.

    Of 1,500 items the gap's standard error is some .02 before correction, of ten studies' mean .01 after it.
    """
    rng = np.random.default_rng(raters)
    errors, factors = [], []
    for _ in range(10):
        ratings, true = simulated(binary, rng, items=1500, raters=raters, error=0.25, right=(0.35, 0.65))
        (found,) = binary_comparisons(ratings, binary, plan)
        errors.append(found.shrunk.gap_true - true)
        factors.append(found.shrunk.factor)
        assert found.gap.gap < true
    assert np.mean(errors) == pytest.approx(0, abs=0.03)
    wrong = binom.sf(raters // 2, raters, 0.25)
    kept = 1 - (binom.pmf(raters // 2, raters, 0.25) if raters % 2 == 0 else 0)
    assert np.mean(factors) == pytest.approx(1 - 2 * wrong / kept, abs=0.03)
