"""Cluster bootstrap of a mean score: whole clusters are drawn with all their scores."""

import numpy as np

from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import ArrayLike, groups, in_a_row, reals, require_equal_lengths
from eval_pipeline.stats.bootstrap import Bootstrap, Method, Ranks, bootstrap, of_floats
from eval_pipeline.stats.resampling import drawn_rows, seed_of
from eval_pipeline.stats.tails import Tails

_ROUNDING = 1e-12  # of the largest score: means that near are one mean


def cluster_mean(
    scores: ArrayLike,
    clusters: ArrayLike,
    *,
    level: Number,
    tails: Tails,
    method: Method,
    resamples: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> Bootstrap[float]:
    """Bootstrap interval of the mean score, resampling whole clusters with all their scores.

    Args:
        scores: shape (n,), finite, in any unit.
        clusters: shape (n,), the cluster of each score, by any name.
        level, tails, method, resamples, ranks, rng: as in `ratio_contrast`.

    Raises: TooFewClusters, NoVariation, InputRefused: as in `ratio_contrast`.
    Source: as in `ratio_contrast`.

    """
    values, cluster = in_a_row(reals(scores, "scores"), "scores"), groups(clusters, "clusters")
    require_equal_lengths(scores=values, clusters=cluster)
    sums, sizes = np.bincount(cluster, weights=values), np.bincount(cluster)
    lots = drawn_rows(len(sizes), resamples=resamples, rng=rng)
    draws = np.concatenate([sums.take(rows).sum(axis=1) / sizes.take(rows).sum(axis=1) for rows in lots])
    statistic = of_floats(
        float(sums.sum() / sizes.sum()),
        draws,
        close=_ROUNDING * float(np.abs(values).max()),
        without_one=lambda: (sums.sum() - sums) / (sizes.sum() - sizes),
    )
    return bootstrap(
        statistic,
        level=level,
        tails=tails,
        method=method,
        ranks=ranks,
        resamples=resamples,
        seed=seed_of(rng),
    )
