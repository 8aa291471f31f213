"""The red team: could the scores be had without the quality that they stand for?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtr

from eval_pipeline.errors import Undefined
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.effects import leave_one_out_correlations, spearman
from eval_pipeline.studies.label_signal.comparisons import Comparison, SystemScore
from eval_pipeline.studies.label_signal.plan import Probes
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Rubric
from eval_pipeline.studies.label_signal.track import Track

ProbeName = Literal[
    "length_bias", "lazy_baseline", "rubric_shortcut", "position_bias_fragility", "annotator_leave_one_out"
]

_BISECTIONS = 30


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe: its statistic against its bar, and whether it failed; None where it cannot be tried.

    `degenerate` are the dimensions behind which nothing else varies.
    """

    name: ProbeName
    statistic: float | None
    bar: float | None
    failed: bool | None
    detail: str
    degenerate: tuple[str, ...] = ()


def probes(
    ratings: Ratings,
    composites: Reals,
    track: Track,
    systems: Sequence[SystemScore],
    contrasts: Sequence[Comparison],
    plan: Probes,
) -> tuple[Probe, ...]:
    """All five, in their order.

    Args:
        ratings, composites: shape (rows,), NaN where there is none.
        track: its texts.
        systems, contrasts: the mean scores, and how they differ.
        plan: the bars.

    """
    of_unit = ratings.unit_means(composites)
    half_widths = [one.half_width for one in systems if one.half_width is not None]
    return (
        length_bias(ratings, of_unit, track, plan),
        lazy_baseline(ratings, track.rubric, plan),
        rubric_shortcut(ratings, track.rubric, plan),
        position_bias(ratings, composites, contrasts, plan),
        leave_one_out(ratings, composites, max(half_widths, default=None), plan),
    )


def length_bias(ratings: Ratings, of_unit: Reals, track: Track, plan: Probes) -> Probe:
    """Whether longer answers score better or worse: rank correlation over the clean answers, if there are enough."""
    texts = {(one.item_id, one.system_id): one for one in track.responses}
    known = [
        (len(texts[unit].text), score, texts[unit].planted_failure is None)
        for unit, score in zip(ratings.units, of_unit, strict=True)
        if unit in texts and not np.isnan(score)
    ]
    clean = [one for one in known if one[2]]
    used = clean if len(clean) >= plan.clean_from else known
    bar = float(plan.length_at_most)
    if len(used) < plan.length_from:
        return Probe("length_bias", None, bar, None, f"{len(used)} answers with a text are too few")
    try:
        rho = spearman([one[0] for one in used], [one[1] for one in used], level=plan.level).estimate
    except Undefined as undefined:
        return Probe("length_bias", None, bar, None, str(undefined))
    detail = f"rank correlation of length and score over {len(used)} {'clean ' if used is clean else ''}answers"
    return Probe("length_bias", rho, bar, abs(rho) > plan.length_at_most, detail)


def lazy_baseline(ratings: Ratings, rubric: Rubric, plan: Probes) -> Probe:
    """How often a rater would be right who always gave a dimension's most frequent level: the best of dimensions."""
    rates = {}
    for place, key in enumerate(rubric.keys):
        column = ratings.scores[:, place]
        column = column[~np.isnan(column)]
        if len(column):
            rates[key] = float(np.unique(column, return_counts=True)[1].max()) / len(column)
    return lazy(rates, plan)


def lazy(rates: dict[str, float], plan: Probes) -> Probe:
    """The probe of the rates by dimension; a rate at the bar has not failed."""
    worst = max(rates, key=lambda key: rates[key])
    detail = f"share of the most frequent level of {worst!r}"
    return Probe("lazy_baseline", rates[worst], float(plan.lazy_at_most), rates[worst] > plan.lazy_at_most, detail)


def rubric_shortcut(ratings: Ratings, rubric: Rubric, plan: Probes) -> Probe:
    """Whether one dimension stands for all: its correlation with the others' mean, over answers."""
    ordered = [place for place, one in enumerate(rubric.dimensions) if one.ordered]
    shares = np.column_stack(
        [rubric.dimensions[place].share(ratings.unit_means(ratings.scores[:, place])) for place in ordered]
    )
    return shortcut(shares[~np.isnan(shares).any(axis=1)], [rubric.keys[place] for place in ordered], plan)


def shortcut(shares: Reals, keys: Sequence[str], plan: Probes) -> Probe:
    """The probe of a table of answers by dimensions; one behind which nothing else varies counts as 1."""
    bar = float(plan.shortcut_below)
    if shares.ndim != 2 or shares.shape[1] < 2 or len(shares) < 2:
        return Probe("rubric_shortcut", None, bar, None, "two answers and two dimensions with an order are needed")
    found = leave_one_out_correlations(shares)
    degenerate = tuple(key for key, one in zip(keys, found, strict=True) if one.degenerate == "constant remainder")
    sizes = {
        key: 1.0 if one.correlation is None else abs(one.correlation)
        for key, one in zip(keys, found, strict=True)
        if one.degenerate != "constant part"
    }
    if not sizes:
        return Probe("rubric_shortcut", None, bar, None, "every dimension is constant")
    worst = max(sizes, key=lambda key: sizes[key])
    detail = f"correlation of {worst!r} with the mean of the other dimensions"
    return Probe("rubric_shortcut", sizes[worst], bar, sizes[worst] >= plan.shortcut_below, detail, degenerate)


def position_bias(ratings: Ratings, composites: Reals, contrasts: Sequence[Comparison], plan: Probes) -> Probe:
    """How small an advantage of the first place would turn a tenth more of the pairwise choices than noise does.

    Two answers of equal quality are compared by a rater with the raters' own noise; the advantage that raises the share
    of turned choices by `order_flip_gain` is smaller than the largest difference of systems where that could be order
    alone.
    """
    sigma = _noise(ratings, composites)
    largest = max((abs(one.effect) for one in contrasts if one.effect is not None), default=None)
    if sigma is None or sigma == 0:
        return Probe("position_bias_fragility", None, largest, None, "no answer was rated twice with different results")
    # A choice of two noisy scores turns with chance 1/2 without an advantage; with one of d, Phi(d / (sigma sqrt 2)).
    target = 0.5 + float(plan.order_flip_gain)
    low, high = 0.0, 10 * sigma
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if ndtr(middle / (sigma * 2**0.5)) < target else (low, middle)
    if largest is None:
        return Probe(
            "position_bias_fragility", high, None, None, "there is no difference of systems to compare it with"
        )
    detail = "advantage of the first place that would turn as many choices, against the largest difference of systems"
    return Probe("position_bias_fragility", high, largest, high < largest, detail)


def _noise(ratings: Ratings, composites: Reals) -> float | None:
    """The raters' own noise: the mean standard deviation of an answer's composites."""
    table = ratings.by_rater(composites)
    several = (~np.isnan(table)).sum(axis=1) >= 2
    return float(np.nanstd(table[several], axis=1, ddof=1).mean()) if several.any() else None


def leave_one_out(ratings: Ratings, composites: Reals, half_width: float | None, plan: Probes) -> Probe:
    """By how much the mean score moves without the rater who matters most, against what is published as its doubt."""
    known = ~np.isnan(composites)
    whole = float(composites[known].mean())
    if len(ratings.raters) < 2:
        return Probe("annotator_leave_one_out", None, None, None, "there is one rater, without whom nothing is left")
    moves = {
        name: abs(float(composites[known & (ratings.rater != place)].mean()) - whole)
        for place, name in enumerate(ratings.raters)
        if (known & (ratings.rater != place)).any()
    }
    worst = max(moves, key=lambda name: moves[name])
    return left_out(moves[worst], worst, half_width, plan)


def left_out(change: float, rater: str, half_width: float | None, plan: Probes) -> Probe:
    """The probe of the largest change; the bar is the published half width, or the plan's where there is none."""
    bar = float(plan.leave_one_out_without_interval) if half_width is None else half_width
    detail = f"change of the mean score without rater {rater!r}, against the half width of a system's interval"
    return Probe("annotator_leave_one_out", change, bar, change > bar, detail)
