"""An interval of agreement draws whole clusters of units, counts the resamples that say nothing, and covers."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.errors import InputRefused, NoVariation, ThinResamples, TooFewClusters, Undefined
from eval_pipeline.stats.agreement import Agreement, agreement_interval
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.bootstrap import Bootstrap
from eval_pipeline.stats.kappa import cohen_kappa, fleiss_kappa, gwet_ac1, raw_agreement
from eval_pipeline.stats.resampling import drawn_rows
from tests.stats.dealt import Dealt, every_resample
from tests.stats.laws import LAW

FOUR_UNITS = [[1, 1], [1, 2], [2, 2], [2, 2]]
YES_OR_NO = (0, 1)
STUDIES, RESAMPLES = 400, 300

COEFFICIENTS: dict[str, Callable[..., Agreement]] = {
    "nominal": lambda table: krippendorff_alpha(table, scale="nominal"),
    "ordinal": lambda table: krippendorff_alpha(table, scale="ordinal"),
    "interval": lambda table: krippendorff_alpha(table, scale="interval"),
    "ratio": lambda table: krippendorff_alpha(table, scale="ratio"),
    "raw": raw_agreement,
    "fleiss": fleiss_kappa,
    "ac1": lambda table: gwet_ac1(table, categories=range(5)),
    "cohen": lambda table: cohen_kappa(table[:, :2], weights="none", categories=range(5)).agreement,
    "linear": lambda table: cohen_kappa(table[:, :2], weights="linear", categories=range(5)).agreement,
    "quadratic": lambda table: cohen_kappa(table[:, :2], weights="quadratic", categories=range(5)).agreement,
}


def interval(found: Agreement, clusters=None, **changed) -> Bootstrap[float]:
    promised = {"level": 0.95, "resamples": 1000, "valid_at_least": 500, "ranks": "symmetric"}
    options = promised | {"rng": np.random.default_rng(4242)} | changed
    return agreement_interval(found, np.arange(len(found.pattern)) if clusters is None else clusters, **options)


def or_none(coefficient: Callable[..., Agreement], table) -> float | None:
    try:
        return coefficient(table).estimate
    except Undefined:
        return None


def marks(rng, units, raters=3, missing=0.2):
    """Ratings from 0 to 4 of raters who are alike."""
    table = np.clip((rng.normal(2, 1.5, (units, 1)) + rng.normal(size=(units, raters))).round(), 0, 4)
    return np.where(rng.random(table.shape) < missing, np.nan, table)


def test_four_units_have_the_exact_law_of_their_256_resamples():
    """By enumeration in rational numbers: 17 are of one category; the others have mean .39686, and 79/239 are <= 0."""
    found = interval(
        krippendorff_alpha(FOUR_UNITS, scale="nominal"), resamples=256, valid_at_least=239, rng=every_resample(4)
    )
    # Of 4^4 draws, one is 1 1 four times and 2^4 = 16 are of the two units 2 2.
    assert (found.resamples, found.valid) == (256, 256 - 17)
    assert found.estimate == pytest.approx(8 / 15, abs=1e-12)
    assert found.draws.mean() == pytest.approx(0.39686192468619247, abs=1e-12)
    assert (found.draws <= 1e-12).sum() == 79
    by_hand = Counter()
    for draw in product(FOUR_UNITS, repeat=4):
        ones = sum(unit.count(1) for unit in draw)
        if 0 < ones < 8:
            # 1 - 7 D / (ones * twos), D the units that are apart.
            by_hand[1 - Fraction(7 * draw.count([1, 2]), ones * (8 - ones))] += 1
    assert found.draws == pytest.approx([float(value) for value in sorted(by_hand.elements())], abs=1e-12)


def test_chance_draws_what_the_exact_law_says():
    found = interval(krippendorff_alpha(FOUR_UNITS, scale="nominal"), resamples=4000)
    assert binomtest(4000 - found.valid, 4000, 17 / 256).pvalue > 0.01
    assert binomtest(int((found.draws <= 1e-12).sum()), found.valid, 79 / 239).pvalue > 0.01


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_a_resample_has_the_coefficient_of_the_table_of_its_units(name):
    """Units that were rated alike are one row of weights; drawing the units themselves gives the same."""
    coefficient, table = COEFFICIENTS[name], marks(np.random.default_rng(6), 12)
    found = coefficient(table)
    alike = table[np.argsort(found.pattern, kind="stable")]
    values = [
        or_none(coefficient, alike[rows])
        for lot in drawn_rows(12, resamples=50, rng=np.random.default_rng(9))
        for rows in lot
    ]
    drawn = interval(found, resamples=50, valid_at_least=1, rng=np.random.default_rng(9))
    assert drawn.estimate == found.estimate
    assert drawn.draws == pytest.approx(sorted(value for value in values if value is not None), abs=1e-12)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_clusters_of_several_units_are_drawn_whole(name):
    """Sizes 1 to 5, and one cluster nobody rated twice."""
    rng = np.random.default_rng(16)
    coefficient, cluster = COEFFICIENTS[name], rng.permutation(np.repeat(np.arange(8), [1, 2, 3, 4, 5, 1, 2, 3]))
    table = marks(rng, len(cluster))
    table[cluster == 5, 1:] = np.nan
    values = [
        or_none(coefficient, np.concatenate([table[cluster == row] for row in rows]))
        for lot in drawn_rows(8, resamples=50, rng=np.random.default_rng(9))
        for rows in lot
    ]
    drawn = interval(coefficient(table), cluster, resamples=50, valid_at_least=1, rng=np.random.default_rng(9))
    assert drawn.draws == pytest.approx(sorted(value for value in values if value is not None), abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.sampled_from(list(COEFFICIENTS)))
@LAW
def test_other_names_of_clusters_in_the_same_order_give_the_same_draws(seed, name):
    rng = np.random.default_rng(seed)
    cluster = np.concatenate([np.arange(6), rng.integers(0, 6, 14)])
    found = COEFFICIENTS[name](marks(rng, 20))
    numbered = interval(found, cluster, resamples=40, valid_at_least=1)
    for names in (cluster * 7 - 3, cluster.astype(np.uint8), [f"entry {c}" for c in cluster], pd.Series(cluster)):
        assert interval(found, names, resamples=40, valid_at_least=1).draws.tolist() == numbered.draws.tolist()


def test_names_of_clusters_in_another_order_give_other_draws():
    """Rows are drawn by number, and a cluster's number is its place among the names."""
    cluster = np.repeat(np.arange(6), 4)
    found = COEFFICIENTS["nominal"](marks(np.random.default_rng(3), 24))
    here, turned = (interval(found, names, resamples=40, valid_at_least=1) for names in (cluster, -cluster))
    assert here.estimate == turned.estimate
    assert here.draws.tolist() != turned.draws.tolist()


def test_many_units_of_few_patterns_spread_as_a_large_sample_says():
    """Beyond 10,000 units patterns are drawn; the error of Fleiss, Cohen & Everitt (1969) is another program's here."""
    rng = np.random.default_rng(4)
    truth = rng.random((12_000, 1)) < 0.3
    kappa = cohen_kappa(truth ^ (rng.random((12_000, 2)) < 0.1), weights="none")
    found = interval(kappa.agreement, resamples=2000, level=0.9)
    # The standard error of a standard deviation of 2,000 draws is 1.6%.
    assert found.draws.std() == pytest.approx(kappa.std_error, rel=0.05)
    assert found.draws.mean() == pytest.approx(kappa.agreement.estimate, abs=4 * kappa.std_error / 2000**0.5)
    assert found.interval.low == pytest.approx(kappa.interval(0.9).low, abs=0.2 * kappa.std_error)
    assert found.interval.high == pytest.approx(kappa.interval(0.9).high, abs=0.2 * kappa.std_error)


def test_many_units_in_clusters_spread_as_clusters_do():
    """Each unit twice is 2 units of a cluster: the spread is that of one of them."""
    rng = np.random.default_rng(5)
    truth = rng.random((600, 1)) < 0.4
    table = truth ^ (rng.random((600, 2)) < 0.15)
    once = cohen_kappa(table, weights="none")
    found = interval(cohen_kappa(np.repeat(table, 2, axis=0), weights="none").agreement, np.repeat(np.arange(600), 2))
    assert found.draws.std() == pytest.approx(once.std_error, rel=0.08)


@pytest.mark.parametrize(("ranks", "low", "high"), [("symmetric", 25, 975), ("floor", 24, 974)])
def test_the_ends_are_the_ranks_that_were_asked_for(ranks, low, high):
    """Of 999: 1000 * .025 and 1000 - 25; or floor(24.975) and floor(974.025)."""
    found = interval(gwet_ac1(marks(np.random.default_rng(2), 30)), resamples=999, ranks=ranks)
    assert found.valid == 999
    assert (found.interval.low, found.interval.high) == (found.draws[low - 1], found.draws[high - 1])
    assert (found.interval.level, found.method, found.ranks) == (0.95, "percentile", ranks)


@pytest.mark.parametrize("level", [0.5, Fraction(4, 5), 0.99])
def test_a_higher_level_is_a_wider_interval(level):
    found = krippendorff_alpha(marks(np.random.default_rng(2), 30), scale="interval")
    wide, narrow = interval(found, level=0.999).interval, interval(found, level=level).interval
    assert wide.low < narrow.low < found.estimate < narrow.high < wide.high
    assert narrow.level == float(level)


def test_a_seed_gives_one_interval_and_is_kept():
    found = fleiss_kappa(marks(np.random.default_rng(2), 30))
    one, again, other = (interval(found, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert (one.seed, other.seed) == (1, 2)
    assert one.draws.tolist() == again.draws.tolist() != other.draws.tolist()


def test_draws_that_are_all_the_same_are_said_to_be():
    same = interval(gwet_ac1([["yes", "yes"]] * 9, categories=("yes", "no")))
    assert same.degenerate
    assert (same.interval.low, same.interval.high, same.valid) == (1.0, 1.0, 1000)
    assert not interval(gwet_ac1([["yes", "yes"]] * 9 + [["no", "yes"]])).degenerate


def test_resamples_of_one_category_are_counted_out_and_may_be_too_many():
    found = krippendorff_alpha(FOUR_UNITS, scale="nominal")
    assert interval(found, resamples=256, valid_at_least=239, rng=every_resample(4)).valid == 239
    with pytest.raises(
        ThinResamples,
        match=r"only 239 of 256 resamples have ratings of more than one category and at least 240 .*rate more units",
    ):
        interval(found, resamples=256, valid_at_least=240, rng=every_resample(4))


def test_no_resample_at_all_is_no_interval_whatever_was_promised():
    found = krippendorff_alpha([[1, 1], [2, 2]], scale="nominal")
    with pytest.raises(ThinResamples, match="only 0 of 1 resamples"):
        interval(found, resamples=1, valid_at_least=0, rng=Dealt([0, 0], 2))


def test_resamples_without_a_pair_are_no_value():
    """Unit 0 has the one pair; drawn without it, there is nothing to agree on, though there are two categories."""
    for coefficient in (raw_agreement, fleiss_kappa, gwet_ac1, COEFFICIENTS["nominal"], COEFFICIENTS["interval"]):
        found = coefficient([[1, 2], [1, None], [2, None]])
        assert found.units == 1
        # Of 3^3 draws, 2^3 leave out the first unit.
        drawn = interval(found, resamples=54, valid_at_least=1, rng=every_resample(3, times=2))
        assert drawn.valid == 2 * (27 - 8)


@pytest.mark.parametrize(
    ("clusters", "refusal", "found"),
    [
        ([0, 1, 2], InputRefused, "clusters: found 3, expected one for each of 4 units"),
        ([0, 1, 2, 3, 4], InputRefused, "clusters: found 5, expected one for each of 4 units"),
        ([0, 0, 1, None], InputRefused, "clusters: found a missing value"),
        (np.ma.array([0, 0, 1, 1], mask=[0, 0, 0, 1]), InputRefused, "clusters: found a missing value"),
        ([[0, 1], [2, 3]], InputRefused, "clusters: found 2 dimensions"),
        (["a", "a", "b", 1], InputRefused, "clusters: found values of different kinds"),
        ([5, 5, 5, 5], TooFewClusters, "at least 2 clusters and was given 1"),
    ],
)
def test_clusters_that_do_not_say_what_each_unit_belongs_to_are_refused(clusters, refusal, found):
    with pytest.raises(refusal, match=found):
        interval(krippendorff_alpha(FOUR_UNITS, scale="nominal"), clusters)


def test_one_unit_has_no_interval():
    with pytest.raises(TooFewClusters, match="given 1"):
        interval(krippendorff_alpha([[1, 2]], scale="nominal"))


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        interval(krippendorff_alpha(FOUR_UNITS, scale="nominal"), level=level)


def test_no_resamples_are_refused():
    with pytest.raises(InputRefused, match="resamples: found 0"):
        interval(krippendorff_alpha(FOUR_UNITS, scale="nominal"), resamples=0)


def test_a_coefficient_without_disagreement_by_chance_is_refused():
    with pytest.raises(NoVariation, match="neither 0 nor 1"):
        fleiss_kappa([[1, 1], [1, 1]], categories=(1, 2))


def votes(rng, units, *, share, errors, raters=3, missing=0.0):
    """Votes on units of which `share` are true, each wrong with the chance of its unit."""
    truth = rng.random((units, 1)) < share
    table = (truth ^ (rng.random((units, raters)) < np.reshape(errors, (-1, 1)))).astype(float)
    return np.where(rng.random(table.shape) < missing, np.nan, table)


def coefficients_of(*, share, error, error_squared=None):
    """Kappa or alpha, and AC1, of raters who err with these moments: two differ with chance 2 E e (1 - e)."""
    apart = 2 * (error - (error**2 if error_squared is None else error_squared))
    said = share * (1 - error) + (1 - share) * error
    return 1 - apart / (2 * said * (1 - said)), 1 - apart / (1 - 2 * said * (1 - said))


def hits(study, coefficient, truth, *, seed=1, by=1, studies=STUDIES) -> int:
    """In how many studies of a table and its clusters the interval holds the truth; `by` 0 draws units instead."""
    rng, held = np.random.default_rng(seed), 0
    for _ in range(studies):
        table, cluster = study(rng)
        drawn = interval(
            coefficient(table),
            cluster if by else None,
            resamples=RESAMPLES,
            valid_at_least=RESAMPLES // 4,
            rng=rng,
        )
        held += drawn.interval.low <= truth <= drawn.interval.high
    return held


YES_NO_COEFFICIENTS = {
    "alpha": (lambda table: krippendorff_alpha(table, scale="nominal"), 0),
    "fleiss": (lambda table: fleiss_kappa(table, categories=YES_OR_NO), 0),
    "ac1": (lambda table: gwet_ac1(table, categories=YES_OR_NO), 1),
    "cohen": (lambda table: cohen_kappa(table[:, :2], weights="none", categories=YES_OR_NO).agreement, 0),
}


@pytest.mark.parametrize("name", YES_NO_COEFFICIENTS)
def test_intervals_of_independent_units_cover(name):
    coefficient, which = YES_NO_COEFFICIENTS[name]
    held = hits(
        lambda rng: (votes(rng, 100, share=0.3, errors=0.1, missing=0.1), None),
        coefficient,
        coefficients_of(share=0.3, error=0.1)[which],
    )
    assert binomtest(held, STUDIES, 0.95).pvalue > 0.01


def of_clusters(count):
    """Clusters of 1 to 10 units; how often raters err differs from cluster to cluster, by a beta law of mean .2."""

    def study(rng):
        cluster = np.repeat(np.arange(count), rng.integers(1, 11, count))
        return votes(rng, len(cluster), share=0.3, errors=rng.beta(0.5, 2, count)[cluster], missing=0.1), cluster

    return study


# E e^2 = a (a + 1) / ((a + b) (a + b + 1)), of a = 1/2 and b = 2.
OF_CLUSTERS = coefficients_of(share=0.3, error=0.2, error_squared=0.75 / 8.75)


@pytest.mark.parametrize("name", ["alpha", "ac1", "cohen"])
def test_units_that_err_together_are_covered_by_drawing_clusters_and_not_by_drawing_units(name):
    coefficient, which = YES_NO_COEFFICIENTS[name]
    held = hits(of_clusters(60), coefficient, OF_CLUSTERS[which])
    assert binomtest(held, STUDIES, 0.95).pvalue > 0.01
    of_units = hits(of_clusters(60), coefficient, OF_CLUSTERS[which], by=0, studies=100)
    assert binomtest(of_units, 100, 0.95, alternative="less").pvalue < 0.01


@pytest.mark.parametrize("name", ["alpha", "cohen"])
def test_with_20_clusters_intervals_cover_a_little_too_little(name):
    """Percentiles of few clusters are narrow by a factor of about the root of 19/20, and those of alpha lie low."""
    coefficient, which = YES_NO_COEFFICIENTS[name]
    held = hits(of_clusters(20), coefficient, OF_CLUSTERS[which])
    assert 0.88 * STUDIES < held < 0.95 * STUDIES


def test_intervals_of_scores_cover():
    """Half of the variance of a score is its unit's."""

    def study(rng):
        table = rng.normal(size=(200, 1)) + rng.normal(size=(200, 3))
        return np.where(rng.random(table.shape) < 0.3, np.nan, table), None

    held = hits(study, COEFFICIENTS["interval"], 0.5)
    assert binomtest(held, STUDIES, 0.95).pvalue > 0.01


def test_alpha_of_a_rare_category_is_covered_far_too_seldom_and_ac1_nearly():
    """Of 60 units, two or so are apart; what the sample does not hold, no resample shows."""
    alpha, ac1 = coefficients_of(share=0.03, error=0.02)

    def study(rng):
        while True:
            table = votes(rng, 60, share=0.03, errors=0.02)
            if table.sum() > 1:
                return table, None

    assert hits(study, YES_NO_COEFFICIENTS["alpha"][0], alpha) < 0.85 * STUDIES
    assert hits(study, YES_NO_COEFFICIENTS["ac1"][0], ac1) > 0.87 * STUDIES


def test_one_rating_far_out_takes_no_resample_away():
    """Resamples without that unit have an alpha of their own, however far out it lies."""
    rng = np.random.default_rng(2)
    table = rng.integers(0, 2, (40, 2)).tolist()
    intervals = {}
    for far in (1e3, 1e9):
        found = krippendorff_alpha([*table, [far, far + 1]], scale="interval")
        drawn = agreement_interval(
            found,
            range(41),
            level=0.95,
            resamples=500,
            valid_at_least=1,
            ranks="symmetric",
            rng=np.random.default_rng(3),
        )
        assert drawn.valid == 500
        intervals[far] = drawn.interval.low
    assert intervals[1e3] == pytest.approx(intervals[1e9], abs=1e-9)
