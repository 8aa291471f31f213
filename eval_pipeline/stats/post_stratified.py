"""Shares corrected by what people said of some of the judge's yes and some of its no, each drawn by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewObservations
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.stats.binomial import high_end, low_end
from eval_pipeline.stats.cluster_share import BoundedShare, ShareEstimate, difference_of, effective_trials, influences
from eval_pipeline.stats.judged_clusters import JudgedClusters
from eval_pipeline.stats.scalars import whole_number
from eval_pipeline.stats.tails import Tails, interval_of, tail_of


def post_stratified_share(table: JudgedClusters, *, group: int, level: Number, tails: Tails) -> ShareEstimate:
    """A group's share of supported items: w P + (1 - w) Q, with the judge's verdicts as strata.

    w is the share that the judge called supported, P the share of the checked ones of these that are, and Q that of the
    checked ones of the others. Right for checks that were drawn by verdict, and for any draw within each verdict, where
    the judge's sensitivity and specificity among the checked are not its own. Each of P and Q has its Clopper-Pearson
    interval for as many items as the clusters are worth; these and the spread of w over the clusters are put together
    by how they go together over the clusters (MOVER). Of a verdict of which nothing was checked in the group, anything
    from none to all may be supported; it stands at what is among the checked of all groups, or else at a half.

    Args:
        table: what the judge said and what was checked, of one population; see `JudgedClusters`.
        group: which of the groups.
        level: coverage, in (0, 1).
        tails: "two" for equal tails; "lower" or "upper" for that bound alone.

    Raises:
        RatioUndefined: nothing was judged in the group. TooFewObservations: nothing of it was checked.
        InputRefused: clusters of a gold set, no such group, level outside (0, 1) or of 1/2 or less for one bound.
    Source: Cochran (1977), Sampling Techniques, section 12.2 (double sampling for stratification); Zou & Donner (2008),
        Statistics in Medicine 27(10), 1693-1702.

    """
    if not 0 <= whole_number(group, "group") < table.judged.shape[1]:
        raise InputRefused(f"group: found {group}, expected one of the {table.judged.shape[1]} groups, from 0 on")
    found = _bounded(table, group, tail=float(tail_of(level, tails)))
    return ShareEstimate(found.share, interval_of(found.low, found.high, level, tails))


def post_stratified_difference(table: JudgedClusters, *, level: Number, tails: Tails) -> ShareEstimate:
    """The share of the first of two groups less that of the second.

    Args: as in `post_stratified_share`; the table has two groups.
    Raises: as in `post_stratified_share`.
    Source: Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702, from two of its intervals.
    """
    if table.judged.shape[1] != 2:
        raise InputRefused(f"table: found {table.judged.shape[1]} groups, expected 2")
    first, second = (_bounded(table, group, tail=float(tail_of(level, tails))) for group in (0, 1))
    return difference_of(first, second, level=level, tails=tails)


@dataclass(frozen=True, slots=True)
class _Stratum:
    """Of the judge's yes, or of its no: the share that is supported in truth, its bounds, and its error by cluster."""

    share: float
    low: float
    high: float
    influence: Reals


def _bounded(table: JudgedClusters, group: int, *, tail: float) -> BoundedShare:
    if (table.checked > table.judged).any():
        raise InputRefused("table: found clusters of a gold set, expected checks of the population's own judgments")
    supported, judged, true_positives, false_negatives, true_negatives, false_positives = (
        column[:, group] for column in table.columns
    )
    if not judged.sum():
        raise RatioUndefined("nothing was judged in a group; there is nothing to estimate")
    weight = float(supported.sum() / judged.sum())
    of_weight = influences(supported, judged)
    if not table.checked[:, group].sum():
        raise TooFewObservations("nothing of a group was checked; check more judgments")
    _, _, *in_all = (int(column.sum()) for column in table.columns)
    yes = _stratum(true_positives, true_positives + false_positives, (in_all[0], in_all[3]), tail)
    no = _stratum(false_negatives, false_negatives + true_negatives, (in_all[1], in_all[2]), tail)
    apart = yes.share - no.share
    clusters = int((judged > 0).sum())
    unbiased = clusters / (clusters - 1) if clusters > 1 else 1.0
    swing = float(norm.isf(tail)) * abs(apart) * float(np.sqrt(unbiased * (of_weight**2).sum()))
    share = weight * yes.share + (1 - weight) * no.share
    errors = np.stack([weight * yes.influence, (1 - weight) * no.influence, apart * of_weight])
    together = _correlations(errors)
    down = np.array([weight * (yes.share - yes.low), (1 - weight) * (no.share - no.low), swing])
    up = np.array([weight * (yes.high - yes.share), (1 - weight) * (no.high - no.share), swing])
    return BoundedShare(
        share=share,
        low=max(share - float(np.sqrt(down @ together @ down)), 0.0),
        high=min(share + float(np.sqrt(up @ together @ up)), 1.0),
        influence=errors.sum(axis=0),
    )


def _correlations(errors: Reals) -> Reals:
    """How the errors in the rows go together over the clusters; a row without any goes with no other."""
    products = errors @ errors.T
    spreads = np.sqrt(np.diag(products))
    scale = np.outer(spreads, spreads)
    return np.where(scale > 0, products / np.where(scale > 0, scale, 1.0), np.eye(len(errors)))


def _stratum(successes: Counts, trials: Counts, in_all: Sequence[int], tail: float) -> _Stratum:
    """The share of a stratum; `in_all` are those that are supported and those that are not of all groups."""
    if not trials.sum():
        known = sum(in_all)
        return _Stratum(in_all[0] / known if known else 0.5, 0.0, 1.0, np.zeros(len(trials)))
    share = float(successes.sum() / trials.sum())
    worth = effective_trials(successes, trials, tail=tail) if (trials > 0).sum() > 1 else 1.0
    return _Stratum(
        share=share,
        low=low_end(share * worth, worth, tail=tail) if share > 0 else 0.0,
        high=high_end(share * worth, worth, tail=tail) if share < 1 else 1.0,
        influence=influences(successes, trials),
    )
