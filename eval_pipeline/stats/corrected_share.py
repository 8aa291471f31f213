"""Intervals of corrected shares that hold with few clusters and near 0 and 1, where the bootstrap's do not."""

from dataclasses import dataclass

import numpy as np

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.stats.cluster_share import BoundedShare, ShareEstimate, difference_of, effective_trials, influences
from eval_pipeline.stats.corrected_ratio import corrected_of
from eval_pipeline.stats.correction import lang_reiczigel
from eval_pipeline.stats.judged_clusters import Errors, JudgedClusters, checks
from eval_pipeline.stats.scalars import whole_number
from eval_pipeline.stats.tails import Tails, interval_of, tail_of


def corrected_share(table: JudgedClusters, *, errors: Errors, group: int, level: Number, tails: Tails) -> ShareEstimate:
    """A group's corrected share, with the interval of `lang_reiczigel` for as many items as the clusters are worth.

    Args:
        table: what the judge said and what was checked; see `JudgedClusters`, `with_gold`.
        errors: whether the judge's error rates are those of the group, or the same in all groups.
        group: which of the groups.
        level: coverage, in (0, 1).
        tails: "two" for equal tails; "lower" or "upper" for that bound alone.

    Raises:
        RatioUndefined: nothing was judged. TooFewObservations: no known positive, or no known negative.
        JudgeTooPoor: sensitivity + specificity <= 1.
        InputRefused: level outside (0, 1), or of 1/2 or less for one bound.
    Source: Lang & Reiczigel (2014), Preventive Veterinary Medicine 113(1), 13-22; Korn & Graubard (1998), Survey
        Methodology 24(2), 193-201 (effective numbers).

    """
    if not 0 <= whole_number(group, "group") < table.judged.shape[1]:
        raise InputRefused(f"group: found {group}, expected one of the {table.judged.shape[1]} groups, from 0 on")
    found = _bounded(table, group, errors, tail=float(tail_of(level, tails)))
    return ShareEstimate(found.share, interval_of(found.low, found.high, level, tails))


def corrected_difference(table: JudgedClusters, *, errors: Errors, level: Number, tails: Tails) -> ShareEstimate:
    """The corrected share of the first of two groups less that of the second.

    Args: as in `corrected_share`; the table has two groups.
    Raises: as in `corrected_share`.
    Source: Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702, from two intervals of `corrected_share`.
    """
    if table.judged.shape[1] != 2:
        raise InputRefused(f"table: found {table.judged.shape[1]} groups, expected 2")
    first, second = (_bounded(table, j, errors, tail=float(tail_of(level, tails))) for j in (0, 1))
    return difference_of(first, second, level=level, tails=tails)


@dataclass(frozen=True, slots=True)
class _Rate:
    """A share, how many independent trials it is worth, and what each cluster adds to its error."""

    share: float
    trials: float
    influence: Reals


def _bounded(table: JudgedClusters, group: int, errors: Errors, *, tail: float) -> BoundedShare:
    columns = np.stack([table.supported, table.judged, *checks(table, errors)])[:, :, group]
    share = float(corrected_of(columns.sum(axis=1)))
    supported, judged, true_positives, false_negatives, true_negatives, false_positives = columns
    observed = _rate(supported, judged, tail)
    sensitivity = _rate(true_positives, true_positives + false_negatives, tail)
    specificity = _rate(true_negatives, true_negatives + false_positives, tail)
    interval = lang_reiczigel(
        observed.share,
        observed.trials,
        sensitivity=sensitivity.share,
        positives=sensitivity.trials,
        specificity=specificity.share,
        negatives=specificity.trials,
        level=1 - 2 * tail,
    )
    assert interval.low is not None
    assert interval.high is not None
    low, high = min(float(interval.low), share), max(float(interval.high), share)
    # By the derivatives of (p + sp - 1) / (se + sp - 1) in p, sp and se.
    error = observed.influence + (1 - share) * specificity.influence - share * sensitivity.influence
    beyond_chance = sensitivity.share + specificity.share - 1
    return BoundedShare(share, low, high, error / beyond_chance)


def _rate(successes: Counts, trials: Counts, tail: float) -> _Rate:
    share = float(successes.sum() / trials.sum())
    # The items of one cluster are worth one trial at the least, and nothing tells how many more.
    worth = effective_trials(successes, trials, tail=tail) if (trials > 0).sum() > 1 else 1.0
    return _Rate(share, worth, influences(successes, trials))
