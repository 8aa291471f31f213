"""How much of what raters disagree on lies between them for good: lasting positions, and not one-off errors."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval_pipeline.errors import NoVariation, TooFewClusters
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, groups, in_a_row, reals, require_equal_lengths
from eval_pipeline.stats.resampling import seed_of
from eval_pipeline.stats.scalars import whole_number

_ORDERS_AT_ONCE = 2**19  # row numbers held at a time: 4 MB
_TIED = 1e-12


@dataclass(frozen=True, slots=True)
class Positions:
    """The share of the squared disagreement within units that the raters' means explain, in [0, 1].

    `by_chance` is the mean share if raters of one unit could trade their scores, `p_value` the chance of so large a one
    then: (as large + 1) / (resamples + 1).
    """

    share: float
    by_chance: float
    p_value: float
    resamples: int
    seed: int | None


def lasting_positions(
    scores: ArrayLike, units: ArrayLike, raters: ArrayLike, *, resamples: int, rng: np.random.Generator
) -> Positions:
    """Permutation test of whether raters differ for good: sum n_r d_r^2 / sum d_ur^2, with d off the unit's mean.

    d_r is the mean over the n_r units of rater r of how far the score lies off the mean of its unit; a unit with one
    score says nothing of that, and is left out. Under the null the scores of one unit could have been given by any of
    its raters; they trade places within it, which leaves the disagreement as it is. A leniency on all matters counts
    too: what raters differ in here alone is seen by comparing shares.

    Args:
        scores: shape (n,), real numbers, in any unit.
        units: shape (n,), what was rated.
        raters: shape (n,), who rated it.
        resamples: random permutations.
        rng: the only source of chance; seeded by the sealed plan.

    Raises:
        NoVariation: no two raters of a unit differ.
        TooFewClusters: no unit has two scores, or fewer than two raters.
        InputRefused: unequal lengths, not a row of finite numbers, or resamples < 1.
    Source: Good (2005), Permutation, Parametric and Bootstrap Tests of Hypotheses, chapter 6 (exchange within blocks);
        Shrout & Fleiss (1979), Psychological Bulletin 86(2), 420-428 (the raters' part of the variance).

    """
    values = in_a_row(reals(scores, "scores"), "scores")
    unit, rater = groups(units, "units"), groups(raters, "raters")
    require_equal_lengths(scores=values, units=unit, raters=rater)
    resamples = whole_number(resamples, "resamples", at_least=1)
    shared = np.bincount(unit)[unit] >= 2
    values, unit, rater = values[shared], groups(unit[shared], "units"), groups(rater[shared], "raters")
    if not len(unit) or rater.max() < 1:
        raise TooFewClusters("no unit was rated by two raters, so that nobody's position shows")
    off = values - (np.bincount(unit, weights=values) / np.bincount(unit))[unit]
    whole = float(off @ off)
    if whole <= (_TIED * np.abs(values).max()) ** 2 * len(values):
        raise NoVariation("no two raters of a unit differ, so that there is no disagreement to explain")
    of_rater = np.eye(int(rater.max()) + 1)[rater]
    sizes = of_rater.sum(axis=0)

    def shares(rows: Reals) -> Reals:
        return np.asarray(((rows @ of_rater) ** 2 / sizes).sum(axis=1) / whole)

    observed = float(shares(off[np.newaxis, :])[0])
    drawn = np.concatenate([shares(off[order]) for order in _exchanges(unit, resamples, rng)])
    return Positions(
        share=min(observed, 1.0),
        by_chance=float(drawn.mean()),
        p_value=(int((drawn >= observed - _TIED).sum()) + 1) / (resamples + 1),
        resamples=resamples,
        seed=seed_of(rng),
    )


def _exchanges(unit: Counts, resamples: int, rng: np.random.Generator) -> Iterator[npt.NDArray[np.intp]]:
    """Row numbers after random exchanges within units, in blocks of shape (permutations, n)."""
    order = np.argsort(unit, kind="stable")
    sizes = np.bincount(unit)[unit[order]]
    tables = [order[sizes == size].reshape(-1, size) for size in np.unique(sizes)]
    block = max(1, _ORDERS_AT_ONCE // len(unit))
    for start in range(0, resamples, block):
        some = min(block, resamples - start)
        rows = np.empty((some, len(unit)), dtype=np.intp)
        for table in tables:
            rows[:, table] = rng.permuted(np.broadcast_to(table, (some, *table.shape)), axis=2)
        yield rows
