"""Intervals for a pooled share and for the difference of two that hold with few clusters and near 0 and 1.

A bootstrap says nothing where no cluster failed, and little where few did. These intervals take from the clusters how
many independent trials the data are worth, and are those of Clopper and Pearson for so many. They too say too much
where clusters are large and alike and all but a few of them have no failure: nothing then shows how alike they are.
With 20 clusters of 20 trials, an intraclass correlation of .2 and a share of .98, a lower bound at 95 % lies above the
truth in a fifth of studies; with 8 trials, in an eighth; with 4, in a twentieth, as it should.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewClusters
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, counts
from eval_pipeline.stats.binomial import high_end, low_end
from eval_pipeline.stats.tails import Tails, interval_of, tail_of


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """A share, or a difference of two, with its interval."""

    estimate: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class BoundedShare:
    """A share with both its bounds, and what each cluster adds to its error, shape (k,)."""

    share: float
    low: float
    high: float
    influence: Reals


def share_interval(successes: ArrayLike, trials: ArrayLike, *, level: Number, tails: Tails) -> ShareEstimate:
    """Clopper-Pearson interval of a pooled share for as many trials as the clusters are worth.

    Args:
        successes: shape (k,), of each cluster.
        trials: shape (k,), of each cluster; 0 where it has none.
        level: coverage, in (0, 1).
        tails: "two" for equal tails; "lower" or "upper" for that bound alone.

    Raises:
        RatioUndefined: no trials at all. TooFewClusters: fewer than two clusters have trials.
        InputRefused: more successes than trials in a cluster, what are no counts, or a level of 1/2 or less for one
            bound.
    Source: Korn & Graubard (1998), Survey Methodology 24(2), 193-201, with their correction for degrees of freedom.

    """
    hits, totals = _table(successes, trials, dimensions=1)
    found = _bounded(hits, totals, tail=float(tail_of(level, tails)))
    return ShareEstimate(found.share, interval_of(found.low, found.high, level, tails))


def share_difference(successes: ArrayLike, trials: ArrayLike, *, level: Number, tails: Tails) -> ShareEstimate:
    """Interval of the first pooled share less the second, of the same clusters.

    Args:
        successes: shape (k, 2), of each cluster in either column.
        trials: shape (k, 2).
        level, tails: as in `share_interval`.

    Raises: RatioUndefined, TooFewClusters, InputRefused: as in `share_interval`, for either column.
    Source: Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702, from two intervals of `share_interval`.

    """
    hits, totals = _table(successes, trials, dimensions=2)
    tail = float(tail_of(level, tails))
    first, second = (_bounded(hits[:, j], totals[:, j], tail=tail) for j in (0, 1))
    return difference_of(first, second, level=level, tails=tails)


def difference_of(first: BoundedShare, second: BoundedShare, *, level: Number, tails: Tails) -> ShareEstimate:
    """The first share less the second, its interval put together from theirs and from how they go together (MOVER).

    Source: Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702.
    """
    spread = float(np.sqrt((first.influence**2).sum() * (second.influence**2).sum()))
    together = float((first.influence * second.influence).sum()) / spread if spread > 0 else 0.0

    def reach(one: float, other: float) -> float:
        return float(np.sqrt(max(one**2 - 2 * together * one * other + other**2, 0.0)))

    estimate = first.share - second.share
    low = estimate - reach(first.share - first.low, second.high - second.share)
    high = estimate + reach(first.high - first.share, second.share - second.low)
    return ShareEstimate(estimate, interval_of(low, high, level, tails))


def effective_trials(successes: Counts, trials: Counts, *, tail: float) -> float:
    """How many independent trials have the variance that the share has over the clusters; at most all of them.

    The ratio of the squared quantiles pays for what so few clusters leave uncertain of that variance. Clusters that all
    have one share show no variance, and then each trial counts.

    Raises: RatioUndefined, TooFewClusters: as in `share_interval`; InputRefused: a tail of 1/2 or more.
    """
    if tail >= 0.5:
        raise InputRefused(f"level: found {1 - tail:g} for one bound, expected more than 0.5")
    total, clusters = int(trials.sum()), int((trials > 0).sum())
    if not total:
        raise RatioUndefined("a share has no trials in any cluster; there is nothing to estimate")
    if clusters < 2:
        raise TooFewClusters(f"a share needs trials in at least 2 clusters and has them in {clusters}")
    share = float(successes.sum() / total)
    variance = clusters / (clusters - 1) * float((influences(successes, trials) ** 2).sum())
    if variance == 0:
        return float(total)
    fewness = (stdtrit(total - 1, tail) / stdtrit(clusters - 1, tail)) ** 2
    return float(min(share * (1 - share) / variance * fewness, total))


def influences(successes: Counts, trials: Counts) -> Reals:
    """What each cluster adds to the error of the pooled share, to first order, shape (k,); there are trials."""
    total = float(trials.sum())
    return np.asarray((successes - float(successes.sum() / total) * trials) / total)


def _bounded(successes: Counts, trials: Counts, *, tail: float) -> BoundedShare:
    worth = effective_trials(successes, trials, tail=tail)
    share = float(successes.sum() / trials.sum())
    return BoundedShare(
        share=share,
        low=low_end(share * worth, worth, tail=tail),
        high=high_end(share * worth, worth, tail=tail) if share < 1 else 1.0,
        influence=influences(successes, trials),
    )


def _table(successes: ArrayLike, trials: ArrayLike, *, dimensions: int) -> tuple[Counts, Counts]:
    hits, totals = counts(successes, "successes"), counts(trials, "trials")
    if hits.shape != totals.shape or hits.ndim != dimensions or (dimensions == 2 and hits.shape[1] != 2):
        expected = "(clusters,)" if dimensions == 1 else "(clusters, 2)"
        raise InputRefused(f"successes and trials: found shapes {hits.shape} and {totals.shape}, expected {expected}")
    if (hits > totals).any():
        raise InputRefused("successes: found more of them than trials in a cluster, expected at most as many")
    return hits, totals
