"""How often a first attempt fails, and how many sections the comparison needs for that."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np

from eval_pipeline.errors import Undefined
from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.stats.survival_power import SchoenfeldSize, schoenfeld_size
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.sections import Columns


@dataclass(frozen=True, slots=True)
class EventRate:
    """First failures among sections, and whether their share is another than the plan supposed.

    `used` is what the size is computed with: the anchor of the plan, or the measured rate where that diverges from it.
    """

    failures: int
    sections: int
    rate: Fraction
    diverges: bool
    used: Fraction


@dataclass(frozen=True, slots=True)
class Preflight:
    """What the first runs say of the event rate, and the sections that are needed.

    The interval draws runs, None with fewer than two. `allocation` is the share of all sections in the arm with prior
    violations. `required` is None where one arm has none; `why` says so.
    """

    runs: int
    event_rate: EventRate
    interval: Interval | None
    allocation: Fraction
    events: int | None
    required: int | None
    why: str | None


def event_rate(failures: int, sections: int, *, anchor: Fraction, tolerance: Fraction) -> EventRate:
    """The measured rate beside the anchor; it diverges where it lies further away than the tolerance."""
    rate = Fraction(failures, sections)
    diverges = abs(rate - anchor) > tolerance
    return EventRate(failures, sections, rate, diverges, rate if diverges else anchor)


def required(rate: Fraction, allocation: Fraction, plan: RetryLimitPlan) -> SchoenfeldSize:
    """The events and sections that the planned comparison needs.

    Raises: NoEffect, TooFewObservations, InputRefused: as in `schoenfeld_size`, for an allocation of 0 or 1 above all.
    """
    rules = plan.preflight
    size = schoenfeld_size(
        float(rules.hazard_ratio),
        event_rate=float(rate * rules.events_per_failure),
        allocation=float(allocation),
        alpha=float(plan.power.alpha),
        power=float(plan.power.power),
    )
    return SchoenfeldSize(ceil(size.events * rules.design_effect), ceil(size.subjects * rules.design_effect))


def preflight(sections: Columns, plan: RetryLimitPlan) -> Preflight:
    """What the first runs of a log, in its order, say; there is a section at least."""
    rules = plan.preflight
    first = sections.where(sections.run < rules.runs)
    trials = np.bincount(first.run)
    failures = np.bincount(first.run, weights=first.failed_first).astype(np.int64)
    measured = event_rate(int(failures.sum()), int(trials.sum()), anchor=rules.anchor, tolerance=rules.tolerance)
    allocation = Fraction(int(sections.arm.sum()), len(sections.arm))
    size, why = None, None
    if allocation in (0, 1):
        why = "all sections are in one arm; run until both have some"
    elif not measured.used:
        why = "no first attempt failed, so that no number of sections is large enough"
    else:
        size = required(measured.used, allocation, plan)
    return Preflight(
        runs=len(trials),
        event_rate=measured,
        interval=_interval(failures, trials, rules.level),
        allocation=allocation,
        events=size.events if size else None,
        required=size.subjects if size else None,
        why=why,
    )


def _interval(failures: Counts, trials: Counts, level: Fraction) -> Interval | None:
    try:
        return share_interval(failures, trials, level=level, tails="two").interval
    except Undefined:
        return None
