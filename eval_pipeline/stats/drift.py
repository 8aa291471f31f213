"""Whether scores move from batch to batch, when the scores of one cluster err together."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import TooFewClusters, TooFewObservations
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, groups, in_a_row, reals, require_equal_lengths
from eval_pipeline.stats.resampling import seed_of
from eval_pipeline.stats.scalars import choice, whole_number

Exchange = Literal["clusters", "replicates"]

_Rows = npt.NDArray[np.intp]

_SCORES_AT_ONCE = 2**20  # bounds the memory of a block of permutations to some 25 MB
_TIED = 1e-12  # of the largest deviation from the mean: ranges nearer than that are equal


@dataclass(frozen=True, slots=True)
class Drift:
    """The range of the batches' mean scores, and the chance of so wide a one if batches made no difference.

    `means` stand in the order of the batches' names; `slope` is the least-squares rise of these means from one batch to
    the next. `p_value` is (as wide + 1) / (resamples + 1). `seed` is what the generator was seeded with.
    """

    range: float
    means: tuple[float, ...]
    slope: float
    p_value: float
    clusters: int
    resamples: int
    seed: int | None


def drift(
    scores: ArrayLike,
    batches: ArrayLike,
    clusters: ArrayLike,
    *,
    exchange: Exchange,
    resamples: int,
    rng: np.random.Generator,
) -> Drift:
    """Permutation test of the range of batch means that leaves together what errs together.

    "clusters": clusters with the same number of scores trade places: the j-th score of one goes to the batch of the
    j-th score of the other. It is exact where clusters were dealt to batches at random, however strongly the scores of
    a cluster depend on each other and on j. "replicates": the scores of one cluster trade places among themselves. It
    is exact where the scores of a cluster are exchangeable, however clusters were dealt; a cluster that lies in one
    batch then says nothing. Single scores never trade places between clusters: were they to, p would be too small
    where a cluster lies in one batch, and too large where it is spread over several.

    Args:
        scores: shape (n,), real numbers.
        batches: shape (n,), the batch of each score, in an order that means something for the slope.
        clusters: shape (n,), what each score is of, such as the response that was rated.
        exchange: what trades places.
        resamples: random permutations.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewObservations: fewer than two batches.
        TooFewClusters: no exchange of that kind moves a score to another batch.
        InputRefused: unequal lengths, not rows of finite numbers, or resamples < 1.
    Source: Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, chapters 3 and 6; Winkler et al.
        (2015), NeuroImage 123, 253-268 (whole-block and within-block exchange); Phipson & Smyth (2010), Statistical
        Applications in Genetics and Molecular Biology 9(1), article 39 (the 1 that is added).

    """
    choice(exchange, Exchange, "exchange")
    values = in_a_row(reals(scores, "scores"), "scores")
    batch, cluster = groups(batches, "batches"), groups(clusters, "clusters")
    require_equal_lengths(scores=values, batches=batch, clusters=cluster)
    resamples = whole_number(resamples, "resamples", at_least=1)
    if (count := len(np.unique(batch))) < 2:
        raise TooFewObservations(f"drift needs at least 2 batches and was given {count}")
    tables = _equal_sized(cluster)
    if not any(_moves(batch[rows], exchange) for rows in tables):
        raise TooFewClusters(f"no exchange of {exchange} moves a score to another batch; deal them out differently")

    centre = values.mean()
    shares = np.eye(count)[batch] / np.bincount(batch)
    means = (values - centre) @ shares
    slack = _TIED * np.abs(values - centre).max()
    as_wide = sum(
        int((np.ptp(shuffled @ shares, axis=1) >= np.ptp(means) - slack).sum())
        for shuffled in _shuffles(values - centre, tables, exchange, resamples, rng)
    )
    steps = np.arange(count) - (count - 1) / 2
    return Drift(
        range=float(np.ptp(means)),
        means=tuple((means + centre).tolist()),
        slope=float(steps @ means / (steps @ steps)),
        p_value=(as_wide + 1) / (resamples + 1),
        clusters=int(cluster.max()) + 1,
        resamples=resamples,
        seed=seed_of(rng),
    )


def _equal_sized(cluster: Counts) -> list[_Rows]:
    """For each size of cluster, the row numbers of such clusters: shape (clusters, size), in the order given."""
    order = np.argsort(cluster, kind="stable")
    sizes = np.bincount(cluster)[cluster[order]]
    return [order[sizes == size].reshape(-1, size) for size in np.unique(sizes)]


def _moves(batch: Counts, exchange: Exchange) -> bool:
    """Whether the exchange can change which scores lie in which batch."""
    return bool(np.ptp(batch, axis=0 if exchange == "clusters" else 1).any())


def _shuffles(
    values: Reals, tables: list[_Rows], exchange: Exchange, resamples: int, rng: np.random.Generator
) -> Iterator[Reals]:
    """The scores after random exchanges, in blocks of shape (permutations, n)."""
    block = max(1, _SCORES_AT_ONCE // len(values))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        shuffled = np.empty((size, len(values)))
        for rows in tables:
            if exchange == "clusters":
                order = rng.permuted(np.tile(np.arange(len(rows)), (size, 1)), axis=1)
                source = rows[order]
            else:
                source = rng.permuted(np.tile(rows, (size, 1, 1)), axis=2)
            shuffled[:, rows] = values[source]
        yield shuffled
