"""Two systems on the same items: the difference of their accuracies, and how surprising it is if there is none."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import InputRefused, NoVariation, TooFewObservations
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, flags, groups, in_a_row, reals, require_equal_lengths
from eval_pipeline.stats.bootstrap import Bootstrap, Method, Ranks, Statistic, bootstrap
from eval_pipeline.stats.resampling import drawn_rows, resampled_sums, seed_of
from eval_pipeline.stats.scalars import choice, real_number

Alternative = Literal["two-sided", "greater", "less"]

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Accuracy of the first system less that of the second, its interval, and p under the null that there is none."""

    bootstrap: Bootstrap[Fraction]
    p_value: float
    alternative: Alternative


@dataclass(frozen=True, slots=True)
class ShiftTest:
    """A studentised test of a mean; `valid` of `resamples` varied, so that they have a standard error.

    The t-statistic of the others is infinite, with the sign of their mean, and counts as such.
    """

    statistic: float
    p_value: float
    alternative: Alternative
    resamples: int
    valid: int
    seed: int | None


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike,
    *,
    level: Number,
    alternative: Alternative,
    method: Method,
    resamples: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> PairedDifference:
    """The difference of two accuracies on the same items, resampling whole clusters of pairs.

    The p-value imposes the null by shifting the resamples to a difference of 0: it is the share of them that are as far
    from the observed difference as that is from 0, the observed one among them, so that it is never 0. The share of
    resamples beyond 0 is another number, and no p-value.

    Args:
        first: shape (n,), 1 where the first system is right on the item, else 0.
        second: shape (n,), the same of the second system.
        clusters: shape (n,), what each item belongs to; the item itself where all are independent.
        level: coverage of the two-sided interval, in (0, 1).
        alternative: "greater" asks whether the first is the better.
        method, resamples, ranks, rng: as in `ratio_contrast`.

    Raises:
        TooFewObservations: no items. TooFewClusters: all in one cluster.
        NoVariation: for "bca", see `bootstrap`.
        InputRefused: unequal lengths, or values other than 0 and 1.
    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, section 16.4; Davison & Hinkley (1997),
        Bootstrap Methods and their Application, section 4.2 (the observed one counts).

    """
    choice(alternative, Alternative, "alternative")
    right = in_a_row(flags(first, "first"), "first"), in_a_row(flags(second, "second"), "second")
    cluster = groups(clusters, "clusters")
    require_equal_lengths(first=right[0], second=right[1], clusters=cluster)
    if not len(cluster):
        raise TooFewObservations("there are no items to compare the two systems on")
    columns = [np.bincount(cluster, weights=each).astype(np.int64) for each in right] + [np.bincount(cluster)]
    gains = columns[0] - columns[1]
    sums = resampled_sums(columns, resamples=resamples, rng=rng)
    whole = np.array([column.sum() for column in columns])
    statistic = Statistic(
        estimate=_difference(whole),
        draws=(sums[:, 0] - sums[:, 1]) / sums[:, 2],
        exactly=lambda number: _difference(sums[number]),
        without_one=lambda: (gains.sum() - gains) / (len(cluster) - columns[2]),
        constant=lambda: len({_difference(row) for row in np.unique(sums, axis=0)}) == 1,
    )
    found = bootstrap(
        statistic, level=level, tails="two", method=method, ranks=ranks, resamples=resamples, seed=seed_of(rng)
    )
    return PairedDifference(found, _shifted_p_value(sums, whole, alternative), alternative)


def shift_test(
    values: ArrayLike, null: float, *, alternative: Alternative, resamples: int, rng: np.random.Generator
) -> ShiftTest:
    """How surprising the mean of independent values is if the true mean is `null`, by a studentised bootstrap.

    The values are moved to have that mean, drawn again, and their t-statistics compared with the observed one; no
    normal law is assumed. For paired scores the values are the differences and `null` is 0.

    Args:
        values: shape (n,), finite.
        null: the mean under the null, in the unit of the values.
        alternative: "greater" asks whether the true mean exceeds it.
        resamples: bootstrap draws.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewObservations: fewer than two values.
        NoVariation: all values are the same, or all are in each resample.
        InputRefused: a value or a null that is no finite number, or values in a table.
    Source: Efron & Tibshirani (1993), An Introduction to the Bootstrap, section 16.4.

    """
    choice(alternative, Alternative, "alternative")
    sample, mean = in_a_row(reals(values, "values"), "values"), real_number(null, "null")
    if len(sample) < 2:
        raise TooFewObservations(f"a test of a mean needs at least 2 values and was given {len(sample)}")
    if sample.min() == sample.max():
        raise NoVariation("all values are the same, so that the mean has no standard error")
    centred = sample - sample.mean()
    scale = float(np.abs(centred).max())
    moved, root = centred / scale, np.sqrt(len(sample))
    observed = _nothing_if_rounding((sample.mean() - mean) / scale) / moved.std(ddof=1) * root
    lots, valid = [], 0
    for rows in drawn_rows(len(sample), resamples=resamples, rng=rng):
        drawn = moved.take(rows)
        varied = drawn.min(axis=1) < drawn.max(axis=1)
        lots.append(_t_statistics(drawn, varied))
        valid += int(varied.sum())
    if not valid:
        raise NoVariation("in each resample all values are the same, so that none has a standard error")
    # Statistics that differ by rounding alone are equal.
    nearer = observed - np.copysign(_ROUNDING * abs(observed), observed)
    p_value = (int(_beyond(np.concatenate(lots), nearer, alternative).sum()) + 1) / (resamples + 1)
    return ShiftTest(float(observed), p_value, alternative, resamples, valid, seed_of(rng))


def _t_statistics(samples: Reals, varied: npt.NDArray[np.bool_]) -> Reals:
    """The t-statistic of each row's mean against 0; infinite where a row has no standard error, 0 if its mean is 0.

    Leaving such rows out would call any two values that differ a significant mean.
    """
    means = _nothing_if_rounding(samples.mean(axis=1))
    errors = samples.std(axis=1, ddof=1) / np.sqrt(samples.shape[1])
    statistics: Reals = np.where(means == 0, 0.0, np.copysign(np.inf, means))
    np.divide(means, errors, out=statistics, where=varied)
    return statistics


def _nothing_if_rounding(means: Reals) -> Reals:
    """Means of values up to 1 in size, of which what is left of sums that cancel is taken for 0."""
    return np.where(np.abs(means) <= _ROUNDING, 0.0, means)


def _difference(sums: Counts) -> Fraction:
    return Fraction(int(sums[0]) - int(sums[1]), int(sums[2]))


def _shifted_p_value(sums: Counts, whole: Counts, alternative: Alternative) -> float:
    """The share of resamples, the observed one among them, whose shifted difference is as extreme; in whole numbers."""
    observed, size = int(whole[0] - whole[1]), int(whole[2])
    if size**2 >= 1 << 62:
        raise InputRefused(f"clusters: found {size} items, expected fewer than 2^31")
    shifted = (sums[:, 0] - sums[:, 1]) * size - observed * sums[:, 2]
    return (int(_beyond(shifted, observed * sums[:, 2], alternative).sum()) + 1) / (len(sums) + 1)


def _beyond(values: Reals | Counts, bar: float | Counts, alternative: Alternative) -> npt.NDArray[np.bool_]:
    """Which values are as extreme as the bar."""
    if alternative == "two-sided":
        return np.asarray(np.abs(values) >= np.abs(bar))
    return np.asarray(values >= bar if alternative == "greater" else values <= bar)
