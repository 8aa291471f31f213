"""Labels moved by what a judge says of all: as ppi-python and statsmodels have it, whatever the judge's errors."""

from math import sqrt

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewClusters, TooFewObservations
from eval_pipeline.stats import prediction_powered as module
from eval_pipeline.stats.judged_clusters import JudgedClusters, tabulated, with_gold
from eval_pipeline.stats.prediction_powered import prediction_powered_contrast, prediction_powered_mean
from tests.stats.laws import LAW
from tests.stats.simulate import as_gold, coverage, ends, holds, judged, mirrored, one_group, some_study

STUDIES = 500
SEEDS = st.integers(0, 2**32 - 1)
TRUSTS = st.floats(0, 1)
SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=12)
PAIRS = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=12)
Z = 1.959964  # the normal quantile of .975
T_1 = 12.706205  # Student's, with one degree of freedom

TRUTH = [1, 0, 1, 1, 0, 1, 0, 1, 1, 0]
JUDGED = [1, 0, 1, 0, 0, 1, 1, 1, 1, 0]
ALONE = [1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1]
SCORED = [0.2, 0.9, 0.4, 0.7, 0.95, 0.1], [0.3, 0.8, 0.2, 0.9, 0.9, 0.25]
SCORED_ALONE = [0.5, 0.6, 0.1, 0.85, 0.7, 0.4, 0.95, 0.33]


def mean(truth, judged_too, alone, *, trust="tuned", level=0.95):
    return prediction_powered_mean(truth, judged_too, alone, trust=trust, level=level)


def estimate(table, weights, *, trust="tuned", level=0.95, tails="two"):
    return prediction_powered_contrast(table, weights, trust=trust, level=level, tails=tails)


def width(found):
    return found.interval.high - found.interval.low


def test_a_mean_moves_the_labels_by_the_trusted_difference_of_the_judge():
    """Truth 1/2, the judge's 1/4 of the same and 3/4 of the others, trusted by half: 1/2 + 1/2 (3/4 - 1/4) = 3/4."""
    found = mean([1, 0, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0], trust=0.5)
    assert found.estimate == pytest.approx(0.75, abs=1e-15)
    # .5, 0, 1, 0 has the variance 1.25/4 - (3/8)^2 = .171875; 1, 1, 1, 0 has 3/16. Over four of each.
    reach = Z * sqrt(0.171875 / 4 + 0.5**2 * 0.1875 / 4)
    assert ends(found) == pytest.approx((0.75 - reach, 0.75 + reach), abs=1e-6)
    assert found.interval.level == 0.95
    assert found.trust == 0.5


def test_a_tuned_trust_is_the_covariance_over_the_variance_of_the_judge():
    """The covariance 1/4 - 1/8 over (1 + 4/4) times 2/7, the variance of the judge's eight."""
    assert mean([1, 0, 1, 0], [1, 0, 0, 0], [1, 1, 1, 0]).trust == pytest.approx(1 / 8 / (2 * 2 / 7), abs=1e-12)
    # With half as many others: (1 + 4/2) times the variance of 1, 0, 0, 0, 1, 1, which is 6/5 of 1/4.
    assert mean([1, 0, 1, 0], [1, 0, 0, 0], [1, 1]).trust == pytest.approx(1 / 8 / (3 * 0.3), abs=1e-12)


@pytest.mark.parametrize(
    ("data", "alpha", "lam", "weight", "point", "low", "high"),
    [
        ("yes", 0.05, None, 0.3885167464114833, 0.6194258373205741, 0.35312147111861636, 0.8857302035225318),
        ("yes", 0.05, 0, 0, 0.6, 0.29636368514840156, 0.9036363148515985),
        ("yes", 0.05, 1, 1, 0.65, 0.3028317835698692, 0.9971682164301309),
        ("yes", 0.05, 0.6, 0.6, 0.63, 0.35327002, 0.90672998),
        ("score", 0.1, None, None, 0.53888474, 0.38713056, 0.69063891),
        ("score", 0.1, 0.5, 0.5, 0.539375, 0.38438349, 0.69436651),
    ],
)
def test_the_mean_its_trust_and_its_interval_are_those_of_ppi_python(data, alpha, lam, weight, point, low, high):
    """ppi-python 0.2.3: `ppi_mean_pointestimate(Y, Yhat, U, lam=lam)`, `ppi_mean_ci(Y, Yhat, U, alpha=a, lam=lam)`."""
    labels, known, others = (TRUTH, JUDGED, ALONE) if data == "yes" else (*SCORED, SCORED_ALONE)
    found = mean(labels, known, others, trust="tuned" if lam is None else lam, level=1 - alpha)
    assert found.estimate == pytest.approx(point, abs=1e-8)
    assert ends(found) == pytest.approx((low, high), abs=1e-8)
    if weight is not None:
        assert found.trust == pytest.approx(weight, abs=1e-12)


def test_a_judge_that_goes_against_the_truth_or_does_not_vary_is_not_trusted():
    """Then it is the mean of the labels, .6 +- 1.959964 sqrt(.24 / 10); ppi-python 0.2.3 says the same."""
    reach = Z * sqrt(0.024)
    for known, others in (([1 - one for one in TRUTH], ALONE), ([1] * 10, [1] * 20)):
        found = mean(TRUTH, known, others)
        assert found.trust == 0
        assert (found.estimate, *ends(found)) == pytest.approx((0.6, 0.6 - reach, 0.6 + reach), abs=1e-6)


def test_a_judge_is_trusted_wholly_at_most():
    """One that halves the scores, and of endless others, would be trusted twice."""
    labels = np.tile([0.1, 0.9, 0.4, 0.6], 5)
    assert mean(labels, labels / 2, np.tile(labels / 2, 500)).trust == 1


@LAW
@given(PAIRS, SCORES, st.one_of(st.just("tuned"), TRUSTS), st.floats(0.5, 2), st.floats(-3, 3))
def test_stretching_and_shifting_all_scores_stretches_and_shifts_the_interval(pairs, others, trust, by, shift):
    labels, known = np.array(pairs).T
    others = np.array(others)
    assume(np.concatenate([known, others]).std() > 0.01)
    found = mean(labels, known, others, trust=trust)
    moved = mean(by * labels + shift, by * known + shift, by * others + shift, trust=trust)
    assert moved.trust == pytest.approx(found.trust, abs=1e-9)
    assert moved.estimate == pytest.approx(by * found.estimate + shift, abs=1e-9)
    assert ends(moved) == pytest.approx([by * end + shift for end in ends(found)], abs=1e-9)


@LAW
@given(PAIRS, SCORES, SCORES)
def test_without_trust_only_the_labels_count(pairs, others, yet_others):
    labels, known = np.array(pairs).T
    found = mean(labels, known, others, trust=0)
    assert found == mean(labels, 1 - known, yet_others, trust=0)
    assert found.estimate == labels.mean()
    assert width(found) == pytest.approx(2 * Z * labels.std() / sqrt(len(labels)), abs=1e-6)


FOUR = one_group((3, 4, 2, 0, 1, 1), (2, 6, 2, 2, 2, 0), (5, 10, 0, 0, 0, 0), (9, 10, 0, 0, 0, 0))


def test_a_difference_estimate_by_hand():
    """Labels 6/10, the judge's 5/10 of the same and 14/20 of the others, trusted by half: .6 + .1 = .7."""
    found = estimate(FOUR, [1], trust=0.5)
    assert found.estimate == pytest.approx(0.7, abs=1e-12)
    # The checked: labels 2 - 2.4 and 4 - 3.6, the judge 3 - 2 and 2 - 3, over ten: -.04 - .05, .04 + .05.
    # The others: half of 5 - 7 and 9 - 7, over twenty: -.05, .05. Two clusters of either: squares times 2/1.
    reach = T_1 * sqrt(2 * (2 * 0.09**2) + 2 * (2 * 0.05**2))
    assert ends(found) == pytest.approx((0.7 - reach, 0.7 + reach), abs=1e-5)
    assert found.trust == 0.5


def test_a_tuned_difference_estimate_by_hand():
    """A judge without errors: the labels' variance over that and the others': 4 (.04)^2 of 4 (.04)^2 + 4 (.1)^2."""
    right = one_group((2, 4, 2, 0, 2, 0), (4, 6, 4, 0, 2, 0), (5, 10, 0, 0, 0, 0), (9, 10, 0, 0, 0, 0))
    assert estimate(right, [1]).trust == pytest.approx(0.0016 / 0.0116, abs=1e-12)
    assert estimate(FOUR, [1]).trust == 0  # there the judge goes against the labels: -.04 (.1) < 0


def test_the_quantile_is_that_of_the_checked_clusters_of_the_group_that_has_the_fewest():
    """Four clusters are checked, of which two have the second group.

    From 50 % to 95 % an interval grows by Student's quantile of .975 over that of .75: with one degree of freedom by
    12.706205 over 1, with three by 3.182446 over .764892.
    """
    rows = [(2, 4, 1, 1, 1, 1), (3, 4, 2, 0, 1, 1)] * 2 + [(1, 4, 0, 0, 0, 0), (3, 4, 0, 0, 0, 0)] * 2
    second = [row if number not in (2, 3) else (0,) * 6 for number, row in enumerate(rows)]
    table = JudgedClusters(*np.stack([rows, second]).transpose(2, 1, 0))
    for weights, growth in (([1, 0], 3.182446 / 0.764892), ([0, 1], T_1), ([1, -1], T_1)):
        wide, narrow = (width(estimate(table, weights, trust=0.5, level=level)) for level in (0.95, 0.5))
        assert wide / narrow == pytest.approx(growth, rel=1e-5)


def items(seed, *, part):
    """Single items of 24 clusters in two groups, the first 9 clusters checked, of which one in `part` items is not."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 9, 24)
    cluster = np.repeat(np.arange(24), sizes)
    group = rng.integers(0, 2, len(cluster))
    truth = rng.random(len(cluster)) < np.repeat(rng.beta(3, 2, 24), sizes)
    says = np.where(rng.random(len(cluster)) < 0.85, truth, ~truth)
    checked = (cluster < 9) & (rng.random(len(cluster)) >= part)
    return cluster, group, truth.astype(int), says.astype(int), checked


def ols_by_cluster(values, group, cluster):
    """The means of either group and their covariance, robust to clusters, by statsmodels."""
    dummies = np.column_stack([group == 0, group == 1]).astype(float)
    dummies = dummies[:, dummies.any(axis=0)]
    how = {"groups": cluster, "use_correction": False}
    fitted = sm.OLS(values.astype(float), dummies).fit(cov_type="cluster", cov_kwds=how)
    clusters = len(np.unique(cluster))
    return fitted.params, fitted.cov_params() * clusters / (clusters - 1)


@pytest.mark.parametrize("trust", [0, 0.6, 1])
@pytest.mark.parametrize("weights", [(1, 0), (0, 1), (1, -1)])
def test_with_a_fixed_trust_the_estimate_and_the_width_are_those_of_statsmodels_by_cluster(weights, trust):
    """`OLS(...).fit(cov_type="cluster")` of labels less trusted verdicts, and of the verdicts of the others."""
    cluster, group, truth, says, checked = items(3, part=0)
    table = tabulated(says, np.where(checked, truth, -1), cluster, group)
    counts = np.isin(group, np.flatnonzero(weights))  # a cluster without an item that counts is no cluster
    cluster, group, truth, says, checked = (column[counts] for column in (cluster, group, truth, says, checked))
    labelled = ols_by_cluster((truth - trust * says)[checked], group[checked], cluster[checked])
    others = ols_by_cluster((trust * says)[~checked], group[~checked], cluster[~checked])
    w = np.array([weight for weight in weights if weight])
    found = estimate(table, weights, trust=trust)
    assert found.estimate == pytest.approx(w @ (labelled[0] + others[0]), abs=1e-12)
    fewest = min(len(np.unique(cluster[checked & (group == one)])) for one in np.unique(group))
    quantile = student.ppf(0.975, fewest - 1)
    assert width(found) == pytest.approx(2 * quantile * sqrt(w @ (labelled[1] + others[1]) @ w), rel=1e-6)


def test_items_of_a_checked_cluster_that_were_not_checked_count_among_the_others_and_go_with_their_cluster():
    """A cluster's errors in both parts are added before they are squared: statsmodels, on what each item adds."""
    cluster, group, truth, says, checked = items(4, part=0.4)
    table = tabulated(says, np.where(checked, truth, -1), cluster, group)
    first = group == 0
    of_checked, of_others = first & checked, first & ~checked
    found = estimate(table, [1, 0], trust=0.6)
    added = np.zeros(len(cluster))
    rectified = truth - 0.6 * says
    added[of_checked] = (rectified - rectified[of_checked].mean())[of_checked] / of_checked.sum()
    added[of_others] = 0.6 * (says - says[of_others].mean())[of_others] / of_others.sum()
    by_cluster = np.bincount(cluster, added)
    labelled = np.unique(cluster[of_checked])
    rest = np.setdiff1d(cluster[first], labelled)
    variance = sum(len(some) / (len(some) - 1) * (by_cluster[some] ** 2).sum() for some in (labelled, rest))
    assert found.estimate == pytest.approx(rectified[of_checked].mean() + 0.6 * says[of_others].mean(), abs=1e-12)
    assert width(found) == pytest.approx(2 * student.ppf(0.975, len(labelled) - 1) * sqrt(variance), rel=1e-6)


@LAW
@given(SEEDS, TRUSTS)
def test_of_clusters_of_one_item_the_estimate_is_that_of_independent_items(seed, trust):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 20)
    says = np.where(rng.random(20) < 0.8, truth, 1 - truth)
    table = tabulated(says, np.where(np.arange(20) < 8, truth, -1), np.arange(20), np.zeros(20, int))
    found, other = estimate(table, [1], trust=trust), mean(truth[:8], says[:8], says[8:], trust=trust)
    assert found.estimate == pytest.approx(other.estimate, abs=1e-12)


@LAW
@given(SEEDS, st.one_of(st.just("tuned"), TRUSTS))
def test_counting_the_unsupported_mirrors_the_interval(seed, trust):
    study = some_study(seed)
    found, other = (estimate(table, [1, 0], trust=trust) for table in (study, mirrored(study)))
    assert other.trust == pytest.approx(found.trust, abs=1e-9)
    assert other.estimate == pytest.approx(1 - found.estimate, abs=1e-9)
    assert ends(other) == pytest.approx((1 - found.interval.high, 1 - found.interval.low), abs=1e-9)


@LAW
@given(SEEDS, TRUSTS)
def test_of_fixed_trusts_the_tuned_one_leaves_the_narrowest_interval(seed, trust):
    study = some_study(seed)
    for weights in ([1, 0], [1, -1]):
        tuned = estimate(study, weights).trust
        assert width(estimate(study, weights, trust=tuned)) <= width(estimate(study, weights, trust=trust)) + 1e-12


def test_a_trust_that_was_tuned_to_the_data_costs_more_than_one_that_was_fixed_before():
    """The jackknife tunes it anew without each cluster; taking it for known holds the truth too seldom."""
    studies = [some_study(seed) for seed in range(40)]
    wider = [
        width(estimate(study, [1, 0])) / width(estimate(study, [1, 0], trust=estimate(study, [1, 0]).trust))
        for study in studies
    ]
    assert np.mean(wider) > 1.02


def tuned_by_numpy(table, weights):
    """L + trust (A - K) and the trust: covariance over variance of what clusters add, those with labels and without."""
    checked, judged_alone = table.checked, table.judged - table.checked
    parts = (
        (table.known_positives, checked),
        (table.true_positives + table.false_positives, checked),
        (table.supported - table.true_positives - table.false_positives, judged_alone),
    )
    (truth, of_labels), (known, of_known), (alone, of_alone) = (
        (
            (yes.sum(axis=0) / total.sum(axis=0)) @ weights,
            ((yes - total * (yes.sum(axis=0) / total.sum(axis=0))) / total.sum(axis=0)) @ weights,
        )
        for yes, total in parts
    )
    together = spread = 0.0
    for stratum in (checked.any(axis=1), ~checked.any(axis=1)):
        size, moved = stratum.sum(), (of_known - of_alone)[stratum]
        together += size / (size - 1) * (moved * of_labels[stratum]).sum()
        spread += size / (size - 1) * (moved**2).sum()
    trust = min(max(together / spread, 0), 1)
    return truth + trust * (alone - known), trust


@pytest.mark.parametrize("cells", [None, 30, 1])
@pytest.mark.parametrize("weights", [(1, 1), (1, -1)])
def test_a_tuned_trust_has_the_jackknife_of_a_plain_loop_over_the_clusters_left_out(monkeypatch, weights, cells):
    """Twelve clusters at once, two at a time, and one."""
    if cells:
        monkeypatch.setattr(module, "_CELLS_AT_ONCE", cells)
    trusts = []
    for seed in range(5):
        study = some_study(seed)
        clusters = np.arange(len(study.judged))
        left_out = [
            tuned_by_numpy(JudgedClusters(*(column[clusters != one] for column in study.columns)), weights)[0]
            for one in clusters
        ]
        labelled = study.checked.any(axis=1)
        of_strata = [np.array(left_out)[stratum] for stratum in (labelled, ~labelled)]
        variance = sum((len(some) - 1) ** 2 / len(some) * some.var(ddof=1) for some in of_strata)
        found, expected = estimate(study, weights), tuned_by_numpy(study, weights)
        assert (found.estimate, found.trust) == pytest.approx(expected, abs=1e-12)
        reach = student.ppf(0.975, labelled.sum() - 1) * sqrt(variance)
        assert width(found) == pytest.approx(2 * reach, rel=1e-9)
        trusts.append(found.trust)
    assert any(0 < trust < 1 for trust in trusts)


@LAW
@given(SEEDS)
def test_without_trust_only_the_checked_items_count(seed):
    study = some_study(seed)
    found = estimate(study, [1, -1], trust=0)
    shares = study.known_positives.sum(axis=0) / study.checked.sum(axis=0)
    assert found.estimate == pytest.approx(shares[0] - shares[1], abs=1e-12)
    unchecked = np.where(study.checked > 0, study.supported, 0)  # the judge finds nothing in the others
    assert ends(estimate(JudgedClusters(unchecked, *study.columns[1:]), [1, -1], trust=0)) == ends(found)


@LAW
@given(SEEDS, st.integers(2, 30), st.randoms())
def test_neither_the_order_of_clusters_nor_the_scale_of_counts_matters(seed, by, random):
    study = some_study(seed)
    random.shuffle(order := list(range(len(study.judged))))
    other = JudgedClusters(*(by * column[order] for column in study.columns))
    found, again = estimate(study, [1, -1]), estimate(other, [1, -1])
    assert (again.estimate, *ends(again)) == pytest.approx((found.estimate, *ends(found)), abs=1e-9)


@LAW
@given(SEEDS)
def test_two_tails_of_5_percent_are_the_two_bounds_of_95_percent(seed):
    study = some_study(seed)
    both = estimate(study, [1, -1], level=0.9)
    lower, upper = (estimate(study, [1, -1], tails=tails).interval for tails in ("lower", "upper"))
    assert (lower.high, upper.low) == (None, None)
    assert (lower.low, upper.high) == pytest.approx(ends(both), abs=1e-9)


@pytest.mark.parametrize("trust", [0.5, 1, "tuned"])
def test_the_mean_of_independent_items_is_held_whatever_the_judge(trust):
    """A judge that calls supported half of what is not; its own mean is never near the truth."""
    rng = np.random.default_rng(41)
    held = alone_held = 0
    for _ in range(STUDIES):
        truth = rng.random(900) < 0.6
        says = np.where(rng.random(900) < np.where(truth, 0.95, 0.5), 1, 0)
        held += holds(mean(truth[:200], says[:200], says[200:], trust=trust).interval, 0.6)
        alone_held += abs(says.mean() - 0.6) < 0.05
    assert binomtest(held, STUDIES, 0.95).pvalue > 0.01
    assert alone_held == 0


def test_a_good_judge_narrows_the_interval_and_a_useless_one_does_not_widen_it_by_much():
    rng = np.random.default_rng(42)
    truth = (rng.random(5000) < 0.6).astype(int)
    good, useless = (np.where(rng.random(5000) < right, truth, 1 - truth) for right in (0.95, 0.5))
    labels_alone = width(mean(truth[:500], good[:500], good[500:], trust=0))
    assert width(mean(truth[:500], good[:500], good[500:])) < 0.75 * labels_alone
    assert width(mean(truth[:500], useless[:500], useless[500:])) < 1.02 * labels_alone
    assert width(mean(truth[:500], useless[:500], useless[500:], trust=1)) > 1.3 * labels_alone


@pytest.mark.parametrize("trust", [0, 0.6, "tuned"])
def test_90_clusters_of_which_30_are_checked_hold_a_moderate_share_and_difference(trust):
    """Also where the judge errs otherwise in each group, which it need not know."""
    rng = np.random.default_rng(43)
    studies = judged(rng, STUDIES, 90, (0.7, 0.5), sensitivity=(0.95, 0.75), specificity=(0.85, 0.9), checked=30)
    share, average = coverage([estimate(study, [1, 0], trust=trust) for study in studies], 0.7)
    assert binomtest(share, STUDIES, 0.95).pvalue > 0.01
    assert abs(average - 0.7) < 0.01
    difference, average = coverage([estimate(study, [1, -1], trust=trust) for study in studies], 0.2)
    assert binomtest(difference, STUDIES, 0.95).pvalue > 0.01
    assert abs(average - 0.2) < 0.01
    upper, _ = coverage([estimate(study, [1, -1], trust=trust, tails="upper") for study in studies], 0.2)
    assert binomtest(upper, STUDIES, 0.95).pvalue > 0.01


@pytest.mark.parametrize("rate", [0.05, 0.5, 0.95])
def test_20_clusters_of_which_10_are_checked_hold_the_truth_if_the_trust_is_fixed(rate):
    rng = np.random.default_rng(44)
    studies = judged(rng, STUDIES, 20, [rate], sensitivity=0.9, specificity=0.9, checked=10)
    held, _ = coverage([estimate(study, [1], trust=0.6) for study in studies], rate)
    assert binomtest(held, STUDIES, 0.95, alternative="less").pvalue > 0.01


@pytest.mark.parametrize("trust", [0, 0.6])
def test_a_difference_whose_second_group_stands_in_few_checked_clusters_is_held_by_their_quantile_alone(trust):
    """In 12 of 60 clusters, of which 4 are checked: by the quantile of all 20 that are, it is held too seldom."""
    rng = np.random.default_rng(48)
    stands = np.column_stack([np.ones(60, int), np.arange(60) % 5 == 0])
    studies = judged(rng, STUDIES, 60, (0.6, 0.5), sensitivity=0.9, specificity=0.9, checked=20)
    found = [
        estimate(JudgedClusters(*(column * stands for column in study.columns)), [1, -1], trust=trust)
        for study in studies
    ]
    held, _ = coverage(found, 0.1)
    assert binomtest(held, STUDIES, 0.95, alternative="less").pvalue > 0.01
    shorter = student.ppf(0.975, 20 - 1) / student.ppf(0.975, 4 - 1)
    by_all = sum(abs(one.estimate - 0.1) <= shorter * width(one) / 2 for one in found)
    assert binomtest(by_all, STUDIES, 0.95, alternative="less").pvalue < 0.001


@pytest.mark.parametrize("trust", [0, "tuned"])
@pytest.mark.parametrize("rate", [0.03, 0.97])
def test_near_0_and_1_labels_without_a_miss_show_no_spread_and_the_interval_holds_the_truth_too_seldom(rate, trust):
    """A tuned trust falls with the spread of the labels; a fixed one keeps the judge's."""
    rng = np.random.default_rng(45)
    studies = judged(rng, STUDIES, 20, [rate], sensitivity=0.9, specificity=0.9, checked=10)
    held, _ = coverage([estimate(study, [1], trust=trust) for study in studies], rate)
    assert binomtest(held, STUDIES, 0.85, alternative="less").pvalue < 0.01
    assert held < coverage([estimate(study, [1], trust=0.6) for study in studies], rate)[0]


def test_items_of_clusters_counted_one_by_one_hold_the_truth_too_seldom():
    """Why the clusters come in: the mean of independent items, of items that are not."""
    rng = np.random.default_rng(46)
    studies = judged(rng, STUDIES, 60, [0.5], sensitivity=0.95, specificity=0.95, checked=20)
    one_by_one = 0
    for study in studies:
        tp, fn, tn, fp, rest = (int(column.sum()) for column in (*study.columns[2:], study.judged - study.checked))
        others = int(study.supported.sum()) - tp - fp
        labels, known = np.repeat([1, 1, 0, 0], [tp, fn, tn, fp]), np.repeat([1, 0, 0, 1], [tp, fn, tn, fp])
        alone = np.repeat([1, 0], [others, rest - others])
        one_by_one += holds(mean(labels, known, alone, trust=0.6).interval, 0.5)
    assert binomtest(one_by_one, STUDIES, 0.9, alternative="less").pvalue < 0.01
    held, _ = coverage([estimate(study, [1], trust=0.6) for study in studies], 0.5)
    assert binomtest(held, STUDIES, 0.95).pvalue > 0.01


@pytest.mark.parametrize(("labels", "others"), [([1], [1, 0]), ([], [1]), ([1, 0], [])])
def test_too_few_items_for_a_mean_are_refused(labels, others):
    with pytest.raises(TooFewObservations, match=f"was given {len(labels)} and {len(others)}"):
        mean(labels, labels, others)


def test_scores_that_do_not_pair_off_or_are_no_numbers_are_refused():
    with pytest.raises(InputRefused, match="3 truth, 2 judged"):
        mean([1, 0, 1], [1, 0], [1])
    for place, name in enumerate(("truth", "judged", "judged_alone")):
        scores = [[1, 0], [1, 0], [1, 0]]
        scores[place] = [1, float("nan")]
        with pytest.raises(InputRefused, match=f"{name}: found nan"):
            mean(*scores)


@pytest.mark.parametrize("trust", [-0.1, 1.1, float("nan"), "much"])
def test_a_trust_outside_0_to_1_is_refused(trust):
    with pytest.raises(InputRefused, match=f"trust: found {trust!r}"):
        mean([1, 0], [1, 0], [1], trust=trust)
    with pytest.raises(InputRefused, match=f"trust: found {trust!r}"):
        estimate(FOUR, [1], trust=trust)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        mean([1, 0], [1, 0], [1], level=level)
    with pytest.raises(InputRefused, match="level: found"):
        estimate(FOUR, [1], level=level)


def test_a_gold_set_is_refused():
    gold = as_gold(one_group((4, 8, 3, 1, 3, 1), (4, 8, 3, 1, 3, 1)))
    with pytest.raises(InputRefused, match="found clusters of a gold set"):
        estimate(with_gold(FOUR, gold), [1])


@pytest.mark.parametrize("weights", [[], [1, -1], [0]])
def test_weights_of_another_length_are_refused(weights):
    with pytest.raises(InputRefused, match="expected one for each of 1 groups and not all 0"):
        estimate(FOUR, weights)


def test_fewer_than_two_checked_clusters_are_refused():
    with pytest.raises(TooFewClusters, match="at least 2 checked clusters and stand in 1"):
        estimate(one_group((3, 4, 2, 0, 1, 1), (5, 9, 0, 0, 0, 0), (5, 9, 0, 0, 0, 0)), [1])


def two_groups(judged_of_first, checked_of_first):
    """Three clusters, of whose second group two are checked whole; none has an error."""
    total = np.column_stack([judged_of_first, [4, 4, 4]])
    checked = np.column_stack([checked_of_first, [4, 4, 0]])
    nothing = np.zeros_like(total)
    return JudgedClusters(total // 2, total, checked // 2, nothing, checked - checked // 2, nothing)


def test_a_group_without_checked_or_without_unchecked_items_is_refused_if_it_counts():
    unchecked, whole = two_groups([4, 4, 4], [0, 0, 0]), two_groups([4, 4, 0], [4, 4, 0])
    with pytest.raises(RatioUndefined, match="no checked items"):
        estimate(unchecked, [1, -1])
    with pytest.raises(RatioUndefined, match="no unchecked items"):
        estimate(whole, [1, -1])


@pytest.mark.parametrize(
    ("total", "checked", "what"),
    [([4, 4, 4], [4, 0, 0], "checked"), ([4, 6, 4], [4, 4, 4], "unchecked")],
)
def test_a_group_whose_items_stand_in_one_cluster_is_refused(total, checked, what):
    """One cluster shows no spread, and its share would be taken for known."""
    with pytest.raises(TooFewClusters, match=f"needs {what} items in at least 2 clusters and has them in 1"):
        estimate(two_groups(total, checked), [1, 1])
