"""The paired bootstrap of the first version, draw by draw, so that what it reported can be computed again."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, in_a_row, whole_numbers
from eval_pipeline.stats.scalars import exact_level, whole_number

_RESAMPLES_AT_LEAST = 1000
_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class TailShares:
    """A mean gain with its interval, and twice the smaller share of resamples on one side of 0, at most 1.

    `p_value` is what the first version called so. It can be 0, and no null is imposed on it: read it as how far the
    interval lies from 0, or use `paired_bootstrap.paired_difference`.
    """

    estimate: Fraction
    interval: Interval
    p_value: Fraction


def tail_share_bootstrap(gains: ArrayLike, *, level: Number, resamples: int, seed: int) -> TailShares:
    """The mean gain of pairs, resampled by mulberry32, between type-7 percentiles.

    Args:
        gains: shape (n,), 1 where the first of a pair is right and the second is not, -1 the other way round, else 0.
        level: coverage of the interval, in (0, 1).
        resamples: bootstrap draws, 1000 or more.
        seed: from 0 on; its lower 32 bits seed the stream, from which each resample takes n numbers u, and each u the
            pair floor(u n).

    Raises:
        TooFewObservations: n = 0.
        InputRefused: a gain other than -1, 0 or 1, fewer resamples, a seed below 0, a level outside (0, 1).
    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, section 13.3; Hyndman & Fan (1996), The
        American Statistician 50(4), 361-365 (type 7).

    """
    found = in_a_row(whole_numbers(gains, "gains"), "gains")
    if not found.size:
        raise TooFewObservations("found no pair; a mean gain needs at least one")
    if np.abs(found).max() > 1:
        raise InputRefused("gains: found a gain beyond -1 to 1, expected the difference of two that are right or wrong")
    coverage, draws = exact_level(level), whole_number(resamples, "resamples", at_least=_RESAMPLES_AT_LEAST)
    sums = _resampled(found, draws, whole_number(seed, "seed", at_least=0))
    tail = float((1 - coverage) / 2)
    low, high = (float(np.quantile(sums, share)) / found.size for share in (tail, 1 - tail))
    side = min(int((sums <= 0).sum()), int((sums >= 0).sum()))
    return TailShares(
        estimate=Fraction(int(found.sum()), found.size),
        interval=Interval(low, high, float(coverage)),
        p_value=min(Fraction(1), Fraction(2 * side, draws)),
    )


def _resampled(gains: Counts, resamples: int, seed: int) -> Counts:
    """The sum of each resample, some at a time."""
    size = gains.size
    some = max(1, _AT_ONCE // size)
    sums = []
    for first in range(0, resamples, some):
        count = min(some, resamples - first)
        places = (_mulberry32(seed, first * size, count * size) * size).astype(np.int64)
        sums.append(gains[places].reshape(count, size).sum(axis=1))
    return np.concatenate(sums)


def _mulberry32(seed: int, start: int, count: int) -> npt.NDArray[np.float64]:
    """The numbers of `prng.mulberry32` from place `start` on: its state is the seed and so many times one constant."""
    steps = np.arange(start + 1, start + count + 1, dtype=np.uint64) * np.uint64(0x6D2B79F5)
    state = (steps + np.uint64(seed & 0xFFFFFFFF)).astype(np.uint32)
    mixed = (state ^ (state >> np.uint32(15))) * (state | np.uint32(1))
    mixed ^= mixed + (mixed ^ (mixed >> np.uint32(7))) * (mixed | np.uint32(61))
    return np.asarray((mixed ^ (mixed >> np.uint32(14))) / 2**32)
