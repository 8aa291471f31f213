"""The same sections in both arms: how many more pass when retries are told what was wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np

from eval_pipeline.arms import RetryArm
from eval_pipeline.errors import TooFewClusters, TooFewObservations
from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import ArrayLike
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.paired_bootstrap import paired_difference
from eval_pipeline.stats.tail_shares import tail_share_bootstrap
from eval_pipeline.studies.retry_limit.plan import Ablation as AblationRules
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.sections import Section


class Recommendation(StrEnum):
    """Which arm's retries to keep."""

    WITH_HELPS = "with_prior_violations_helps"
    WITHOUT_HELPS = "without_helps"
    INCONCLUSIVE = "inconclusive_underpowered"


@dataclass(frozen=True, slots=True)
class PassRate:
    """How many of the pairs pass in an arm, with the exact interval of independent ones."""

    passed: int
    rate: Fraction
    interval: Interval


@dataclass(frozen=True, slots=True)
class Difference:
    """The pass rate with prior violations less the one without, its interval, and how surprising it is without one."""

    estimate: Fraction
    interval: Interval
    p_value: float


@dataclass(frozen=True, slots=True)
class Ablation:
    """Pairs of a section with prior violations and the same without.

    `left_out` are pairs of which the log ends before one can say. Without pairs there are no rates; `why` says what
    keeps the recommendation open.
    """

    pairs: int
    left_out: int
    with_violations: PassRate | None
    without_violations: PassRate | None
    difference: Difference | None
    recommendation: Recommendation
    why: str | None


def ablation(sections: Sequence[Section], plan: RetryLimitPlan) -> Ablation:
    """The comparison of sections whose name stands in both arms, each in the first run of an arm that has it.

    A section passes where it does within the default limit, by which every run is at least allowed to try. Pairs of the
    same two runs are drawn together; two pairs that share but one run are taken as independent.
    """
    first: dict[RetryArm, dict[str, Section]] = {arm: {} for arm in RetryArm}
    for one in sections:
        first[one.arm].setdefault(one.name, one)
    told, untold = first[RetryArm.WITH_PRIOR_VIOLATIONS], first[RetryArm.WITHOUT_PRIOR_VIOLATIONS]
    pairs = [(one, untold[name]) for name, one in told.items() if name in untold]
    limit = plan.limit.default
    known = [
        (a.passed_within(limit), b.passed_within(limit), f"{a.run} {b.run}")
        for a, b in pairs
        if a.passed_within(limit) is not None and b.passed_within(limit) is not None
    ]
    found = paired(
        [bool(a) for a, _, _ in known],
        [bool(b) for _, b, _ in known],
        [runs for _, _, runs in known],
        plan.ablation,
        seed=plan.seed,
    )
    return Ablation(
        found.pairs,
        len(pairs) - len(known),
        found.with_violations,
        found.without_violations,
        found.difference,
        found.recommendation,
        found.why,
    )


def paired(
    told: Sequence[bool], untold: Sequence[bool], clusters: ArrayLike, rules: AblationRules, *, seed: int
) -> Ablation:
    """What pairs say: which passed with prior violations, which without, and what they are drawn with."""
    if not told:
        nothing = "no section was tried in both arms; run the same inputs in both"
        return Ablation(0, 0, None, None, None, Recommendation.INCONCLUSIVE, nothing)
    difference: Difference | None = None
    why: str | None = None
    try:
        difference = _difference(told, untold, clusters, rules, seed)
    except (TooFewClusters, TooFewObservations) as refused:
        why = str(refused)
    recommendation, doubt = _recommended(len(told), difference, rules)
    return Ablation(
        pairs=len(told),
        left_out=0,
        with_violations=_rate(told, rules),
        without_violations=_rate(untold, rules),
        difference=difference,
        recommendation=recommendation,
        why=why or doubt,
    )


def _difference(
    told: Sequence[bool], untold: Sequence[bool], clusters: ArrayLike, rules: AblationRules, seed: int
) -> Difference:
    if rules.method == "tail_shares":
        gains = np.array(told, dtype=np.int64) - np.array(untold, dtype=np.int64)
        first = tail_share_bootstrap(gains, level=rules.level, resamples=rules.resamples, seed=seed)
        return Difference(first.estimate, first.interval, float(first.p_value))
    found = paired_difference(
        np.array(told, dtype=np.int64),
        np.array(untold, dtype=np.int64),
        clusters,
        level=rules.level,
        alternative="two-sided",
        method="percentile",
        resamples=rules.resamples,
        ranks="symmetric",
        rng=np.random.default_rng([seed, 1]),
    )
    return Difference(found.bootstrap.estimate, found.bootstrap.interval, found.p_value)


def _recommended(pairs: int, difference: Difference | None, rules: AblationRules) -> tuple[Recommendation, str | None]:
    if pairs < rules.pairs_at_least:
        return Recommendation.INCONCLUSIVE, f"{pairs} pairs, and at least {rules.pairs_at_least} are needed"
    if difference is None:
        return Recommendation.INCONCLUSIVE, "the difference has no interval"
    low, high = difference.interval.low, difference.interval.high
    assert low is not None
    assert high is not None
    if low > 0:
        return Recommendation.WITH_HELPS, None
    if high < 0:
        return Recommendation.WITHOUT_HELPS, None
    return Recommendation.INCONCLUSIVE, "the interval of the difference holds or touches 0"


def _rate(passed: Sequence[bool], rules: AblationRules) -> PassRate:
    count = sum(passed)
    return PassRate(count, Fraction(count, len(passed)), exact_interval(count, len(passed), level=rules.level))
