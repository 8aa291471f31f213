"""What the calibration part of a log says: rate, delivery, curves, comparison, pairs, and the limit that follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from eval_pipeline.arms import RetryArm
from eval_pipeline.loop import Chart
from eval_pipeline.observations import Log
from eval_pipeline.studies.retry_limit.ablation import Ablation, ablation
from eval_pipeline.studies.retry_limit.comparison import Comparison, compared
from eval_pipeline.studies.retry_limit.curves import ArmCurve, arm_curve
from eval_pipeline.studies.retry_limit.limit import Decision, Evidence, decide, rungs_of
from eval_pipeline.studies.retry_limit.monitoring import first_failures
from eval_pipeline.studies.retry_limit.observations import Attempt, Outcome, require_assigned
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.preflight import Preflight, preflight
from eval_pipeline.studies.retry_limit.sections import Columns, Section, columns, sections_of

_ARMS = (RetryArm.WITHOUT_PRIOR_VIOLATIONS, RetryArm.WITH_PRIOR_VIOLATIONS)


@dataclass(frozen=True, slots=True)
class Delivery:
    """Retries after an attempt that left violations, and how many of them were told against their arm."""

    retries: int
    astray: int


@dataclass(frozen=True, slots=True)
class Counted:
    """What a log holds; `pending` sections were still to be tried when it ended, `gave_up` failed for good."""

    runs: int
    sections: int
    attempts: int
    passed: int
    gave_up: int
    pending: int


@dataclass(frozen=True, slots=True)
class Grounds:
    """What a decision rests on; `arms` are without prior violations and with."""

    preflight: Preflight
    arms: tuple[ArmCurve, ...]
    comparison: Comparison
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found; `data` is the hash of the observations, and `arms` are as in `Grounds`."""

    data: str
    simulated: bool
    counted: Counted
    preflight: Preflight
    delivery: Delivery
    arms: tuple[ArmCurve, ...]
    comparison: Comparison
    ablation: Ablation
    evidence: Evidence
    decision: Decision
    chart: Chart


def findings(log: Log[Attempt], plan: RetryLimitPlan) -> Findings:
    """What the log says under the plan, and the limit before held-out data are asked.

    Raises: MalformedObservations: a run is not in the arm of its hash, or tried too often.
    """
    require_assigned(log, plan)
    sections = sections_of(log.rows)
    made = delivery(log.rows)
    grounds = grounds_of(columns(sections), made, plan)
    return Findings(
        data=log.hash,
        simulated=log.simulated,
        counted=_counted(log.rows, sections),
        preflight=grounds.preflight,
        delivery=made,
        arms=grounds.arms,
        comparison=grounds.comparison,
        ablation=ablation(sections, plan),
        evidence=grounds.evidence,
        decision=decide(grounds.evidence, plan),
        chart=first_failures(sections, plan.chart),
    )


def grounds_of(sections: Columns, made: Delivery, plan: RetryLimitPlan) -> Grounds:
    """What the decision rests on; there is a section at least."""
    arms = tuple(arm_curve(sections, arm, plan) for arm in _ARMS)
    rate, tests = preflight(sections, plan), compared(sections, plan.contrast)
    faster = next((one for one in arms if one.arm is tests.faster), None)
    evidence = Evidence(
        sections=len(sections.until),
        required=rate.required,
        failures=(arms[0].failed_first, arms[1].failed_first),
        first_failing=_first_failing(sections, plan.stopping.first_sections),
        p_value=tests.p_value,
        passes=tests.passes,
        faster=tests.faster,
        rungs=rungs_of(faster.steps) if faster else (),
        astray=Fraction(made.astray, made.retries) if made.retries else None,
    )
    return Grounds(rate, arms, tests, evidence)


def delivery(rows: Sequence[Attempt]) -> Delivery:
    """How often what was to be told was told, and else was not."""
    retries = [row for row in rows if row.prior_violations_count]
    astray = sum(row.prior_violations_used != (row.arm is RetryArm.WITH_PRIOR_VIOLATIONS) for row in retries)
    return Delivery(len(retries), astray)


def _first_failing(sections: Columns, first: int) -> Fraction | None:
    if len(sections.until) < first:
        return None
    return Fraction(int(sections.failed_first[:first].sum()), first)


def _counted(rows: Sequence[Attempt], sections: Sequence[Section]) -> Counted:
    return Counted(
        runs=len({one.run for one in sections}),
        sections=len(sections),
        attempts=len(rows),
        passed=sum(one.passed for one in sections),
        gave_up=sum(one.ended is Outcome.FAILED_TERMINAL for one in sections),
        pending=sum(one.ended is Outcome.FAILED_PENDING_RETRY for one in sections),
    )
