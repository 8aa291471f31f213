"""Answers on which raters lie far apart: which are to be settled first, and what settling them changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

import numpy as np

from eval_pipeline.stats.arrays import Reals
from eval_pipeline.studies.label_signal.plan import Triage
from eval_pipeline.studies.label_signal.ratings import Ratings, Unit
from eval_pipeline.studies.label_signal.rubric import Rubric, composites
from eval_pipeline.studies.label_signal.track import Track


@dataclass(frozen=True, slots=True)
class Queued:
    """An answer for the adjudicator; `spreads` are the ranges of its ratings by dimension, in levels."""

    unit: Unit
    priority: float
    spreads: Mapping[str, float]
    critical: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Adjudicated:
    """What an adjudicator settled: final scores by dimension, and whether the rubric itself left it open."""

    unit: Unit
    final: Mapping[str, float]
    rubric_gap: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Adjudications:
    """All that an adjudicator settled."""

    settled: tuple[Adjudicated, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """How much was queued and resolved, and what the resolutions changed; rates over nothing are None.

    `resolution_rate` is of the queue, `composite_shift` of the dimensions that were settled.
    The agreement of raters with final scores is no reliability: the final scores were made of theirs.
    """

    answers: int
    queued: int
    resolved: int
    unresolved: int
    queue_rate: float
    resolution_rate: float | None
    gap_rate: float | None
    exact: float | None
    within_one: float | None
    overruled: float | None
    composite_shift: float | None


def queue(ratings: Ratings, rubric: Rubric, plan: Triage) -> tuple[Queued, ...]:
    """The answers to adjudicate, most urgent first.

    The spread of a dimension is the range of its ratings, two or more. An answer is queued for a wide one, or for any
    on a critical dimension; its priority is the weighted sum of its spreads, and more for each critical one.

    Args:
        ratings: of all raters.
        rubric: weights, and which dimensions are critical.
        plan: the bars.

    """
    columns = [_ranges(ratings.by_rater(ratings.scores[:, place])) for place in range(len(rubric.keys))]
    spreads = np.nan_to_num(np.column_stack(columns))
    is_critical = np.array([one.critical_threshold is not None for one in rubric.dimensions])
    critical = is_critical & (spreads >= plan.critical_spread_at_least)
    priorities = spreads @ np.array([float(one.weight) for one in rubric.dimensions])
    priorities += float(plan.per_critical) * critical.sum(axis=1)
    waiting = [
        Queued(
            unit=ratings.units[place],
            priority=float(priorities[place]),
            spreads={key: spread for key, spread in zip(rubric.keys, spreads[place].tolist(), strict=True) if spread},
            critical=tuple(key for key, wide in zip(rubric.keys, critical[place], strict=True) if wide),
        )
        for place in np.flatnonzero(critical.any(axis=1) | (spreads >= plan.spread_at_least).any(axis=1)).tolist()
    ]
    return tuple(sorted(waiting, key=lambda one: (-one.priority, one.unit)))


def _ranges(table: Reals) -> Reals:
    rated = (~np.isnan(table)).sum(axis=1)
    ranges = np.full(len(table), np.nan)
    several = rated >= 2
    ranges[several] = np.nanmax(table[several], axis=1) - np.nanmin(table[several], axis=1)
    return ranges


def capacity(queued: int, share: Fraction | None) -> int:
    """How many of the queue are resolved: the share of it, rounded down; None resolves all, and 0 none."""
    return queued if share is None else floor(share * queued)


def settled(ratings: Ratings, rubric: Rubric, plan: Triage) -> Reals:
    """The median of the ratings of each answer on each dimension: shape (units, dimensions), NaN where none was given.

    Of two middle levels a critical dimension takes the worse one nearest to their middle: the lower, or the higher
    where lower is better. On others the middle is kept, or is rounded to the even number.
    """
    final = np.full((len(ratings.units), len(rubric.keys)), np.nan)
    for place, dimension in enumerate(rubric.dimensions):
        table = ratings.by_rater(ratings.scores[:, place])
        rated = ~np.isnan(table).all(axis=1)
        medians = np.nanmedian(table[rated], axis=1)
        levels = np.array(dimension.levels, dtype=np.float64)
        if dimension.critical_threshold is not None:
            higher = np.searchsorted(levels, medians, side="left")
            lower = np.searchsorted(levels, medians, side="right") - 1
            medians = levels[higher if dimension.better == "lower" else lower]
        elif plan.ties == "half_even":
            medians = np.where(np.isin(medians, levels), medians, np.round(medians))
        final[rated, place] = medians
    return final


def summary(ratings: Ratings, track: Track, queued: Sequence[Queued], resolved: Sequence[Adjudicated]) -> Summary:
    """What became of the queue, and how far the final scores lie from the ratings."""
    place_of = {unit: place for place, unit in enumerate(ratings.units)}
    final = np.full((len(ratings.units), len(track.rubric.keys)), np.nan)
    for one in resolved:
        final[place_of[one.unit]] = [one.final.get(key, np.nan) for key in track.rubric.keys]
    settled_rows = np.isin(ratings.unit, [place_of[one.unit] for one in resolved])
    errors = (ratings.scores - final[ratings.unit])[settled_rows]
    off = errors[~np.isnan(errors)]
    rows = (np.nan_to_num(errors) == 0).all(axis=1)
    alike = np.where(np.isnan(final[ratings.unit]), np.nan, ratings.scores)
    before = ratings.unit_means(composites(track.rubric, alike, unscored="undefined"))
    shifts = composites(track.rubric, final, unscored="undefined") - before
    shifts = shifts[~np.isnan(shifts)]
    waiting = {one.unit for one in queued}
    done = sum(one.unit in waiting for one in resolved)
    return Summary(
        answers=len(ratings.units),
        queued=len(queued),
        resolved=len(resolved),
        unresolved=len(queued) - done,
        queue_rate=len(queued) / len(ratings.units),
        resolution_rate=done / len(queued) if queued else None,
        gap_rate=sum(one.rubric_gap for one in resolved) / len(resolved) if resolved else None,
        exact=float((off == 0).mean()) if len(off) else None,
        within_one=float((np.abs(off) <= 1).mean()) if len(off) else None,
        overruled=float((~rows).mean()) if len(rows) else None,
        composite_shift=float(shifts.mean()) if len(shifts) else None,
    )
