"""The report of a fire rate as a document of plain values."""

from typing import Any

from eval_pipeline.document import plain_value
from eval_pipeline.loop import Constant
from eval_pipeline.studies.fire_rate.findings import Findings
from eval_pipeline.studies.fire_rate.plan import FireRatePlan
from eval_pipeline.studies.fire_rate.verdict import reason_of, verdicts
from eval_pipeline.studies.loop_document import loop_document

STUDY = "fire-rate"
_SCRIPT = "eval_pipeline/studies/fire_rate/findings.py"


def document(found: Findings, held_out: None, plan: FireRatePlan) -> dict[str, Any]:
    """What was found, and of what; nothing was held out."""
    return loop_document(
        plan,
        simulated=found.simulated,
        verdicts=verdicts(found, plan),
        decision={
            "word": found.course.decision.value,
            "reason": reason_of(found, plan),
            "look": found.course.look,
            "runs": found.course.runs,
            "fires": found.course.fires,
            "deletion_needs": list(plan.deletion_needs),
        },
        findings=_findings(found),
        held_out=held_out,
        constants=constants(found, plan),
        charts=[plain_value(found.batches.chart) | {"stable": found.batches.chart.stable}],
    )


def constants(found: Findings, plan: FireRatePlan) -> tuple[Constant, ...]:
    """The margin, which was chosen, and the rate with what it comes from; a generated log calibrates nothing."""
    margin = Constant("margin", float(plan.test.margin))
    if found.overall.estimate is None:
        return (margin,)
    rate = float(found.overall.estimate)
    if found.simulated:
        return margin, Constant("fire_rate", rate)
    return margin, Constant("fire_rate", rate, script=_SCRIPT, n=found.overall.runs, data=found.data)


def _findings(found: Findings) -> dict[str, Any]:
    course = found.course
    return {
        "runs_of_log": found.runs,
        "fires_of_log": found.fires,
        "injected_and_counted": list(found.injected),
        "looks": [plain_value(look) | {"shown": look.shown} for look in course.looks],
        "stopped_early": course.stopped,
        "contexts_short": plain_value(course.short),
        "rates": [plain_value(rate) for rate in (found.overall, *found.kinds)],
        "contexts": [plain_value(rate) for rate in found.contexts],
        "interval_at_every_look": plain_value(found.anytime),
        "operating": plain_value(found.operating),
        "batches": {"standing": found.batches.standing, "runs_left": found.batches.runs_left},
        "first_version": plain_value(found.first_version),
    }
