"""Cluster bootstrap of pooled ratios and their contrasts: what varies from entry to entry is drawn, entry by entry."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from eval_pipeline.errors import InputRefused, RatioUndefined
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, counts
from eval_pipeline.stats.bootstrap import Bootstrap, Method, Ranks, Statistic, bootstrap, require_valid
from eval_pipeline.stats.resampling import resampled_sums, seed_of
from eval_pipeline.stats.scalars import as_printed
from eval_pipeline.stats.tails import Tails


def ratio_contrast(
    successes: ArrayLike,
    trials: ArrayLike,
    weights: Sequence[Fraction | int],
    *,
    level: Number,
    tails: Tails,
    method: Method,
    resamples: int,
    valid_at_least: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> Bootstrap[Fraction]:
    """Bootstrap interval of sum_j w_j H_j / T_j, where H_j and T_j are sums over clusters, resampling clusters.

    One column with weight 1 is a pooled ratio; weights 1, -1 are a difference of two; -3, -1, 1, 3 over 10 are the
    least-squares slope of four ratios on 1, 2, 3, 4.

    Args:
        successes: shape (k, c), those of each cluster in each column.
        trials: shape (k, c), likewise.
        weights: length c; a column of weight 0 has no part in it.
        level: coverage, in (0, 1).
        tails: "two" for an interval with (1 - level)/2 on either side; "lower" or "upper" for that bound alone.
        method: "percentile", or "bca", which moves the percentiles by the bias and skewness that the draws and the
            jackknife over clusters show.
        resamples: bootstrap draws.
        valid_at_least: the fewest draws with every denominator above 0 on which an interval may stand.
        ranks: which order statistics bound the interval; see `percentile_rank`.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewClusters: k < 2.
        RatioUndefined: a column of non-zero weight has no trials at all, or, for "bca", none without some cluster.
        ThinResamples: fewer than `valid_at_least` draws are valid.
        NoVariation: "bca" where all draws lie on one side of the estimate, or no cluster makes a difference.
        InputRefused: counts that are none, weights of another length or all 0, or arguments out of range.
    Source: Field & Welsh (2007), Bootstrapping clustered data, JRSS B 69(3), 369-390; Efron & Tibshirani (1993),
        An Introduction to the Bootstrap, sections 13.3 (percentile) and 14.3 (BCa).

    """
    exact = [as_printed(weight, "weights") for weight in weights if weight]
    columns = _columns(successes, trials, weights)
    whole, sums = _valid_sums(columns, resamples=resamples, valid_at_least=valid_at_least, rng=rng)

    def value(row: Counts) -> Fraction:
        return sum((weight * ratio for weight, ratio in zip(exact, _ratios(row), strict=True)), Fraction(0))

    def values(table: Counts) -> Reals:
        # Column by column: a matrix product may fuse or reorder its sums, and then the bytes depend on the machine.
        ratios = table[:, : len(exact)] / table[:, len(exact) :]
        return sum((float(weight) * ratios[:, j] for j, weight in enumerate(exact)), np.zeros(len(table)))

    return bootstrap(
        _of_counts(columns, whole, sums, value, values, scale=float(sum(map(abs, exact)))),
        level=level,
        tails=tails,
        method=method,
        ranks=ranks,
        resamples=resamples,
        seed=seed_of(rng),
    )


def ratio_range(
    successes: ArrayLike,
    trials: ArrayLike,
    *,
    level: Number,
    resamples: int,
    valid_at_least: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> Bootstrap[Fraction]:
    """Percentile upper bound of the largest less the smallest of the columns' pooled ratios, resampling clusters.

    It sees a dip in any column, where a contrast sees only those that it weighs. The range of estimates exceeds the
    range of the truths on average, the more so the fewer the trials; only a small one is a finding.

    Args: as in `ratio_contrast`.
    Raises: TooFewClusters, RatioUndefined (for any column), ThinResamples, InputRefused: as in `ratio_contrast`.
    """
    columns = _columns(successes, trials, None)
    width = len(columns) // 2
    whole, sums = _valid_sums(columns, resamples=resamples, valid_at_least=valid_at_least, rng=rng)

    def value(row: Counts) -> Fraction:
        return max(_ratios(row)) - min(_ratios(row))

    def values(table: Counts) -> Reals:
        ratios = table[:, :width] / table[:, width:]
        return np.asarray(ratios.max(axis=1) - ratios.min(axis=1))

    return bootstrap(
        _of_counts(columns, whole, sums, value, values, scale=1.0),
        level=level,
        tails="upper",
        method="percentile",
        ranks=ranks,
        resamples=resamples,
        seed=seed_of(rng),
    )


def _columns(successes: ArrayLike, trials: ArrayLike, weights: Sequence[Fraction | int] | None) -> list[Counts]:
    """The columns of both tables whose weight is not 0, successes first."""
    tables = counts(successes, "successes"), counts(trials, "trials")
    if tables[0].ndim != 2 or tables[0].shape != tables[1].shape:
        shapes = " and ".join(str(table.shape) for table in tables)
        raise InputRefused(f"successes and trials: found shapes {shapes}, expected one shape (clusters, columns)")
    width = tables[0].shape[1]
    used = range(width) if weights is None else [j for j, weight in enumerate(weights) if weight]
    if weights is not None and len(weights) != width:
        raise InputRefused(f"weights: found {len(weights)}, expected one for each of {width} columns")
    if not used:
        raise InputRefused("weights: found none that is not 0, expected at least one")
    return [table[:, j] for table in tables for j in used]


def _valid_sums(
    columns: list[Counts], *, resamples: int, valid_at_least: int, rng: np.random.Generator
) -> tuple[Counts, Counts]:
    """The sums over all clusters, and over each resample that has every denominator above 0: successes, then trials."""
    width = len(columns) // 2
    sums = resampled_sums(columns, resamples=resamples, rng=rng)
    whole = np.array([column.sum() for column in columns])
    if not whole[width:].all():
        raise RatioUndefined("a ratio has no trials in any cluster; there is nothing to estimate")
    sums = sums[(sums[:, width:] > 0).all(axis=1)]
    require_valid(
        sums,
        resamples=resamples,
        valid_at_least=valid_at_least,
        what="have every denominator above 0",
        remedy="annotate more propositions where they are few",
    )
    return whole, sums


def _of_counts(
    columns: list[Counts],
    whole: Counts,
    sums: Counts,
    value: Callable[[Counts], Fraction],
    values: Callable[[Counts], Reals],
    *,
    scale: float,
) -> Statistic[Fraction]:
    """A statistic of sums of counts: `value` of one row, exactly; `values` of many, in floats as large as `scale`."""

    def without_one() -> Reals:
        left = whole - np.column_stack(columns)
        if not left[:, len(columns) // 2 :].all():
            raise RatioUndefined("without one of the clusters a ratio has no trials; ask for the percentile interval")
        return values(left)

    return Statistic(
        estimate=value(whole),
        draws=values(sums),
        exactly=lambda number: value(sums[number]),
        without_one=without_one,
        constant=lambda: len({value(row) for row in np.unique(sums, axis=0)}) == 1,
        close=1e-9 * scale,
    )


def _ratios(sums: Counts) -> list[Fraction]:
    width = len(sums) // 2
    return [Fraction(int(sums[j]), int(sums[width + j])) for j in range(width)]
