"""Corrected contrasts under the cluster bootstrap: what is drawn with what, whom it agrees with, what it covers."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from arch.bootstrap import IndependentSamplesBootstrap
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.errors import (
    InputRefused,
    JudgeTooPoor,
    RatioUndefined,
    ThinResamples,
    TooFewClusters,
    TooFewObservations,
    Undefined,
)
from eval_pipeline.stats.corrected_ratio import Screened, corrected_contrast, corrected_of
from eval_pipeline.stats.judged_clusters import JudgedClusters, with_gold
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from tests.stats.laws import LAW
from tests.stats.simulate import as_gold, coverage, holds, judged, mirrored, one_group, some_study

STUDIES = 400
SEEDS = st.integers(0, 2**32 - 1)


def contrast(
    table,
    weights,
    *,
    errors="pooled",
    screened=None,
    level=0.95,
    tails="two",
    resamples=199,
    valid_at_least=1,
    rng=5,
):
    return corrected_contrast(
        table,
        weights,
        errors=errors,
        screened=screened,
        level=level,
        tails=tails,
        resamples=resamples,
        valid_at_least=valid_at_least,
        ranks="symmetric",
        rng=np.random.default_rng(rng),
    )


def correctable(seed):
    """A small study whose judge can be corrected by group."""
    study = some_study(seed, specificity=0.8)
    positives, negatives = study.known_positives.sum(axis=0), study.known_negatives.sum(axis=0)
    assume(positives.all() and negatives.all())
    hits, rejections = study.true_positives.sum(axis=0), study.true_negatives.sum(axis=0)
    assume((hits / positives + rejections / negatives > 1).all())
    return study


FOUR = one_group(
    (6, 10, 5, 1, 3, 1),
    (9, 10, 0, 0, 0, 0),
    (1, 5, 0, 0, 0, 0),
    (4, 10, 4, 0, 6, 0),
)


def test_a_corrected_share_by_hand():
    """20 of 35 supported; 9 of 10 positives and 9 of 10 negatives called so: (20/35 - 1/10) / (8/10) = 33/56."""
    assert corrected_of([20, 35, 9, 1, 9, 1]) == Fraction(33, 56)
    assert contrast(FOUR, [1]).estimate == pytest.approx(33 / 56, abs=1e-15)


def test_a_screened_share_by_hand():
    """12 of the 15 not supported were turned away at first sight, and 1 of 6 audited was missed: 2 more of 35.

    (22/35 - 1/10) / (8/10) = 37/56.
    """
    screened = Screened([[3], [1], [3], [5]], [[2], [0], [1], [3]], [[0], [0], [1], [0]])
    assert contrast(FOUR, [1], screened=screened).estimate == pytest.approx(37 / 56, abs=1e-15)


def test_what_a_screen_missed_is_found_anew_in_each_resample():
    """Of two clusters that nobody checked, and a gold set that is always 18 of 20 and 8 of 10."""
    population, gold = one_group((6, 10, 0, 0, 0, 0), (2, 10, 0, 0, 0, 0)), one_group(*[(0, 0, 9, 1, 4, 1)] * 2)
    screened = Screened([[4], [6]], [[2], [3]], [[1], [0]])
    found = contrast(with_gold(population, gold), [1], screened=screened, resamples=600)
    # Twice the first: 12 + 8 (2/4) = 16 of 20. Twice the second: 4. One of each: 8 + 10 (1/5) = 10. Less .2, over .7.
    assert found.estimate == pytest.approx((0.5 - 0.2) / 0.7, abs=1e-12)
    assert np.unique(found.draws.round(12)) == pytest.approx([0, 0.3 / 0.7, 0.6 / 0.7], abs=1e-9)


def test_checked_and_unchecked_clusters_are_drawn_each_among_themselves_with_all_their_counts():
    """Two checked and two unchecked give nine resamples, and half a half of them are the study itself."""
    found = contrast(FOUR, [1], resamples=4000)
    expected = {}
    for checked, others in product(combinations_with_replacement((0, 3), 2), combinations_with_replacement((1, 2), 2)):
        supported, total, tp, fn, tn, fp = (int(column[[*checked, *others]].sum()) for column in FOUR.columns)
        se, sp = Fraction(tp, tp + fn), Fraction(tn, tn + fp)
        value = (Fraction(supported, total) + sp - 1) / (se + sp - 1)
        expected[checked, others] = float(min(max(value, 0), 1))
    assert len(set(expected.values())) == 9
    assert np.unique(found.draws.round(12)) == pytest.approx(sorted(expected.values()), abs=1e-9)
    for (checked, others), value in expected.items():
        chance = (0.5 if len(set(checked)) == 2 else 0.25) * (0.5 if len(set(others)) == 2 else 0.25)
        drawn = int(np.isclose(found.draws, value).sum())
        assert binomtest(drawn, 4000, chance).pvalue > 0.001
    assert (found.valid, found.resamples, found.method, found.seed) == (4000, 4000, "percentile", 5)


@pytest.mark.parametrize(
    ("supported", "shares"), [((6, 10), (0.4 / 0.7, 0.6 / 0.7, 1)), ((0, 6), (0, 0.1 / 0.7, 0.4 / 0.7))]
)
def test_a_gold_set_is_drawn_by_itself_and_no_share_leaves_0_to_1(supported, shares):
    """Drawn with the population, its two clusters would be missing from one resample in sixteen."""
    population = one_group(*((hits, 10, 0, 0, 0, 0) for hits in supported))
    found = contrast(with_gold(population, one_group(*[(0, 0, 9, 1, 4, 1)] * 2)), [1], resamples=600)
    assert found.valid == 600
    # 12, 16, 20 or 0, 6, 12 of 20, less .2, over .7: the gold set is always 18/20 and 8/10. 8/7 and -2/7 are no shares.
    assert np.unique(found.draws.round(12)) == pytest.approx(shares, abs=1e-9)


@pytest.mark.parametrize("checked", [1, 3])
def test_a_single_cluster_of_a_kind_is_drawn_with_the_others(checked):
    """One checked of four: it is missing from (3/4)^4 = 81/256 of the resamples. One unchecked: from none."""
    rows = [(5, 10, 4, 1, 4, 1)] * checked + [(5, 10, 0, 0, 0, 0)] * (4 - checked)
    found = contrast(one_group(*rows), [1], resamples=2000)
    missing = 0.75**4 if checked == 1 else 0.25**4
    assert binomtest(found.valid, 2000, 1 - missing).pvalue > 0.01


def test_a_cluster_without_judgments_or_checks_changes_nothing():
    empty = JudgedClusters(*(np.concatenate([column, [[0]]]) for column in FOUR.columns))
    assert contrast(empty, [1]).draws.tolist() == contrast(FOUR, [1]).draws.tolist()


@pytest.mark.parametrize("screen", [False, True])
@pytest.mark.parametrize("errors", ["pooled", "by_group"])
def test_the_interval_of_a_corrected_difference_is_that_of_arch_with_independent_strata(errors, screen):
    """`IndependentSamplesBootstrap` of the checked, the unchecked and the gold clusters, percentile, 2,000 times."""
    rng = np.random.default_rng(8)
    study = judged(rng, 1, 60, (0.7, 0.5), sensitivity=0.9, specificity=0.8, checked=20)[0]
    gold = as_gold(judged(rng, 1, 15, (0.5, 0.5), sensitivity=0.9, specificity=0.8, checked=15)[0])
    table = with_gold(study, gold)
    away = (study.judged - study.supported) // 2 if screen else np.zeros_like(study.judged)
    audited = away - away // 2
    screened = Screened(away, audited, audited // 2)

    def theirs(*samples):
        supported, total, tp, fn, tn, fp, away, audited, missed = sum(sample.sum(axis=0) for sample in samples)
        supported = supported + away * missed / np.maximum(audited, 1)
        if errors == "pooled":
            tp, fn, tn, fp = tp.sum(), fn.sum(), tn.sum(), fp.sum()
        se, sp = tp / (tp + fn), tn / (tn + fp)
        shares = np.clip((supported / total + sp - 1) / (se + sp - 1), 0, 1)
        return shares[0] - shares[1]

    audit = [np.pad(part, ((0, 15), (0, 0))) for part in (away, audited, audited // 2)]
    stacked = np.stack([*table.columns, *audit], axis=1)
    samples = stacked[:20], stacked[20:60], stacked[60:]
    drawn = IndependentSamplesBootstrap(*samples, seed=np.random.default_rng(9))
    low, high = drawn.conf_int(theirs, 2000, method="percentile", size=0.9)[:, 0]
    found = contrast(table, [1, -1], errors=errors, screened=screened, level=0.9, resamples=2000)
    assert found.estimate == pytest.approx(theirs(*samples), abs=1e-12)
    assert (found.estimate != contrast(table, [1, -1], errors=errors).estimate) == screen
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high), abs=0.012)
    assert high - low > 0.2


@LAW
@given(SEEDS)
def test_a_judge_without_errors_has_the_estimate_and_the_draws_of_the_plain_ratios(seed):
    rng = np.random.default_rng(seed)
    study = judged(rng, 1, 10, (0.6, 0.4), sensitivity=1, specificity=1, checked=10)[0]
    assume(study.known_positives.any() and study.known_negatives.any())
    found = contrast(study, [1, -1], resamples=50)
    plain = ratio_contrast(
        study.supported, study.judged, [1, -1], level=0.95, tails="two", method="percentile", resamples=50,
        valid_at_least=1, ranks="symmetric", rng=np.random.default_rng(5),
    )  # fmt: skip
    assert found.estimate == pytest.approx(float(plain.estimate), abs=1e-12)
    assume(found.valid == plain.valid)
    assert found.draws == pytest.approx(plain.draws, abs=1e-12)


@LAW
@given(SEEDS, st.sampled_from(["pooled", "by_group"]))
def test_counting_the_unsupported_mirrors_the_interval(seed, errors):
    study = correctable(seed)
    found, other = (contrast(table, [1, 0], errors=errors, resamples=60) for table in (study, mirrored(study)))
    assert other.estimate == pytest.approx(1 - found.estimate, abs=1e-12)
    assert other.interval.low == pytest.approx(1 - found.interval.high, abs=1e-9)
    assert other.interval.high == pytest.approx(1 - found.interval.low, abs=1e-9)


@LAW
@given(SEEDS, st.integers(2, 50))
def test_multiplying_all_counts_changes_nothing(seed, by):
    study = correctable(seed)
    many = JudgedClusters(*(by * column for column in study.columns))
    assert contrast(many, [1, -1], resamples=60).draws == pytest.approx(
        contrast(study, [1, -1], resamples=60).draws, abs=1e-12
    )


@LAW
@given(SEEDS)
def test_a_screen_that_turned_nothing_away_changes_nothing_and_nor_does_one_that_missed_nothing(seed):
    study = correctable(seed)
    nothing, not_supported = np.zeros_like(study.judged), study.judged - study.supported
    found = contrast(study, [1, -1], resamples=60)
    for away in (nothing, not_supported):
        other = contrast(study, [1, -1], screened=Screened(away, away, nothing), resamples=60)
        assert (other.estimate, other.draws.tolist()) == (found.estimate, found.draws.tolist())


@LAW
@given(SEEDS)
def test_what_was_missed_counts_as_supported_where_all_that_was_turned_away_was_audited(seed):
    """Half of what was not supported was turned away, and half of that wrongly."""
    gold, study = as_gold(correctable(seed)), some_study(seed + 1)
    away = (study.judged - study.supported + 1) // 2
    missed, nothing = (away + 1) // 2, np.zeros_like(away)
    before, after = (
        with_gold(JudgedClusters(supported, study.judged, *[nothing] * 4), gold)
        for supported in (study.supported, study.supported + missed)
    )
    found = contrast(before, [1, -1], screened=Screened(away, away, missed), resamples=60)
    assert found.draws == pytest.approx(contrast(after, [1, -1], resamples=60).draws, abs=1e-12)


@LAW
@given(SEEDS, st.randoms())
def test_the_order_of_clusters_does_not_change_the_estimate(seed, random):
    study = correctable(seed)
    random.shuffle(order := list(range(len(study.judged))))
    other = JudgedClusters(*(column[order] for column in study.columns))
    assert contrast(other, [1, -1], resamples=20).estimate == contrast(study, [1, -1], resamples=20).estimate


@LAW
@given(SEEDS)
def test_a_contrast_weighs_its_shares(seed):
    """Twice the first less a half of the second, and draw by draw twice the contrast of half the weights."""
    study = correctable(seed)
    alone = [contrast(study, weights, errors="by_group", resamples=60).estimate for weights in ([1, 0], [0, 1])]
    both = contrast(study, [2, Fraction(-1, 2)], errors="by_group", resamples=60)
    assert both.estimate == pytest.approx(2 * alone[0] - alone[1] / 2, abs=1e-12)
    half = contrast(study, [1, Fraction(-1, 4)], errors="by_group", resamples=60)
    assert both.draws == pytest.approx(2 * half.draws, abs=1e-12)


@LAW
@given(SEEDS)
def test_two_tails_of_5_percent_are_the_two_bounds_of_95_percent(seed):
    study = correctable(seed)
    both, lower, upper = (
        contrast(study, [1, -1], level=level, tails=tails, resamples=60).interval
        for level, tails in ((0.9, "two"), (0.95, "lower"), (0.95, "upper"))
    )
    assert (lower.low, lower.high) == (both.low, None)
    assert (upper.low, upper.high) == (None, both.high)


def test_a_group_of_weight_0_counts_by_its_checks_and_only_if_errors_are_pooled():
    hits = np.array([[4, 1]] * 3)
    table = JudgedClusters(*(np.full((3, 2), n) for n in (5, 10)), hits, 5 - hits, hits, 5 - hits)
    assert contrast(table, [1, 0], errors="by_group").estimate == pytest.approx((0.5 + 0.8 - 1) / 0.6, abs=1e-12)
    with pytest.raises(JudgeTooPoor, match=r"sensitivity 0\.5"):  # 5 of 10 over both groups
        contrast(table, [1, 0])
    with pytest.raises(JudgeTooPoor, match=r"sensitivity 0\.2"):
        contrast(table, [0, 1], errors="by_group")


def held(studies, weights, truth, **how):
    """The coverage of the studies, each resampled from a seed of its own."""
    return coverage([contrast(study, weights, rng=number, **how) for number, study in enumerate(studies)], truth)


@pytest.mark.parametrize("errors", ["pooled", "by_group"])
def test_90_clusters_of_which_30_are_checked_hold_a_moderate_share_and_difference(errors):
    studies = judged(np.random.default_rng(21), STUDIES, 90, (0.7, 0.5), sensitivity=0.9, specificity=0.85, checked=30)
    share, mean = held(studies, [1, 0], 0.7, errors=errors)
    assert binomtest(share, STUDIES, 0.95).pvalue > 0.01
    assert abs(mean - 0.7) < 0.01
    difference, mean = held(studies, [1, -1], 0.2, errors=errors)
    assert binomtest(difference, STUDIES, 0.95).pvalue > 0.01
    assert abs(mean - 0.2) < 0.01


def test_a_gold_set_of_another_share_serves_as_well():
    rng = np.random.default_rng(22)
    studies = judged(rng, STUDIES, 60, [0.7], sensitivity=0.9, specificity=0.85, checked=0)
    golds = judged(rng, STUDIES, 40, [0.4], sensitivity=0.9, specificity=0.85, checked=40)
    tables = [with_gold(study, as_gold(gold)) for study, gold in zip(studies, golds, strict=True)]
    hits, mean = held(tables, [1], 0.7)
    assert binomtest(hits, STUDIES, 0.95).pvalue > 0.01
    assert abs(mean - 0.7) < 0.01


def test_a_screen_that_misses_some_is_corrected_by_the_audit_of_a_half_of_what_it_turned_away():
    """It loses 15 of 100 that a closer look supports, and turns away 60 of 100 others; a gold set is seen closely."""
    rng = np.random.default_rng(27)
    judge, nothing = {"sensitivity": 0.9, "specificity": 0.85}, np.zeros((60, 2), int)
    seen_closely = judged(rng, 300, 60, (0.7, 0.5), **judge, checked=0)
    golds = judged(rng, 300, 40, (0.7, 0.5), **judge, checked=40)
    screened, as_screened = [], {(1, 0): [], (1, -1): []}
    for number, (close, gold) in enumerate(zip(seen_closely, golds, strict=True)):
        lost = rng.binomial(close.supported, 0.15)
        away = lost + rng.binomial(close.judged - close.supported, 0.6)
        audited = rng.binomial(away, 0.5)
        audit = Screened(away, audited, rng.hypergeometric(lost, away - lost, audited))
        table = with_gold(JudgedClusters(close.supported - lost, close.judged, *[nothing] * 4), as_gold(gold))
        screened.append(contrast(table, [1, 0], rng=number))
        for weights, found in as_screened.items():
            found.append(contrast(table, weights, screened=audit, rng=number))
    for weights, truth in (((1, 0), 0.7), ((1, -1), 0.2)):
        hits, mean = coverage(as_screened[weights], truth)
        assert binomtest(hits, 300, 0.95).pvalue > 0.01
        assert abs(mean - truth) < 0.01
    # Uncorrected for it: .85 (.7 x .9 + .3 x .15) = .574, less .15, over .75.
    hits, mean = coverage(screened, 0.7)
    assert binomtest(hits, 300, 0.5, alternative="less").pvalue < 0.01
    assert mean == pytest.approx((0.57375 - 0.15) / 0.75, abs=0.01)


def test_a_judge_that_errs_otherwise_in_each_group_is_corrected_by_group_alone():
    """It finds .95 in the first group and .7 in the second; the shares are the same."""
    studies = judged(
        np.random.default_rng(23), STUDIES, 90, (0.6, 0.6), sensitivity=(0.95, 0.7), specificity=0.9, checked=45
    )
    pooled, mean = held(studies, [1, -1], 0, errors="pooled")
    assert pooled < STUDIES / 4
    assert mean > 0.15
    by_group, mean = held(studies, [1, -1], 0, errors="by_group")
    assert binomtest(by_group, STUDIES, 0.95).pvalue > 0.01
    assert abs(mean) < 0.01


def test_uncorrected_shares_miss_the_truth():
    studies = judged(np.random.default_rng(24), STUDIES, 90, [0.8], sensitivity=0.85, specificity=0.95, checked=18)
    naive = sum(
        holds(
            ratio_contrast(
                study.supported, study.judged, [1], level=0.95, tails="two", method="percentile", resamples=199,
                valid_at_least=1, ranks="symmetric", rng=np.random.default_rng(number),
            ).interval,
            0.8,
        )
        for number, study in enumerate(studies)
    )  # fmt: skip
    assert naive < STUDIES / 2
    corrected, _ = held(studies, [1], 0.8)
    assert binomtest(corrected, STUDIES, 0.9, alternative="less").pvalue > 0.01


def test_drawing_the_checks_alone_as_if_the_verdicts_were_known_holds_the_truth_too_seldom():
    """Twenty clusters that nobody checked and a gold set of thirty: most doubt lies in the twenty."""
    rng = np.random.default_rng(25)
    studies = judged(rng, STUDIES, 20, [0.6], sensitivity=0.9, specificity=0.9, checked=0)
    golds = judged(rng, STUDIES, 30, [0.6], sensitivity=0.9, specificity=0.9, checked=30)
    known = 0
    for study, gold in zip(studies, golds, strict=True):
        rows = rng.integers(0, 30, (199, 30))
        tp, fn, tn, fp = (column[rows, 0].sum(axis=1) for column in gold.columns[2:])
        se, sp = tp / (tp + fn), tn / (tn + fp)
        draws = np.clip((study.supported.sum() / study.judged.sum() + sp - 1) / (se + sp - 1), 0, 1)
        low, high = np.sort(draws)[[4, 194]]
        known += bool(low <= 0.6 <= high)
    assert binomtest(known, STUDIES, 0.75, alternative="less").pvalue < 0.01
    tables = [with_gold(study, as_gold(gold)) for study, gold in zip(studies, golds, strict=True)]
    both, _ = held(tables, [1], 0.6)
    assert binomtest(both, STUDIES, 0.9, alternative="less").pvalue > 0.01


def test_20_clusters_near_1_are_too_few_for_it():
    """Where the judge hardly met a negative, resamples do not show what that leaves uncertain."""
    found = []
    studies = judged(np.random.default_rng(26), STUDIES, 20, [0.95, 0.95], sensitivity=0.9, specificity=0.9, checked=10)
    for number, study in enumerate(studies):
        try:
            found.append(holds(contrast(study, [1, 0], rng=number).interval, 0.95))
        except Undefined:
            continue
    assert len(found) > STUDIES * 0.8
    assert binomtest(sum(found), len(found), 0.95, alternative="less").pvalue < 0.01


def test_what_leaves_no_share_to_correct_is_refused():
    with pytest.raises(RatioUndefined, match="nothing was judged in a group"):
        contrast(one_group((0, 0, 5, 1, 5, 1), (0, 0, 5, 1, 5, 1)), [1])
    with pytest.raises(TooFewObservations, match="no judgment that is supported in truth"):
        contrast(one_group((5, 9, 0, 0, 4, 1), (5, 9, 0, 0, 4, 1)), [1])
    with pytest.raises(TooFewObservations, match="or none that is not"):
        contrast(one_group((5, 9, 4, 1, 0, 0), (5, 9, 4, 1, 0, 0)), [1])
    with pytest.raises(JudgeTooPoor, match="no better than chance"):
        contrast(one_group((4, 8, 2, 2, 2, 2), (4, 8, 2, 2, 2, 2)), [1])


def test_fewer_than_two_clusters_of_population_or_gold_are_refused():
    with pytest.raises(TooFewClusters, match="at least 2 clusters and was given 1"):
        contrast(one_group((5, 9, 3, 1, 3, 1)), [1])
    population = one_group((5, 9, 0, 0, 0, 0), (5, 9, 0, 0, 0, 0))
    with pytest.raises(TooFewClusters, match="at least 2 clusters and was given 1"):
        contrast(with_gold(population, one_group((0, 0, 5, 1, 5, 1))), [1])


def test_resamples_without_known_negatives_are_no_resamples():
    """The only negatives stand in one of three clusters, and 8 of 27 resamples lack it."""
    table = one_group((8, 10, 8, 0, 2, 0), (9, 10, 9, 1, 0, 0), (9, 10, 9, 1, 0, 0))
    found = contrast(table, [1], resamples=2000)
    assert binomtest(found.valid, 2000, 19 / 27).pvalue > 0.01
    assert len(found.draws) == found.valid
    assert contrast(table, [1], resamples=2000, valid_at_least=found.valid).valid == found.valid
    with pytest.raises(ThinResamples, match=rf"only {found.valid} of 2000 resamples have known positives.*check more"):
        contrast(table, [1], resamples=2000, valid_at_least=found.valid + 1)


def test_resamples_without_an_audit_of_what_was_turned_away_are_no_resamples():
    """The only audit is of one of three clusters: 8 of 27 resamples lack it, and all turned some away."""
    table, screened = one_group(*[(5, 10, 4, 1, 4, 1)] * 3), Screened([[2]] * 3, [[2], [0], [0]], [[1], [0], [0]])
    found = contrast(table, [1], screened=screened, resamples=2000)
    assert binomtest(found.valid, 2000, 19 / 27).pvalue > 0.01
    with pytest.raises(ThinResamples, match="an audit of what was turned away"):
        contrast(table, [1], screened=screened, resamples=2000, valid_at_least=found.valid + 1)


def test_resamples_whose_judge_does_no_better_than_chance_are_no_resamples():
    """The second of two clusters has one of two right; drawn twice, it is no judge: a quarter of the resamples."""
    table = one_group((4, 8, 4, 0, 4, 0), (4, 8, 2, 2, 2, 2))
    found = contrast(table, [1], resamples=2000)
    assert binomtest(found.valid, 2000, 0.75).pvalue > 0.01


@pytest.mark.parametrize("weights", [[], [1, -1], [0]])
def test_weights_of_another_length_are_refused(weights):
    with pytest.raises(InputRefused, match="expected one for each of 1 groups and not all 0"):
        contrast(FOUR, weights)


@pytest.mark.parametrize(("how", "message"), [({"level": 1}, "level: found"), ({"resamples": 0}, "resamples: found")])
def test_a_level_or_a_number_of_resamples_out_of_range_is_refused(how, message):
    with pytest.raises(InputRefused, match=message):
        contrast(FOUR, [1], **how)


def test_what_was_turned_away_without_an_audit_is_refused_in_a_group_that_counts():
    table = JudgedClusters(*(np.array([[n, n]] * 3) for n in (5, 10, 4, 1, 4, 1)))
    screened = Screened([[2, 1]] * 3, [[1, 0]] * 3, [[0, 0]] * 3)
    with pytest.raises(TooFewObservations, match="nothing of what was turned away was audited"):
        contrast(table, [1, -1], screened=screened)
    assert contrast(table, [1, 0], screened=screened).estimate == contrast(table, [1, 0]).estimate


@pytest.mark.parametrize(
    ("away", "audited", "missed", "message"),
    [
        ([2, 2], [1, 1], [0, 0], r"expected one shape \(clusters, groups\)"),
        ([[2], [2]], [[1]], [[0]], r"expected one shape \(clusters, groups\)"),
        ([[2], [2]], [[1], [1]], [[2], [0]], "more missed than audited"),
        ([[2], [2]], [[3], [1]], [[0], [0]], "more audited than turned away"),
        ([[-1], [2]], [[0], [1]], [[0], [0]], "turned_away: found -1"),
        ([[2], [2]], [[0.5], [1]], [[0], [0]], "audited: found 0.5"),
        ([[2], [2]], [[1], [1]], [[None], [0]], "missed: found a missing value"),
    ],
)
def test_what_is_no_count_of_a_screen_is_refused(away, audited, missed, message):
    with pytest.raises(InputRefused, match=message):
        Screened(away, audited, missed)


@pytest.mark.parametrize(
    ("away", "message"),
    [
        ([[1, 1]] * 4, r"found shape \(4, 2\), expected the groups and clusters of the table"),
        ([[1]] * 5, r"found shape \(5, 1\), expected the groups and clusters of the table"),
        ([[5], [0], [0], [0]], "more turned away than the judge did not support"),
    ],
)
def test_a_screen_of_another_table_is_refused(away, message):
    with pytest.raises(InputRefused, match=message):
        contrast(FOUR, [1], screened=Screened(away, away, np.zeros_like(away)))
