"""The document of a retry limit: the decision, its claims, and all that they rest on, as plain values."""

from dataclasses import fields
from typing import Any

from eval_pipeline.document import plain_value
from eval_pipeline.loop import Constant
from eval_pipeline.studies.loop_document import loop_document
from eval_pipeline.studies.retry_limit.findings import Findings
from eval_pipeline.studies.retry_limit.held_out import HeldOutFindings
from eval_pipeline.studies.retry_limit.limit import Decision, Word
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan
from eval_pipeline.studies.retry_limit.verdict import verdicts

SCRIPT = "eval_pipeline.studies.retry_limit.findings"
_ELSEWHERE = ("decision", "chart", "evidence")


def retry_limit_document(found: Findings, held_out: HeldOutFindings | None, plan: RetryLimitPlan) -> dict[str, Any]:
    """The document; `findings` are of the calibration part, and the decision is the one after held-out data."""
    decision = held_out.decision if held_out else found.decision
    return loop_document(
        plan,
        simulated=found.simulated,
        verdicts=verdicts(found, held_out, plan),
        decision={
            "word": decision.word.value,
            "reason": decision.reason,
            "max_attempts": decision.attempts,
            "kept_arm": decision.kept and decision.kept.value,
            "recommendation": found.ablation.recommendation.value,
        },
        findings=_findings(found),
        held_out=plain_value(held_out),
        constants=constants(found, decision),
        charts=[plain_value(found.chart)],
    )


def constants(found: Findings, decision: Decision) -> tuple[Constant, ...]:
    """The limit and the rate of first failures, with what is known of their origin.

    A limit that stays as it was, or stands until a mechanism was looked into, was not computed from data; nor do
    simulated data say anything of a constant.
    """
    data, counted = (None if found.simulated else found.data), found.counted
    limit = Constant("max_attempts", float(decision.attempts))
    if decision.word is Word.CALIBRATED:
        limit = Constant("max_attempts", float(decision.attempts), SCRIPT, None, counted.sections, data)
    rate = found.preflight.event_rate
    return limit, Constant("first_failure_rate", float(rate.rate), SCRIPT, None, rate.sections, data)


def _findings(found: Findings) -> dict[str, Any]:
    plain = {one.name: plain_value(getattr(found, one.name)) for one in fields(found) if one.name not in _ELSEWHERE}
    tests, shown = found.comparison, plain["comparison"]
    shown["p_value"] = _significant(tests.p_value)
    for name, test in (("plain", tests.plain), ("clustered", tests.clustered)):
        if test:
            shown[name]["p_value"] = _significant(test.p_value)
    return plain


def _significant(p_value: float | None) -> float | None:
    """To six digits of its own: a p-value is rounded to no 0."""
    return None if p_value is None else float(f"{p_value:.6g}")
