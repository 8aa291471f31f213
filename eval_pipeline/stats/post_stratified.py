"""Shares corrected by what people said of some of the judge's yes and some of its no, each drawn by itself.

Clusters that are large and alike show too little of that near 0 and 1, as in `cluster_share`. With 8 to 20 items each,
an intraclass correlation of .2 and a share of .97, a lower bound at 95 % lies above the truth in a ninth of studies if
all of 20 clusters are checked whole, or 18 of 90, in a thirteenth if 10 of 20 or 45 of 90 are, and in a fourteenth or
less if the checks are drawn by verdict. With 1 to 8 items it holds to within a point, and so does a bound of a
difference with either.
"""

from dataclasses import dataclass

import numpy as np

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewObservations
from eval_pipeline.records import Interval, Number
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
    the judge's sensitivity and specificity among the checked are not its own. Each of w, P and Q has its interval of
    Clopper and Pearson for as many items as the clusters are worth; the three are put together by how they go together
    over the clusters (MOVER). Of a verdict of which nothing was checked in the group, anything from none to all may be
    supported: the interval begins where it would if none were, and ends where it would if all were. The estimate takes
    for it what is supported among the checked of all groups.

    Args:
        table: what the judge said and what was checked, of one population; see `JudgedClusters`.
        group: which of the groups.
        level: coverage, in (0, 1).
        tails: "two" for equal tails; "lower" or "upper" for that bound alone.

    Raises:
        RatioUndefined: nothing was judged in the group. TooFewObservations: nothing of it was checked, or of one of the
            verdicts nothing in any group.
        InputRefused: clusters of a gold set, no such group, level outside (0, 1) or of 1/2 or less for one bound.
    Source: Cochran (1977), Sampling Techniques, section 12.2 (double sampling for stratification); Zou & Donner (2008),
        Statistics in Medicine 27(10), 1693-1702.

    """
    if not 0 <= whole_number(group, "group") < table.judged.shape[1]:
        raise InputRefused(f"group: found {group}, expected one of the {table.judged.shape[1]} groups, from 0 on")
    found = _found(table, group, tail=float(tail_of(level, tails)))
    return ShareEstimate(found.estimate, interval_of(found.at_least.low, found.at_most.high, level, tails))


def post_stratified_difference(table: JudgedClusters, *, level: Number, tails: Tails) -> ShareEstimate:
    """The share of the first of two groups less that of the second.

    Args: as in `post_stratified_share`; the table has two groups.
    Raises: as in `post_stratified_share`.
    Source: Zou & Donner (2008), Statistics in Medicine 27(10), 1693-1702, from two of its intervals.
    """
    if table.judged.shape[1] != 2:
        raise InputRefused(f"table: found {table.judged.shape[1]} groups, expected 2")
    first, second = (_found(table, group, tail=float(tail_of(level, tails))) for group in (0, 1))
    least = difference_of(first.at_least, second.at_most, level=level, tails=tails).interval
    most = difference_of(first.at_most, second.at_least, level=level, tails=tails).interval
    return ShareEstimate(first.estimate - second.estimate, Interval(least.low, most.high, least.level))


@dataclass(frozen=True, slots=True)
class _Found:
    """The estimate, and the share if of a verdict that was not checked none is supported, and if all are."""

    estimate: float
    at_least: BoundedShare
    at_most: BoundedShare


def _found(table: JudgedClusters, group: int, *, tail: float) -> _Found:
    if tail >= 0.5:
        raise InputRefused(f"level: found {1 - tail:g} for one bound, expected more than 0.5")
    if (table.checked > table.judged).any():
        raise InputRefused("table: found clusters of a gold set, expected checks of the population's own judgments")
    supported, judged, true_positives, false_negatives, true_negatives, false_positives = (
        column[:, group] for column in table.columns
    )
    if not judged.sum():
        raise RatioUndefined("nothing was judged in a group; there is nothing to estimate")
    if not table.checked[:, group].sum():
        raise TooFewObservations("nothing of a group was checked; check more judgments")
    weight = _bounded(supported, judged, tail=tail)
    said_yes, said_no = true_positives + false_positives, false_negatives + true_negatives

    def share(of_yes: float, of_no: float) -> BoundedShare:
        yes, no = (
            _bounded(successes, trials, tail=tail) if trials.any() else _known(of_unchecked, len(trials))
            for successes, trials, of_unchecked in (
                (true_positives, said_yes, of_yes),
                (false_negatives, said_no, of_no),
            )
        )
        return _weighed(weight, yes, no)

    at_least = share(0.0, 0.0)
    if said_yes.any() and said_no.any():
        return _Found(at_least.share, at_least, at_least)
    _, _, hits, misses, rejections, alarms = (int(column.sum()) for column in table.columns)
    for said, share_of_all, known, what in (
        (said_yes, weight.share, hits + alarms, "supported"),
        (said_no, 1 - weight.share, misses + rejections, "not supported"),
    ):
        if share_of_all and not said.any() and not known:
            raise TooFewObservations(f"nothing that the judge called {what} was checked; check more judgments")
    return _Found(share(_ratio(hits, alarms), _ratio(misses, rejections)).share, at_least, share(1.0, 1.0))


def _weighed(weight: BoundedShare, yes: BoundedShare, no: BoundedShare) -> BoundedShare:
    """The two shares by their weights, with bounds put together from those of all three."""
    w, apart = weight.share, yes.share - no.share
    # Where the judge's no are supported more often than its yes, more yes make for a lower share.
    fall, rise = (w - weight.low, weight.high - w) if apart >= 0 else (weight.high - w, w - weight.low)
    down = np.array([w * (yes.share - yes.low), (1 - w) * (no.share - no.low), abs(apart) * fall])
    up = np.array([w * (yes.high - yes.share), (1 - w) * (no.high - no.share), abs(apart) * rise])
    errors = np.stack([w * yes.influence, (1 - w) * no.influence, apart * weight.influence])
    together = _correlations(errors)
    share = w * yes.share + (1 - w) * no.share
    return BoundedShare(
        share=share,
        low=max(share - _reach(down, together), 0.0),
        high=min(share + _reach(up, together), 1.0),
        influence=errors.sum(axis=0),
    )


def _reach(parts: Reals, together: Reals) -> float:
    return float(np.sqrt(max(float(parts @ together @ parts), 0.0)))


def _correlations(errors: Reals) -> Reals:
    """How the errors in the rows go together over the clusters; a row without any goes with no other."""
    products = errors @ errors.T
    spreads = np.sqrt(np.diag(products))
    scale = np.outer(spreads, spreads)
    return np.where(scale > 0, products / np.where(scale > 0, scale, 1.0), np.eye(len(errors)))


def _bounded(successes: Counts, trials: Counts, *, tail: float) -> BoundedShare:
    share = float(successes.sum() / trials.sum())
    # The items of one cluster are worth one trial at the least, and nothing tells how many more.
    worth = effective_trials(successes, trials, tail=tail) if (trials > 0).sum() > 1 else 1.0
    return BoundedShare(
        share=share,
        low=low_end(share * worth, worth, tail=tail),
        high=high_end(share * worth, worth, tail=tail) if share < 1 else 1.0,
        influence=influences(successes, trials),
    )


def _known(share: float, clusters: int) -> BoundedShare:
    return BoundedShare(share, share, share, np.zeros(clusters))


def _ratio(successes: int, failures: int) -> float:
    return successes / (successes + failures) if successes + failures else 0.0  # of what has no weight
