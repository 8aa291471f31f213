"""Corrected shares without resamples: what the clusters are worth, how errors go together, and what holds."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.errors import InputRefused, JudgeTooPoor, RatioUndefined, TooFewObservations
from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.stats.corrected_share import corrected_difference, corrected_share
from eval_pipeline.stats.correction import lang_reiczigel
from eval_pipeline.stats.judged_clusters import JudgedClusters, checks, with_gold
from tests.stats.laws import LAW
from tests.stats.simulate import as_gold, ends, holds, judged, mirrored, one_group, some_study

STUDIES = 400
SEEDS = st.integers(0, 2**32 - 1)
ERRORS = st.sampled_from(["pooled", "by_group"])
# The normal quantile of .9, and Student's from printed tables.
Z, T_3, T_9 = 1.281552, 1.637744, 1.383029


def share(table, *, errors="pooled", group=0, level=0.95, tails="two"):
    return corrected_share(table, errors=errors, group=group, level=level, tails=tails)


def difference(table, *, errors="pooled", level=0.95, tails="two"):
    return corrected_difference(table, errors=errors, level=level, tails=tails)


def correctable(seed):
    """A small study whose judge can be corrected by group, beyond what drawing towards a half takes from it."""
    study = some_study(seed)
    positives, negatives = study.known_positives.sum(axis=0), study.known_negatives.sum(axis=0)
    assume(positives.all() and negatives.all())
    hits, rejections = study.true_positives.sum(axis=0), study.true_negatives.sum(axis=0)
    assume((hits / positives > 0.6).all() and (rejections / negatives > 0.6).all())
    return study


def rows_of(table, rows):
    return JudgedClusters(*(column[rows] for column in table.columns))


FOUR_UNLIKE = [(2, 2), (1, 2), (0, 2), (3, 4)]  # worth 5.18 independent items of the ten at a level of .8
GOLD_ALIKE = [(0, 0, 9, 1, 8, 2)] * 2


def test_a_share_by_hand_whose_verdicts_are_worth_less_than_their_number():
    """6 of 10, worth .24 over 4/3 of .0248 by (t_9 / t_3)^2; 18 of 20 positives, 16 of 20 negatives, all alike."""
    worth = 0.24 / (4 / 3 * 0.0248) * (T_9 / T_3) ** 2
    p = (0.6 * worth + Z**2 / 2) / (worth + Z**2)
    se, sp = 19 / 22, 17 / 22
    at = (p + sp - 1) / (se + sp - 1)
    of_positives, of_negatives = se * (1 - se) / 22, sp * (1 - sp) / 22
    centre = at + 2 * Z**2 * (at * of_positives - (1 - at) * of_negatives)
    variance = p * (1 - p) / (worth + Z**2) + at**2 * of_positives + (1 - at) ** 2 * of_negatives
    reach = Z * sqrt(variance) / (se + sp - 1)
    found = share(one_group(*[(*row, 0, 0, 0, 0) for row in FOUR_UNLIKE], *GOLD_ALIKE), level=0.8)
    assert found.estimate == pytest.approx((0.6 + 0.8 - 1) / (0.9 + 0.8 - 1), abs=1e-12)
    assert ends(found) == pytest.approx((centre - reach, centre + reach), abs=1e-6)


@pytest.mark.parametrize(
    ("rows", "estimate", "low", "high"),
    [
        pytest.param(
            [(11, 20, 0, 0, 0, 0)] * 5 + [(0, 0, 9, 1, 17, 3)] * 3 + [(0, 0, 9, 1, 0, 0)],
            8 / 15, 0.37731758319747977, 0.702919759792078, id="55 of 100, 36 of 40, 51 of 60",
        ),
        pytest.param(
            [(1, 2, 0, 0, 0, 0)] * 2 + [(0, 0, 5, 0, 5, 0)] * 2,
            1 / 2, 0.05958271220901201, 0.9404172877909878, id="2 of 4, 10 of 10, 10 of 10",
        ),
    ],
)  # fmt: skip
def test_clusters_that_are_alike_have_the_interval_that_another_program_gives_independent_items(
    rows, estimate, low, high
):
    """`confidence_interval(p, q0, q1, n, m0, m1, alpha=0.05)` of UW-Madison-Lee-Lab/LLM-judge-reporting.

    At commit 5801333; q0 is the specificity and m0 the known negatives. Lee et al. (2025), arXiv:2511.21140.
    """
    found = share(one_group(*rows))
    assert found.estimate == pytest.approx(estimate, abs=1e-12)
    assert ends(found) == pytest.approx((low, high), abs=1e-9)


def test_checks_of_one_cluster_alone_are_worth_one_item():
    """16 of 20 negatives, all of one cluster."""
    rows = [(11, 20, 0, 0, 0, 0)] * 5 + [(0, 0, 9, 1, 16, 4), (0, 0, 9, 1, 0, 0)]
    one = {"sensitivity": 0.9, "positives": 20, "specificity": 0.8, "negatives": 1, "level": 0.95}
    assert ends(share(one_group(*rows))) == pytest.approx(
        (lang_reiczigel(0.55, 100, **one).low, lang_reiczigel(0.55, 100, **one).high), abs=1e-12
    )


def test_the_estimate_lies_in_its_interval_where_few_checks_draw_that_away_from_it():
    """Two hits of two are drawn to 3/4, and half of the items over 3/4 is 2/3; at a level of .1 it reaches not far."""
    table = one_group(*[(5, 10, 0, 0, 0, 0)] * 4, *[(0, 0, 1, 0, 50, 0)] * 2)
    found, other = share(table, level=0.1), share(mirrored(table), level=0.1)
    assert found.interval.low == found.estimate == 0.5
    assert 0.6 < found.interval.high < 0.75
    assert other.interval.high == other.estimate == 0.5
    assert 0.25 < other.interval.low < 0.4


def numerically_added(table, group, errors):
    """What each cluster adds to the error of a corrected share: the derivative by the cluster's weight."""
    counts = np.stack([table.supported, table.judged, *checks(table, errors)])[:, :, group]

    def corrected(weights):
        supported, total, hits, misses, rejections, alarms = counts @ weights
        se, sp = hits / (hits + misses), rejections / (rejections + alarms)
        return (supported / total + sp - 1) / (se + sp - 1)

    whole, step = np.ones(len(table.judged)), 1e-5
    return np.array(
        [(corrected(whole + step * e) - corrected(whole - step * e)) / (2 * step) for e in np.eye(len(whole))]
    )


@LAW
@given(SEEDS, ERRORS)
def test_a_difference_is_put_together_by_how_its_shares_change_with_each_cluster(seed, errors):
    """MOVER, with the correlation of numerical derivatives, of the two intervals of its shares."""
    gold = as_gold(correctable(seed + 1))
    table = with_gold(correctable(seed), gold)
    one, other = (share(table, errors=errors, group=group) for group in (0, 1))
    assume(0 < one.estimate < 1 and 0 < other.estimate < 1)
    added = [numerically_added(table, group, errors) for group in (0, 1)]
    r = (added[0] @ added[1]) / sqrt((added[0] @ added[0]) * (added[1] @ added[1]))
    down, up = one.estimate - one.interval.low, one.interval.high - one.estimate
    down_1, up_1 = other.estimate - other.interval.low, other.interval.high - other.estimate
    found = difference(table, errors=errors)
    assert found.estimate == pytest.approx(one.estimate - other.estimate, abs=1e-12)
    low = found.estimate - sqrt(down**2 - 2 * r * down * up_1 + up_1**2)
    high = found.estimate + sqrt(up**2 - 2 * r * up * down_1 + down_1**2)
    assert ends(found) == pytest.approx((low, high), abs=1e-6)


@LAW
@given(SEEDS, ERRORS)
def test_counting_the_unsupported_mirrors_the_interval(seed, errors):
    study = correctable(seed)
    found, other = share(study, errors=errors), share(mirrored(study), errors=errors)
    assert other.estimate == pytest.approx(1 - found.estimate, abs=1e-12)
    assert ends(other) == pytest.approx((1 - found.interval.high, 1 - found.interval.low), abs=1e-9)


@LAW
@given(SEEDS, ERRORS)
def test_swapping_the_groups_mirrors_the_difference(seed, errors):
    study = correctable(seed)
    found = difference(study, errors=errors)
    other = difference(JudgedClusters(*(column[:, ::-1] for column in study.columns)), errors=errors)
    assert other.estimate == pytest.approx(-found.estimate, abs=1e-12)
    assert ends(other) == pytest.approx((-found.interval.high, -found.interval.low), abs=1e-9)


@LAW
@given(SEEDS, ERRORS, st.randoms())
def test_neither_the_order_of_clusters_nor_an_empty_one_matters(seed, errors, random):
    study = correctable(seed)
    padded = JudgedClusters(*(np.concatenate([column, [[0, 0]]]) for column in study.columns))
    random.shuffle(order := list(range(len(padded.judged))))
    other = rows_of(padded, order)
    assert ends(share(other, errors=errors)) == pytest.approx(ends(share(study, errors=errors)), abs=1e-9)
    assert ends(difference(other, errors=errors)) == pytest.approx(ends(difference(study, errors=errors)), abs=1e-9)


@LAW
@given(SEEDS, ERRORS)
def test_checks_count_alike_within_the_population_and_in_a_gold_set(seed, errors):
    """A share is told the same by checks of its own clusters, or by theirs as a gold set, split by truth or whole."""
    study = correctable(seed)
    nothing = np.zeros_like(study.judged)
    unchecked = JudgedClusters(study.supported, study.judged, *(nothing,) * 4)
    gold = as_gold(study)
    positives = JudgedClusters(nothing, nothing, gold.true_positives, gold.false_negatives, nothing, nothing)
    negatives = JudgedClusters(nothing, nothing, nothing, nothing, gold.true_negatives, gold.false_positives)
    found = ends(share(study, errors=errors))
    assert ends(share(with_gold(unchecked, gold), errors=errors)) == pytest.approx(found, abs=1e-9)
    split = with_gold(with_gold(unchecked, positives), negatives)
    assert ends(share(split, errors=errors)) == pytest.approx(found, abs=1e-9)


@LAW
@given(SEEDS, ERRORS)
def test_two_tails_of_5_percent_are_the_two_bounds_of_95_percent(seed, errors):
    study = correctable(seed)
    for interval in (share, difference):
        both = interval(study, errors=errors, level=0.9)
        lower, upper = (interval(study, errors=errors, tails=tails) for tails in ("lower", "upper"))
        assert (lower.interval.high, upper.interval.low) == (None, None)
        assert (lower.interval.low, upper.interval.high) == pytest.approx(ends(both), abs=1e-9)


@LAW
@given(SEEDS)
def test_a_judge_without_errors_leaves_the_shares_as_they_are(seed):
    rng = np.random.default_rng(seed)
    study = judged(rng, 1, 12, (0.6, 0.4), sensitivity=1, specificity=1, checked=6)[0]
    assume(study.known_positives.any() and study.known_negatives.any())
    shares = study.supported.sum(axis=0) / study.judged.sum(axis=0)
    assert [share(study, group=group).estimate for group in (0, 1)] == pytest.approx(shares, abs=1e-12)
    assert difference(study).estimate == pytest.approx(shares[0] - shares[1], abs=1e-12)


def population_and_gold(rng, rates, *, clusters, gold, gold_rates=None):
    """Studies of clusters that nobody checked, each with a gold set of other clusters."""
    judge = {"sensitivity": 0.9, "specificity": 0.85}
    studies = judged(rng, STUDIES, clusters, rates, **judge, checked=0)
    golds = judged(rng, STUDIES, gold, gold_rates or rates, **judge, checked=gold)
    return [with_gold(study, as_gold(one)) for study, one in zip(studies, golds, strict=True)]


def coverage(studies, interval, truth):
    """In how many of the studies where it is defined the interval holds the truth, and how many those are."""
    held, defined = 0, 0
    for study in studies:
        try:
            found = interval(study)
        except (TooFewObservations, JudgeTooPoor):
            continue
        held, defined = held + holds(found.interval, truth), defined + 1
    return held, defined


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.8, 0.95])
def test_20_unequal_clusters_of_which_10_are_checked_hold_the_truth_in_95_percent_or_more(rate):
    """Also the upper bound of the difference of two equal shares; near 0 and 1 some studies have no known negative."""
    rng = np.random.default_rng(31)
    studies = judged(rng, STUDIES, 20, (rate, rate), sensitivity=0.9, specificity=0.9, checked=10)
    held, defined = coverage(studies, share, rate)
    assert defined > 0.75 * STUDIES
    assert binomtest(held, defined, 0.95, alternative="less").pvalue > 0.01
    held, defined = coverage(studies, lambda study: difference(study, tails="upper"), 0)
    assert binomtest(held, defined, 0.95, alternative="less").pvalue > 0.01


@pytest.mark.parametrize(("rate", "of_gold"), [(0.5, 0.5), (0.8, 0.4)])
def test_with_a_gold_set_it_holds_a_moderate_share_as_often_as_it_says_and_not_much_more(rate, of_gold):
    rng = np.random.default_rng(32)
    tables = population_and_gold(rng, [rate], clusters=60, gold=30, gold_rates=[of_gold])
    held, defined = coverage(tables, lambda table: share(table, level=0.9), rate)
    assert defined == STUDIES
    assert binomtest(held, STUDIES, 0.9, alternative="less").pvalue > 0.01
    assert binomtest(held, STUDIES, 0.93, alternative="greater").pvalue > 0.01


def test_with_a_gold_set_it_holds_a_moderate_difference_as_often_as_it_says_and_not_much_more():
    """If errors are pooled they go together, and so do the groups of a cluster."""
    rng = np.random.default_rng(33)
    tables = population_and_gold(rng, [0.6, 0.5], clusters=60, gold=30)
    held, defined = coverage(tables, lambda table: difference(table, level=0.9), 0.1)
    assert defined == STUDIES
    assert binomtest(held, STUDIES, 0.9, alternative="less").pvalue > 0.01
    assert binomtest(held, STUDIES, 0.93, alternative="greater").pvalue > 0.01


def test_a_judge_that_errs_otherwise_in_each_group_is_corrected_by_group_alone():
    """It finds .95 in the first group and .7 in the second; the shares are the same."""
    rng = np.random.default_rng(34)
    studies = judged(rng, STUDIES, 90, (0.6, 0.6), sensitivity=(0.95, 0.7), specificity=0.9, checked=45)
    pooled, _ = coverage(studies, difference, 0)
    assert pooled < STUDIES / 4
    by_group, defined = coverage(studies, lambda study: difference(study, errors="by_group"), 0)
    assert defined == STUDIES
    assert binomtest(by_group, STUDIES, 0.95, alternative="less").pvalue > 0.01


def test_uncorrected_shares_miss_the_truth_and_corrected_ones_do_not():
    rng = np.random.default_rng(35)
    studies = judged(rng, STUDIES, 90, [0.8], sensitivity=0.85, specificity=0.95, checked=18)
    naive, _ = coverage(
        studies, lambda study: share_interval(study.supported[:, 0], study.judged[:, 0], level=0.95, tails="two"), 0.8
    )
    assert naive < STUDIES / 2
    held, defined = coverage(studies, share, 0.8)
    assert defined == STUDIES
    assert binomtest(held, STUDIES, 0.95, alternative="less").pvalue > 0.01


def test_known_items_counted_one_by_one_hold_the_truth_too_seldom():
    """Why the clusters come in: the same interval for as many independent items as there are."""
    rng = np.random.default_rng(36)
    tables = population_and_gold(rng, [0.5], clusters=20, gold=30)

    def one_by_one(table):
        supported, total, tp, fn, tn, fp = (float(column.sum()) for column in table.columns)
        return lang_reiczigel(
            supported / total, total, sensitivity=tp / (tp + fn), positives=tp + fn, specificity=tn / (tn + fp),
            negatives=tn + fp, level=0.95,
        )  # fmt: skip

    held = sum(holds(one_by_one(table), 0.5) for table in tables)
    assert binomtest(held, STUDIES, 0.95, alternative="less").pvalue < 0.01
    held, defined = coverage(tables, share, 0.5)
    assert binomtest(held, defined, 0.95, alternative="less").pvalue > 0.01


def test_what_leaves_no_share_to_correct_is_refused():
    with pytest.raises(RatioUndefined, match="nothing was judged in a group"):
        share(one_group((0, 0, 5, 1, 5, 1), (0, 0, 5, 1, 5, 1)))
    with pytest.raises(TooFewObservations, match="no judgment that is supported in truth"):
        share(one_group((5, 9, 0, 0, 4, 1), (5, 9, 0, 0, 4, 1)))
    with pytest.raises(TooFewObservations, match="or none that is not"):
        share(one_group((5, 9, 4, 1, 0, 0), (5, 9, 4, 1, 0, 0)))
    with pytest.raises(JudgeTooPoor, match="no better than chance"):
        share(one_group((4, 8, 2, 2, 2, 2), (4, 8, 2, 2, 2, 2)))


def test_errors_by_group_ask_for_checks_of_each_group():
    table = JudgedClusters(*(np.array([row] * 3) for row in ([5, 5], [9, 9], [4, 0], [1, 0], [3, 0], [1, 0])))
    assert difference(table).estimate == 0
    with pytest.raises(TooFewObservations, match="errors cannot be measured"):
        difference(table, errors="by_group")


@pytest.mark.parametrize("width", [1, 3])
def test_a_difference_of_other_than_two_groups_is_refused(width):
    row = np.ones((2, width))
    with pytest.raises(InputRefused, match=f"table: found {width} groups, expected 2"):
        difference(JudgedClusters(2 * row, 4 * row, row, row, row, row))


@pytest.mark.parametrize(("level", "tails"), [(0, "two"), (1, "two"), (95, "upper"), (0.5, "lower"), (0.3, "upper")])
def test_a_level_that_bounds_nothing_is_refused(level, tails):
    with pytest.raises(InputRefused, match="level: found"):
        share(one_group(*[(5, 9, 4, 1, 3, 1)] * 3), level=level, tails=tails)


@pytest.mark.parametrize("group", [-1, 1])
def test_a_group_that_there_is_not_is_refused(group):
    with pytest.raises(InputRefused, match=f"group: found {group}, expected one of the 1 groups"):
        share(one_group(*[(5, 9, 4, 1, 3, 1)] * 3), group=group)
