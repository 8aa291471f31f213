"""Two systems on a yes-or-no dimension: how much of the true gap the raters' own errors hide."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np
from scipy.stats import binom

from eval_pipeline.errors import NotIdentifiable, TooFewObservations
from eval_pipeline.stats.arrays import ArrayLike, Reals
from eval_pipeline.stats.attenuation import PairedGap, label_noise, majority_error, paired_gap, true_gap
from eval_pipeline.studies.label_signal.plan import Attenuation
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.track import Track
from eval_pipeline.studies.label_signal.words import Standing


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A gap between two systems against the majority's labels, and what it is without the raters' errors.

    `eta` is the error of one rater, `eta_majority` that of the majority, `factor` what is left of a true gap. It never
    blocks; `warning` says that the effect asked for is smaller than what could be resolved. None: all raters' errors
    together leave nothing of a gap, or nothing varies.
    """

    eta: float
    eta_majority: float
    factor: float
    gap_true: float | None
    mde_observed: float | None
    mde_true: float | None
    warning: bool


@dataclass(frozen=True, slots=True)
class BinaryComparison:
    """Two systems on one binary dimension: how much more often the first has the better level."""

    dimension: str
    system: str
    other: str
    gap: PairedGap
    direction: Standing
    shrunk: Shrunk
    consistency: Standing


def direction(gap: PairedGap, plan: Attenuation) -> Standing:
    """Pass where the first system is ahead by more than the planned number of standard errors, strictly."""
    if gap.z is None:  # every pair differs by the same: there is no error, whatever the gap
        return Standing.PASS if gap.gap > 0 else Standing.BLOCK
    return Standing.PASS if gap.gap > 0 and gap.z > plan.z_direction else Standing.BLOCK


def shrunk(
    gap: PairedGap, *, rater_disagreement: float, raters: int, requested_effect: float | None, plan: Attenuation
) -> Shrunk:
    """The gap freed of the labels' errors, and the smallest that so many items resolve.

    Args:
        gap: measured against the majority of the raters, ties left out.
        rater_disagreement: the share of pairs of raters who differ, in [0, 1].
        raters: in the majority.
        requested_effect: that someone wants to resolve, if any.
        plan: the z-values.
    Source: Lam & Stork (2003), IJCAI 2003, 513-518.

    """
    eta = label_noise(rater_disagreement)
    eta_majority = _decided_error(eta, raters)
    observed = float(plan.z_direction + plan.z_power) * gap.sd / sqrt(gap.n) if gap.sd else None
    try:
        gap_true: float | None = true_gap(float(gap.gap), eta=eta_majority)
    except NotIdentifiable:
        return Shrunk(eta, eta_majority, 1 - 2 * eta_majority, None, observed, None, requested_effect is not None)
    resolved = None if observed is None else observed / (1 - 2 * eta_majority)
    too_fine = requested_effect is not None and (resolved is None or requested_effect < resolved)
    return Shrunk(eta, eta_majority, 1 - 2 * eta_majority, gap_true, observed, resolved, too_fine)


def _decided_error(eta: float, raters: int) -> float:
    """How often the majority errs where there is one: two raters who err in 1 of 4, and agree, err in 1 of 10."""
    if raters % 2 or eta == 0.5:
        return majority_error(eta, raters=raters)
    tie = float(binom.pmf(raters // 2, raters, eta))
    return min((majority_error(eta, raters=raters) - tie / 2) / (1 - tie), 0.5)


def consistency(agreed: ArrayLike, split: ArrayLike, plan: Attenuation) -> Standing:
    """Whether the gap is alike on items on which raters agree and on those on which they split.

    Block where the signs are opposite and the difference is beyond `z_direction`, warn beyond `z_warn` or where it
    cannot be computed.

    Args:
        agreed: shape (n,), the difference of the two systems on each item that raters agree on, -1, 0 or 1.
        split: shape (m,), the same of the others.

    """
    first, second = np.asarray(agreed, dtype=np.float64), np.asarray(split, dtype=np.float64)
    if min(len(first), len(second)) < 2:
        return Standing.WARN
    error = sqrt(float(first.var(ddof=1)) / len(first) + float(second.var(ddof=1)) / len(second))
    if error == 0:
        return Standing.PASS if float(first.mean()) == float(second.mean()) else Standing.WARN
    z = abs(float(first.mean() - second.mean())) / error
    if float(first.mean()) * float(second.mean()) < 0 and Fraction(z) > plan.z_direction:
        return Standing.BLOCK
    return Standing.WARN if Fraction(z) > plan.z_warn else Standing.PASS


def binary_comparisons(ratings: Ratings, track: Track, plan: Attenuation) -> tuple[BinaryComparison, ...]:
    """Every two systems on every binary dimension, over the items whose majority label both have; none where none is.

    Args:
        ratings: of all raters.
        track: its rubric and its systems.
        plan: the z-values.

    """
    found = []
    for place, dimension in enumerate(track.rubric.dimensions):
        if dimension.scale != "binary":
            continue
        column = ratings.scores[:, place] == dimension.levels[0 if dimension.better == "lower" else -1]
        votes = np.where(np.isnan(ratings.scores[:, place]), np.nan, column.astype(np.float64))
        table = ratings.by_rater(votes)
        disagreement = _pair_disagreement(table)
        if disagreement is None:
            continue
        raters = max(1, round(float((~np.isnan(table)).sum(axis=1).mean())))
        shares = dict(zip(ratings.units, ratings.unit_means(votes), strict=True))
        systems = [system for system in track.about.systems if system in ratings.systems]
        for earlier, later in combinations(systems, 2):
            one = _compared(dimension.key, later, earlier, shares, ratings.items, disagreement, raters, plan)
            found += [one] if one else []
    return tuple(found)


def _compared(
    dimension: str,
    system: str,
    other: str,
    shares: dict[tuple[str, str], float],
    items: tuple[str, ...],
    disagreement: float,
    raters: int,
    plan: Attenuation,
) -> BinaryComparison | None:
    pairs = [(shares.get((item, system), np.nan), shares.get((item, other), np.nan)) for item in items]
    known = np.array([pair for pair in pairs if not np.isnan(pair).any() and 0.5 not in pair])
    try:
        gap = paired_gap((known[:, 0] > 0.5).astype(int), (known[:, 1] > 0.5).astype(int))
    except (TooFewObservations, IndexError):
        return None
    differences = (known[:, 0] > 0.5).astype(int) - (known[:, 1] > 0.5).astype(int)
    agreed = np.isin(known, (0.0, 1.0)).all(axis=1)
    return BinaryComparison(
        dimension=dimension,
        system=system,
        other=other,
        gap=gap,
        direction=direction(gap, plan),
        shrunk=shrunk(gap, rater_disagreement=disagreement, raters=raters, requested_effect=None, plan=plan),
        consistency=consistency(differences[agreed], differences[~agreed], plan),
    )


def _pair_disagreement(table: Reals) -> float | None:
    """The share of pairs of raters of one answer who differ; None where no answer has two."""
    rated = (~np.isnan(table)).sum(axis=1)
    yes = np.nansum(table, axis=1)
    pairs = float((rated * (rated - 1) / 2).sum())
    return float((yes * (rated - yes)).sum()) / pairs if pairs else None
