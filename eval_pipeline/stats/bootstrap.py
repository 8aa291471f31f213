"""Intervals from resamples: percentile and BCa, from ranks that are named, with what they rest on."""

from collections.abc import Callable, Sized
from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Generic, Literal, TypeVar

import numpy as np
from scipy.stats import norm

from eval_pipeline.errors import NoVariation, ThinResamples
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.scalars import choice
from eval_pipeline.stats.tails import Tails, interval_of, tail_of

N = TypeVar("N", float, Fraction)
Ranks = Literal["symmetric", "floor"]
Method = Literal["percentile", "bca"]


@dataclass(frozen=True, slots=True)
class Bootstrap(Generic[N]):
    """A statistic with its bootstrap interval; of ratios of counts, both are exact fractions.

    `valid` of `resamples` had a value, and the estimator says which have none; `draws` are these values, sorted.
    `degenerate` says that all resamples gave one value, so that the interval has no width whatever the truth is. `seed`
    is what the generator was seeded with.
    """

    estimate: N
    interval: Interval
    resamples: int
    valid: int
    degenerate: bool
    draws: Reals
    method: Method
    ranks: Ranks
    seed: int | None


@dataclass(frozen=True, slots=True)
class Statistic(Generic[N]):
    """A statistic of the clusters as they are, of each valid resample, and with each cluster left out in turn.

    `draws` put the resamples in order; `exactly` gives the value of one of them by its number, so that a comparison
    with a threshold never turns on rounding. `without_one` is asked for by BCa alone; `constant` says whether draws
    that are as good as equal are equal. Draws that are `close` may be one value, apart by rounding alone.
    """

    estimate: N
    draws: Reals
    exactly: Callable[[int], N]
    without_one: Callable[[], Reals]
    constant: Callable[[], bool]
    close: float = 1e-9


def percentile_rank(valid: int, share: Fraction, ranks: Ranks) -> int:
    """The 1-based rank, among `valid` sorted values, of the value that bounds `share` of them from above.

    `symmetric`: rank r such that r and the rank for 1 - share add up to valid + 1; (valid + 1) share, taken outwards.
    `floor`: floor(share valid), 1 at the least; above a half one rank lower as a rule, so that two such ends are not
    symmetric.
    """
    if choice(ranks, Ranks, "ranks") == "floor":
        return max(1, floor(share * valid))
    outside = floor((valid + 1) * (1 - share)) if share > Fraction(1, 2) else 0
    rank = valid + 1 - outside if share > Fraction(1, 2) else floor((valid + 1) * share)
    return min(max(rank, 1), valid)


def of_floats(
    estimate: float, draws: Reals, *, close: float = 1e-9, without_one: Callable[[], Reals] | None = None
) -> Statistic[float]:
    """The statistic whose resamples have these values, as they are."""

    def nothing() -> Reals:
        raise NoVariation("this statistic has no jackknife; ask for the percentile interval")

    return Statistic(estimate, draws, lambda number: float(draws[number]), without_one or nothing, lambda: True, close)


def require_valid(draws: Sized, *, resamples: int, valid_at_least: int, what: str, remedy: str) -> None:
    """That enough resamples have a value for an interval to stand on them.

    Raises: ThinResamples: fewer than `valid_at_least`, or none.
    """
    if len(draws) < max(1, valid_at_least):
        raise ThinResamples(
            valid=len(draws), resamples=resamples, valid_at_least=valid_at_least, what=what, remedy=remedy
        )


def bootstrap(
    statistic: Statistic[N],
    *,
    level: Number,
    tails: Tails,
    method: Method,
    ranks: Ranks,
    resamples: int,
    seed: int | None,
) -> Bootstrap[N]:
    """The interval of a statistic from its draws.

    Args:
        statistic: see there.
        level: coverage, in (0, 1).
        tails: "two" for an interval with (1 - level)/2 on either side; "lower" or "upper" for that bound alone.
        method: "percentile", or "bca", which moves the percentiles by the bias and skewness that the draws and the
            jackknife over clusters show.
        ranks: which order statistics bound the interval; see `percentile_rank`.
        resamples: how many were asked for; the draws are the valid ones.
        seed: what the generator was seeded with.
    Raises: NoVariation: "bca" where all draws lie on one side of the estimate, or no cluster makes a difference.
    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, sections 13.3 (percentile) and 14.3 (BCa).

    """
    order = np.argsort(statistic.draws, kind="stable")
    draws = statistic.draws[order]
    tail = tail_of(level, tails)
    share = _moved(statistic) if choice(method, Method, "method") == "bca" else lambda share: share

    def at(wanted: Fraction) -> N:
        return statistic.exactly(int(order[percentile_rank(len(draws), share(wanted), ranks) - 1]))

    return Bootstrap(
        estimate=statistic.estimate,
        interval=interval_of(at(tail), at(1 - tail), level, tails),
        resamples=resamples,
        valid=len(draws),
        degenerate=bool(draws[-1] - draws[0] <= statistic.close) and statistic.constant(),
        draws=draws,
        method=method,
        ranks=ranks,
        seed=seed,
    )


def _moved(statistic: Statistic[N]) -> Callable[[Fraction], Fraction]:
    """Where BCa reads a percentile: Phi(z0 + (z0 + z) / (1 - a (z0 + z))), for its bias z0 and acceleration a."""
    away = statistic.draws - float(statistic.estimate)
    below = np.mean(away < -statistic.close) + np.mean(np.abs(away) <= statistic.close) / 2
    influence = (left := statistic.without_one()).mean() - left
    spread = float((influence**2).sum())
    if not 0 < below < 1 or spread <= statistic.close**2:
        raise NoVariation(
            "the resamples or the clusters hardly vary, so that bias and skewness cannot be read from them; ask for the"
            " percentile interval"
        )
    bias, acceleration = float(norm.ppf(below)), float((influence**3).sum()) / (6 * spread**1.5)

    def moved(share: Fraction) -> Fraction:
        # By the nearer tail, of which a float tells more apart.
        z = float(norm.ppf(float(share))) if 2 * share <= 1 else -float(norm.ppf(float(1 - share)))
        reach = bias + z
        return Fraction(float(norm.cdf(bias + reach / (1 - acceleration * reach))))

    return moved
