"""Shares with the judge's verdicts as strata: how three intervals make one, which holds however checks are drawn."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from eval_pipeline.errors import InputRefused, JudgeTooPoor, RatioUndefined, TooFewObservations
from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.stats.corrected_share import corrected_share
from eval_pipeline.stats.judged_clusters import JudgedClusters, tabulated, with_gold
from eval_pipeline.stats.post_stratified import post_stratified_difference, post_stratified_share
from tests.stats.laws import LAW
from tests.stats.peers import scipy_bootstrap
from tests.stats.simulate import as_gold, checked_by_verdict, ends, holds, judged, mirrored, one_group

STUDIES = 300
BOTH = {"level": 0.9, "tails": "two"}  # either end is then a bound at 95 %
HOW = ["whole clusters", "by verdict"]
HOWEVER_DRAWN = pytest.mark.parametrize("draw", HOW)
SEEDS, DRAWS = st.integers(0, 2**32 - 1), st.sampled_from(HOW)
# A cell: true positives, false negatives, true negatives, false positives, and a yes and a no that nobody checked.
CELL = st.tuples(*[st.integers(0, 3)] * 6)
TABLES = (
    st.lists(st.tuples(CELL, CELL), min_size=1, max_size=7)
    .map(lambda rows: table_of(np.array(rows)))
    .filter(lambda table: table.checked.sum(axis=0).all() and all(seen_where_given(table)))
)


def seen_where_given(table):
    """Whether something of the judge's yes was checked if it gave any, and whether something of its no was."""
    supported, total, hits, misses, rejections, alarms = (column.sum() for column in table.columns)
    return hits + alarms > 0 or supported == 0, misses + rejections > 0 or supported == total


def table_of(cells):
    """A table of cells, of shape (clusters, groups, 6)."""
    hits, misses, rejections, alarms, yes, no = np.moveaxis(cells, 2, 0)
    supported = hits + alarms + yes
    return JudgedClusters(supported, supported + misses + rejections + no, hits, misses, rejections, alarms)


def share(table, *, group=0, level=0.95, tails="two"):
    return post_stratified_share(table, group=group, level=level, tails=tails)


def difference(table, *, level=0.95, tails="two"):
    return post_stratified_difference(table, level=level, tails=tails)


def clusters_of(table, rows):
    return JudgedClusters(*(column[rows] for column in table.columns))


# Four clusters that are alike are worth their items: 16 yes of 40, the share of which lies in .248650 to .566733.
YES = 0.4, 0.248650, 0.566733


def test_a_share_by_hand():
    """All 16 yes and none of the 24 no are supported: .4 x 1 + .6 x 0 = .4."""
    found = share(one_group(*[(4, 10, 4, 0, 6, 0)] * 4))
    assert found.estimate == pytest.approx(0.4, abs=1e-15)
    # All of 16 or none of 24 is as likely as .025 at .025^(1/16), or 1 - .025^(1/24); of the no all the 1 that they
    # are apart moves with w. Nothing goes together, as no cluster is off.
    w, low, high = YES
    down = sqrt((w * (1 - 0.025 ** (1 / 16))) ** 2 + (w - low) ** 2)
    up = sqrt(((1 - w) * (1 - 0.025 ** (1 / 24))) ** 2 + (high - w) ** 2)
    assert ends(found) == pytest.approx((0.4 - down, 0.4 + up), abs=1e-6)
    assert found.interval.level == 0.95


def test_where_yes_is_supported_less_often_than_no_more_yes_make_less():
    """None of the yes and all of the no: .6, and the ends of w change places."""
    found = share(one_group(*[(4, 10, 0, 6, 0, 4)] * 4))
    w, low, high = YES
    down = sqrt(((1 - w) * (1 - 0.025 ** (1 / 24))) ** 2 + (high - w) ** 2)
    up = sqrt((w * (1 - 0.025 ** (1 / 16))) ** 2 + (w - low) ** 2)
    assert found.estimate == pytest.approx(0.6, abs=1e-15)
    assert ends(found) == pytest.approx((0.6 - down, 0.6 + up), abs=1e-6)


def test_an_unchecked_verdict_may_hold_anything_from_none_to_all():
    """Were none of the no supported, the share would be .4; were all, 1. Half of the other group's are: .4 + .3."""
    counts = (4, 0), (10, 2), (4, 0), (0, 1), (0, 1), (0, 0)
    found = share(JudgedClusters(*(np.array([count] * 4) for count in counts)))
    w, low, _ = YES
    assert found.estimate == pytest.approx(0.7, abs=1e-15)
    down = sqrt((w * (1 - 0.025 ** (1 / 16))) ** 2 + (w - low) ** 2)
    assert ends(found) == pytest.approx((0.4 - down, 1), abs=1e-6)


@pytest.mark.parametrize(
    ("counts", "what"), [((4, 10, 4, 0, 0, 0), "not supported"), ((4, 10, 0, 0, 6, 0), "supported")]
)
def test_a_verdict_of_which_nothing_was_checked_in_any_group_is_refused(counts, what):
    """Else the estimate would be made up, and might meet a bar."""
    with pytest.raises(TooFewObservations, match=f"the judge called {what} was checked"):
        share(one_group(*[counts] * 4))


def test_a_verdict_that_the_judge_never_gave_needs_no_check():
    assert share(one_group(*[(10, 10, 8, 0, 0, 2)] * 4)).estimate == pytest.approx(0.8)


def test_an_unchecked_verdict_stands_at_what_is_supported_among_the_checked_of_all_groups():
    """A quarter of the second group's no: .4 + .6 / 4 = .55 for the first too, whose ends are as if it were alone."""
    counts = (4, 4), (10, 10), (4, 4), (0, 1), (0, 3), (0, 0)
    table = JudgedClusters(*(np.array([count] * 4) for count in counts))
    first, second = share(table), share(table, group=1)
    assert first.estimate == second.estimate == pytest.approx(0.55, abs=1e-15)
    otherwise = share(JudgedClusters(*(np.array([c] * 4) for c in ((4, 4), (10, 10), (4, 4), (0, 3), (0, 1), (0, 0)))))
    assert (otherwise.estimate, ends(otherwise)) == (pytest.approx(0.85), pytest.approx(ends(first)))
    # The first less the second is .4 - .55 at the least and 1 - .55 at the most, where the first reaches no higher.
    found = difference(table)
    assert found.estimate == pytest.approx(0, abs=1e-15)
    down = sqrt((0.4 - first.interval.low) ** 2 + (second.interval.high - 0.55) ** 2)
    assert ends(found) == pytest.approx((0.4 - 0.55 - down, 1 - second.interval.low), abs=1e-12)


def test_a_verdict_checked_in_one_cluster_alone_is_worth_one_item():
    """All 16 yes, and all 5 no of one cluster: 1. Of one item that is supported the share may be as low as .025."""
    found = share(one_group((4, 10, 4, 5, 0, 0), *[(4, 10, 4, 0, 0, 0)] * 3))
    down = sqrt((0.4 * (1 - 0.025 ** (1 / 16))) ** 2 + (0.6 * (1 - 0.025)) ** 2)
    assert found.estimate == 1
    assert ends(found) == pytest.approx((1 - down, 1), abs=1e-12)


def test_a_single_cluster_tells_nothing():
    """Half of it is a yes, and rightly so; but it is worth one item of everything."""
    found = share(one_group((5, 10, 5, 0, 5, 0)))
    assert (found.estimate, *ends(found)) == (0.5, 0, 1)


def by_other_programs(table, group, tail):
    """The estimate and its ends: intervals by statsmodels, spreads from derivatives by the weight of each cluster."""
    supported, total, hits, misses, rejections, alarms = (column[:, group] for column in table.columns)
    step = 1e-5
    whole = np.ones(len(total))

    def bounded(successes, trials):
        p = successes.sum() / trials.sum()
        moved = [
            [(successes @ (whole + by * one)) / (trials @ (whole + by * one)) for by in (step, -step)]
            for one in np.eye(len(total))
        ]
        added = np.array([(up - down) / (2 * step) for up, down in moved])
        clusters, items = (trials > 0).sum(), trials.sum()
        variance = clusters / (clusters - 1) * (added**2).sum()
        quantiles = student.isf(tail, items - 1) / student.isf(tail, clusters - 1)
        worth = min(p * (1 - p) / variance * quantiles**2, items) if variance > 1e-14 else items
        low, high = proportion_confint(p * worth, worth, alpha=2 * tail, method="beta")
        return p, 0.0 if p == 0 else low, 1.0 if p == 1 else high, added

    w, w_low, w_high, w_added = bounded(supported, total)
    yes, yes_low, yes_high, yes_added = bounded(hits, hits + alarms)
    no, no_low, no_high, no_added = bounded(misses, misses + rejections)
    apart = yes - no
    fall, rise = sorted([apart * (w_low - w), apart * (w_high - w)])
    parts = [
        (w * (yes - yes_low), w * (yes_high - yes), w * yes_added),
        ((1 - w) * (no - no_low), (1 - w) * (no_high - no), (1 - w) * no_added),
        (-fall, rise, apart * w_added),
    ]
    down = up = 0.0
    for one in parts:
        for other in parts:
            spread = sqrt((one[2] @ one[2]) * (other[2] @ other[2]))
            r = 1.0 if one is other else (one[2] @ other[2]) / spread if spread > 1e-14 else 0.0
            down, up = down + r * one[0] * other[0], up + r * one[1] * other[1]
    estimate = w * yes + (1 - w) * no
    return (
        estimate,
        max(estimate - sqrt(max(down, 0)), 0),
        min(estimate + sqrt(max(up, 0)), 1),
        sum(part[2] for part in parts),
    )


def study_of(seed, *, draw):
    """A small study of two groups, of which half was checked, and each verdict in two clusters or more."""
    rng = np.random.default_rng(seed)
    checked = 12 if draw == "by verdict" else 6
    study = judged(rng, 1, 12, (0.7, 0.5), sensitivity=0.85, specificity=0.8, checked=checked)[0]
    study = checked_by_verdict(rng, study) if draw == "by verdict" else study
    of_yes, of_no = study.true_positives + study.false_positives, study.false_negatives + study.true_negatives
    assume(((of_yes > 0).sum(axis=0) > 1).all() and ((of_no > 0).sum(axis=0) > 1).all())
    return study


@LAW
@given(SEEDS, DRAWS)
def test_statsmodels_and_numerical_derivatives_put_a_share_together_alike(seed, draw):
    study = study_of(seed, draw=draw)
    estimate, low, high, _ = by_other_programs(study, 0, 0.025)
    found = share(study)
    assert found.estimate == pytest.approx(estimate, abs=1e-12)
    assert ends(found) == pytest.approx((low, high), abs=1e-5)


@LAW
@given(SEEDS, DRAWS)
def test_a_difference_is_put_together_by_how_its_shares_change_with_each_cluster(seed, draw):
    """MOVER, with the correlation of numerical derivatives, of two such intervals."""
    study = study_of(seed, draw=draw)
    (one, low, high, added), (one_1, low_1, high_1, added_1) = (by_other_programs(study, j, 0.025) for j in (0, 1))
    r = (added @ added_1) / sqrt((added @ added) * (added_1 @ added_1))
    down, up, down_1, up_1 = one - low, high - one, one_1 - low_1, high_1 - one_1
    found = difference(study)
    assert found.estimate == pytest.approx(one - one_1, abs=1e-12)
    low = one - one_1 - sqrt(down**2 - 2 * r * down * up_1 + up_1**2)
    high = one - one_1 + sqrt(up**2 - 2 * r * up * down_1 + down_1**2)
    assert ends(found) == pytest.approx((low, high), abs=1e-5)


def test_of_many_single_items_the_width_is_that_of_cochrans_double_sampling():
    """Cochran (1977), 12.2: sum_h w_h^2 p_h q_h / m_h + sum_h w_h (p_h - p)^2 / n, of which 1,500 of 6,000 items."""
    rng = np.random.default_rng(51)
    truth = rng.random(6000) < 0.6
    says = np.where(rng.random(6000) < 0.85, truth, ~truth).astype(int)
    known = np.where(np.arange(6000) < 1500, truth, -1)
    found = share(tabulated(says, known, np.arange(6000), np.zeros(6000, int)))
    variance, p, among = 0.0, 0.0, []
    for verdict in (1, 0):
        w, of_checked = (says == verdict).mean(), truth[:1500][says[:1500] == verdict]
        among.append((w, of_checked.mean()))
        variance += w**2 * of_checked.var() / len(of_checked)
        p += w * of_checked.mean()
    variance += sum(w * (p_h - p) ** 2 for w, p_h in among) / 6000
    assert found.estimate == pytest.approx(p, abs=1e-12)
    assert found.interval.high - found.interval.low == pytest.approx(2 * 1.959964 * sqrt(variance), rel=0.03)


@HOWEVER_DRAWN
def test_of_many_clusters_the_interval_is_that_of_scipys_bootstrap(draw):
    """Of 400 clusters, of which half is checked, drawn with all their counts."""
    rng = np.random.default_rng(52)
    checked = 400 if draw == "by verdict" else 200
    study = judged(rng, 1, 400, [0.7], sensitivity=0.85, specificity=0.8, checked=checked)[0]
    study = checked_by_verdict(rng, study) if draw == "by verdict" else study

    def theirs(supported, total, hits, misses, rejections, alarms, axis=-1):
        supported, total, hits, misses, rejections, alarms = (
            column.sum(axis=axis) for column in (supported, total, hits, misses, rejections, alarms)
        )
        w = supported / total
        return w * hits / (hits + alarms) + (1 - w) * misses / (misses + rejections)

    drawn = scipy_bootstrap([column[:, 0] for column in study.columns], theirs).confidence_interval
    found = share(study)
    assert ends(found) == pytest.approx((drawn.low, drawn.high), abs=0.005)
    assert drawn.high - drawn.low > 0.05


@LAW
@given(TABLES)
def test_the_estimate_lies_in_its_interval_and_both_in_0_to_1(table):
    for group in (0, 1):
        found = share(table, group=group)
        assert 0 <= found.interval.low <= found.estimate + 1e-12
        assert found.estimate - 1e-12 <= found.interval.high <= 1
    found = difference(table)
    assert -1 - 1e-12 <= found.interval.low <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.interval.high <= 1 + 1e-12


@LAW
@given(TABLES)
def test_swapping_the_groups_mirrors_the_difference(table):
    found, other = difference(table), difference(JudgedClusters(*(column[:, ::-1] for column in table.columns)))
    assert other.estimate == pytest.approx(-found.estimate, abs=1e-12)
    assert ends(other) == pytest.approx((-found.interval.high, -found.interval.low), abs=1e-9)


@LAW
@given(TABLES)
def test_counting_the_unsupported_mirrors_the_interval(table):
    found, other = share(table), share(mirrored(table))
    assert other.estimate == pytest.approx(1 - found.estimate, abs=1e-12)
    assert ends(other) == pytest.approx((1 - found.interval.high, 1 - found.interval.low), abs=1e-9)


@LAW
@given(TABLES)
def test_a_judge_that_says_the_opposite_of_all_is_worth_as_much(table):
    """What its verdicts are called does not matter, other than to a correction by its errors."""
    supported, total, hits, misses, rejections, alarms = table.columns
    opposite = JudgedClusters(total - supported, total, misses, hits, alarms, rejections)
    for estimated in (share, difference):
        found, other = estimated(table), estimated(opposite)
        assert other.estimate == pytest.approx(found.estimate, abs=1e-12)
        assert ends(other) == pytest.approx(ends(found), abs=1e-9)


@LAW
@given(TABLES, st.randoms())
def test_neither_the_order_of_clusters_nor_an_empty_one_matters(table, random):
    padded = JudgedClusters(*(np.concatenate([column, [[0, 0]]]) for column in table.columns))
    random.shuffle(order := list(range(len(padded.judged))))
    other = clusters_of(padded, order)
    for estimated in (share, difference):
        assert ends(estimated(other)) == pytest.approx(ends(estimated(table)), abs=1e-9)


@LAW
@given(SEEDS, DRAWS)
def test_a_study_twice_over_has_the_same_estimate_and_a_narrower_interval(seed, draw):
    study = study_of(seed, draw=draw)
    twice = clusters_of(study, [*range(12), *range(12)])
    for estimated in (share, difference):
        found, other = estimated(study), estimated(twice)
        assert other.estimate == pytest.approx(found.estimate, abs=1e-12)
        assert found.interval.low <= other.interval.low + 1e-12
        assert other.interval.high <= found.interval.high + 1e-12


@LAW
@given(SEEDS)
def test_where_all_is_checked_it_is_the_plain_share_whatever_the_judge_said(seed):
    rng = np.random.default_rng(seed)
    study = judged(rng, 1, 12, (0.6, 0.4), sensitivity=0.6, specificity=0.5, checked=12)[0]
    shares = study.known_positives.sum(axis=0) / study.judged.sum(axis=0)
    assert [share(study, group=group).estimate for group in (0, 1)] == pytest.approx(shares, abs=1e-12)
    assert difference(study).estimate == pytest.approx(shares[0] - shares[1], abs=1e-12)


@LAW
@given(SEEDS)
def test_a_judge_without_errors_leaves_the_shares_as_they_are(seed):
    rng = np.random.default_rng(seed)
    study = judged(rng, 1, 12, (0.6, 0.4), sensitivity=1, specificity=1, checked=6)[0]
    assume(study.known_positives.sum(axis=0).all() and study.known_negatives.sum(axis=0).all())
    shares = study.supported.sum(axis=0) / study.judged.sum(axis=0)
    assert [share(study, group=group).estimate for group in (0, 1)] == pytest.approx(shares, abs=1e-12)


@LAW
@given(TABLES)
def test_two_tails_of_5_percent_are_the_two_bounds_of_95_percent(table):
    for estimated in (share, difference):
        both = estimated(table, level=0.9)
        lower, upper = (estimated(table, tails=tails) for tails in ("lower", "upper"))
        assert (lower.interval.high, upper.interval.low) == (None, None)
        assert (lower.interval.low, upper.interval.high) == pytest.approx(ends(both), abs=1e-9)
        assert lower.estimate == upper.estimate == both.estimate


def drawn(seed, rates, *, draw, clusters=20, sizes=(1, 8), sensitivity=0.9, specificity=0.85):
    """Studies of which half was checked: of the clusters, or of each verdict in each group."""
    rng = np.random.default_rng(seed)
    checked = clusters // 2 if draw == "whole clusters" else clusters
    judge = {"sensitivity": sensitivity, "specificity": specificity}
    made = judged(rng, STUDIES, clusters, rates, **judge, checked=checked, sizes=sizes)
    return made if draw == "whole clusters" else [checked_by_verdict(rng, study) for study in made]


def sides(found, truth):
    """In how many studies the lower end, the upper end, and both hold the truth, each with the level it promises."""
    lows, highs = (np.array(side) for side in zip(*map(ends, found), strict=True))
    above, below = lows <= truth + 1e-12, highs >= truth - 1e-12
    return {"low": (above.sum(), 0.95), "high": (below.sum(), 0.95), "both": ((above & below).sum(), 0.9)}


def assert_held(found, truth):
    """Neither the interval nor either end is shown to hold the truth less often than it says."""
    for side, (hits, level) in sides(found, truth).items():
        assert binomtest(int(hits), len(found), level, alternative="less").pvalue > 0.01, side


@pytest.mark.parametrize(
    ("rates", "draw"),
    [
        ((0.03, 0.03), HOW[1]),
        ((0.8, 0.7), HOW[0]),
        ((0.8, 0.7), HOW[1]),
        ((0.97, 0.97), HOW[0]),
        ((0.97, 0.97), HOW[1]),
    ],
)
def test_20_unequal_clusters_of_which_half_is_checked_hold_a_share_and_a_difference(rates, draw):
    """Also near 0 and 1, where a verdict of a group is seldom checked, or never."""
    studies = drawn(61, rates, draw=draw)
    assert_held([share(study, **BOTH) for study in studies], rates[0])
    assert_held([difference(study, **BOTH) for study in studies], rates[0] - rates[1])


@HOWEVER_DRAWN
def test_60_clusters_hold_a_moderate_share_and_difference_not_much_more_often_than_they_say(draw):
    """Without what yes, no and the groups of a cluster have in common, the intervals would be too wide."""
    studies = drawn(62, (0.6, 0.5), draw=draw, clusters=60, sizes=(4, 12))
    for estimated, truth in ((share, 0.6), (difference, 0.1)):
        hits, level = sides([estimated(study, **BOTH) for study in studies], truth)["both"]
        assert binomtest(int(hits), STUDIES, level, alternative="less").pvalue > 0.01
        assert binomtest(int(hits), STUDIES, 0.94, alternative="greater").pvalue > 0.01


def test_a_judge_that_errs_otherwise_in_each_group_hides_no_loss():
    """Strict in the first group, lax in the second: .8 x .8 + .2 x .05 = .65 less .6 x .95 + .4 x .3 = .69, not .2."""
    studies = drawn(63, (0.8, 0.6), draw="by verdict", sensitivity=(0.8, 0.95), specificity=(0.95, 0.7))
    as_judged = [np.subtract(*(study.supported.sum(axis=0) / study.judged.sum(axis=0))) for study in studies]
    assert np.mean(as_judged) == pytest.approx(0.65 - 0.69, abs=0.01)
    assert_held([difference(study, **BOTH) for study in studies], 0.2)


def test_checks_of_most_no_and_few_yes_tell_of_the_share_and_not_of_the_judges_errors():
    """The correction by sensitivity and specificity takes those among the checked for the judge's own."""
    rng = np.random.default_rng(64)
    whole = judged(rng, STUDIES, 60, [0.7], sensitivity=0.85, specificity=0.85, checked=60)
    studies = [checked_by_verdict(rng, study, of_yes=0.2, of_no=0.8) for study in whole]
    assert_held([share(study, **BOTH) for study in studies], 0.7)
    by_errors = []
    for study in studies:
        try:
            found = corrected_share(study, errors="pooled", group=0, level=0.9, tails="two")
        except JudgeTooPoor:
            continue
        by_errors.append(holds(found.interval, 0.7))
    assert binomtest(sum(by_errors), len(by_errors), 0.5, alternative="less").pvalue < 0.01


@pytest.mark.parametrize("supported", [0.0, 1.0])
def test_a_verdict_that_was_never_checked_holds_the_truth_at_either_extreme(supported):
    """A tenth is called unsupported, and none or all of it is supported; half of the other group's are."""
    rng = np.random.default_rng(65)
    truth, found = 0.9 * 0.8 + 0.1 * supported, []
    for _ in range(STUDIES):
        total = rng.integers(1, 9, (60, 1))
        says_so = rng.binomial(total, 0.9)
        right = rng.binomial(says_so, 0.8)
        nothing, seen = np.zeros_like(total), (np.arange(60) < 20)[:, None]
        checks = np.where(seen, right, 0), nothing, nothing, np.where(seen, says_so - right, 0)
        other = nothing, nothing + 2, nothing, seen * 1, seen * 1, nothing
        columns = zip((says_so, total, *checks), other, strict=True)
        found.append(share(JudgedClusters(*(np.hstack(pair) for pair in columns)), **BOTH))
    assert_held(found, truth)
    assert np.mean([one.estimate for one in found]) == pytest.approx(0.9 * 0.8 + 0.1 * 0.5, abs=0.01)


def test_items_counted_one_by_one_hold_the_truth_too_seldom():
    """Why the clusters come in: the same, as if each item were a cluster by itself."""
    single, clustered = [], []
    for study in drawn(66, [0.5], draw="whole clusters", sizes=(8, 20)):
        supported, total, hits, misses, rejections, alarms = (int(column.sum()) for column in study.columns)
        kinds = (1, 1), (0, 1), (0, 0), (1, 0), (1, -1), (0, -1)
        counts = hits, misses, rejections, alarms, supported - hits - alarms, total - supported - misses - rejections
        says, known = np.repeat(kinds, counts, axis=0).T
        single.append(share(tabulated(says, known, np.arange(total), np.zeros(total, int)), **BOTH))
        clustered.append(share(study, **BOTH))
    hits, _ = sides(single, 0.5)["both"]
    assert binomtest(int(hits), STUDIES, 0.8, alternative="less").pvalue < 0.01
    assert_held(clustered, 0.5)


def test_near_1_clusters_of_many_items_show_too_little_and_the_lower_end_of_a_share_lies_too_high():
    """Nearly nine in ten where it should be nineteen in twenty; of labels alone no more. A difference holds."""
    rng = np.random.default_rng(67)
    judge = {"sensitivity": 0.9, "specificity": 0.85}
    studies = judged(rng, STUDIES, 20, (0.97, 0.97), **judge, checked=20, sizes=(8, 20))
    hits, level = sides([share(study, **BOTH) for study in studies], 0.97)["low"]
    assert binomtest(int(hits), STUDIES, level, alternative="less").pvalue < 0.01
    assert binomtest(int(hits), STUDIES, 0.85, alternative="less").pvalue > 0.01
    alone = [share_interval(study.known_positives[:, 0], study.checked[:, 0], **BOTH) for study in studies]
    assert hits >= sides(alone, 0.97)["low"][0] - 0.03 * STUDIES
    assert_held([difference(study, **BOTH) for study in studies], 0)


def test_nothing_judged_or_checked_in_a_group_is_refused():
    with pytest.raises(RatioUndefined, match="nothing was judged in a group"):
        share(one_group((0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0)))
    with pytest.raises(TooFewObservations, match="nothing of a group was checked"):
        share(one_group((5, 9, 0, 0, 0, 0), (5, 9, 0, 0, 0, 0)))
    checked_in_the_first = JudgedClusters(
        *(np.array([row] * 3) for row in ([5, 5], [9, 9], [4, 0], [1, 0], [3, 0], [1, 0]))
    )
    assert share(checked_in_the_first).estimate > 0
    with pytest.raises(TooFewObservations, match="nothing of a group was checked"):
        share(checked_in_the_first, group=1)
    with pytest.raises(TooFewObservations, match="nothing of a group was checked"):
        difference(checked_in_the_first)


SOME = one_group(*[(5, 9, 4, 1, 3, 1)] * 3)


def test_a_gold_set_is_refused():
    with pytest.raises(InputRefused, match="found clusters of a gold set"):
        share(with_gold(SOME, as_gold(SOME)))


@pytest.mark.parametrize("group", [-1, 1])
def test_a_group_that_there_is_not_is_refused(group):
    with pytest.raises(InputRefused, match=f"group: found {group}, expected one of the 1 groups"):
        share(SOME, group=group)


@pytest.mark.parametrize("width", [1, 3])
def test_a_difference_of_other_than_two_groups_is_refused(width):
    with pytest.raises(InputRefused, match=f"table: found {width} groups, expected 2"):
        difference(JudgedClusters(*(np.repeat(column, width, axis=1) for column in SOME.columns)))


@pytest.mark.parametrize("table", [SOME, one_group((5, 9, 4, 1, 3, 1))], ids=["three clusters", "one cluster"])
@pytest.mark.parametrize(("level", "tails"), [(0, "two"), (1, "two"), (95, "upper"), (0.5, "lower"), (0.3, "upper")])
def test_a_level_that_bounds_nothing_is_refused(table, level, tails):
    with pytest.raises(InputRefused, match="level: found"):
        share(table, level=level, tails=tails)
