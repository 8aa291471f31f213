"""What raters agree on, before anyone adjudicated: each dimension by itself, and the composite that they make."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eval_pipeline.errors import Undefined
from eval_pipeline.records import Interval
from eval_pipeline.stats.agreement import Agreement as Coefficient
from eval_pipeline.stats.agreement import agreement_interval
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.stats.kappa import fleiss_kappa, gwet_ac1, raw_agreement
from eval_pipeline.stats.reliability import AGREEMENT_BANDS, band, composite_reliability, spearman_brown
from eval_pipeline.studies.label_signal.plan import Agreement
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.rubric import Dimension, Rubric
from eval_pipeline.studies.label_signal.seeds import rng_of

PARADOX_RAW, PARADOX_KAPPA, PARADOX_GAP = 0.85, 0.40, 0.25


@dataclass(frozen=True, slots=True)
class Measure:
    """A coefficient with its interval; both None where the ratings leave it undefined, and `why` says how."""

    estimate: float | None
    interval: Interval | None
    why: str | None


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The other measures of agreement on a dimension, and what its alpha is called.

    `paradox`: raters nearly always agree, and kappa is low only because one level prevails.
    """

    key: str
    units: int
    ratings: int
    raw: Measure
    fleiss: Measure
    ac1: Measure
    band: str | None
    paradox: bool


@dataclass(frozen=True, slots=True)
class CompositeReliability:
    """The reliability of one rater's composite, and of the mean composite of as many as rated an answer."""

    one: Measure
    raters: float
    mean: Measure


def alphas(ratings: Ratings, rubric: Rubric, plan: Agreement, *, seed: int) -> dict[str, Measure]:
    """Krippendorff's alpha of each dimension on its own scale; intervals draw items with all their answers.

    Args:
        ratings: before adjudication.
        rubric: the scales.
        plan: level and resamples.
        seed: of the plan.

    """
    return {one.key: _measure("alpha", ratings, one, place, plan, seed) for place, one in enumerate(rubric.dimensions)}


def coefficients(
    ratings: Ratings, rubric: Rubric, alpha_of: Mapping[str, Measure], plan: Agreement, *, seed: int
) -> tuple[Coefficients, ...]:
    """Raw agreement, Fleiss' kappa and Gwet's AC1 of each dimension beside its alpha, which may call it otherwise.

    Args: as in `alphas`; alpha_of: what that gave.
    """
    found = []
    for place, one in enumerate(rubric.dimensions):
        raw, fleiss, ac1 = (_measure(name, ratings, one, place, plan, seed) for name in ("raw", "fleiss", "ac1"))
        rated = (~np.isnan(ratings.by_rater(ratings.scores[:, place]))).sum(axis=1)
        alpha = alpha_of[one.key].estimate
        found.append(
            Coefficients(
                key=one.key,
                units=int((rated >= 2).sum()),
                ratings=int(rated[rated >= 2].sum()),
                raw=raw,
                fleiss=fleiss,
                ac1=ac1,
                band=None if alpha is None else band(alpha, AGREEMENT_BANDS, below="poor"),
                paradox=is_paradox(raw.estimate, fleiss.estimate, ac1.estimate),
            )
        )
    return tuple(found)


def _measure(name: str, ratings: Ratings, dimension: Dimension, place: int, plan: Agreement, seed: int) -> Measure:
    table = ratings.by_rater(ratings.scores[:, place])
    try:
        found = _coefficient(name, table, dimension)
    except Undefined as undefined:
        return Measure(None, None, str(undefined))
    return _with_interval(found, ratings.item_of_unit, plan, rng_of(seed, "agreement", dimension.key, name))


def _coefficient(name: str, table: Reals, dimension: Dimension) -> Coefficient:
    levels = list(dimension.levels)
    match name:
        case "alpha":
            return krippendorff_alpha(table, scale=dimension.agreement_scale, categories=levels)
        case "raw":
            return raw_agreement(table, categories=levels)
        case "fleiss":
            return fleiss_kappa(table, categories=levels)
        case _:
            return gwet_ac1(table, categories=levels)


def _with_interval(found: Coefficient, clusters: Counts, plan: Agreement, rng: np.random.Generator) -> Measure:
    try:
        interval = agreement_interval(
            found,
            clusters,
            level=plan.level,
            resamples=plan.resamples,
            valid_at_least=plan.valid_at_least,
            ranks=plan.ranks,
            rng=rng,
        ).interval
    except Undefined as undefined:
        return Measure(found.estimate, None, str(undefined))
    return Measure(found.estimate, interval, None)


def is_paradox(raw: float | None, kappa: float | None, ac1: float | None) -> bool:
    """Whether kappa is low though raters agree: the answers are too much alike to show that they do."""
    if raw is None or kappa is None or ac1 is None:
        return False
    return raw >= PARADOX_RAW and kappa < PARADOX_KAPPA and ac1 - kappa > PARADOX_GAP


def composite_agreement(ratings: Ratings, composites: Reals, plan: Agreement, *, seed: int) -> CompositeReliability:
    """The reliability of the composite, which no dimension's agreement and no mean of them is.

    Args:
        ratings: whose rows the composites are of.
        composites: shape (rows,), NaN where a rater scored nothing that has a weight.
        plan, seed: as in `alphas`.

    """
    known = ~np.isnan(composites)
    raters = float(known.sum()) / max(1, len(np.unique(ratings.unit[known])))
    try:
        found = composite_reliability(ratings.by_rater(composites))
    except Undefined as undefined:
        missing = Measure(None, None, str(undefined))
        return CompositeReliability(missing, raters, missing)
    one = _with_interval(found, ratings.item_of_unit, plan, rng_of(seed, "agreement", "composite"))
    return CompositeReliability(one, raters, _stepped_up(one, raters))


def _stepped_up(one: Measure, raters: float) -> Measure:
    """The mean of several raters, from one; an end that cannot be stepped up leaves no interval."""
    assert one.estimate is not None
    try:
        estimate = spearman_brown(one.estimate, raters)
    except Undefined as undefined:
        return Measure(None, None, str(undefined))
    if one.interval is None or one.interval.low is None or one.interval.high is None:
        return Measure(estimate, None, one.why)
    try:
        ends = [spearman_brown(float(end), raters) for end in (one.interval.low, one.interval.high)]
    except Undefined as undefined:
        return Measure(estimate, None, str(undefined))
    return Measure(estimate, Interval(ends[0], ends[1], one.interval.level), None)
