"""Permutation tests of a difference of means: exact where few sums are possible, by random permutations elsewhere."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, lcm, prod
from sys import float_info
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, require_equal_lengths, sample
from eval_pipeline.stats.resampling import seed_of
from eval_pipeline.stats.scalars import choice, real_number, whole_number

Alternative = Literal["greater", "less", "absolute", "doubled"]
Method = Literal["exact", "monte-carlo"]

_FINEST_GRID = 10_000  # the largest denominator of a value, such as 4 decimals or the mean of three ratings
_UNITS = 2**40  # the largest value in whole units: coarse enough that sums of four million fit 64 bits
_PARTIAL_SUMS = 2**20  # what an exact law may form on its way; it then takes some 0.1 s
_DRAWN_AT_ONCE = 2**20  # bounds the memory of a block of permutations to some 10 MB


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """A difference of means, and the chance of one as extreme if labels were exchanged at random.

    `method` says whether `p_value` is that chance itself or an estimate of it, which is never 0. `resamples` and
    `seed`, what the generator was seeded with, are None where nothing was drawn.
    """

    difference: float
    p_value: float
    alternative: Alternative
    method: Method
    resamples: int | None
    seed: int | None


def two_sample_permutation(
    x: ArrayLike, y: ArrayLike, *, alternative: Alternative, resamples: int, rng: np.random.Generator
) -> PermutationTest:
    """Permutation test of mean(x) - mean(y) for independent samples whose members are exchangeable if all is equal.

    The law of the sum of x is exact where it takes at most 2^20 partial sums, which holds for two values
    (the hypergeometric law), a few whole values, and small samples of anything; else `resamples` are drawn. Sums tie
    exactly where the values share a denominator; elsewhere within n + m parts of 2^40 of the largest deviation.

    Args:
        x: shape (n,), real numbers.
        y: shape (m,).
        alternative: "greater" for P(T >= t) and "less" for P(T <= t), where t is the observed difference; "absolute"
            for P(|T| >= |t|); "doubled" for twice the smaller of the first two, at most 1. The last two differ where
            the law is not symmetric, as with samples of unequal size.
        resamples: random permutations, where the law is not exact; p = (as extreme + 1) / (resamples + 1).
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewObservations: a sample is empty.
        InputRefused: a sample is not a row of finite numbers, or resamples < 1.
    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapter 15; Phipson & Smyth (2010),
        Statistical Applications in Genetics and Molecular Biology 9(1), article 39 (the 1 that is added).

    """
    first, second = sample(x, "x"), sample(y, "y")
    pool = np.concatenate([first, second])
    values = np.unique(pool)
    whole = (pool == values[-1]).astype(np.int64) if len(values) <= 2 else _on_grid(pool)
    slack = 0 if whole is not None else len(pool)
    whole = _rounded(pool - pool.mean()) if whole is None else whole
    levels, repeats = np.unique(whole, return_counts=True)
    taken = len(first)

    def draw(size: int) -> Counts:
        # The method that suits many levels shuffles the pool; the other draws from each level in turn.
        method: Literal["count", "marginals"] = "count" if 10 * len(levels) > len(pool) else "marginals"
        return rng.multivariate_hypergeometric(repeats, taken, size=size, method=method)

    centre = Fraction(taken * int(whole.sum()), len(pool))
    null = _Null(levels, repeats, taken, draw, int(whole[:taken].sum()), centre, slack)
    return _test(_difference(first, second), null, alternative=alternative, resamples=resamples, rng=rng)


def paired_permutation(
    a: ArrayLike, b: ArrayLike, *, alternative: Alternative, resamples: int, rng: np.random.Generator
) -> PermutationTest:
    """Sign-flip test of mean(a - b) for pairs whose members are exchangeable if all is equal.

    Exact, and tied, as in `two_sample_permutation`; differences of 0 change nothing.

    Args:
        a: shape (n,), real numbers.
        b: shape (n,), the partner of each.
        alternative: as in `two_sample_permutation`; the law is symmetric, so that "absolute" equals "doubled".
        resamples: random flips of all signs, where the law is not exact.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewObservations: no pair.
        InputRefused: unequal lengths, not rows of finite numbers, or resamples < 1.
    Source: Fisher (1935), The Design of Experiments, section 21; Phipson & Smyth (2010), as above.

    """
    first, second = sample(a, "a"), sample(b, "b")
    require_equal_lengths(a=first, b=second)
    grid = _on_grid(np.concatenate([first, second]))
    slack = 0 if grid is not None else len(first)
    signed = _rounded(first - second) if grid is None else grid[: len(first)] - grid[len(first) :]
    levels, repeats = np.unique(np.abs(signed[signed != 0]), return_counts=True)

    def draw(size: int) -> Counts:
        if len(repeats) and repeats.max() == 1:  # a bit for each sign, which takes a tenth of the time
            bits = np.unpackbits(np.frombuffer(rng.bytes((size * len(levels) + 7) // 8), dtype=np.uint8))
            return bits[: size * len(levels)].reshape(size, len(levels)).astype(np.int64)
        return rng.binomial(repeats, 0.5, size=(size, len(levels)))

    centre = Fraction(int(np.abs(signed).sum()), 2)
    null = _Null(levels, repeats, None, draw, int(signed[signed > 0].sum()), centre, slack)
    return _test(_difference(first, second), null, alternative=alternative, resamples=resamples, rng=rng)


@dataclass(frozen=True, slots=True)
class _Null:
    """A random subset of values: `levels` with their `repeats`, of which `taken` are drawn, or each with chance 1/2.

    `observed` is the sum of the subset at hand, and `centre` that of a subset on average; sums within `slack` tie.
    """

    levels: Counts
    repeats: npt.NDArray[np.intp]
    taken: int | None
    draw: Callable[[int], Counts]
    observed: int
    centre: Fraction
    slack: int


def _test(
    difference: float, null: _Null, *, alternative: Alternative, resamples: int, rng: np.random.Generator
) -> PermutationTest:
    """The test of the observed sum against the law of such sums."""
    choice(alternative, Alternative, "alternative")
    resamples = whole_number(resamples, "resamples", at_least=1)
    exact = _exact_law(null)
    p = _p_value(null, *(exact or _drawn_law(null, resamples)), alternative)
    if exact:
        # A true p is never 0, though it may be too small for a float.
        return PermutationTest(difference, max(p, float_info.min), alternative, "exact", None, None)
    return PermutationTest(difference, p, alternative, "monte-carlo", resamples, seed_of(rng))


def _p_value(null: _Null, sums: Counts, weights: Reals, alternative: Alternative) -> float:
    """The share by weight of sums as extreme as the observed one, ties included."""

    def share(tail: npt.NDArray[np.bool_]) -> float:
        return float(weights[tail].sum() / weights.sum())

    greater, less = sums >= null.observed - null.slack, sums <= null.observed + null.slack
    away = abs(null.observed - null.centre)
    match alternative:
        case "greater":
            p = share(greater)
        case "less":
            p = share(less)
        case "absolute":
            high, low = ceil(null.centre + away) - null.slack, floor(null.centre - away) + null.slack
            p = share((sums >= high) | (sums <= low))
        case "doubled":
            p = 2 * min(share(greater), share(less))
    return min(p, 1.0)


def _drawn_law(null: _Null, resamples: int) -> tuple[Counts, Reals]:
    """Random sums, and the observed one as one more of them: it is as likely as any, so p is never 0."""
    block = max(1, _DRAWN_AT_ONCE // len(null.levels))
    sizes = [min(block, resamples - start) for start in range(0, resamples, block)]
    sums = np.concatenate([[null.observed], *(null.draw(size) @ null.levels for size in sizes)])
    return sums, np.ones(len(sums))


def _exact_law(null: _Null) -> tuple[Counts, Reals] | None:
    """The possible sums and their chances, up to a factor, or None where they take too many partial sums.

    Each value is taken with the same chance, independently; given that `taken` were, every subset of that size is as
    likely as any other, whatever the chance was. A state is a sum and how many were taken, in one number: sum * base +
    taken.
    """
    taken, left = null.taken, int(null.repeats.sum())
    base, share = (1, 0.5) if taken is None else (left + 1, taken / left)
    if _most_states(null) > _PARTIAL_SUMS or int(np.abs(null.levels) @ null.repeats) * base >= 2**62:
        return None
    states, formed = np.zeros(1, dtype=np.int64), 0
    chances: Reals = np.ones(1)
    order = np.argsort(null.repeats)
    # Of the most frequent value, as many are taken as are still wanted, so it needs no states of its own.
    for index in order if taken is None else order[:-1]:
        k = np.arange(null.repeats[index] + 1)
        formed += len(states) * len(k)
        if formed > _PARTIAL_SUMS:
            return None
        step = null.levels[index] * base + (taken is not None)
        states, where = np.unique(np.add.outer(states, k * step).ravel(), return_inverse=True)
        weights = np.outer(chances, binom.pmf(k, k[-1], share)).ravel()
        chances = np.bincount(where, weights).astype(np.float64)
        if taken is not None:
            left -= int(k[-1])
            possible = (states % base <= taken) & (states % base + left >= taken)
            states, chances = states[possible], chances[possible]
    if taken is None:
        return states, chances
    sums, wanted = states // base, taken - states % base
    return sums + wanted * null.levels[order[-1]], chances * binom.pmf(wanted, left, share)


def _most_states(null: _Null) -> int:
    """More than there can be different states of a sum and how many were taken: by their ways, and by their range."""
    ways: int = prod((null.repeats + 1).tolist())
    if null.taken is None:
        return min(ways, int(null.levels @ null.repeats) + 1)
    fewer = min(null.taken, int(null.repeats.sum()) - null.taken)
    span = fewer * int(null.levels[-1] - null.levels[0]) + 1
    return min(ways // (int(null.repeats.max()) + 1), (fewer + 1) * span)


def _on_grid(values: Reals) -> Counts | None:
    """The values times their least common denominator, or None where they have none that is small.

    A float stands for the simplest fraction that reads as that float: 21.375 for 171/8, 0.85 for 17/20.
    """
    units = lcm(*(Fraction(value).limit_denominator(_FINEST_GRID).denominator for value in np.unique(values).tolist()))
    if units > _UNITS or units * np.abs(values).max() > _UNITS:
        return None
    whole = np.rint(values * units)
    return whole.astype(np.int64) if np.array_equal(whole / units, values) else None


def _difference(first: Reals, second: Reals) -> float:
    """Of the means, by way of values up to 1 in size, whose sums are within what a float holds.

    Raises: InputRefused: the difference itself is not.
    """
    largest = float(max(np.abs(first).max(), np.abs(second).max())) or 1.0
    return real_number(float((first / largest).mean() - (second / largest).mean()) * largest, "difference of means")


def _rounded(values: Reals) -> Counts:
    """The values in whole units of 2^-40 of the largest."""
    return np.asarray(np.rint(values / (np.abs(values).max() or 1.0) * _UNITS), dtype=np.int64)
