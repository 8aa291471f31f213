"""What raters agree on beyond chance, with an interval that draws whole clusters of units.

Each coefficient here is 1 - observed / expected disagreement, and both are functions of sums over units. So it is kept
as these sums, one row for each distinct way in which a unit was rated, and a resample is a row of weights.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from eval_pipeline.errors import InputRefused, NoVariation
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, groups
from eval_pipeline.stats.bootstrap import Bootstrap, Ranks, bootstrap, of_floats, require_valid
from eval_pipeline.stats.resampling import resampled_weights, seed_of

Terms = Reals | sparse.csr_array

_TERMS_AT_ONCE = 1 << 18  # sums held at a time: 2 MB


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Observed disagreement and what chance would give, shape (b,) each; nothing is defined where `expected` is 0."""

    observed: Reals
    expected: Reals

    @property
    def defined(self) -> Counts:
        """Which of them have a coefficient."""
        return np.flatnonzero(self.expected > 0)

    @property
    def coefficients(self) -> Reals:
        """The coefficients of those."""
        return np.asarray(1 - self.observed[self.defined] / self.expected[self.defined])


@dataclass(frozen=True, slots=True)
class Agreement:
    """A coefficient, and what it is made of.

    `units` of all were rated twice or more, and `ratings` stand in them. `terms` has a row for each pattern of ratings,
    `pattern` says which of them each unit has, and `disagreement` takes sums of rows, shape (b, terms).
    """

    estimate: float
    units: int
    ratings: int
    pattern: Counts
    terms: Terms
    disagreement: Callable[[Reals], Disagreement]


def agreement(
    terms: Terms,
    disagreement: Callable[[Reals], Disagreement],
    *,
    pattern: Counts,
    units: int,
    ratings: int,
) -> Agreement:
    """The coefficient over all units.

    Raises: NoVariation: chance alone leaves no disagreement, as where all ratings are of one category.
    """
    repeats = np.bincount(pattern, minlength=terms.shape[0])
    whole = disagreement(_sums(repeats[np.newaxis, :], terms))
    if not len(whole.defined):
        raise NoVariation(
            "all ratings that count are of one category, so that agreement beyond chance is undefined: neither 0 nor 1"
        )
    return Agreement(float(whole.coefficients[0]), units, ratings, pattern, terms, disagreement)


def agreement_interval(
    found: Agreement,
    clusters: ArrayLike,
    *,
    level: Number,
    resamples: int,
    valid_at_least: int,
    ranks: Ranks,
    rng: np.random.Generator,
) -> Bootstrap[float]:
    """Percentile interval of a coefficient, resampling whole clusters of units.

    It holds with some 60 clusters and more. With 20 it holds the truth a few points too seldom, and where a category is
    rare, as in 2 units of 100, far too seldom: alpha and kappa then turn on single units.

    Args:
        found: the coefficient.
        clusters: shape (units,), what each unit belongs to, by any name; the unit itself where all are independent.
        level: coverage, in (0, 1).
        resamples: bootstrap draws.
        valid_at_least: the fewest resamples in which the coefficient is defined; the others are counted, and are
            neither 0 nor 1.
        ranks: which order statistics bound the interval; see `percentile_rank`.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        TooFewClusters: fewer than two.
        ThinResamples: fewer than `valid_at_least` resamples are valid.
        InputRefused: not one cluster for each unit, or level outside (0, 1).
    Source: Field & Welsh (2007), Bootstrapping clustered data, JRSS B 69(3), 369-390.

    """
    cluster = groups(clusters, "clusters")
    if len(cluster) != len(found.pattern):
        raise InputRefused(f"clusters: found {len(cluster)}, expected one for each of {len(found.pattern)} units")
    repeats, terms = _by_type(found, cluster)
    some = max(1, _TERMS_AT_ONCE // terms.shape[1])
    draws = np.concatenate(
        [
            found.disagreement(_sums(weights[first : first + some], terms)).coefficients
            for weights in resampled_weights(repeats, resamples=resamples, rng=rng)
            for first in range(0, len(weights), some)
        ]
    )
    require_valid(
        draws,
        resamples=resamples,
        valid_at_least=valid_at_least,
        what="have ratings of more than one category",
        remedy="rate more units",
    )
    statistic = of_floats(found.estimate, draws)
    return bootstrap(
        statistic, level=level, tails="two", method="percentile", ranks=ranks, resamples=resamples, seed=seed_of(rng)
    )


def _by_type(found: Agreement, cluster: Counts) -> tuple[Counts, Terms]:
    """How many clusters there are of each type, and the terms of each type; a type is a set of patterns."""
    if len(cluster) == cluster.max() + 1:
        return np.bincount(found.pattern, minlength=found.terms.shape[0]), found.terms
    ones = np.ones(len(cluster), dtype=np.int64)
    table = sparse.csr_array((ones, (cluster, found.pattern)), shape=(cluster.max() + 1, found.terms.shape[0]))
    return np.ones(table.shape[0], dtype=np.int64), sparse.csr_array(table @ sparse.csr_array(found.terms))


def _sums(weights: Counts, terms: Terms) -> Reals:
    return np.asarray(weights @ terms, dtype=np.float64)
