"""The mean of clustered scores has the interval of its resampled clusters, in whatever unit the scores are."""

import numpy as np
import numpy.typing as npt
import pytest
import statsmodels.api as sm
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.errors import InputRefused, NoVariation, TooFewClusters
from eval_pipeline.records import Interval
from eval_pipeline.stats.bootstrap import Bootstrap
from eval_pipeline.stats.cluster_mean import cluster_mean
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from tests.stats.dealt import every_resample
from tests.stats.laws import LAW
from tests.stats.peers import scipy_bootstrap
from tests.stats.simulate import holds


def mean_of(scores, clusters, **changed) -> Bootstrap[float]:
    promised = {"level": 0.95, "tails": "two", "method": "percentile", "resamples": 400, "ranks": "symmetric"}
    return cluster_mean(scores, clusters, **(promised | {"rng": np.random.default_rng(11)} | changed))


@pytest.mark.parametrize(
    ("tails", "method", "ranks", "level", "low", "high"),
    [
        # Ranks among 27: floor(2.8) = 2 and 28 - 2 = 26; at the floor max(1, floor(1.35)) = 1 and floor(25.65) = 25.
        ("two", "percentile", "symmetric", 0.8, 7 / 5, 13 / 3),
        ("two", "percentile", "floor", 0.9, 1, 13 / 3),
        ("lower", "percentile", "symmetric", 0.8, 9 / 5, None),  # floor(5.6) = 5
        ("upper", "percentile", "symmetric", 0.8, None, 11 / 3),  # 28 - 5 = 23
        # 10 of 27 draws lie below 2.5 and 6 at it: z0 = Phi^-1(13/27) = -.0464. Without a 8/2, without b 7/3, without c
        # 5/3: mean 8/3, influence -4/3, 1/3, 1: squares 26/9, cubes -36/27: a = -1.3333 / (6 * 4.9103) = -.04526.
        # For .2: z0 - .8416 = -.8881, over 1 - .0402 is -.9252, plus z0 is -.9717: Phi .1656, floor(4.64) = 4.
        ("lower", "bca", "symmetric", 0.8, 7 / 5, None),
    ],
)
def test_three_clusters_have_the_interval_that_their_27_resamples_have_by_hand(tails, method, ranks, level, low, high):
    # Sums and sizes: a 2 of 2, b 3 of 1, c 5 of 1; mean 10/4. The 27 draws in order, and how often each is drawn:
    # aaa 1 (1); aab 7/5 (3); aac 9/5 (3); abb 8/4 (3); abc 10/4 (6); acc 12/4 (3), bbb 3 (1); bbc 11/3 (3);
    # bcc 13/3 (3); ccc 5 (1); so the last of each stands at rank 1, 4, 7, 10, 16, 20, 23, 26, 27.
    found = mean_of(
        [1, 3, 1, 5],
        ["a", "b", "a", "c"],
        tails=tails,
        method=method,
        ranks=ranks,
        level=level,
        resamples=27,
        rng=every_resample(3),
    )
    assert found.estimate == 2.5
    assert found.interval == Interval(low, high, level)
    counted = [1] + [7 / 5] * 3 + [9 / 5] * 3 + [2] * 3 + [5 / 2] * 6 + [3] * 4 + [11 / 3] * 3 + [13 / 3] * 3 + [5]
    assert found.draws == pytest.approx(counted)
    assert (found.method, found.ranks, found.resamples, found.valid) == (method, ranks, 27, 27)


def made_up(seed: int, clusters: int):
    """Right-skewed scores in clusters of 1 to 8 that lean together, and whose names are strings."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), rng.integers(1, 9, clusters))
    return rng.exponential(size=clusters)[cluster] + rng.random(len(cluster)), cluster


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_the_interval_is_that_of_scipy(method):
    """scipy.stats.bootstrap 1.17.1 on the sums and sizes of the clusters as paired data, with draws of its own."""
    scores, cluster = made_up(3, 40)
    theirs = scipy_bootstrap(
        (np.bincount(cluster, weights=scores), np.bincount(cluster)),
        lambda sums, sizes, axis: sums.sum(axis) / sizes.sum(axis),
        method=method,
    )
    ours = mean_of(scores, cluster, method=method, resamples=20_000)
    # Of 20,000 draws a quantile has a Monte Carlo error of .019 s.e.; that of BCa also twice the .009 of z0.
    tolerance = 4 * 2**0.5 * (0.019 + 0.018 * (method == "bca")) * theirs.standard_error
    assert ours.interval.low == pytest.approx(theirs.confidence_interval.low, abs=tolerance)
    assert ours.interval.high == pytest.approx(theirs.confidence_interval.high, abs=tolerance)
    assert ours.draws.std(ddof=1) == pytest.approx(theirs.standard_error, rel=0.03)
    other = mean_of(scores, cluster, method={"percentile": "bca", "bca": "percentile"}[method], resamples=20_000)
    assert abs(other.interval.high - ours.interval.high) > tolerance


def test_the_draws_scatter_by_the_cluster_robust_standard_error_and_not_by_that_of_single_scores():
    """statsmodels 0.14, OLS on a constant, cov_type="cluster" without its small-sample factor."""
    scores, cluster = made_up(5, 200)
    fit = sm.OLS(scores, np.ones(len(scores))).fit(
        cov_type="cluster", cov_kwds={"groups": cluster, "use_correction": False}
    )
    found = mean_of(scores, cluster, resamples=5_000)
    assert found.estimate == pytest.approx(fit.params[0])
    assert found.draws.std() == pytest.approx(fit.bse[0], rel=0.05)
    assert found.draws.std() > 1.8 * scores.std() / len(scores) ** 0.5


SCORES = st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 5)), min_size=2, max_size=25).filter(
    lambda rows: len({cluster for _, cluster in rows}) > 1
)


def columns_of(rows) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    return np.array([score for score, _ in rows], dtype=float), np.array([cluster for _, cluster in rows])


@LAW
@given(
    SCORES, st.sampled_from([1e-12, 0.5, 3, 1e9]), st.sampled_from([0, 1, -7]), st.sampled_from(["percentile", "bca"])
)
def test_a_change_of_unit_changes_the_interval_likewise(rows, unit, shift, method):
    scores, cluster = columns_of(rows)
    try:
        plain = mean_of(scores, cluster, method=method)
    except NoVariation:
        assume(False)
    moved = mean_of(unit * (scores + shift), cluster, method=method)
    for end in ("low", "high"):
        expected = unit * (getattr(plain.interval, end) + shift)
        assert getattr(moved.interval, end) == pytest.approx(expected, rel=1e-9, abs=unit * 1e-9)
    assert moved.degenerate == plain.degenerate
    assert moved.estimate == pytest.approx(unit * (plain.estimate + shift), abs=unit * 1e-9)


@LAW
@given(SCORES, st.randoms(use_true_random=False))
def test_neither_the_order_of_the_scores_nor_other_names_of_the_clusters_in_the_same_order_matter(rows, shuffler):
    order = shuffler.sample(range(len(rows)), len(rows))
    scores, cluster = columns_of(rows)
    names = np.array(["a", "bb", "c", "d", "ee", "f"])
    found, other = mean_of(scores, cluster), mean_of(scores[order], names[cluster[order]])
    assert other.interval == found.interval
    assert np.array_equal(other.draws, found.draws)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_of_yes_and_no_it_is_the_pooled_ratio_of_the_same_seed(method):
    rng = np.random.default_rng(4)
    cluster = np.repeat(np.arange(30), rng.integers(1, 9, 30))
    scores = (rng.random(len(cluster)) < 0.3 + 0.6 * (cluster % 2)).astype(int)
    ratio = ratio_contrast(
        np.bincount(cluster, weights=scores)[:, None],
        np.bincount(cluster)[:, None],
        [1],
        level=0.95,
        tails="two",
        method=method,
        resamples=400,
        valid_at_least=400,
        ranks="symmetric",
        rng=np.random.default_rng(11),
    )
    found = mean_of(scores, cluster, method=method)
    assert np.array_equal(found.draws, ratio.draws)
    assert found.interval == Interval(float(ratio.interval.low), float(ratio.interval.high), 0.95)
    assert (found.estimate, found.seed) == (float(ratio.estimate), 11)


@pytest.mark.parametrize("score", [0, 0.1, 1e-12, 1e12])
def test_equal_scores_have_an_interval_without_width_and_are_called_degenerate_in_any_unit(score):
    found = mean_of(np.full(40, score), np.arange(40) % 7)
    assert found.degenerate
    assert found.interval.low == pytest.approx(score, rel=1e-12)
    assert found.interval.high == pytest.approx(score, rel=1e-12)
    with pytest.raises(NoVariation):
        mean_of(np.full(40, score), np.arange(40) % 7, method="bca")


@pytest.mark.parametrize("unit", [1e-12, 1, 1e12])
def test_scores_that_differ_are_not_degenerate_in_any_unit(unit):
    assert not mean_of(unit * np.array([1, 1, 1, 2]), [1, 2, 3, 4]).degenerate
    seconds = 1.7e9 + np.array([0, 1, 2, 3.5])
    assert not mean_of(seconds, [1, 2, 3, 4]).degenerate


def held(
    clusters: int,
    *,
    spread,
    method: str = "percentile",
    by_cluster: bool = True,
    studies: int = 400,
    resamples: int = 400,
) -> int:
    """In how many studies of clusters of 1 to 8 scores the 95 % interval holds the true mean, which is 0."""
    rng, hits = np.random.default_rng(7), 0
    for _ in range(studies):
        cluster = np.repeat(np.arange(clusters), rng.integers(1, 9, clusters))
        scores = spread(rng, clusters)[cluster] + rng.normal(size=len(cluster))
        names = cluster if by_cluster else np.arange(len(cluster))
        hits += holds(mean_of(scores, names, method=method, resamples=resamples, rng=rng).interval, 0)
    return hits


def normal(rng: np.random.Generator, clusters: int) -> npt.NDArray[np.float64]:
    return rng.normal(size=clusters)


def skewed(rng: np.random.Generator, clusters: int) -> npt.NDArray[np.float64]:
    return 2 * (np.exp(rng.normal(size=clusters)) - np.exp(0.5))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_with_80_clusters_of_unequal_size_95_percent_of_intervals_hold_the_true_mean(method):
    assert binomtest(held(80, spread=normal, method=method, resamples=1_000), 400, 0.95).pvalue > 0.01


def test_single_scores_in_place_of_clusters_would_not_hold_it():
    hits = held(80, spread=normal, by_cluster=False, studies=150)
    assert binomtest(hits, 150, 0.95, alternative="less").pvalue < 1e-6


def test_with_20_clusters_the_interval_holds_it_less_often_than_it_says():
    hits = held(20, spread=normal)
    assert binomtest(hits, 400, 0.95, alternative="less").pvalue < 0.01
    assert hits > 0.88 * 400


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_with_20_clusters_of_very_skewed_scores_neither_method_holds_it(method):
    hits = held(20, spread=skewed, method=method, studies=200)
    assert binomtest(hits, 200, 0.95, alternative="less").pvalue < 1e-4


@pytest.mark.parametrize("scores", [[], [1.0, 2.0]])
def test_fewer_than_two_clusters_are_refused(scores):
    with pytest.raises(TooFewClusters, match=f"at least 2 clusters and was given {min(1, len(scores))}"):
        mean_of(scores, ["a"] * len(scores))


@pytest.mark.parametrize(
    ("scores", "clusters", "found"),
    [
        ([1, 2, 3], [1, 2], "found 3 scores, 2 clusters"),
        ([1, np.nan, 3], [1, 2, 3], "scores: found nan, expected finite numbers"),
        ([1, np.inf, 3], [1, 2, 3], "scores: found inf, expected finite numbers"),
        ([1, 2, 3], [1, None, 3], "clusters: found a missing value"),
        ([1, 2], [[1, 2], [1, 3]], "clusters: found 2 dimensions, expected 1"),
    ],
)
def test_scores_that_are_none_or_belong_nowhere_are_refused(scores, clusters, found):
    with pytest.raises(InputRefused, match=found):
        mean_of(scores, clusters)


def test_no_resamples_and_a_level_of_1_are_refused():
    with pytest.raises(InputRefused, match="resamples: found 0"):
        mean_of([1, 2, 3], [1, 2, 3], resamples=0)
    with pytest.raises(InputRefused, match="level: found 1,"):
        mean_of([1, 2, 3], [1, 2, 3], level=1)


def test_scores_in_a_table_are_refused():
    with pytest.raises(InputRefused, match="scores: found 2 dimensions, expected 1"):
        mean_of([[1.0, 2.0], [3.0, 4.0]], [0, 1])
