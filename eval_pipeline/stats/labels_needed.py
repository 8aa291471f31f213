"""How many clusters people must label until a corrected estimate stands clear of its bar."""

from dataclasses import dataclass
from math import ceil

from eval_pipeline.errors import InputRefused, NoEffect
from eval_pipeline.stats.scalars import real_number, whole_number


@dataclass(frozen=True, slots=True)
class LabelsNeeded:
    """So many labelled clusters, of so many in all; more than there are now where even all of these do not decide."""

    labelled: int
    clusters: int


def clusters_to_label(
    labels_alone: float, corrected: float, distance: float, *, labelled: int, clusters: int
) -> LabelsNeeded:
    """The fewest clusters that people must label for the interval to end at the bar, if the estimate stays.

    With m labelled clusters of K, labels alone reach r0 / sqrt(m), and a judge whose verdicts share a part R of the
    labels' variance takes R (1 - m/K) of it away: reach^2 = r0^2 / m (1 - R (1 - m/K)). R is read off from both reaches
    at hand. Labelling all leaves r0 / sqrt(K); if that is too far, the population must grow, with all of it labelled.
    Reaches that pay for having few labelled clusters, as by Student's quantile, name too many: of 30, by some 15 %.

    Args:
        labels_alone: how far an interval from the labels alone reaches to the side of the bar, above 0.
        corrected: how far the corrected one reaches there, above 0.
        distance: how far the estimate lies from the bar, above 0.
        labelled: clusters that are labelled now, 1 or more.
        clusters: of the population, `labelled` or more.

    Raises: NoEffect: the estimate lies on the bar; no number of labels tells on which side the truth lies.
        InputRefused: an argument outside its range.
    Source: Angelopoulos, Duchi & Zrnic (2023), PPI++, arXiv:2311.01453 (the variance at the best weight).

    """
    alone, reach = (
        real_number(value, name, low=0) for value, name in ((labels_alone, "labels_alone"), (corrected, "corrected"))
    )
    apart, known = real_number(distance, "distance", low=0), whole_number(labelled, "labelled", at_least=1)
    every = whole_number(clusters, "clusters", at_least=1)
    if known > every:
        raise InputRefused(f"labelled: found {known}, expected at most the {every} clusters that there are")
    if not apart:
        raise NoEffect("the estimate lies on the bar, and no number of labels tells on which side the truth lies")
    one = known * alone**2  # what a single labelled cluster would reach, squared
    if known == every or not one:
        shared = 0.0
    else:
        shared = min(max((1 - reach**2 / alone**2) * every / (every - known), 0.0), 1.0)
    room = apart**2 - one * shared / every
    if room > 0 and (needed := ceil(one * (1 - shared) / room)) <= every:
        return LabelsNeeded(max(needed, 1), every)
    every_one = ceil(one / apart**2)
    return LabelsNeeded(every_one, every_one)
