"""Whether scores move from batch to batch."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from eval_pipeline.errors import Undefined
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.drift import drift
from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.label_signal.plan import Drift
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.seeds import rng_of
from eval_pipeline.studies.label_signal.track import About

_RATINGS_OF_A_BATCH = 2  # where most have one, no exchange changes the range of the means


@dataclass(frozen=True, slots=True)
class DriftFound:
    """The batches' mean scores as shares of the scale; what could not be tested is None, and `why` says so."""

    batches: tuple[str, ...]
    means: tuple[float, ...]
    range: float | None
    slope: float | None
    p_value: float | None
    detected: bool
    why: str | None


def drift_found(ratings: Ratings, scores: Reals, about: About, plan: Drift, *, seed: int) -> DriftFound:
    """Drift of the plain mean of the dimensions over the batches.

    Under no drift the ratings of one answer, or of one rater, could have been given in any order; that is tested.

    Args:
        ratings: whose rows the scores are of.
        scores: shape (rows,), shares of the scale, NaN where nothing was scored.
        about: says within what ratings trade places.
        plan: permutations and bars.
        seed: of the plan.

    """
    if not ratings.has_batches:
        return DriftFound((), (), None, None, None, False, "the ratings do not say when they were given")
    scored = ~np.isnan(scores)
    if np.median(np.bincount(ratings.batch[scored])) < _RATINGS_OF_A_BATCH:
        why = f"there are {len(ratings.batches)} batches for {int(scored.sum())} ratings; name fewer, such as the days"
        return DriftFound(ratings.batches, (), None, None, None, False, why)
    cluster = ratings.unit if about.design.drift_within == "response" else ratings.rater
    try:
        found = drift(
            scores[scored],
            ratings.batch[scored],
            cluster[scored],
            exchange="replicates",
            resamples=plan.permutations,
            rng=rng_of(seed, "drift"),
        )
    except Undefined as undefined:
        return DriftFound(ratings.batches, (), None, None, None, False, str(undefined))
    names = tuple(ratings.batches[place] for place in np.unique(ratings.batch[scored]))
    detected = is_drift(found.p_value, found.range, plan)
    return DriftFound(names, found.means, found.range, found.slope, found.p_value, detected, None)


def is_drift(p_value: float | None, width: float | None, plan: Drift) -> bool:
    """Whether a range of the batches' means is both significant and large enough to matter."""
    if p_value is None or width is None:
        return False
    return Fraction(p_value) < plan.alpha and reaches(width, plan.range_at_least)
