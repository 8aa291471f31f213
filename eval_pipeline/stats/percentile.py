"""A percentile of one sample, and an interval for it that assumes nothing of the distribution."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, sample
from eval_pipeline.stats.scalars import exact_level, open_share

_ROUNDING = 1e-12  # a binomial tail this near the one allowed is the one allowed


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile with its interval, in the unit of the values.

    The interval's ends are the values of ranks `low_rank` and `high_rank`, counted from 1 in ascending order; an end is
    open, and its rank None, where even the extreme value does not bound the percentile at the level asked for.
    `coverage` is what those ranks achieve, the level or more; for values with ties it is a lower bound.
    """

    estimate: float
    interval: Interval
    low_rank: int | None
    high_rank: int | None
    coverage: float


def percentile(values: ArrayLike, *, share: float, level: Number) -> Percentile:
    """The type-7 percentile, NumPy's default, between order statistics that bound the true one.

    Of n values, X ~ Binomial(n, share) lie below the true percentile, so it lies between ranks l and u with the chance
    P(l <= X < u). Both tails are held to (1 - level)/2: l is the highest rank with P(X < l) and u the lowest with
    P(X >= u) within it. A share's exact interval is made in the same way, but bounds a share, not a rank.

    Args:
        values: shape (n,), independent and of one distribution.
        share: which percentile, in (0, 1); 0.95 asks for the 95th.
        level: coverage, in (0, 1).

    Raises:
        InputRefused: a value is no finite number, or share or level lies outside (0, 1).
        TooFewObservations: n = 0.
    Source: Conover (1999), Practical Nonparametric Statistics, 3rd ed., 143-148; Hyndman & Fan (1996), The American
        Statistician 50(4), 361-365 (type 7).

    """
    found = sample(values, "values")
    share = open_share(share, "share")
    coverage = exact_level(level)
    ordered, n = np.sort(found), len(found)
    tail = float((1 - coverage) / 2)
    low, high = _bounding_rank(n, share, tail), n + 1 - _bounding_rank(n, 1 - share, tail)
    low_rank, high_rank = (low if low >= 1 else None), (high if high <= n else None)
    return Percentile(
        estimate=float(np.quantile(ordered, share)),
        interval=Interval(
            float(ordered[low_rank - 1]) if low_rank else None,
            float(ordered[high_rank - 1]) if high_rank else None,
            float(coverage),
        ),
        low_rank=low_rank,
        high_rank=high_rank,
        coverage=float(1 - binom.cdf(low - 1, n, share) - binom.sf(high - 1, n, share)),
    )


def _bounding_rank(n: int, share: float, tail: float) -> int:
    """The highest l with P(X < l) within the tail, which is the least x with P(X <= x) beyond it; 0 without one."""
    # scipy.stats.quantile_test chooses the same ranks, but tells neither them nor their coverage.
    return int(binom.ppf(tail * (1 + _ROUNDING), n, share))
