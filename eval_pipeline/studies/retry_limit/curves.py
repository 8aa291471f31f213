"""Each arm by itself: the share of sections that have not passed, and how often each attempt passes."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eval_pipeline.arms import RetryArm
from eval_pipeline.errors import Undefined
from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import ArrayLike, Counts
from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.stats.hazards import Hazard, hazards
from eval_pipeline.stats.survival import Curve as KaplanMeier
from eval_pipeline.stats.survival import kaplan_meier
from eval_pipeline.studies.retry_limit.plan import Curves, Limit, RetryLimitPlan
from eval_pipeline.studies.retry_limit.sections import Columns


@dataclass(frozen=True, slots=True)
class Point:
    """An attempt at which some passed: how many made it, how many passed, and the share that has not passed by then.

    The interval is None where Greenwood's formula says nothing, at a share of 0.
    """

    attempt: float
    at_risk: int
    passed: int
    share: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Curve:
    """A Kaplan-Meier curve; the median is the first attempt by which half have passed, None where fewer did."""

    points: tuple[Point, ...]
    median: float | None
    median_interval: Interval


@dataclass(frozen=True, slots=True)
class Step:
    """An attempt: how many made it, how many passed at it, their share, and what it may be.

    `independent` takes sections as such; `clustered` counts them for as many as their runs are worth, and is None,
    with the reason in `why`, where it cannot.
    """

    attempt: int
    at_risk: int
    passed: int
    share: float
    independent: Interval
    clustered: Interval | None
    why: str | None


@dataclass(frozen=True, slots=True)
class ArmCurve:
    """An arm with its sections, its curve and its steps; without sections it has neither."""

    arm: RetryArm
    runs: int
    sections: int
    failed_first: int
    curve: Curve | None
    steps: tuple[Step, ...]


def arm_curve(sections: Columns, arm: RetryArm, plan: RetryLimitPlan) -> ArmCurve:
    """The curve and the steps of an arm."""
    found = sections.where(sections.arm == (arm is RetryArm.WITH_PRIOR_VIOLATIONS))
    some = len(found.until) > 0
    return ArmCurve(
        arm=arm,
        runs=len(np.unique(found.run)),
        sections=len(found.until),
        failed_first=int(found.failed_first.sum()),
        curve=curve(found.until, found.passed, plan.curves) if some else None,
        steps=steps(found, plan.limit) if some else (),
    )


def curve(until: ArrayLike, passed: ArrayLike, rules: Curves) -> Curve:
    """The curve of subjects who passed at a time, or were last seen then.

    Raises: InputRefused, TooFewObservations: as in `kaplan_meier`.
    """
    found = kaplan_meier(until, passed, level=rules.level, transform=rules.transform)
    known = len(found.std_error)
    return Curve(
        points=tuple(
            Point(
                attempt=float(found.times[row]),
                at_risk=int(found.at_risk[row]),
                passed=int(found.events[row]),
                share=float(found.survival[row]),
                interval=Interval(float(found.low[row]), float(found.high[row]), found.level) if row < known else None,
            )
            for row in range(len(found.times))
        ),
        median=found.median,
        median_interval=found.median_interval if rules.median_ends == "first_below" else _to_the_last(found),
    )


def _to_the_last(found: KaplanMeier) -> Interval:
    """The median's interval as the first version ended it."""
    inside = np.flatnonzero(found.high >= 0.5)
    high = float(found.times[inside[-1]]) if inside.size else None
    return Interval(found.median_interval.low, high, found.level)


def steps(found: Columns, rules: Limit) -> tuple[Step, ...]:
    """How often each attempt passes, from the first to the last that was made."""
    exact = hazards(found.until, found.passed, level=rules.level)
    return tuple(_step(one, found, rules) for one in exact)


def _step(one: Hazard, found: Columns, rules: Limit) -> Step:
    made = found.until >= one.attempt
    passed = made & (found.until == one.attempt) & (found.passed == 1)
    clustered, why = None, None
    try:
        clustered = share_interval(
            _by_run(passed, found.run), _by_run(made, found.run), level=rules.level, tails="two"
        ).interval
    except Undefined as refused:
        why = str(refused)
    return Step(one.attempt, one.at_risk, one.events, one.share, one.interval, clustered, why)


def _by_run(which: npt.NDArray[np.bool_], run: Counts) -> Counts:
    return np.bincount(run[which], minlength=int(run.max()) + 1)
