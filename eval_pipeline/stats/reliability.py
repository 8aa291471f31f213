"""How reliable a score is that several raters make together, and what agreement is called."""

from collections.abc import Sequence
from math import ceil, inf

import numpy as np

from eval_pipeline.errors import InputRefused, NotIdentifiable, NoVariation, TooFewObservations
from eval_pipeline.stats.agreement import Agreement
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.arrays import ArrayLike, reals

AGREEMENT_BANDS = (
    (0.80, "substantial"),
    (0.667, "tentative"),
    (0.60, "moderate"),
    (0.40, "fair"),
    (0.20, "slight"),
)
"""Bars and names; those of .80 and .667 are Krippendorff's bars, and the words are no other author's."""


def composite_reliability(composites: ArrayLike) -> Agreement:
    """The reliability of one rater's composite score: interval alpha of the raters' composites of each unit.

    `spearman_brown` takes it, and each end of its interval, to the mean of several raters.

    Args: composites: shape (units, raters), in any unit; None, NaN or NA where a rater did not score a unit.
    Raises: TooFewObservations, NoVariation, InputRefused: as in `krippendorff_alpha`.
    Source: Krippendorff (2011), Computing Krippendorff's Alpha-Reliability; for equal numbers of ratings it is the
        intraclass correlation ICC(1,1) but for the small-sample term.
    """
    return krippendorff_alpha(composites, scale="interval")


def spearman_brown(reliability: float, raters: float) -> float:
    """The reliability of the mean of `raters` from that of one: k r / (1 + (k - 1) r).

    Args:
        reliability: of one rater, at most 1.
        raters: how many score each unit, above 0; a mean number where it varies.

    Raises:
        NotIdentifiable: 1 + (k - 1) r <= 0, at or beyond the pole, which is a negative reliability of several raters.
        InputRefused: a reliability above 1, or no raters.
    Source: Spearman (1910), British Journal of Psychology 3(3), 271-295; Brown (1910), ibid., 296-322.

    """
    if not -inf < reliability <= 1 or not 0 < raters < inf:
        raise InputRefused(f"found reliability {reliability} and {raters} raters, expected at most 1 and more than 0")
    below = 1 + (raters - 1) * reliability
    if below <= 0:
        raise NotIdentifiable(
            f"a reliability of {reliability:g} cannot be stepped up to {raters:g} raters, who disagree beyond chance"
        )
    return raters * reliability / below


def raters_needed(reliability: float, target: float) -> int:
    """The fewest raters whose mean has the reliability `target`.

    Args:
        reliability: of one rater, in (0, 1).
        target: in (0, 1).

    Raises:
        NotIdentifiable: the reliability of one is 0 or less, and no number of raters helps.
        InputRefused: outside these.
    Source: as in `spearman_brown`.

    """
    if not 0 < target < 1 or not reliability < 1:
        raise InputRefused(f"found reliability {reliability} and target {target}, expected below 1 and in (0, 1)")
    if reliability <= 0:
        raise NotIdentifiable(f"a reliability of {reliability:g} is not raised by more raters")
    exact = target * (1 - reliability) / (reliability * (1 - target))
    return max(1, ceil(exact - 1e-9))  # a whole number may come out as a little more


def mean_correlation(scores: ArrayLike) -> float:
    """The mean Pearson correlation of two judges, over all pairs of them.

    Args: scores: shape (units, judges), all of them given, two units or more.
    Raises: NoVariation: a judge gives all units one score. TooFewObservations: fewer than two units or judges.
    """
    table = reals(scores, "scores")
    if table.ndim != 2 or min(table.shape) < 2:
        raise TooFewObservations(f"found scores of shape {table.shape}, expected two units and two judges or more")
    for judge in range(table.shape[1]):
        if table[:, judge].min() == table[:, judge].max():
            raise NoVariation(f"judge {judge} gives every unit the same score, which correlates with nothing")
    matrix = np.asarray(np.corrcoef(table / np.abs(table).max(axis=0), rowvar=False))
    return float(matrix[np.triu_indices(len(matrix), k=1)].mean())


def band(coefficient: float, bands: Sequence[tuple[float, str]], *, below: str) -> str:
    """The name of the highest band whose bar the coefficient reaches; `below` if it reaches none.

    Args:
        coefficient: of agreement.
        bands: bars and names, highest first.
        below: the name beneath the lowest.
    Raises: InputRefused: bars that do not fall, or a coefficient that is no number.

    """
    bars = reals([bar for bar, _ in bands], "bands").tolist()
    if bars != sorted(bars, reverse=True) or coefficient != coefficient:  # noqa: PLR0124
        raise InputRefused(f"found coefficient {coefficient} and bars {bars}, expected a number and bars that fall")
    return next((name for bar, name in bands if coefficient >= bar), below)
