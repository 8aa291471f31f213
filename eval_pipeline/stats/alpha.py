"""Krippendorff's alpha on nominal, ordinal, interval and ratio scales, with any number of ratings missing."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from scipy import sparse

from eval_pipeline.errors import TooFewObservations
from eval_pipeline.stats.agreement import Agreement, Disagreement, Terms, agreement
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals
from eval_pipeline.stats.ratings import MISSING, Patterns, Scale, category_counts, coded, patterns

_ROUNDING = 1e-9  # a sum of squares that is smaller, relative to its parts, is none


def krippendorff_alpha(ratings: ArrayLike, *, scale: Scale, categories: Sequence[Hashable] | None = None) -> Agreement:
    """Alpha over the units that were rated twice or more: 1 - (n - 1) sum o_ck d_ck / sum n_c n_k d_ck.

    A unit with one rating has no part in it, neither in the pairs nor in the marginals n_c. The ordinal distance is
    Krippendorff's, from the marginals; weights that other packages call ordinal give other numbers. On an interval
    scale the sums have a closed form, and the time is linear in the ratings.

    Args:
        ratings: shape (units, raters); None, NaN or NA where a rating is missing.
        scale: which distance between categories counts: "nominal" whether they differ, "ordinal" the squared ranks
            between them, "interval" (c - k)^2, "ratio" ((c - k)/(c + k))^2, and 0 between two zeros.
        categories: the order of the categories where they are texts; None takes numbers as they are.

    Raises:
        TooFewObservations: no unit has two ratings.
        NoVariation: all of the ratings that count are of one category; alpha is neither 0 nor 1.
        InputRefused: a table that `coded` refuses, such as texts in no order, or negative numbers on a ratio scale.
    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, University of Pennsylvania.

    """
    table = coded(ratings, scale=scale, categories=categories)
    found = patterns(table)
    rated = found.rated[found.of_unit]
    if not (rated >= 2).any():
        raise TooFewObservations("no unit was rated twice, so that there is nothing to agree on")
    terms, disagreement = _parts(found, table.values, scale)
    return agreement(
        terms,
        disagreement,
        pattern=found.of_unit,
        units=int((rated >= 2).sum()),
        ratings=int(rated[rated >= 2].sum()),
    )


def _parts(found: Patterns, values: Reals, scale: Scale) -> tuple[Terms, Callable[[Reals], Disagreement]]:
    """The terms of each pattern, zero where it has fewer than two ratings, and what their sums say."""
    rows = np.where(found.rated[:, np.newaxis] >= 2, found.rows, MISSING)
    if scale == "interval":
        return _interval_terms(rows, values), _interval_disagreement
    given = category_counts(rows, len(values))
    if scale == "ordinal":
        return sparse.hstack([_pair_terms(rows, len(values)), given], format="csr"), _ordinal_disagreement(len(values))
    first, second, weight = _pairs(rows)
    if scale == "nominal":
        observed = (weight * (first != second)).sum(axis=1)
        return sparse.hstack([observed[:, np.newaxis], given], format="csr"), _nominal_disagreement
    distances = _ratio_distances(values)
    observed = (weight * np.where(weight > 0, distances[first, second], 0.0)).sum(axis=1)
    return sparse.hstack([observed[:, np.newaxis], given], format="csr"), _ratio_disagreement(distances)


def _pairs(rows: Counts) -> tuple[Counts, Counts, Reals]:
    """The codes of every pair of raters in every pattern, and the pair's weight 1 / (m - 1), 0 where one is missing."""
    one, other = np.triu_indices(rows.shape[1], k=1)
    rated = (rows != MISSING).sum(axis=1, keepdims=True)
    weight = np.where(rows[:, one] != MISSING, 1 / np.maximum(rated - 1, 1), 0.0)  # the missing are sorted to the front
    return rows[:, one], rows[:, other], weight


def _nominal_disagreement(sums: Reals) -> Disagreement:
    observed, given = sums[:, 0], sums[:, 1:]
    total = given.sum(axis=1)
    return Disagreement((total - 1) * observed, (total**2 - (given**2).sum(axis=1)) / 2)


def _ratio_distances(values: Reals) -> Reals:
    """The distance of each two categories, shape (q, q)."""
    one, other = values[:, np.newaxis], values[np.newaxis, :]
    return np.divide(one - other, one + other, out=np.zeros((len(values),) * 2), where=one + other > 0) ** 2


def _ratio_disagreement(distances: Reals) -> Callable[[Reals], Disagreement]:
    def of(sums: Reals) -> Disagreement:
        observed, given = sums[:, 0], sums[:, 1:]
        return Disagreement((given.sum(axis=1) - 1) * observed, ((given @ distances) * given).sum(axis=1) / 2)

    return of


def _pair_terms(rows: Counts, categories: int) -> sparse.csr_array:
    """The weights of pairs by their two categories, shape (patterns, q^2)."""
    first, second, weight = _pairs(rows)
    pattern, pair = np.nonzero((weight > 0) & (first != second))
    cells = first[pattern, pair] * categories + second[pattern, pair]
    return sparse.csr_array((weight[pattern, pair], (pattern, cells)), shape=(len(rows), categories**2))


def _ordinal_disagreement(categories: int) -> Callable[[Reals], Disagreement]:
    def of(sums: Reals) -> Disagreement:
        pairs, given = sums[:, : categories**2], sums[:, categories**2 :]
        # Half of either end and all between them: the distance of their middle ranks.
        ranks = np.cumsum(given, axis=1) - given / 2
        apart = (ranks[:, :, np.newaxis] - ranks[:, np.newaxis, :]) ** 2
        total = given.sum(axis=1)
        # Their mean is half of all; about it, ratings of one category leave exactly nothing.
        expected = total * (given * (ranks - total[:, np.newaxis] / 2) ** 2).sum(axis=1)
        return Disagreement((total - 1) * (pairs * apart.reshape(pairs.shape)).sum(axis=1), expected)

    return of


def _interval_terms(rows: Counts, values: Reals) -> Reals:
    """Of each pattern: sum over pairs of (x - y)^2 / (m - 1), m, sum and sum of squares of its ratings."""
    present = rows != MISSING
    # From the median rating, which occurs: ratings that are all the same leave exactly nothing, and one that lies far
    # out does not drown the differences of the others.
    given = np.sort(rows[present])
    centre = values[given[len(given) // 2]]
    numbers = np.where(present, values[rows] - centre, 0.0)
    rated, total = present.sum(axis=1), numbers.sum(axis=1)
    mean = total / np.maximum(rated, 1)
    within = (np.where(present, numbers - mean[:, np.newaxis], 0.0) ** 2).sum(axis=1)
    return np.column_stack([rated * within / np.maximum(rated - 1, 1), rated, total, (numbers**2).sum(axis=1)])


def _interval_disagreement(sums: Reals) -> Disagreement:
    observed, rated, total, squares = sums.T
    expected = rated * squares - total**2
    return Disagreement((rated - 1) * observed, np.where(expected > _ROUNDING * rated * squares, expected, 0.0))
