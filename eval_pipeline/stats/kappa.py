"""Raw agreement, Fleiss' kappa and Gwet's AC1 of many raters, Cohen's kappa of two, and where they part ways."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from eval_pipeline.errors import InputRefused, NoVariation, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.agreement import Agreement, Disagreement, agreement
from eval_pipeline.stats.arrays import ArrayLike, Reals
from eval_pipeline.stats.ratings import MISSING, Ratings, Scale, category_counts, coded, patterns
from eval_pipeline.stats.scalars import choice, two_sided_z

Weights = Literal["none", "linear", "quadratic"]

_NO_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class CohenKappa:
    """Cohen's kappa of two raters, over the units that both rated, with its large-sample standard error."""

    agreement: Agreement
    std_error: float

    def interval(self, level: Number) -> Interval:
        """The normal interval, for independent units; `agreement_interval` takes clusters.

        Raises: NoVariation: the raters agree on all units, or one of them is constant; that shows no spread.
        """
        if self.std_error < _NO_SPREAD:
            raise NoVariation("the ratings show no spread of kappa, so that an interval would have no width")
        reach = two_sided_z(level) * self.std_error
        return Interval(self.agreement.estimate - reach, self.agreement.estimate + reach, float(level))


@dataclass(frozen=True, slots=True)
class Paradox:
    """Two raters on two categories: how kappa falls as one category prevails, though the raters agree as before.

    `prevalence_index` is the difference of the shares on which both say one or both say the other, `bias_index` that of
    how often either rater says the first; `pabak` is kappa as it would be without both.
    """

    raw: float
    kappa: float
    ac1: float
    pabak: float
    prevalence_index: float
    bias_index: float


def raw_agreement(ratings: ArrayLike, *, categories: Sequence[Hashable] | None = None) -> Agreement:
    """The mean over units of the share of pairs of raters that agree.

    Args:
        ratings: shape (units, raters); None, NaN or NA where a rating is missing.
        categories: all that there are, used or not; None takes those that occur.
    Raises: TooFewObservations: no unit has two ratings; InputRefused: a table that `coded` refuses.

    """
    return _by_unit(ratings, categories, lambda shares: np.ones(len(shares)))


def fleiss_kappa(ratings: ArrayLike, *, categories: Sequence[Hashable] | None = None) -> Agreement:
    """1 - (1 - p_a) / (1 - p_e), with p_a the raw agreement and p_e the sum of the squared shares of the categories.

    A share is the mean over units of the share of raters, so that each unit counts the same however many rated it; a
    unit with one rating counts in the shares and not in p_a. Where all units have as many raters, this is Fleiss'.

    Args: as in `raw_agreement`.
    Raises: NoVariation: all ratings are of one category. TooFewObservations, InputRefused: as in `raw_agreement`.
    Source: Fleiss (1971), Psychological Bulletin 76(5), 378-382; Gwet (2014), Handbook of Inter-Rater Reliability, 4th
        edition, chapter 2 (missing ratings).
    """
    return _by_unit(ratings, categories, lambda shares: 1 - (shares**2).sum(axis=1))


def gwet_ac1(ratings: ArrayLike, *, categories: Sequence[Hashable] | None = None) -> Agreement:
    """1 - (1 - p_a) / (1 - p_e), with p_e = sum p (1 - p) / (q - 1) for the same shares as in `fleiss_kappa`.

    It is defined where all ratings are of one category, provided that others are declared.

    Args: as in `raw_agreement`; q is the number of `categories`.
    Raises: NoVariation: there is but one category. TooFewObservations, InputRefused: as in `raw_agreement`.
    Source: Gwet (2008), British Journal of Mathematical and Statistical Psychology 61(1), 29-48.
    """

    def expected(shares: Reals) -> Reals:
        if shares.shape[1] < 2:
            return np.zeros(len(shares))
        return np.asarray(1 - (shares * (1 - shares)).sum(axis=1) / (shares.shape[1] - 1))

    return _by_unit(ratings, categories, expected)


def _by_unit(
    ratings: ArrayLike, categories: Sequence[Hashable] | None, expected: Callable[[Reals], Reals]
) -> Agreement:
    """The coefficient whose expected disagreement is a function of the categories' shares."""
    table = coded(ratings, scale="nominal", categories=categories)
    found = patterns(table)
    rated = found.rated
    if not (rated >= 2).any():
        raise TooFewObservations("no unit was rated twice, so that there is nothing to agree on")
    given = category_counts(found.rows, len(table.values))
    pairs, alike = rated * (rated - 1), np.asarray((given.multiply(given)).sum(axis=1)).ravel() - rated
    apart = np.divide(pairs - alike, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    shares = sparse.csr_array(given.multiply(1 / np.maximum(rated, 1)[:, np.newaxis]))
    terms = sparse.hstack([sparse.csr_array(np.column_stack([apart, rated >= 2, rated >= 1])), shares], format="csr")

    def disagreement(sums: Reals) -> Disagreement:
        twice = sums[:, 1] > 0
        observed = np.divide(sums[:, 0], sums[:, 1], out=np.zeros(len(sums)), where=twice)
        shares = sums[:, 3:] / np.maximum(sums[:, 2:3], 1)
        return Disagreement(observed, np.where(twice, expected(shares), 0.0))

    of_units = rated[found.of_unit]
    return agreement(
        terms,
        disagreement,
        pattern=found.of_unit,
        units=int((of_units >= 2).sum()),
        ratings=int(of_units[of_units >= 2].sum()),
    )


def cohen_kappa(ratings: ArrayLike, *, weights: Weights, categories: Sequence[Hashable] | None = None) -> CohenKappa:
    """Kappa of two raters, each with shares of its own: 1 - sum d_ij p_ij / sum d_ij p_i. p_.j.

    Args:
        ratings: shape (units, 2); a unit that one of them did not rate has no part in it.
        weights: what a disagreement d_ij of categories i and j counts: "none" 1, "linear" |i - j|, "quadratic"
            (i - j)^2, by their places.
        categories: the order of the categories; None takes those that occur, in their own order, which texts have not
            where disagreements are weighted.

    Raises:
        TooFewObservations: no unit was rated by both.
        NoVariation: chance alone leaves no disagreement, as where both raters know one category.
        InputRefused: not two raters, or a table that `coded` refuses.
    Source: Cohen (1960), Educational and Psychological Measurement 20(1), 37-46; standard error by Fleiss, Cohen &
        Everitt (1969), Psychological Bulletin 72(5), 323-327.

    """
    weighted = choice(weights, Weights, "weights") != "none"
    table = _of_two(ratings, categories, scale="ordinal" if weighted else "nominal")
    q = len(table.values)
    first, second = table.codes.T
    both = (first != MISSING) & (second != MISSING)
    if not both.any():
        raise TooFewObservations("no unit was rated by both, so that there is nothing to agree on")
    apart = np.abs(np.subtract.outer(np.arange(q), np.arange(q))) ** {"none": 0, "linear": 1, "quadratic": 2}[weights]
    distances = np.where(np.eye(q, dtype=bool), 0, apart).astype(np.float64)

    def disagreement(sums: Reals) -> Disagreement:
        cells = sums.reshape(-1, q, q)
        total = np.maximum(cells.sum(axis=(1, 2)), 1)
        expected = np.einsum("bi,ij,bj->b", cells.sum(axis=2), distances, cells.sum(axis=1))
        return Disagreement((cells * distances).sum(axis=(1, 2)) / total, expected / total**2)

    found = agreement(
        sparse.eye_array(q * q + 1, q * q, format="csr"),  # the last row is that of units without a pair
        disagreement,
        pattern=np.where(both, first * q + second, q * q),
        units=int(both.sum()),
        ratings=2 * int(both.sum()),
    )
    shares = np.bincount(first[both] * q + second[both], minlength=q * q).reshape(q, q) / both.sum()
    return CohenKappa(found, _std_error(shares, distances, found.estimate, int(both.sum())))


def paradox(ratings: ArrayLike, *, categories: Sequence[Hashable] | None = None) -> Paradox:
    """What becomes of kappa and AC1 of two raters on two categories, and why.

    Args: as in `cohen_kappa`.
    Raises: InputRefused: more than two categories; else as in `cohen_kappa`.
    Source: Byrt, Bishop & Carlin (1993), Journal of Clinical Epidemiology 46(5), 423-429.
    """
    table = _of_two(ratings, categories, scale="nominal")
    if len(table.values) > 2:
        raise InputRefused(f"ratings: found {len(table.values)} categories, expected 2")
    both = table.codes[(table.codes != MISSING).all(axis=1)]
    kappa = cohen_kappa(both, weights="none", categories=(0, 1)).agreement.estimate
    raw = float((both[:, 0] == both[:, 1]).mean())
    return Paradox(
        raw=raw,
        kappa=kappa,
        ac1=gwet_ac1(both, categories=(0, 1)).estimate,
        pabak=2 * raw - 1,
        prevalence_index=float(abs((both.sum(axis=1) == 0).mean() - (both.sum(axis=1) == 2).mean())),
        bias_index=float(abs(both[:, 0].mean() - both[:, 1].mean())),
    )


def is_paradox(*, raw: float, kappa: float, ac1: float, raw_from: float, kappa_below: float, gap_above: float) -> bool:
    """Whether raters agree and kappa denies it: raw >= raw_from, kappa < kappa_below and AC1 - kappa > gap_above.

    Source: Feinstein & Cicchetti (1990), Journal of Clinical Epidemiology 43(6), 543-549 (the paradox; the bars are the
    caller's).
    """
    return raw >= raw_from and kappa < kappa_below and ac1 - kappa > gap_above


def _of_two(ratings: ArrayLike, categories: Sequence[Hashable] | None, *, scale: Scale) -> Ratings:
    table = coded(ratings, scale=scale, categories=categories)
    if table.codes.shape[1] != 2:
        raise InputRefused(f"ratings: found {table.codes.shape[1]} raters, expected 2")
    return table


def _std_error(shares: Reals, distances: Reals, kappa: float, units: int) -> float:
    """Of shares p_ij, with agreement weights 1 - d_ij scaled to [0, 1]; formula (12) of Fleiss, Cohen & Everitt."""
    weights = 1 - distances / distances.max()
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    chance = float(rows @ weights @ columns)
    means = (weights @ columns)[:, np.newaxis] + (rows @ weights)[np.newaxis, :]
    spread = float((shares * (weights - means * (1 - kappa)) ** 2).sum()) - (kappa - chance * (1 - kappa)) ** 2
    return float(np.sqrt(max(spread, 0.0) / units)) / (1 - chance)
