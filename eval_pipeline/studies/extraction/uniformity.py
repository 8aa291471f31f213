"""Positional uniformity: is recall lower at the end of the notes than at the beginning, and by how much at most?"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from eval_pipeline.errors import RatioUndefined, Refused, ThinResamples, TooFewClusters
from eval_pipeline.records import Interval, Reason, Refusal
from eval_pipeline.stats.bootstrap import Bootstrap
from eval_pipeline.stats.tails import Tails
from eval_pipeline.studies.extraction.contrasts import contrast, spread
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.quartiles import Counts, counts_of

_FIRST_LESS_LAST = (1, 0, 0, -1)
_SLOPE = (Fraction(-3, 10), Fraction(-1, 10), Fraction(1, 10), Fraction(3, 10))
_BINS = 40


@dataclass(frozen=True, slots=True)
class Estimate:
    """A contrast of the quartiles' recalls with its interval."""

    estimate: Fraction
    interval: Interval


@dataclass(frozen=True, slots=True)
class Histogram:
    """How the resampled differences lie: `counts[i]` of them between `edges[i]` and `edges[i + 1]`."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UniformityFindings:
    """Recall in quartile 1 less recall in quartile 4, or why it cannot be bounded.

    `bound` holds the one-sided upper bound, which decides; `worst_bound` is that bound if everything undecided in
    quartile 1 were recovered and in quartile 4 missed, None where that cannot be bounded. Beside it stand `two_sided`,
    `slope` (the change of recall from one quartile to the next, by least squares over all four) and `spread` (the
    highest less the lowest of the four, with its upper bound), which sees a dip in the middle too.
    """

    bound: Estimate | None
    worst_bound: Fraction | None
    two_sided: Estimate | None
    slope: Estimate | None
    spread: Estimate | None
    rows: int
    resamples: int
    valid: int | None
    degenerate: bool
    histogram: Histogram | None
    refusal: Refusal | None


def uniformity_findings(quartiles: pa.Table, plan: ExtractionPlan) -> UniformityFindings:
    """The bound, its two-sided companion and the trend over all quartiles."""
    counts = counts_of(quartiles, plan)
    rows, resamples = int(counts.drawn.sum()), plan.bootstrap.resamples
    try:
        bound = _bootstrap(counts, _FIRST_LESS_LAST, "upper", plan)
    except (TooFewClusters, RatioUndefined, ThinResamples) as refusal:
        reason = Reason.UNDERPOWERED if isinstance(refusal, TooFewClusters) else Reason.THIN_QUARTILES
        valid = refusal.valid if isinstance(refusal, ThinResamples) else None
        return UniformityFindings(
            None, None, None, None, None, rows, resamples, valid, False, None, Refusal(reason, _in_words(refusal))
        )
    return UniformityFindings(
        bound=Estimate(bound.estimate, bound.interval),
        worst_bound=_worst_bound(counts, plan),
        two_sided=_estimate(counts, _FIRST_LESS_LAST, plan),
        slope=_estimate(counts, _SLOPE, plan),
        spread=_spread(counts, plan),
        rows=rows,
        resamples=resamples,
        valid=bound.valid,
        degenerate=bound.degenerate,
        histogram=_histogram(bound),
        refusal=None,
    )


def _bootstrap(
    counts: Counts, weights: tuple[Fraction | int, ...], tails: Tails, plan: ExtractionPlan
) -> Bootstrap[Fraction]:
    return contrast(counts.hits[counts.drawn], counts.judged[counts.drawn], weights, tails, plan)


def _estimate(counts: Counts, weights: tuple[Fraction | int, ...], plan: ExtractionPlan) -> Estimate | None:
    try:
        drawn = _bootstrap(counts, weights, "two", plan)
    except (RatioUndefined, ThinResamples):
        return None
    return Estimate(drawn.estimate, drawn.interval)


def _spread(counts: Counts, plan: ExtractionPlan) -> Estimate | None:
    try:
        drawn = spread(counts.hits[counts.drawn], counts.judged[counts.drawn], plan)
    except (RatioUndefined, ThinResamples):
        return None
    return Estimate(drawn.estimate, drawn.interval)


def _worst_bound(counts: Counts, plan: ExtractionPlan) -> Fraction | None:
    recovered = counts.undecided * np.array([1, 0, 0, 0])
    every = np.ones(len(counts.entries), dtype=bool)
    worst = replace(counts, hits=counts.hits + recovered, judged=counts.judged + counts.undecided, drawn=every)
    try:
        high = _bootstrap(worst, _FIRST_LESS_LAST, "upper", plan).interval.high
    except ThinResamples:
        return None
    return None if high is None else Fraction(high)


def _in_words(refusal: Refused) -> str:
    if isinstance(refusal, TooFewClusters):
        return (
            "fewer than two entries were judged, and one entry says nothing of how entries differ; judge more entries"
        )
    if isinstance(refusal, RatioUndefined):
        return "no proposition of quartile 1, or none of quartile 4, was judged; annotate propositions there"
    return str(refusal)


def _histogram(bound: Bootstrap[Fraction]) -> Histogram:
    counts, edges = np.histogram(bound.draws, bins=_BINS if not bound.degenerate else 1)
    return Histogram(tuple(round(float(edge), 6) for edge in edges), tuple(int(count) for count in counts))
