"""What a log says of the fire rate: the rates with their intervals, the course over the looks, and the chart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from eval_pipeline.observations import Log
from eval_pipeline.records import Interval
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.confidence_sequence import mean_sequence
from eval_pipeline.studies.fire_rate.batches import BatchChart, batch_chart
from eval_pipeline.studies.fire_rate.events import KINDS, MismatchKind
from eval_pipeline.studies.fire_rate.first_version import FirstDecision, first_decision
from eval_pipeline.studies.fire_rate.looks import Course, course_of
from eval_pipeline.studies.fire_rate.observations import CONTEXTS, Run
from eval_pipeline.studies.fire_rate.plan import FireRatePlan
from eval_pipeline.studies.fire_rate.preflight import require_counted


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of fires with its exact two-sided interval; None for both where there was no run."""

    name: str
    fires: int
    runs: int
    estimate: Fraction | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Operating:
    """What the looks of the plan do, exactly: the chance to show a rate that equals the margin, and the planned one."""

    shown_at_margin: float
    shown_at_planned_rate: float


@dataclass(frozen=True, slots=True)
class Findings:
    """What a log says.

    `runs` and `fires` count the whole log, and so does the chart; the rates count the runs up to the one at which the
    course ended. `anytime` holds the true rate at every look at once, however often one looks. `data` is the hash of
    the log.
    """

    simulated: bool
    data: str
    runs: int
    fires: int
    injected: tuple[MismatchKind, ...]
    course: Course
    overall: Rate
    kinds: tuple[Rate, ...]
    contexts: tuple[Rate, ...]
    anytime: Interval
    operating: Operating
    batches: BatchChart
    first_version: FirstDecision


def findings(log: Log[Run], plan: FireRatePlan) -> Findings:
    """What the log says under the plan, once the injected events were counted.

    Raises: EvidenceRefused: an injected event was not counted; nothing of the log was looked at then.
    """
    injected = require_counted(plan.preflight.injected)
    rows = sorted(log.rows, key=lambda row: row.sequence)
    kinds = [row.kinds for row in rows]
    fired = np.array([bool(one) for one in kinds], dtype=np.bool_)
    contexts = np.array([CONTEXTS.index(row.context) for row in rows], dtype=np.int64)
    course = course_of(fired, contexts, plan.test)
    counted, level = list(zip(rows, kinds, strict=True))[: course.runs], plan.intervals.level
    return Findings(
        simulated=log.simulated,
        data=log.hash,
        runs=len(rows),
        fires=int(fired.sum()),
        injected=injected,
        course=course,
        overall=_rate("all", (bool(one) for _, one in counted), level),
        kinds=tuple(_rate(kind, (kind in one for _, one in counted), level) for kind in KINDS),
        contexts=tuple(
            _rate(context, (bool(one) for row, one in counted if row.context == context), level)
            for context in plan.contexts
        ),
        anytime=mean_sequence(course.fires, course.runs, level=level, tightest_at=plan.test.looks[0].runs),
        operating=operating(plan),
        batches=batch_chart(fired, plan.batches),
        first_version=first_decision(course.runs, course.fires, plan.first_version),
    )


def operating(plan: FireRatePlan) -> Operating:
    """What the looks of a plan do, by exact computation."""
    return Operating(
        shown_at_margin=plan.test.chances(float(plan.test.margin)).declared_at_all,
        shown_at_planned_rate=plan.test.chances(float(plan.test.planned_rate)).declared_at_all,
    )


def _rate(name: str, fired: Iterable[bool], level: Fraction) -> Rate:
    each: Sequence[bool] = list(fired)
    fires, runs = sum(each), len(each)
    if not runs:
        return Rate(name, fires, runs, None, None)
    return Rate(name, fires, runs, Fraction(fires, runs), exact_interval(fires, runs, level=level))
