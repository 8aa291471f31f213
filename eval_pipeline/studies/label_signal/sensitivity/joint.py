"""Thresholds moved together: how often a recommendation holds, and which of them turn it."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from eval_pipeline.records import Interval
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.studies.label_signal.analysis import Grounds
from eval_pipeline.studies.label_signal.conclusion import evidence_of
from eval_pipeline.studies.label_signal.decision import recommend
from eval_pipeline.studies.label_signal.plan import LabelSignalPlan
from eval_pipeline.studies.label_signal.seeds import rng_of
from eval_pipeline.studies.label_signal.sensitivity.thresholds import Threshold, Value, moved, thresholds

_FINEST = 10**6


@dataclass(frozen=True, slots=True)
class Driver:
    """A threshold, and in what share of its single steps, from anywhere in the box, the recommendation turned."""

    threshold: Threshold
    turned: float


@dataclass(frozen=True, slots=True)
class Joint:
    """All thresholds moved at once within a box around their defaults.

    `held` of `draws` points of the box keep the recommendation; the interval is of that share. `drivers` are the
    thresholds that ever turned it, most often first.
    """

    draws: int
    held: int
    interval: Interval
    drivers: tuple[Driver, ...]


def joint(grounds: Grounds, plan: LabelSignalPlan) -> Joint:
    """Morris' trajectories through the box: each starts anywhere and moves every threshold once, in random order.

    The starting points are the independent draws. Counts of whole things stay as they are.

    Args:
        grounds: of a track.
        plan: thresholds, the box as a share of each default, the number of trajectories, and the seed.
    Source: Morris (1991), Technometrics 33(2), 161-174 (elementary effects; here whether a step turns the outcome).

    """
    free = [one for one in thresholds(plan, grounds.depth) if not isinstance(one.default, int) and one.default]
    rng = rng_of(plan.seed, "joint", grounds.track)
    within, evidence = float(plan.sensitivity.joint_within), evidence_of(grounds, plan.decision)

    def recommended(shifts: "np.ndarray") -> str:
        values: list[tuple[Threshold, Value]] = [
            (one, one.default * (1 + Fraction(round(float(shift) * _FINEST), _FINEST)))
            for one, shift in zip(free, shifts, strict=True)
        ]
        other = moved(plan, grounds.depth, values)
        return recommend(evidence, other.decision, other.policy_of(grounds.depth)).recommendation.value

    base = recommended(np.zeros(len(free)))
    held, turns = 0, np.zeros(len(free), dtype=np.int64)
    trajectories = plan.sensitivity.trajectories
    for _ in range(trajectories):
        shifts = rng.uniform(-within, within, size=len(free))
        before = recommended(shifts)
        held += before == base
        for place in rng.permutation(len(free)).tolist():
            shifts = shifts.copy()
            shifts[place] += within if shifts[place] < 0 else -within
            after = recommended(shifts)
            turns[place] += after != before
            before = after
    drivers = [Driver(one, float(count) / trajectories) for one, count in zip(free, turns, strict=True) if count]
    return Joint(
        draws=trajectories,
        held=held,
        interval=exact_interval(held, trajectories, level=plan.sensitivity.level),
        drivers=tuple(sorted(drivers, key=lambda one: (-one.turned, one.threshold.name))),
    )
