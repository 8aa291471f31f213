"""The claims of a retry limit, each with what the gate says of it."""

from fractions import Fraction

from eval_pipeline.arms import RetryArm
from eval_pipeline.gates import at_most, below
from eval_pipeline.records import Interval, Number, Outcome, Reason, Verdict
from eval_pipeline.studies.retry_limit.findings import Findings
from eval_pipeline.studies.retry_limit.held_out import HeldOutFindings
from eval_pipeline.studies.retry_limit.limit import Decision, Rung, Word
from eval_pipeline.studies.retry_limit.plan import RetryLimitPlan

CLAIMS = {
    "enough_sections": "So many sections were tried, and so many first attempts failed, as the measured rate asks for.",
    "feedback_delivered": "Retries were told what was wrong in the arm that is to be told, and not in the other.",
    "feedback_helps": "Sections whose retries are told what was wrong pass sooner.",
    "limit_shown": "After the limit the next attempt is shown to pass too seldom to be worth it.",
    "held_out_no_worse": "In held-out runs the limit loses no more than is tolerated against the one that stands.",
    "first_failures_stable": "First attempts fail as often in the last batches of runs as in the first.",
}


def verdicts(found: Findings, held_out: HeldOutFindings | None, plan: RetryLimitPlan) -> tuple[Verdict, ...]:
    """The verdict on each claim, in the order of `CLAIMS`."""
    return (
        _enough(found, plan),
        _delivered(found, plan),
        _helps(found),
        _limit(found, plan),
        _held_out(found.decision, held_out, plan),
        _stable(found),
    )


def _enough(found: Findings, plan: RetryLimitPlan) -> Verdict:
    claim, word = "enough_sections", found.decision.word
    needed, failures = found.preflight.required, min(found.evidence.failures)
    if needed is None:
        return Verdict.withheld(claim, Reason.UNDERPOWERED, found.preflight.why or "nobody can say how many are enough")
    detail = (
        f"{found.counted.sections} sections of {needed} that are needed at a rate of"
        f" {float(found.preflight.event_rate.used):.1%} first failures, and {failures} first failures of"
        f" {plan.stopping.failures_per_arm} in the arm with fewer"
    )
    if word is Word.HELD:
        return Verdict.withheld(claim, Reason.NOT_MEASURED, found.decision.reason)
    if found.counted.sections < needed or failures < plan.stopping.failures_per_arm:
        return Verdict.withheld(claim, Reason.UNDERPOWERED, f"{detail}; go on, or give a longer log")
    return _said(claim, Outcome.PASS, None, detail, estimate=found.counted.sections, threshold=Fraction(needed))


def _delivered(found: Findings, plan: RetryLimitPlan) -> Verdict:
    claim, made = "feedback_delivered", found.delivery
    if not made.retries:
        return Verdict.withheld(
            claim, Reason.NOT_MEASURED, "no retry had anything to be told; nothing was delivered or kept"
        )
    share, bar = Fraction(made.astray, made.retries), plan.delivery.astray_at_most
    outcome = at_most(share, bar, "exact")
    detail = f"{made.astray} of {made.retries} retries were told against their arm, and {float(bar):.0%} may be"
    reason = None if outcome is Outcome.PASS else Reason.THRESHOLD_MISSED
    return _said(claim, outcome, reason, detail, share, made.astray, made.retries, threshold=bar)


def _helps(found: Findings) -> Verdict:
    claim, tests, decision, bar = "feedback_helps", found.comparison, found.decision, Fraction(1)
    if decision.word in (Word.HELD, Word.UNDECIDED):
        return Verdict.withheld(claim, Reason.UNDERPOWERED, decision.reason)
    if decision.word is Word.MECHANISM_BROKEN:
        return _said(claim, Outcome.FAIL, Reason.MECHANISM_BROKEN, decision.reason, tests.rate_ratio, threshold=bar)
    assert tests.observed is not None
    assert tests.expected is not None
    (without, told), (expected_without, expected_told) = tests.observed, tests.expected
    detail = (
        f"{told} sections passed at retries that were told what was wrong, and {expected_told:.0f} would if it made no"
        f" difference; {without} and {expected_without:.0f} at others (p = {tests.p_value:.2g})"
    )
    helps = tests.faster is RetryArm.WITH_PRIOR_VIOLATIONS
    outcome, reason = (Outcome.PASS, None) if helps else (Outcome.FAIL, Reason.THRESHOLD_MISSED)
    return _said(claim, outcome, reason, detail, tests.rate_ratio, threshold=bar)


def _limit(found: Findings, plan: RetryLimitPlan) -> Verdict:
    claim, decision, bar = "limit_shown", found.decision, plan.limit.pass_below
    if decision.word in (Word.HELD, Word.UNDECIDED):
        return Verdict.withheld(claim, Reason.UNDERPOWERED, decision.reason)
    if decision.word is Word.MECHANISM_BROKEN:
        return Verdict.withheld(claim, Reason.MECHANISM_BROKEN, decision.reason)
    if decision.word is Word.CALIBRATED:
        rung = next(one for one in found.evidence.rungs if one.attempts == decision.attempts)
        high = _at_most(rung, plan)
        return _said(claim, Outcome.PASS, None, decision.reason, rung.next_passes, interval=high, threshold=bar)
    promising = [one for one in found.evidence.rungs if below(one.next_passes, bar) is Outcome.PASS]
    if not promising:
        return _said(claim, Outcome.WARN, Reason.THRESHOLD_MISSED, decision.reason, threshold=bar)
    rung = promising[0]
    return _said(
        claim,
        Outcome.WARN,
        Reason.NOT_SHOWN,
        decision.reason,
        rung.next_passes,
        interval=_at_most(rung, plan),
        threshold=bar,
    )


def _held_out(decision: Decision, found: HeldOutFindings | None, plan: RetryLimitPlan) -> Verdict:
    claim = "held_out_no_worse"
    if found is None:
        return Verdict.withheld(
            claim, Reason.NOT_MEASURED, "the plan holds nothing out, so that nothing falsifies the limit"
        )
    replay = found.replay
    if decision.word is not Word.CALIBRATED:
        return Verdict.withheld(
            claim, _why_open(decision.word), "no limit was calibrated, so that nothing can be falsified"
        )
    if replay.difference is None or replay.interval is None or replay.worse is None:
        return Verdict.withheld(claim, Reason.UNDERPOWERED, f"held-out runs cannot say: {replay.why}")
    detail = (
        f"{replay.passed} of {replay.sections} held-out sections pass within {replay.limit} attempts and"
        f" {replay.passed_by_default} within {replay.default}, with {replay.attempts} attempts and"
        f" {replay.attempts_by_default}"
    )
    outcome, reason = (Outcome.FAIL, Reason.THRESHOLD_MISSED) if replay.worse else (Outcome.PASS, None)
    bar = -plan.replay.tolerated_loss
    return _said(claim, outcome, reason, detail, replay.difference, interval=replay.interval, threshold=bar)


def _stable(found: Findings) -> Verdict:
    claim, chart = "first_failures_stable", found.chart
    if chart.centre is None:
        return Verdict.withheld(claim, Reason.UNDERPOWERED, f"the chart has no limits: {chart.why}")
    if chart.signals:
        detail = f"{len(chart.signals)} of {len(chart.points)} batches of runs call for a cause; look for it"
        return _said(claim, Outcome.WARN, Reason.DRIFT, detail, chart.centre)
    detail = f"none of {len(chart.points)} batches of runs calls for a cause"
    return _said(claim, Outcome.PASS, None, detail, chart.centre)


def _why_open(word: Word) -> Reason:
    if word is Word.MECHANISM_BROKEN:
        return Reason.MECHANISM_BROKEN
    return Reason.NOT_SHOWN if word is Word.KEPT else Reason.UNDERPOWERED


def _at_most(rung: Rung, plan: RetryLimitPlan) -> Interval | None:
    return None if rung.next_at_most is None else Interval(None, rung.next_at_most, float((1 + plan.limit.level) / 2))


def _said(
    claim: str,
    outcome: Outcome,
    reason: Reason | None,
    detail: str,
    estimate: Number | None = None,
    numerator: int | None = None,
    denominator: int | None = None,
    *,
    interval: Interval | None = None,
    threshold: Fraction | None = None,
) -> Verdict:
    return Verdict(
        claim, outcome, reason, detail, estimate, numerator, denominator, interval, threshold, advisory=False
    )
