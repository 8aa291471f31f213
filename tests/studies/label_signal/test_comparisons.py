"""Systems' means, and how they differ: by hand, as SciPy and statsmodels have it, and by simulated ratings."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, binomtest, ttest_rel
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower, zt_ind_solve_power
from statsmodels.stats.weightstats import DescrStatsW

from eval_pipeline.records import Interval
from eval_pipeline.studies.label_signal.comparisons import SystemScore, comparisons, system_scores
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.track import Design

SEED = 11
THREE = ("old", "new", "third")


@pytest.fixture
def about(small):
    """The small track's, with these systems, the first of which is the reference."""

    def about(*systems, pair_by="item"):
        return small.about.model_copy(
            update={"systems": systems, "reference": systems[0], "design": Design(pair_by=pair_by)}
        )

    return about


@pytest.fixture
def plan(shipped):
    return shipped.scores


@pytest.fixture
def quick(plan):
    """The plan without permutations, where p-values are not looked at."""
    return plan.model_copy(update={"permutations": 1})


def ratings(answers):
    """Ratings and their composites, from the composites by (item, system, rater)."""
    units = tuple(dict.fromkeys((item, system) for item, system, _ in answers))
    raters = tuple(dict.fromkeys(rater for _, _, rater in answers))
    made = Ratings(
        units=units,
        raters=raters,
        dimensions=("d",),
        unit=np.array([units.index((item, system)) for item, system, _ in answers]),
        rater=np.array([raters.index(rater) for _, _, rater in answers]),
        scores=np.zeros((len(answers), 1)),
        batches=(),
        batch=np.array([], dtype=np.int64),
        duration_s=np.full(len(answers), np.nan),
        codes=None,
        source="people",
        rubric_version="",
    )
    return made, np.array(list(answers.values()), dtype=np.float64)


def by_item(systems):
    """Composites of one rater, from those of each system over items; None is an answer that is not there."""
    return ratings(
        {
            (f"q{item:03d}", system, "a"): score
            for system, scores in systems.items()
            for item, score in enumerate(scores)
            if score is not None
        }
    )


def compared(systems, about, plan, seed=SEED):
    return comparisons(*by_item(systems), about(*systems), plan, seed=seed)


def some(rng, items=20, shift=0.0):
    """Scores in steps of a twelfth, as three ratings of a composite in quarters have."""
    return np.round(np.clip(rng.normal(0.6 + shift, 0.2, items), 0, 1) * 12) / 12


def test_a_mean_is_over_answers_whatever_number_of_raters_they_have(about, plan):
    """q1 has a mean of .4 by two raters, q2 1 by one, q3 .1: the mean is .5, and over ratings it would be .475."""
    answers = {("q1", "old", "a"): 0.2, ("q1", "old", "b"): 0.6, ("q2", "old", "a"): 1.0, ("q3", "old", "b"): 0.1}
    (found,) = system_scores(*ratings(answers), about("old"), plan, seed=SEED)
    assert (found.system, found.items) == ("old", 3)
    assert found.mean == pytest.approx(0.5, abs=1e-12)
    assert found.interval.low < 0.5 < found.interval.high


def test_systems_stand_in_the_order_of_the_track_and_those_without_a_score_are_left_out(about, plan):
    rng = np.random.default_rng(1)
    made, scores = by_item({"third": some(rng), "none": some(rng), "old": some(rng)})
    scores[20:40] = np.nan
    found = system_scores(made, scores, about("old", "new", "none", "third"), plan, seed=SEED)
    assert [one.system for one in found] == ["old", "third"]


def test_an_answer_without_a_score_is_in_no_mean(about, plan):
    made, scores = by_item({"old": [0.2, 0.4, 0.9]})
    scores[2] = np.nan
    (found,) = system_scores(made, scores, about("old"), plan, seed=SEED)
    assert (found.items, found.mean) == (2, pytest.approx(0.3))


def test_the_half_width_is_half_of_the_interval_and_missing_where_there_is_none(about, plan):
    (one_item,) = system_scores(*by_item({"old": [0.4]}), about("old"), plan, seed=SEED)
    assert (one_item.mean, one_item.interval, one_item.half_width) == (0.4, None, None)
    assert SystemScore("s", 9, 0.5, Interval(0.42, 0.6, 0.95)).half_width == pytest.approx(0.09)
    assert SystemScore("s", 9, 0.5, Interval(None, 0.6, 0.95)).half_width is None


def test_the_interval_of_a_mean_is_that_of_many_draws_of_items(about, plan):
    """Percentiles of 20,000 means of items drawn again, in NumPy alone."""
    scores = some(np.random.default_rng(2), 40)
    (found,) = system_scores(
        *by_item({"old": scores}), about("old"), plan.model_copy(update={"resamples": 20000}), seed=SEED
    )
    drawn = np.random.default_rng(3).choice(scores, size=(20000, 40)).mean(axis=1)
    expected = np.quantile(drawn, [0.025, 0.975])
    assert [found.interval.low, found.interval.high] == pytest.approx(expected, abs=0.004)


def test_candidates_are_held_against_the_reference_and_then_against_each_other(about, plan):
    rng = np.random.default_rng(4)
    systems = {name: some(rng, 12) for name in ("old", "new", "third", "fourth")}
    pairs = [(one.system, one.other) for one in compared(systems, about, plan)]
    assert pairs == [
        ("new", "old"),
        ("third", "old"),
        ("fourth", "old"),
        ("third", "new"),
        ("fourth", "new"),
        ("fourth", "third"),
    ]
    made, scores = by_item({name: systems[name] for name in ("third", "new")})
    assert [(one.system, one.other) for one in comparisons(made, scores, about(*THREE), plan, seed=SEED)] == [
        ("third", "new")
    ]


def test_a_difference_by_hand(about, plan):
    """.1, .3, .2 and 0: mean .15, sd sqrt(.05 / 3); of 16 sign flips 2 are as far out, and 2 more by the 0."""
    (found,) = compared({"old": [0.2, 0.4, 0.5, 0.9], "new": [0.3, 0.7, 0.7, 0.9]}, about, plan)
    sd = (0.05 / 3) ** 0.5
    assert (found.pairs, found.effect, found.sd) == (4, pytest.approx(0.15), pytest.approx(sd))
    half = 3.182446305284263 * sd / 2  # Student's .975 quantile at 3 degrees of freedom
    assert (found.interval.low, found.interval.high) == pytest.approx((0.15 - half, 0.15 + half), abs=1e-12)
    assert (found.p_value, found.p_adjusted) == (pytest.approx(4 / 16), pytest.approx(4 / 16))


def test_means_of_raters_are_not_rounded_before_they_are_compared(about, plan):
    """Thirds have no four decimals."""
    answers = {(f"q{n}", "old", rater): 0.0 for n in (1, 2) for rater in "abc"}
    answers |= {(f"q{n}", "new", rater): float(rater == "a") for n in (1, 2) for rater in "abc"}
    (found,) = comparisons(*ratings(answers), about("old", "new"), plan, seed=SEED)
    assert found.effect == pytest.approx(1 / 3, abs=1e-15)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_interval_is_student_s_as_scipy_and_statsmodels_have_it(about, quick, seed):
    """ttest_rel(...).confidence_interval(), SciPy 1.15; DescrStatsW(...).tconfint_mean(), statsmodels 0.14."""
    rng = np.random.default_rng(seed)
    old, new = some(rng), some(rng, shift=0.1)
    (found,) = compared({"old": old, "new": new}, about, quick)
    ends = (found.interval.low, found.interval.high)
    assert ends == pytest.approx(tuple(ttest_rel(new, old).confidence_interval(0.95)), abs=1e-12)
    assert ends == pytest.approx(DescrStatsW(new - old).tconfint_mean(0.05), abs=1e-12)
    assert found.effect == pytest.approx((new - old).mean(), abs=1e-12)


def test_the_first_version_had_the_percentiles_of_a_bootstrap(about, compat):
    rng = np.random.default_rng(5)
    old, new = some(rng, 40), some(rng, 40, shift=0.1)
    plan = compat.scores.model_copy(update={"resamples": 20000, "permutations": 1})
    (found,) = compared({"old": old, "new": new}, about, plan)
    drawn = np.random.default_rng(6).choice(new - old, size=(20000, 40)).mean(axis=1)
    assert [found.interval.low, found.interval.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.004)
    student = ttest_rel(new, old).confidence_interval(0.95)
    assert found.interval.high - found.interval.low < student.high - student.low


@pytest.mark.parametrize("items", [8, 20, 60])
def test_the_smallest_detectable_difference_is_that_of_statsmodels(about, quick, compat, items):
    """TTestPower().solve_power(nobs, alpha, power) times the sd; zt_ind_solve_power(ratio=0) for the normal one.

    Both count rejections on the wrong side too, which are fewer than one in ten million.
    """
    rng = np.random.default_rng(items)
    systems = {"old": some(rng, items), "new": some(rng, items)}
    (found,) = compared(systems, about, quick)
    by_t = TTestPower().solve_power(nobs=items, alpha=0.05, power=0.8)
    assert found.mde == pytest.approx(by_t * found.sd, rel=1e-5)
    (first,) = compared(systems, about, compat.scores.model_copy(update={"resamples": 10, "permutations": 1}))
    by_z = zt_ind_solve_power(nobs1=items, alpha=0.05, power=0.8, ratio=0)
    assert first.mde == pytest.approx(by_z * first.sd, rel=1e-5)
    assert first.mde < found.mde


def test_a_difference_of_that_size_is_found_in_as_many_studies_as_planned(about, quick):
    """400 studies of 30 items with normal differences of sd .2; the mde of their true sd is found in 80%."""
    rng = np.random.default_rng(7)
    true = TTestPower().solve_power(nobs=30, alpha=0.05, power=0.8) * 0.2
    made, _ = by_item({"old": np.zeros(30), "new": np.zeros(30)})
    found = 0
    for _ in range(400):
        scores = np.concatenate([np.zeros(30), rng.normal(true, 0.2, 30)])
        (one,) = comparisons(made, scores, about("old", "new"), quick, seed=SEED)
        found += one.interval.low > 0
    assert binomtest(found, 400, 0.8).pvalue > 0.01


def test_where_all_pairs_differ_by_the_same_no_spread_says_what_could_be_found(about, plan):
    (found,) = compared({"old": [0.25] * 6, "new": [0.5] * 6}, about, plan)
    assert (found.effect, found.sd, found.mde) == (0.25, 0, None)
    assert (found.interval.low, found.interval.high) == (0.25, 0.25)
    assert found.p_value == pytest.approx(2 / 2**6)


@pytest.mark.parametrize("seed", [1, 2])
def test_p_values_are_adjusted_over_all_comparisons_of_the_track(about, plan, seed):
    """multipletests(method="holm"), statsmodels 0.14."""
    rng = np.random.default_rng(seed)
    systems = {name: some(rng, 15, shift) for name, shift in (("old", 0.0), ("new", 0.08), ("third", 0.15))}
    found = compared(systems, about, plan)
    raw = [one.p_value for one in found]
    assert [one.p_adjusted for one in found] == pytest.approx(multipletests(raw, method="holm")[1], abs=1e-12)
    assert any(one.p_adjusted > one.p_value for one in found)


def test_a_comparison_that_has_no_p_value_is_not_counted_among_the_others(about, plan):
    rng = np.random.default_rng(8)
    old, new = some(rng, 12), some(rng, 12, 0.2)
    (alone,) = compared({"old": old, "new": new}, about, plan)
    found = compared({"old": old, "new": new, "third": [0.5] + [None] * 11}, about, plan)
    assert (found[0], [one.p_adjusted for one in found[1:]]) == (alone, [None, None])


def test_only_items_that_both_systems_have_are_compared(about, plan):
    old, new = [0.1, 0.2, None, 0.4, 0.5], [0.2, None, 0.9, 0.4, 0.8]
    (found,) = compared({"old": old, "new": new}, about, plan)
    assert (found.pairs, found.effect) == (3, pytest.approx((0.1 + 0.0 + 0.3) / 3))
    (whole,) = compared({"old": [0.1, 0.4, 0.5], "new": [0.2, 0.4, 0.8]}, about, plan)
    assert replace(found, p_value=None, p_adjusted=None) == replace(whole, p_value=None, p_adjusted=None)
    assert found.p_value == pytest.approx(whole.p_value)


def test_an_answer_that_was_rated_and_not_scored_makes_no_pair(about, plan):
    made, scores = by_item({"old": [0.1, 0.2, 0.3], "new": [0.3, 0.5, 0.9]})
    scores[2] = np.nan
    (found,) = comparisons(made, scores, about("old", "new"), plan, seed=SEED)
    assert (found.pairs, found.effect) == (2, pytest.approx(0.25))


def test_of_one_pair_there_is_a_difference_and_nothing_more(about, plan):
    (found,) = compared({"old": [0.2, None], "new": [0.5, 0.9]}, about, plan)
    assert (found.pairs, found.effect) == (1, pytest.approx(0.3))
    assert (found.sd, found.interval, found.mde, found.p_value, found.p_adjusted) == (None,) * 5


def test_of_no_pair_there_is_nothing(about, plan):
    (found,) = compared({"old": [0.2, None], "new": [None, 0.9]}, about, plan)
    assert (found.pairs, found.effect, found.interval, found.mde, found.p_value) == (0, None, None, None, None)


def test_systems_may_be_compared_by_the_same_raters(about, plan):
    """Rater a gave old .2 and .4, new .6; b old .5, new .5 and .7; c rated new alone. Differences .3 and .1."""
    answers = {
        ("q1", "old", "a"): 0.2,
        ("q2", "old", "a"): 0.4,
        ("q3", "new", "a"): 0.6,
        ("q2", "old", "b"): 0.5,
        ("q3", "new", "b"): 0.5,
        ("q4", "new", "b"): 0.7,
        ("q4", "new", "c"): 0.9,
    }
    (by_rater,) = comparisons(*ratings(answers), about("old", "new", pair_by="rater"), plan, seed=SEED)
    assert (by_rater.pairs, by_rater.effect) == (2, pytest.approx(0.2))
    assert by_rater.sd == pytest.approx(0.02**0.5)
    (by_items,) = comparisons(*ratings(answers), about("old", "new"), plan, seed=SEED)
    assert (by_items.pairs, by_items.effect) == (0, None)


def test_pairs_by_rater_are_those_of_a_paired_t_test_over_raters(about, quick):
    """Raters who are severe or lenient on all they rate, and systems on different items."""
    rng = np.random.default_rng(9)
    severe = rng.normal(0, 0.2, 25)
    old, new = rng.normal(0.5, 0.05, (25, 3)) + severe[:, None], rng.normal(0.6, 0.05, (25, 2)) + severe[:, None]
    answers = {(f"o{k}", "old", f"r{n}"): old[n, k] for n in range(25) for k in range(3)}
    answers |= {(f"n{k}", "new", f"r{n}"): new[n, k] for n in range(25) for k in range(2)}
    (found,) = comparisons(*ratings(answers), about("old", "new", pair_by="rater"), quick, seed=SEED)
    expected = ttest_rel(new.mean(axis=1), old.mean(axis=1)).confidence_interval(0.95)
    assert found.pairs == 25
    assert (found.interval.low, found.interval.high) == pytest.approx(tuple(expected), abs=1e-12)


def test_the_other_way_round_a_difference_has_the_other_sign(about, plan):
    rng = np.random.default_rng(10)
    one, other = some(rng), some(rng, shift=0.1)
    (there,), (back,) = (
        compared({"old": first, "new": second}, about, plan) for first, second in ((one, other), (other, one))
    )
    assert there.effect == pytest.approx(-back.effect, abs=1e-12)
    assert (there.interval.low, there.interval.high) == pytest.approx((-back.interval.high, -back.interval.low))
    assert (there.sd, there.mde, there.p_value) == pytest.approx((back.sd, back.mde, back.p_value))


def test_what_all_systems_gain_changes_no_difference(about, plan):
    rng = np.random.default_rng(11)
    systems = {name: some(rng, 15) / 2 for name in THREE}
    for one, other in zip(
        compared(systems, about, plan),
        compared({name: scores + 0.25 for name, scores in systems.items()}, about, plan),
        strict=True,
    ):
        assert one.effect == pytest.approx(other.effect, abs=1e-12)
        assert (one.interval.low, one.interval.high) == pytest.approx((other.interval.low, other.interval.high))
        assert one.p_value == pytest.approx(other.p_value)


def test_a_comparison_depends_on_the_seed_and_on_no_other_system(about, plan):
    """Of 60 items with scores of no grid signs are flipped at random."""
    rng = np.random.default_rng(12)
    systems = {name: rng.normal(0.5, 0.2, 60) + shift for name, shift in (("old", 0), ("new", 0.02), ("third", 0.04))}
    both = compared({name: systems[name] for name in ("old", "third")}, about, plan)
    three = compared(systems, about, plan)
    assert both[0].p_value == three[1].p_value
    seeds = {compared(systems, about, plan, seed=seed)[1].p_value for seed in (1, 2, 3)}
    assert len(seeds) > 1
    assert all(abs(one - other) < 0.03 for one, other in pairwise(sorted(seeds)))


def rated_answers(rng, items, offsets):
    """Composites of simulated answers by three raters, shape (items, systems, 3).

    Two dimensions on levels 0 to 3, weights 2 and 1, of a quality that the item makes hard for all systems; the first
    is critical, so that a tenth or so of the answers have 0. Raters err by half a level.
    """
    quality = rng.normal(2, 0.8, (items, 1, 1)) + rng.normal(0, 0.6, (items, len(offsets), 1)) + offsets[:, None]
    first, second = (np.clip(np.rint(quality + rng.normal(0, 0.6, (items, len(offsets), 3))), 0, 3) for _ in range(2))
    return np.where(first == 0, 0, (2 * first + second) / 9)


def skeleton(items, systems):
    """Ratings of all answers by three raters, for composites in the order of `rated_answers`."""
    return ratings(
        {(f"q{item}", system, rater): 0.0 for item in range(items) for system in systems for rater in "abc"}
    )[0]


@pytest.mark.parametrize(("items", "apart"), [(12, 0.5), (36, 0.25)])
def test_a_95_percent_interval_holds_the_true_difference_in_95_percent_of_studies(about, quick, items, apart):
    """400 studies of rated answers; the truth is the mean difference of 200,000 items."""
    rng, offsets = np.random.default_rng(items), np.array([0.0, apart])
    whole = rated_answers(rng, 200_000, offsets).mean(axis=(0, 2))
    true, made, hits = whole[1] - whole[0], skeleton(items, ("old", "new")), 0
    for _ in range(400):
        scores = rated_answers(rng, items, offsets).ravel()
        (found,) = comparisons(made, scores, about("old", "new"), quick, seed=SEED)
        hits += found.interval.low <= true <= found.interval.high
    assert binomtest(hits, 400, 0.95).pvalue > 0.01


def test_three_equal_systems_are_told_apart_in_no_more_studies_than_alpha(about, plan):
    """Any of three comparisons at an adjusted p of .05 or less, in 200 studies; without Holm it is twice as often."""
    rng, made = np.random.default_rng(14), skeleton(12, THREE)
    cheap, adjusted, raw = plan.model_copy(update={"permutations": 199}), 0, 0
    for study in range(200):
        scores = rated_answers(rng, 12, np.zeros(3)).ravel()
        found = comparisons(made, scores, about(*THREE), cheap, seed=study)
        adjusted += any(one.p_adjusted <= 0.05 for one in found)
        raw += any(one.p_value <= 0.05 for one in found)
    assert adjusted <= binom.ppf(0.99, 200, 0.05)
    assert raw > 1.5 * adjusted
