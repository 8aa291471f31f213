"""Drift of batch means: by hand, as pandas and SciPy have it, by its laws, and by simulation with dependent scores."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, permutation_test

from eval_pipeline.errors import InputRefused, TooFewClusters, TooFewObservations
from eval_pipeline.stats import drift as module
from eval_pipeline.stats.drift import drift
from tests.stats.laws import LAW


def found(scores, batches, clusters, exchange="clusters", resamples=99, seed=1):
    return drift(scores, batches, clusters, exchange=exchange, resamples=resamples, rng=np.random.default_rng(seed))


def agrees(result, chance):
    """Whether so many permutations as wide are likely if each is so with that chance."""
    return binomtest(round(result.p_value * (result.resamples + 1)) - 1, result.resamples, chance).pvalue > 0.01


def test_the_range_and_the_slope_are_those_of_the_means_of_the_batches():
    """Means 1, 3, 8 of three batches: range 7; slope (-1 * 1 + 0 * 3 + 1 * 8) / 2 = 3.5."""
    result = found([0, 2, 3, 3, 3, 8], [1, 1, 2, 2, 2, 5], list("abcdef"))
    assert (result.range, result.slope) == (pytest.approx(7, abs=1e-12), pytest.approx(3.5, abs=1e-12))
    assert result.means == pytest.approx((1, 3, 8), abs=1e-12)
    assert (result.clusters, result.resamples, result.seed) == (6, 99, 1)


def test_whole_clusters_trade_places():
    """Clusters of 0 0, 0 0, 1 1 and 1 1 in two batches fall apart so in 2 of 6 cases; of single scores, in 2 of 70."""
    scores, batches = np.repeat([0, 0, 1, 1], 2), np.repeat([0, 0, 1, 1], 2)
    assert agrees(found(scores, batches, np.repeat([0, 1, 2, 3], 2), resamples=3000), 2 / 6)
    assert agrees(found(scores, batches, np.arange(8), resamples=3000), 2 / 70)


def test_the_replicates_of_one_cluster_trade_places():
    """Three clusters of 0 in one batch and 1 in the other; all three keep their order, or all turn, in 2 of 8 cases."""
    scores, batches, clusters = [0, 1] * 3, [0, 1] * 3, np.repeat([0, 1, 2], 2)
    assert agrees(found(scores, batches, clusters, exchange="replicates", resamples=3000), 2 / 8)


def test_only_clusters_of_one_size_trade_places():
    """The 9 of a cluster of two stays in its batch; the two single scores lie as they do, or the other way, in turn."""
    result = found([9, 0, 4, 1], [0, 1, 1, 0], ["pair", "pair", "x", "y"], resamples=3000)
    assert result.means == (5, 2)
    # Means 5 and 2, or 6.5 and 0.5.
    assert result.p_value == 1
    assert agrees(found([9, 0, 1, 4], [0, 1, 1, 0], ["pair", "pair", "x", "y"], resamples=3000), 1 / 2)


def test_the_jth_score_of_a_cluster_takes_the_place_of_the_jth_of_another():
    """Clusters 0 1 and 2 3, in batches A B and B A: means 1.5 and 1.5 as they lie, and after the exchange as well."""
    assert found([0, 1, 2, 3], list("ABBA"), [0, 0, 1, 1]).p_value == 1
    # Clusters 0 5 and 1 2: means 1 and 3 as they lie; 3 and 1 after the exchange.
    assert found([0, 5, 1, 2], list("ABBA"), [0, 0, 1, 1]).range == pytest.approx(2)


def test_rows_may_be_mixed_as_long_as_each_cluster_keeps_its_order():
    rng = np.random.default_rng(4)
    scores, batches = rng.normal(np.array([0, 0, 0, 5]), size=(100, 4)), rng.integers(0, 3, (100, 4))
    clusters = np.repeat(np.arange(100), 4).reshape(100, 4)
    by_cluster, by_replicate = (
        found(scores.ravel(order), batches.ravel(order), clusters.ravel(order), resamples=999) for order in "CF"
    )
    assert by_cluster.p_value == by_replicate.p_value


@pytest.mark.parametrize("exchange", ["clusters", "replicates"])
def test_blocks_of_permutations_and_one_large_one_agree(monkeypatch, exchange):
    rng = np.random.default_rng(3)
    scores, clusters = rng.integers(0, 4, 40), np.repeat(np.arange(20), 2)
    batches = rng.integers(0, 3, 40)
    whole = found(scores, batches, clusters, exchange, resamples=3000)
    monkeypatch.setattr(module, "_SCORES_AT_ONCE", 7 * 40)
    assert agrees(found(scores, batches, clusters, exchange, resamples=2000), whole.p_value)


def test_scipy_finds_the_same_chance_where_every_cluster_is_a_single_score():
    rng = np.random.default_rng(5)
    x, y = rng.normal(0.8, 1, 6), rng.normal(size=7)
    theirs = permutation_test((x, y), lambda a, b: abs(a.mean() - b.mean()), alternative="greater", n_resamples=np.inf)
    result = found(np.concatenate([x, y]), [0] * 6 + [1] * 7, np.arange(13), resamples=4000)
    assert result.range == pytest.approx(theirs.statistic, abs=1e-12)
    assert agrees(result, theirs.pvalue)


@LAW
@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=4, max_size=20), st.integers(-9, 9))
def test_means_and_slope_are_those_of_pandas_and_numpy_and_a_shift_changes_only_the_means(rows, shift):
    scores, batches = np.array(rows).T
    if len(set(batches)) > 1:
        means = pd.Series(scores, dtype=float).groupby(batches).mean().to_numpy()
        here = found(scores, batches, np.arange(len(rows)), resamples=19)
        there = found(3 * scores + shift, batches, np.arange(len(rows)) % len(rows), resamples=19)
        assert here.means == pytest.approx(means, abs=1e-12)
        assert here.slope == pytest.approx(np.polyfit(np.arange(len(means)), means, 1)[0], abs=1e-9)
        assert there.means == pytest.approx(3 * means + shift, abs=1e-9)
        assert (there.p_value, there.range) == (here.p_value, pytest.approx(3 * here.range, abs=1e-9))


def test_equal_scores_are_no_drift():
    assert found([0.1] * 6, [0, 0, 0, 1, 1, 1], np.arange(6)).p_value == 1


def test_a_p_of_random_permutations_is_never_0():
    result = found(np.repeat([0, 100], 50), np.repeat([0, 1], 50), np.arange(100), resamples=199)
    assert result.p_value == 1 / 200


def test_the_same_seed_gives_the_same_p():
    rng = np.random.default_rng(2)
    scores, batches, clusters = rng.normal(size=60), rng.integers(0, 3, 60), np.repeat(np.arange(30), 2)
    assert found(scores, batches, clusters) == found(scores, batches, clusters)
    assert len({found(scores, batches, clusters, seed=seed).p_value for seed in range(5)}) > 1


def study(rng, spread, sizes=(3,) * 60, effect=0.0):
    """Scores that share most of their variance within a response, dealt to five batches.

    The j-th replicate of a response lies in the batch of the first, or `spread` times j batches further on.
    """
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    replicate = np.concatenate([np.arange(size) for size in sizes])
    batches = (rng.permutation(len(sizes))[clusters] + spread * replicate) % 5
    shared = rng.normal(size=len(sizes))[clusters]
    # The second rater is lenient: the replicates of a response need not be alike.
    return shared + 0.3 * rng.normal(size=len(clusters)) + effect * batches, batches, clusters, replicate


def rejected(rng, exchange, spread, single="no", leniency=0.4, studies=500, **given):
    hits = 0
    for _ in range(studies):
        scores, batches, clusters, replicate = study(rng, spread, **given)
        clusters = np.arange(len(scores)) if single == "yes" else clusters
        scores = scores + leniency * (replicate == 1)
        hits += drift(scores, batches, clusters, exchange=exchange, resamples=99, rng=rng).p_value <= 0.05
    return hits


@pytest.mark.parametrize("spread", [0, 1])
@pytest.mark.parametrize("sizes", [(3,) * 60, (1,) * 15 + (2,) * 25 + (4,) * 12])
def test_batches_that_are_alike_differ_at_the_level_however_dependent_the_scores_of_a_response_are(spread, sizes):
    hits = rejected(np.random.default_rng(11), "clusters", spread, sizes=sizes)
    assert binomtest(hits, 500, 0.05).pvalue > 0.01


def test_replicates_that_are_alike_and_trade_places_differ_at_the_level():
    hits = rejected(np.random.default_rng(12), "replicates", 1, leniency=0, studies=2000)
    assert binomtest(hits, 2000, 0.05).pvalue > 0.01


def test_single_scores_that_trade_places_miss_the_level_on_either_side():
    """Some 50% are rejected where a response lies in one batch, and hardly any where it is spread over several."""
    rng = np.random.default_rng(13)
    assert rejected(rng, "clusters", 0, single="yes", studies=100) > 30
    assert binomtest(rejected(rng, "clusters", 1, single="yes"), 500, 0.05, alternative="less").pvalue < 0.01


@pytest.mark.parametrize("exchange", ["clusters", "replicates"])
def test_a_steady_rise_is_found(exchange):
    hits = rejected(np.random.default_rng(14), exchange, 1, leniency=0, studies=100, effect=0.15)
    assert hits > 50


def test_responses_rated_once_in_every_batch_are_compared_within_themselves():
    rng = np.random.default_rng(15)
    scores = (3 * rng.normal(size=(30, 1)) + rng.normal(size=(30, 4)) / 2 + [0, 0, 0, 1]).ravel()
    batches, clusters = np.tile(np.arange(4), 30), np.repeat(np.arange(30), 4)
    assert found(scores, batches, clusters, exchange="replicates").p_value == 0.01
    with pytest.raises(TooFewClusters, match="no exchange of clusters moves a score"):
        found(scores, batches, clusters)


@pytest.mark.parametrize(
    ("scores", "batches", "clusters", "exchange", "resamples", "refusal", "words"),
    [
        ([1, 2], [0, 0], [0, 1], "clusters", 9, TooFewObservations, "at least 2 batches and was given 1"),
        ([], [], [], "clusters", 9, TooFewObservations, "was given 0"),
        ([1, 2, 3], [0, 1, 1], [0, 1], "clusters", 9, InputRefused, "2 clusters"),
        ([[1], [2]], [0, 1], [0, 1], "clusters", 9, InputRefused, "2 dimensions"),
        ([1, np.inf], [0, 1], [0, 1], "clusters", 9, InputRefused, "finite"),
        ([1, 2], [0, None], [0, 1], "clusters", 9, InputRefused, "batches: found a missing value"),
        ([1, 2], [0, 1], [0, 1], "clusters", 0, InputRefused, "resamples: found 0"),
        ([1, 2], [0, 1], [0, 1], "clusters", 9.5, InputRefused, "resamples: found 9.5"),
        ([1, 2, 3], [0, 1, 0], [0, 0, 1], "clusters", 9, TooFewClusters, "no exchange of clusters"),
        ([1, 2, 3], [0, 0, 1], [0, 0, 1], "replicates", 9, TooFewClusters, "no exchange of replicates"),
    ],
)
def test_what_cannot_be_said_is_refused(scores, batches, clusters, exchange, resamples, refusal, words):
    with pytest.raises(refusal, match=words):
        found(scores, batches, clusters, exchange, resamples)
