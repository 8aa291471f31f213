"""Intervals for a mean of values in [0, 1], and for the paired difference of two, that hold near 0 and 1.

Where most values are 1, a bootstrap and Student's interval are too short: they know only the few values that are not.
These take from the variance how many yes-or-no trials the values are worth, and are the intervals of Clopper and
Pearson for so many. They too say too much of values that are alike but for a rare one far away, such as a 0 in thirty
among values above .8: with 50 of these they hold the mean in some 87 % for 95 %.
"""

import numpy as np
from scipy.special import stdtrit

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import ArrayLike, Reals, in_a_row, reals, require_equal_lengths
from eval_pipeline.stats.binomial import high_end, low_end
from eval_pipeline.stats.cluster_share import BoundedShare, ShareEstimate, difference_of
from eval_pipeline.stats.tails import Tails, interval_of, tail_of

_ROUNDING = 1e-24  # of a variance: values this near to each other are one value


def bounded_mean(values: ArrayLike, *, level: Number, tails: Tails) -> ShareEstimate:
    """The mean of independent values in [0, 1], with the interval of a share of as many trials as they are worth.

    Args:
        values: shape (n,), each in [0, 1], such as the mean score of each item.
        level: coverage, in (0, 1).
        tails: "two" for equal tails; "lower" or "upper" for that bound alone.

    Raises:
        TooFewObservations: fewer than two values.
        InputRefused: a value outside [0, 1], or a level of 1/2 or less for one bound.
    Source: Korn & Graubard (1998), Survey Methodology 24(2), 193-201, with the variance of the mean for that of a
        share.

    """
    found = _bounded(_row(values, "values"), tail=float(tail_of(level, tails)))
    return ShareEstimate(found.share, interval_of(found.low, found.high, level, tails))


def bounded_difference(first: ArrayLike, second: ArrayLike, *, level: Number, tails: Tails) -> ShareEstimate:
    """The first mean less the second, of pairs of values in [0, 1], with an interval that knows how pairs go together.

    Args:
        first: shape (n,), each in [0, 1].
        second: shape (n,), of the same items in the same order.
        level, tails: as in `bounded_mean`.

    Raises: TooFewObservations, InputRefused: as in `bounded_mean`, or unequal lengths.
    Source: Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702, from two intervals of `bounded_mean`.

    """
    one, other = _row(first, "first"), _row(second, "second")
    require_equal_lengths(first=one, second=other)
    tail = float(tail_of(level, tails))
    return difference_of(_bounded(one, tail=tail), _bounded(other, tail=tail), level=level, tails=tails)


def effective_trials(values: Reals, *, tail: float) -> float:
    """How many independent trials have the variance that the mean has; values that are all the same count once each.

    The ratio of the squared quantiles pays for what so few values leave uncertain of that variance.
    """
    n, mean = len(values), float(values.mean())
    variance = float(values.var(ddof=1)) / n
    if variance <= _ROUNDING:
        return float(n)
    fewness = (stdtrit(max(n - 1, mean * (1 - mean) / variance), tail) / stdtrit(n - 1, tail)) ** 2
    return float(mean * (1 - mean) / variance * fewness)


def _row(values: ArrayLike, name: str) -> Reals:
    array = in_a_row(reals(values, name, low=0, high=1), name)
    if len(array) < 2:
        raise TooFewObservations(f"{name}: found {len(array)}, expected 2 or more; one shows no spread")
    return array


def _bounded(values: Reals, *, tail: float) -> BoundedShare:
    if tail >= 0.5:
        raise InputRefused(f"level: found {1 - tail:g} for one bound, expected more than 0.5")
    mean, worth = float(values.mean()), effective_trials(values, tail=tail)
    return BoundedShare(
        share=mean,
        low=low_end(mean * worth, worth, tail=tail),
        high=high_end(mean * worth, worth, tail=tail) if mean < 1 else 1.0,
        influence=np.asarray((values - mean) / len(values)),
    )
