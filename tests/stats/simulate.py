"""Made-up studies whose truth is known: clusters of unequal size whose items are alike, and a judge that errs."""

from collections.abc import Sequence
from math import ceil
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.judged_clusters import JudgedClusters

Table = npt.NDArray[np.int64]
PerGroup = float | Sequence[float]
OF_ONE_CLUSTER = 0.6  # how often the groups of a cluster are easy or hard together


def clustered(
    rng: np.random.Generator,
    studies: int,
    clusters: int,
    rates: Sequence[float],
    *,
    alike: float = 0.2,
    sizes: tuple[int, int] = (1, 8),
) -> tuple[Table, Table]:
    """Successes and trials, each of shape (studies, clusters, groups): 1 to 8 trials a cell, `rates` in truth.

    The chance of a success varies between clusters by a beta law whose intraclass correlation is `alike`.
    """
    least, most = sizes
    trials = rng.integers(least, most + 1, (studies, clusters, len(rates)))
    own, of_cluster = rng.random(trials.shape), rng.random((studies, clusters, 1))
    place = np.where(rng.random(trials.shape) < OF_ONE_CLUSTER, of_cluster, own)
    chances = np.empty(trials.shape)
    for j, rate in enumerate(rates):
        scale = (1 - alike) / alike
        chances[..., j] = beta.ppf(place[..., j], rate * scale, (1 - rate) * scale) if 0 < rate < 1 else rate
    return rng.binomial(trials, chances), trials


def judged(
    rng: np.random.Generator,
    studies: int,
    clusters: int,
    rates: Sequence[float],
    *,
    sensitivity: PerGroup,
    specificity: PerGroup,
    checked: int,
    sizes: tuple[int, int] = (1, 8),
) -> list[JudgedClusters]:
    """Studies of a judge of these error rates, of whose clusters the first `checked` were checked whole."""
    true, trials = clustered(rng, studies, clusters, rates, sizes=sizes)
    hits = rng.binomial(true, np.broadcast_to(sensitivity, true.shape))
    alarms = rng.binomial(trials - true, np.broadcast_to(1 - np.asarray(specificity), true.shape))
    seen = (np.arange(clusters) < checked)[:, None]
    columns = (
        hits + alarms,
        trials,
        *(np.where(seen, known, 0) for known in (hits, true - hits, trials - true - alarms, alarms)),
    )
    return [JudgedClusters(*of_study) for of_study in zip(*columns, strict=True)]


def checked_by_verdict(
    rng: np.random.Generator, study: JudgedClusters, *, of_yes: float = 0.5, of_no: float = 0.5
) -> JudgedClusters:
    """A study that was checked whole, with a share of its checks in each group: of the judge's yes and of its no."""
    hits, misses, rejections, alarms = (np.zeros_like(study.judged) for _ in range(4))
    for share, right, wrong, all_right, all_wrong in (
        (of_yes, hits, alarms, study.true_positives, study.false_positives),
        (of_no, rejections, misses, study.true_negatives, study.false_negatives),
    ):
        for group in range(study.judged.shape[1]):
            of_verdict = np.concatenate([all_right[:, group], all_wrong[:, group]])
            drawn = rng.multivariate_hypergeometric(of_verdict, ceil(share * of_verdict.sum()), method="marginals")
            right[:, group], wrong[:, group] = np.split(drawn, 2)
    return JudgedClusters(study.supported, study.judged, hits, misses, rejections, alarms)


def some_study(seed: int, *, specificity: float = 0.85) -> JudgedClusters:
    """A small study of two groups: 12 clusters, of which 6 were checked."""
    rng = np.random.default_rng(seed)
    return judged(rng, 1, 12, (0.6, 0.4), sensitivity=0.9, specificity=specificity, checked=6)[0]


def one_group(*rows: Sequence[int]) -> JudgedClusters:
    """A table of one group from rows of six counts, in the order of the fields."""
    return JudgedClusters(*(np.array(column)[:, None] for column in zip(*rows, strict=True)))


def mirrored(table: JudgedClusters) -> JudgedClusters:
    """The same study, whose unsupported items are counted."""
    supported, total, hits, misses, rejections, alarms = table.columns
    return JudgedClusters(total - supported, total, rejections, alarms, hits, misses)


def as_gold(study: JudgedClusters) -> JudgedClusters:
    """A study's checked items alone, as of another population."""
    nothing = np.zeros_like(study.judged)
    return JudgedClusters(nothing, nothing, *study.columns[2:])


class Estimated(Protocol):
    """A number with its interval."""

    @property
    def estimate(self) -> Number: ...

    @property
    def interval(self) -> Interval: ...


def ends(found: Estimated) -> tuple[Number | None, Number | None]:
    """The two ends of the interval; None where one is open."""
    return found.interval.low, found.interval.high


def coverage(found: Sequence[Estimated], truth: float) -> tuple[int, float]:
    """In how many studies the interval holds the truth, and the mean estimate."""
    return sum(holds(one.interval, truth) for one in found), float(np.mean([one.estimate for one in found]))


def holds(interval: Interval, truth: float) -> bool:
    """That the truth lies in the interval."""
    above = interval.low is None or float(interval.low) <= truth
    return above and (interval.high is None or truth <= float(interval.high))
