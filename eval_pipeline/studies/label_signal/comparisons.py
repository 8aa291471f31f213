"""Systems' mean scores, and how they differ on the same items or by the same raters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from math import sqrt

import numpy as np
from scipy.stats import t

from eval_pipeline.errors import TooFewClusters
from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import Counts, Reals
from eval_pipeline.stats.cluster_mean import cluster_mean
from eval_pipeline.stats.multiplicity import holm
from eval_pipeline.stats.permutation import paired_permutation
from eval_pipeline.stats.power import Distribution, minimum_detectable_effect
from eval_pipeline.studies.label_signal.plan import Scores
from eval_pipeline.studies.label_signal.ratings import Ratings, means_by
from eval_pipeline.studies.label_signal.seeds import rng_of
from eval_pipeline.studies.label_signal.track import About


@dataclass(frozen=True, slots=True)
class SystemScore:
    """A system's mean composite over its items, and how closely it is known; None where too few items say it."""

    system: str
    items: int
    mean: float
    interval: Interval | None

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width."""
        if self.interval is None or self.interval.low is None or self.interval.high is None:
            return None
        return float(self.interval.high - self.interval.low) / 2


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean score of one system less that of another, over the pairs that both have.

    `p_adjusted` allows for the other comparisons of the track. `mde` is the smallest difference that so many pairs with
    this spread find with the planned power. What two pairs or more are needed for is None.
    """

    system: str
    other: str
    pairs: int
    effect: float | None
    sd: float | None
    interval: Interval | None
    mde: float | None
    p_value: float | None
    p_adjusted: float | None


def system_scores(
    ratings: Ratings, composites: Reals, about: About, plan: Scores, *, seed: int
) -> tuple[SystemScore, ...]:
    """The mean of each system's answers, with an interval that draws items.

    Args:
        ratings: whose rows the composites are of.
        composites: shape (rows,), NaN where there is none.
        about: names the systems in their order.
        plan: level and resamples.
        seed: of the plan.

    """
    of_unit, items = ratings.unit_means(composites), ratings.item_of_unit
    found = []
    for system in about.systems:
        own = np.array([name == system for _, name in ratings.units]) & ~np.isnan(of_unit)
        if not own.any():
            continue
        rng = rng_of(seed, "score", system)
        try:
            interval = cluster_mean(
                of_unit[own],
                items[own],
                level=plan.level,
                tails="two",
                method="percentile",
                resamples=plan.resamples,
                ranks="symmetric",
                rng=rng,
            ).interval
        except TooFewClusters:
            interval = None
        found.append(SystemScore(system, len(np.unique(items[own])), float(of_unit[own].mean()), interval))
    return tuple(found)


def comparisons(
    ratings: Ratings, composites: Reals, about: About, plan: Scores, *, seed: int
) -> tuple[Comparison, ...]:
    """Each system against the reference, and each against each other, over the pairs of the track's design.

    Args: as in `system_scores`.
    """
    means = _paired_means(ratings, composites, about)
    found = [_compared(pair, means, plan, seed) for pair in _pairs(about, ratings.systems)]
    adjusted = holm([one.p_value for one in found if one.p_value is not None], alpha=float(plan.alpha)).p_values
    by_pair = iter(adjusted.tolist())
    return tuple(one if one.p_value is None else replace(one, p_adjusted=next(by_pair)) for one in found)


def _pairs(about: About, rated: Sequence[str]) -> list[tuple[str, str]]:
    """Candidates against the reference, and later candidates against earlier ones."""
    others = [system for system in about.systems if system != about.reference and system in rated]
    against = [(system, about.reference) for system in others] if about.reference in rated else []
    return against + [(later, earlier) for earlier, later in combinations(others, 2)]


def _paired_means(ratings: Ratings, composites: Reals, about: About) -> dict[str, Reals]:
    """The mean score of each system by item or by rater: shape (pairs,), NaN where a pair lacks the system."""
    group: Counts = ratings.item_of_unit[ratings.unit] if about.design.pair_by == "item" else ratings.rater
    groups = len(ratings.items) if about.design.pair_by == "item" else len(ratings.raters)
    systems = np.array([system for _, system in ratings.units])[ratings.unit]
    return {
        system: means_by(np.where(systems == system, composites, np.nan), group, groups) for system in ratings.systems
    }


def _compared(pair: tuple[str, str], means: dict[str, Reals], plan: Scores, seed: int) -> Comparison:
    system, other = pair
    both = ~np.isnan(means[system]) & ~np.isnan(means[other])
    first, second = means[system][both], means[other][both]
    n = len(first)
    if n < 2:
        effect = float(first[0] - second[0]) if n else None
        return Comparison(system, other, n, effect, None, None, None, None, None)
    differences = first - second
    rng = rng_of(seed, "comparison", system, other)
    p = paired_permutation(first, second, alternative="absolute", resamples=plan.permutations, rng=rng).p_value
    sd = float(differences.std(ddof=1))
    return Comparison(
        system=system,
        other=other,
        pairs=n,
        effect=float(differences.mean()),
        sd=sd,
        interval=_interval(differences, sd, plan, rng),
        mde=_mde(sd, n, plan),
        p_value=p,
        p_adjusted=None,
    )


def _interval(differences: Reals, sd: float, plan: Scores, rng: np.random.Generator) -> Interval:
    n, mean = len(differences), float(differences.mean())
    if plan.interval == "t":
        half = float(t.isf(float(1 - plan.level) / 2, n - 1)) * sd / sqrt(n)
        return Interval(mean - half, mean + half, float(plan.level))
    return cluster_mean(
        differences,
        np.arange(n),
        level=plan.level,
        tails="two",
        method="percentile",
        resamples=plan.resamples,
        ranks="symmetric",
        rng=rng,
    ).interval


def _mde(sd: float, n: int, plan: Scores) -> float | None:
    """None where all pairs differ by the same, so that no spread says what could be found."""
    return sd * _unit_mde(n, float(plan.alpha), float(plan.power), plan.distribution) if sd else None


@cache
def _unit_mde(n: int, alpha: float, power: float, distribution: Distribution) -> float:
    """What n pairs find, in standard deviations of their differences; the comparisons of a track share it."""
    return minimum_detectable_effect(1.0, n, alpha=alpha, power=power, design="paired", distribution=distribution)
