"""How far two samples lie apart, and how closely two measurements go together."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import atanh, sqrt, tanh
from typing import Literal

import numpy as np
from scipy.stats import spearmanr, t

from eval_pipeline.errors import InputRefused, NoVariation, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, reals, require_equal_lengths, sample
from eval_pipeline.stats.scalars import as_printed, open_share, two_sided_z

Degenerate = Literal["constant part", "constant remainder"]


@dataclass(frozen=True, slots=True)
class CliffsDelta:
    """P(x > y) - P(x < y) over all pairs of an x and a y, in [-1, 1].

    `wins` are the pairs with x above y, `losses` those with x below y; the other pairs are tied. `interval` is None
    where a sample of one value says nothing of its spread.
    """

    delta: Fraction
    wins: int
    losses: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation over `n` pairs; `interval` is None for n <= 3 and for a perfect one, where no spread is seen."""

    estimate: float
    n: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class PartCorrelation:
    """How a part goes with the sum of the others; `correlation` is None exactly where `degenerate` says why."""

    correlation: float | None
    degenerate: Degenerate | None


def cliffs_delta(x: ArrayLike, y: ArrayLike, *, level: Number) -> CliffsDelta:
    """Cliff's delta of two independent samples, with Cliff's asymmetric interval.

    The variance is Cliff's consistent one, held at (1 - delta^2)/(nm - 1) or above, and the quantile is Student's with
    Brunner and Munzel's degrees of freedom: the unbiased variance with a normal quantile holds 88% for 95% where one
    sample is small or delta is large. Where every x lies above every y, or below, the interval ends at Wilson's bound
    for as many successes in a row as the smaller sample has values.

    Args:
        x: shape (n,), real numbers; only their order counts.
        y: shape (m,).
        level: coverage, in (0, 1).

    Raises:
        TooFewObservations: a sample is empty.
        InputRefused: a sample is not a row of finite numbers, or a level outside (0, 1).
    Source: Cliff (1993), Psychological Bulletin 114(3), 494-509; Feng & Cliff (2004), Journal of Modern Applied
        Statistical Methods 3(2), 322-332 (interval); Brunner & Munzel (2000), Biometrical Journal 42(1), 17-25;
        Wilson (1927), JASA 22(158), 209-212.

    """
    coverage = open_share(level, "level")
    above, below = sample(x, "x"), sample(y, "y")
    wins_of_x, losses_of_x = _dominance(above, below)
    losses_of_y, wins_of_y = _dominance(below, above)
    wins, losses = int(wins_of_x.sum()), int(losses_of_x.sum())
    n, m = len(above), len(below)
    delta = Fraction(wins - losses, n * m)
    if min(n, m) < 2:
        return CliffsDelta(delta, wins, losses, None)
    if abs(delta) == 1:
        return CliffsDelta(delta, wins, losses, _separated(int(delta), min(n, m), coverage))
    d = float(delta)
    by_x = float(np.var((wins_of_x - losses_of_x) / m, ddof=1)) / n
    by_y = float(np.var((wins_of_y - losses_of_y) / n, ddof=1)) / m
    cells = (wins + losses - n * m * d**2) / ((n - 1) * (m - 1))
    consistent = by_x * (m - 1) / m + by_y * (n - 1) / n + cells / (n * m)
    freedom = (by_x + by_y) ** 2 / (by_x**2 / (n - 1) + by_y**2 / (m - 1)) if by_x + by_y else min(n, m) - 1
    spread = float(t.isf((1 - coverage) / 2, freedom)) ** 2 * max(consistent, (1 - d**2) / (n * m - 1))
    return CliffsDelta(delta, wins, losses, _asymmetric(d, spread, coverage))


def magnitude(effect: Number, *, thresholds: Mapping[str, Number], otherwise: str) -> str:
    """The name of the highest threshold that the size of an effect reaches, or `otherwise` where it reaches none.

    Floats are read as the decimals that they are written as, so that 33/100 reaches 0.33.

    Args:
        effect: of either sign.
        thresholds: the least size for each name, in any order; above 0.
        otherwise: the name for all that is smaller.
    Raises: InputRefused: a threshold of 0 or less.

    """
    size = abs(as_printed(effect, "effect"))
    exact = {name: as_printed(threshold, name) for name, threshold in thresholds.items()}
    if any(threshold <= 0 for threshold in exact.values()):
        raise InputRefused(f"thresholds: found {min(exact.values())}, expected sizes above 0")
    reached = [name for name, threshold in exact.items() if size >= threshold]
    return max(reached, key=exact.__getitem__, default=otherwise)


def spearman(x: ArrayLike, y: ArrayLike, *, level: Number) -> Correlation:
    """Spearman's rank correlation, with Bonett and Wright's interval on Fisher's scale.

    Args:
        x: shape (n,), real numbers; only their order counts, and tied ones share the mean of their ranks.
        y: shape (n,), the partner of each x.
        level: coverage, in (0, 1).

    Raises:
        TooFewObservations: fewer than two pairs.
        NoVariation: x or y is constant.
        InputRefused: unequal lengths, not rows of finite numbers, or a level outside (0, 1).
    Source: Bonett & Wright (2000), Psychometrika 65(1), 23-28 (variance (1 + r^2/2) / (n - 3)).

    """
    z = two_sided_z(level)
    left, right = sample(x, "x"), sample(y, "y")
    require_equal_lengths(x=left, y=right)
    n = len(left)
    if n < 2:
        raise TooFewObservations("a correlation needs at least 2 pairs and was given 1")
    for name, values in (("x", left), ("y", right)):
        if np.ptp(values) == 0:
            raise NoVariation(f"{name}: all {n} values are {values[0]:g}; a correlation needs two that differ")
    r = float(spearmanr(left, right).statistic)
    if n <= 3 or abs(r) > 1 - 1e-12:
        return Correlation(r, n, None)
    half = z * sqrt((1 + r**2 / 2) / (n - 3))
    return Correlation(r, n, Interval(tanh(atanh(r) - half), tanh(atanh(r) + half), float(level)))


def leave_one_out_correlations(scores: ArrayLike) -> tuple[PartCorrelation, ...]:
    """For each part, Pearson's correlation with the sum of the other parts: can one part stand in for the rest?

    The mean of the others gives the same numbers. A sum that varies by rounding alone is constant.

    Args: scores: shape (units, parts).

    Raises:
        TooFewObservations: fewer than two units.
        InputRefused: fewer than two parts, or not a table of finite numbers.
    Source: Henrysson (1963), Psychometrika 28(2), 211-218 (item-total correlation without the item).

    """
    table = reals(scores, "scores")
    table = table / (np.abs(table).max(initial=0.0) or 1.0)  # in no unit, so that no square is beyond a float
    if table.ndim != 2 or table.shape[1] < 2:
        raise InputRefused(f"scores: found shape {table.shape}, expected a row for each unit and two parts or more")
    if len(table) < 2:
        raise TooFewObservations(f"a correlation needs at least 2 units and was given {len(table)}")
    rounding = 4 * table.shape[1] * np.finfo(float).eps * np.abs(table).sum(axis=1).max()
    return tuple(
        _part_correlation(table[:, part], np.delete(table, part, axis=1).sum(axis=1), rounding)
        for part in range(table.shape[1])
    )


def _part_correlation(part: Reals, rest: Reals, rounding: float) -> PartCorrelation:
    if np.ptp(part) == 0:
        return PartCorrelation(None, "constant part")
    if np.ptp(rest) <= rounding:
        return PartCorrelation(None, "constant remainder")
    return PartCorrelation(float(np.corrcoef(part, rest)[0, 1]), None)


def _dominance(values: Reals, others: Reals) -> tuple[Counts, Counts]:
    """For each value, how many of the others lie below it, and how many above."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, values, side="left").astype(np.int64)
    return below, len(others) - np.searchsorted(ordered, values, side="right").astype(np.int64)


def _asymmetric(d: float, spread: float, level: float) -> Interval:
    """(d - d^3 -+ q s sqrt((1 - d^2)^2 + q^2 s^2)) / (1 - d^2 + q^2 s^2) for the `spread` q^2 s^2."""
    half = sqrt(spread * ((1 - d**2) ** 2 + spread))
    low, high = ((d - d**3 + end) / (1 - d**2 + spread) for end in (-half, half))
    return Interval(max(low, -1.0), min(high, 1.0), level)


def _separated(sign: int, successes: int, level: float) -> Interval:
    """From Wilson's bound p = n / (n + z^2) for n successes of n, as a delta of 2p - 1, to the end of the scale."""
    z = two_sided_z(level)
    bound = (successes - z**2) / (successes + z**2)
    return Interval(bound, 1.0, level) if sign > 0 else Interval(-1.0, -bound, level)
