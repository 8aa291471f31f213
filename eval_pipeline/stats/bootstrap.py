"""Cluster bootstrap of pooled ratios and their contrasts: what varies from entry to entry is drawn, entry by entry."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import RatioUndefined, ThinResamples, TooFewClusters
from eval_pipeline.records import Interval

_Counts = npt.NDArray[np.int64]
Ranks = Literal["symmetric", "floor"]
Tails = Literal["two", "upper"]

_INDICES_AT_ONCE = 1 << 20  # bounds the memory of a block of resamples to some 25 MB
_TOO_CLOSE = 1e-9  # floats that near may be one fraction


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A contrast of pooled ratios with its percentile interval, all exact fractions.

    `valid` of `resamples` had every denominator above 0; `draws` are their values, sorted. `degenerate` says that all
    resamples gave one value, so that the interval has no width whatever the truth is.
    """

    estimate: Fraction
    interval: Interval
    resamples: int
    valid: int
    degenerate: bool
    draws: npt.NDArray[np.float64]


def resampled_sums(counts: npt.NDArray[np.int64], *, resamples: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The column sums of `resamples` sets of rows, each drawn with replacement and as large as `counts`.

    Row numbers come from the raw 64-bit stream of the generator, whose values NumPy guarantees for ever: the upper 32
    bits u give row floor(u k / 2^32), which favours no row by more than k / 2^32.

    Args:
        counts: shape (k, c), one row a cluster.
        resamples: bootstrap draws.
        rng: the only source of chance; seeded by the sealed plan.
    Returns: shape (resamples, c).

    """
    if isinstance(rng.bit_generator, np.random.MT19937):
        raise ValueError("found a generator of 32-bit words, expected one of 64-bit words such as default_rng gives")
    clusters = np.uint64(len(counts))
    packed, unpack = _packed(counts)
    sums = np.empty((resamples, packed.shape[1]), dtype=np.int64)
    block = max(1, _INDICES_AT_ONCE // len(counts))
    for first in range(0, resamples, block):
        size = min(block, resamples - first)
        raw = rng.bit_generator.random_raw(size * len(counts))
        rows = ((raw >> np.uint64(32)) * clusters >> np.uint64(32)).reshape(size, len(counts)).view(np.int64)
        for column in range(packed.shape[1]):
            sums[first : first + size, column] = packed[:, column].take(rows).sum(axis=1)
    return unpack(sums)


def _packed(counts: _Counts) -> tuple[_Counts, Callable[[_Counts], _Counts]]:
    """The columns two to a 64-bit integer where no sum can overflow its half, and how to take sums apart again.

    Fetching a row is what a resample costs, so half the columns is half the time.
    """
    columns = counts.shape[1]
    if columns % 2 or counts.min() < 0 or int(counts.max()) * len(counts) >= 1 << 31:
        return np.asfortranarray(counts), lambda sums: sums
    low, high = counts[:, : columns // 2], counts[:, columns // 2 :]
    half = np.int64(32)
    return np.asfortranarray(low + (high << half)), lambda sums: np.hstack([sums & np.int64(0xFFFFFFFF), sums >> half])


def percentile_rank(valid: int, share: Fraction, ranks: Ranks) -> int:
    """The 1-based rank, among `valid` sorted values, of the value that bounds `share` of them from above.

    `symmetric`: rank r such that r and the rank for 1 - share add up to valid + 1; (valid + 1) share, taken outwards.
    `floor`: floor(share valid), one rank lower as a rule.
    """
    if ranks == "floor":
        return max(1, floor(share * valid))
    outside = floor((valid + 1) * (1 - share)) if share > Fraction(1, 2) else 0
    rank = valid + 1 - outside if share > Fraction(1, 2) else floor((valid + 1) * share)
    return min(max(rank, 1), valid)


def ratio_contrast(
    hits: _Counts,
    totals: _Counts,
    weights: Sequence[Fraction | int],
    *,
    level: Fraction,
    tails: Tails,
    resamples: int,
    valid_at_least: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> Bootstrap:
    """Percentile bootstrap of sum_j w_j H_j / T_j, where H_j and T_j are sums over clusters, resampling clusters.

    One column with weight 1 is a pooled ratio; weights 1, -1 are a difference of two; -3, -1, 1, 3 over 10 are the
    least-squares slope of four ratios on 1, 2, 3, 4.

    Args:
        hits: shape (k, c), the successes of each cluster in each column.
        totals: shape (k, c), the trials.
        weights: length c; a column of weight 0 has no part in it.
        level: coverage, in (0, 1).
        tails: "two" for an interval with (1 - level)/2 on either side; "upper" for an upper bound alone.
        resamples: bootstrap draws.
        valid_at_least: the fewest draws with every denominator above 0 on which an interval may stand.
        ranks: which order statistics bound the interval; see `percentile_rank`.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewClusters: k < 2.
        RatioUndefined: a column of non-zero weight has no trials at all.
        ThinResamples: fewer than `valid_at_least` draws are valid.
    Source: Field & Welsh (2007), Bootstrapping clustered data, JRSS B 69(3), 369-390; Efron & Tibshirani (1993),
        An Introduction to the Bootstrap, section 13.3 (percentile interval).

    """
    used = [j for j, weight in enumerate(weights) if weight]
    exact = [Fraction(weights[j]) for j in used]
    whole, sums = _valid_sums(
        hits[:, used], totals[:, used], resamples=resamples, valid_at_least=valid_at_least, rng=rng
    )
    ratios = sums[:, : len(used)] / sums[:, len(used) :]
    # Column by column: a matrix product may fuse or reorder its sums, and then the bytes depend on the machine.
    values = sum((float(weight) * ratios[:, j] for j, weight in enumerate(exact)), np.zeros(len(sums)))

    def contrast(row: _Counts) -> Fraction:
        return sum((weight * ratio for weight, ratio in zip(exact, _ratios(row), strict=True)), Fraction(0))

    return _percentile(whole, sums, values, contrast, level=level, tails=tails, ranks=ranks, resamples=resamples)


def ratio_range(
    hits: _Counts,
    totals: _Counts,
    *,
    level: Fraction,
    resamples: int,
    valid_at_least: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> Bootstrap:
    """Percentile upper bound of the largest less the smallest of the columns' pooled ratios, resampling clusters.

    It sees a dip in any column, where a contrast sees only those that it weighs. The range of estimates exceeds the
    range of the truths, the more so the fewer the trials: it describes, and a small one is the finding.

    Args: as in `ratio_contrast`.
    Raises: TooFewClusters, RatioUndefined (for any column), ThinResamples: as in `ratio_contrast`.
    """
    whole, sums = _valid_sums(hits, totals, resamples=resamples, valid_at_least=valid_at_least, rng=rng)
    ratios = sums[:, : hits.shape[1]] / sums[:, hits.shape[1] :]

    def spread(row: _Counts) -> Fraction:
        return max(_ratios(row)) - min(_ratios(row))

    values = ratios.max(axis=1) - ratios.min(axis=1)
    return _percentile(whole, sums, values, spread, level=level, tails="upper", ranks=ranks, resamples=resamples)


def _valid_sums(
    hits: _Counts, totals: _Counts, *, resamples: int, valid_at_least: int, rng: np.random.Generator
) -> tuple[_Counts, _Counts]:
    """The sums over all clusters, and over each resample that has every denominator above 0: hits, then totals."""
    if len(hits) < 2:
        raise TooFewClusters(f"a bootstrap over clusters needs at least 2 clusters and was given {len(hits)}")
    width = hits.shape[1]
    table = np.concatenate([hits, totals], axis=1).astype(np.int64)
    whole = table.sum(axis=0)
    if not whole[width:].all():
        raise RatioUndefined("a ratio has no trials in any cluster; there is nothing to estimate")
    sums = resampled_sums(table, resamples=resamples, rng=rng)
    sums = sums[(sums[:, width:] > 0).all(axis=1)]
    if len(sums) < max(1, valid_at_least):
        raise ThinResamples(valid=len(sums), resamples=resamples, valid_at_least=valid_at_least)
    return whole, sums


def _percentile(
    whole: _Counts,
    sums: _Counts,
    values: npt.NDArray[np.float64],
    exactly: Callable[[_Counts], Fraction],
    *,
    level: Fraction,
    tails: Tails,
    ranks: Ranks,
    resamples: int,
) -> Bootstrap:
    """The bootstrap of a statistic whose `values` put the resamples in order.

    `exactly` gives those that count as fractions, so that a comparison with a threshold never turns on rounding.
    """
    order = np.argsort(values, kind="stable")

    def at(share: Fraction) -> Fraction:
        return exactly(sums[order[percentile_rank(len(sums), share, ranks) - 1]])

    tail = (1 - level) / 2 if tails == "two" else 1 - level
    return Bootstrap(
        estimate=exactly(whole),
        interval=Interval(at(tail) if tails == "two" else None, at(1 - tail), float(level)),
        resamples=resamples,
        valid=len(sums),
        degenerate=bool(values[order[-1]] - values[order[0]] < _TOO_CLOSE)
        and len({exactly(row) for row in np.unique(sums, axis=0)}) == 1,
        draws=values[order],
    )


def _ratios(sums: _Counts) -> list[Fraction]:
    width = len(sums) // 2
    return [Fraction(int(sums[j]), int(sums[width + j])) for j in range(width)]
