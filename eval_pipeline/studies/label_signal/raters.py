"""The raters: who is lenient, who holds positions, who errs on what is known, and on what they differ for good."""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import numpy as np
from scipy.stats import t

from eval_pipeline.errors import Undefined
from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.multiplicity import holm
from eval_pipeline.stats.positions import Positions, lasting_positions
from eval_pipeline.stats.scalars import reaches
from eval_pipeline.studies.label_signal.plan import Raters
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Rubric
from eval_pipeline.studies.label_signal.seeds import rng_of
from eval_pipeline.studies.label_signal.track import Track

_SPAN = 3.0  # of the scale in which the plan's bars of offsets are told


@dataclass(frozen=True, slots=True)
class Profile:
    """A rater; offsets are in levels, and None where nobody else rated what this one did.

    `leniency` is the mean offset from the answer's mean rating on dimensions that are not contested, `position` that on
    contested ones, less the leniency. `gold_exact` is the share of known scores that were met. `flags` say for what the
    rater is flagged; a position of their own is none, and `divergent` says that they hold one.
    """

    rater: str
    rows: int
    mean: float
    spread: float
    leniency: float | None
    leniency_interval: Interval | None
    position: float | None
    gold_exact: float | None
    gold_within_one: float | None
    gold_error: float | None
    gold_scores: int
    duration_s: float | None
    flags: tuple[str, ...]
    divergent: bool


@dataclass(frozen=True, slots=True)
class Contested:
    """How much of the disagreement on a dimension lasting positions of raters explain, and how much chance would.

    `share`, `by_chance` and `p_value` (adjusted for the number of dimensions) are None where nobody disagrees. `found`:
    the ratings show it. `declared`: the track says so.
    """

    key: str
    share: float | None
    by_chance: float | None
    p_value: float | None
    found: bool
    declared: bool


def profiles(ratings: Ratings, track: Track, contested: Collection[str], plan: Raters) -> tuple[Profile, ...]:
    """The profile of each rater.

    Args:
        ratings: of the pool.
        track: its gold scores, and its rubric.
        contested: the dimensions that count as contested.
        plan: the bars of the flags.

    """
    offsets = _offsets(ratings)
    ordered = np.array([one.ordered for one in track.rubric.dimensions])
    apart = np.array([key in contested for key in track.rubric.keys]) & ordered
    settled = ordered & ~apart
    gold = _gold_errors(ratings, track)
    return tuple(
        _profile(ratings, place, offsets, settled, apart, gold, track.rubric, plan)
        for place in range(len(ratings.raters))
    )


def flagged_fraction(found: Collection[Profile]) -> float:
    """The share of raters with a flag, to three decimals."""
    return round(sum(bool(one.flags) for one in found) / len(found), 3)


def _offsets(ratings: Ratings) -> Reals:
    """Each score less the mean of all scores of its answer; NaN where it is the only one."""
    found = np.full(ratings.scores.shape, np.nan)
    for place in range(ratings.scores.shape[1]):
        column = ratings.scores[:, place]
        rated = np.bincount(ratings.unit[~np.isnan(column)], minlength=len(ratings.units))
        offset = column - ratings.unit_means(column)[ratings.unit]
        found[:, place] = np.where(rated[ratings.unit] >= 2, offset, np.nan)
    return found


def _gold_errors(ratings: Ratings, track: Track) -> Reals:
    """Each score less the one that is known to be right, in the shape of the scores; NaN where none is known."""
    gold = {(one.item_id, one.system_id): one.gold_scores for one in track.responses if one.gold_scores}
    known = np.array(
        [[(gold.get(unit) or {}).get(key, np.nan) for key in track.rubric.keys] for unit in ratings.units],
        dtype=np.float64,
    )
    return np.asarray(ratings.scores - known[ratings.unit])


def _profile(
    ratings: Ratings,
    place: int,
    offsets: Reals,
    settled: Reals,
    apart: Reals,
    gold: Reals,
    rubric: Rubric,
    plan: Raters,
) -> Profile:
    own = ratings.rater == place
    leniency, interval = _mean_offset(offsets[own][:, settled == 1], plan)
    raw_position, _ = _mean_offset(offsets[own][:, apart == 1], plan)
    position = None if raw_position is None or leniency is None else raw_position - leniency
    errors = gold[own][~np.isnan(gold[own])]
    scores = ratings.scores[own]
    spread = _spread(scores)
    durations = ratings.duration_s[own]
    durations = durations[durations > 0]
    span = float(np.mean([one.span for one in rubric.dimensions if one.ordered] or [_SPAN]))
    scaled = span / _SPAN
    duration = float(durations.mean()) if len(durations) else None
    exact = float((errors == 0).mean()) if len(errors) else None
    flags = []
    if leniency is not None and _beyond(leniency, interval, float(plan.leniency_at_most) * scaled, plan):
        flags.append("lenient" if leniency > 0 else "severe")
    if exact is not None and not reaches(exact, plan.gold_exact_at_least):
        flags.append("gold")
    if duration is not None and duration < plan.duration_s_at_least:
        flags.append("fast")
    if int(own.sum()) >= plan.spread_from and spread < float(plan.spread_at_least) * scaled:
        flags.append("flat")
    return Profile(
        rater=ratings.raters[place],
        rows=int(own.sum()),
        mean=float(np.nanmean(scores)),
        spread=spread,
        leniency=leniency,
        leniency_interval=interval,
        position=position,
        gold_exact=exact,
        gold_within_one=float((np.abs(errors) <= 1).mean()) if len(errors) else None,
        gold_error=float(errors.mean()) if len(errors) else None,
        gold_scores=len(errors),
        duration_s=duration,
        flags=tuple(flags),
        divergent=position is not None and _above(abs(position), float(plan.position_at_most) * scaled),
    )


def _mean_offset(offsets: Reals, plan: Raters) -> tuple[float | None, Interval | None]:
    """The mean over a rater's answers of the mean offset on these dimensions, with Student's interval."""
    present = ~np.isnan(offsets)
    rows = present.any(axis=1)
    if not rows.any():
        return None, None
    means = np.nansum(offsets[rows], axis=1) / present[rows].sum(axis=1)
    mean, n = float(means.mean()), len(means)
    if n < 2:
        return mean, None
    half = float(t.isf(float(1 - plan.level) / 2, n - 1)) * float(means.std(ddof=1)) / sqrt(n)
    return mean, Interval(mean - half, mean + half, float(plan.level))


def _beyond(value: float, interval: Interval | None, bar: float, plan: Raters) -> bool:
    """Whether an offset lies beyond the bar on either side: by itself, or with all of its interval."""
    if plan.evidence == "observed":
        return _above(abs(value), bar)
    if interval is None or interval.low is None or interval.high is None:
        return False
    return interval.low > bar or interval.high < -bar


def _above(value: float, bar: float) -> bool:
    """Whether a number lies above a bar by more than arithmetic loses."""
    return not reaches(-value, -Fraction(bar))


def _spread(scores: Reals) -> float:
    """The standard deviation of a rater's scores within a dimension, in levels, pooled over the dimensions."""
    present = ~np.isnan(scores)
    counts = present.sum(axis=0)
    several = counts >= 2
    if not several.any():
        return 0.0
    squares = np.nanvar(scores[:, several], axis=0, ddof=0) * counts[several]
    return sqrt(float(squares.sum()) / float((counts[several] - 1).sum()))


def contested_dimensions(
    ratings: Ratings, rubric: Rubric, declared: Collection[str], plan: Raters, *, seed: int
) -> tuple[Contested, ...]:
    """On which dimensions raters hold lasting positions, by what they gave; those without an order are left out.

    A leniency on all matters shows on every dimension. So a dimension is contested where raters' lasting differences
    explain more of the disagreement, by `contested_share`, than they do on the dimension where they explain least.

    Args:
        ratings: of the pool.
        rubric: its dimensions.
        declared: what the track calls contested.
        plan: alpha, the least share, and permutations.
        seed: of the plan.

    """
    tested = [
        (one.key, _positions(ratings, place, plan, rng_of(seed, "contested", one.key)))
        for place, one in enumerate(rubric.dimensions)
        if one.ordered
    ]
    adjusted = iter(
        holm([one.p_value for _, one in tested if one], alpha=float(plan.contested_alpha)).p_values.tolist()
    )
    least = min((one.share for _, one in tested if one), default=0.0)
    found = []
    for key, one in tested:
        if one is None:
            found.append(Contested(key, None, None, None, False, key in declared))
            continue
        p_value = next(adjusted)
        shown = p_value <= plan.contested_alpha and one.share - least >= plan.contested_share
        found.append(Contested(key, one.share, one.by_chance, p_value, shown, key in declared))
    return tuple(found)


def _positions(ratings: Ratings, place: int, plan: Raters, rng: np.random.Generator) -> Positions | None:
    """None where nobody disagrees, or no answer was rated twice."""
    column = ratings.scores[:, place]
    rated = ~np.isnan(column)
    try:
        return lasting_positions(
            column[rated], ratings.unit[rated], ratings.rater[rated], resamples=plan.permutations, rng=rng
        )
    except Undefined:
        return None
