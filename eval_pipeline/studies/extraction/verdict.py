"""The verdict: three claims, each past the obstacles or withheld, and then held against its threshold."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from eval_pipeline.errors import SealBroken
from eval_pipeline.gates import at_least, at_most
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Interval, Number, Outcome, Reason, Verdict
from eval_pipeline.studies.extraction.correction.estimates import Estimates, Estimator
from eval_pipeline.studies.extraction.correction.verdict import corrected_guard, corrected_recall, corrected_uniformity
from eval_pipeline.studies.extraction.obstacles import (
    Evidence,
    Obstacle,
    guard_obstacle,
    recall_obstacle,
    uniformity_obstacle,
    worst_case,
)
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.wording import change, place

RECALL, UNIFORMITY, GUARD = "pooled_recall", "positional_uniformity", "precision_guard"


def verdicts(evidence: Evidence, plan: ExtractionPlan) -> tuple[Verdict, Verdict, Verdict]:
    """The verdicts on recall, uniformity and precision, in this order."""
    return _recall(evidence, plan), _uniformity(evidence, plan), _guard(evidence, plan)


def broken_seal(broken: SealBroken) -> tuple[Verdict, Verdict, Verdict]:
    """The verdicts where the plan is not the one that was sealed: no number, and no threshold to hold one against."""
    withheld = (
        Verdict(claim, Outcome.SKIP, Reason.SEAL_BROKEN, str(broken), None, None, None, None, None, advisory=False)
        for claim in (RECALL, UNIFORMITY, GUARD)
    )
    first, second, third = withheld
    return first, second, third


def _recall(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    pooled, threshold = evidence.recall.pooled, plan.claims.recall_at_least
    verdict = _measured(RECALL, pooled.estimate, pooled.interval, threshold)
    verdict = replace(verdict, numerator=pooled.hits, denominator=pooled.judged)
    if obstacle := recall_obstacle(evidence, plan):
        return _withheld(verdict, obstacle, obstacle.outcome)
    assert pooled.estimate is not None  # an empty denominator is untrustworthy
    if corrected := evidence.correction.corrected:
        return corrected_recall(verdict, corrected, evidence, plan)
    outcome = at_least(pooled.estimate, threshold, plan.scoring.comparison)
    said = (
        f"{pooled.hits} of {pooled.judged} propositions recovered; the bar is {float(threshold):.2f}, and"
        f" {place(pooled.interval, threshold)}"
    )
    if pooled.degenerate:
        said += ", which has no width, since all resamples agree, and says less than it seems"
    if pooled.undecided:
        said += f"; {pooled.undecided} undecided ones leave recall anywhere {worst_case(evidence)}"
    worst = evidence.recall.worst_case
    assert worst is not None
    assert worst.low is not None
    firm = at_least(worst.low, threshold, plan.scoring.comparison)
    audit = evidence.judge.screen
    if audit.missed:
        said += (
            f"; of {audit.audited} audited propositions that the screen turned away, {audit.missed} follow from a"
            " single signal all the same"
        )
    doubt = _Doubt(
        firm,
        _within_reach(pooled.estimate, threshold, pooled.estimate * evidence.judge.lost_signals.reach),
        _corrected_otherwise(
            evidence, lambda one: one.pooled.estimate, lambda value: at_least(value, threshold, plan.scoring.comparison)
        ),
    )
    return _decided(verdict, outcome, doubt, said, evidence, plan)


def _uniformity(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    found, threshold = evidence.uniformity, plan.claims.bound_at_most
    bounded = found.bound
    estimate, interval = (bounded.estimate, bounded.interval) if bounded else (None, None)
    verdict = _measured(UNIFORMITY, estimate, interval, threshold)
    if obstacle := recall_obstacle(evidence, plan):
        return _withheld(verdict, obstacle, Outcome.SKIP)
    if obstacle := uniformity_obstacle(evidence, plan):
        return _withheld(verdict, obstacle, obstacle.outcome)
    assert bounded is not None
    assert bounded.interval.high is not None
    if corrected := evidence.correction.corrected:
        return corrected_uniformity(verdict, corrected, bounded.interval.high, evidence, plan)
    bound: Number = bounded.interval.high
    said = (
        f"recall {change(bound)} from quartile 1 to quartile 4, at {float(bounded.interval.level):.0%} confidence; the"
        f" bar is {float(threshold):.2f}"
    )
    if found.degenerate:
        said += "; all resamples agree, so the bound has no width and says less than it seems"
    outcome = at_most(bound, threshold, plan.scoring.comparison)
    if found.worst_bound is None:
        said += "; how far what stayed undecided could raise the bound cannot be said"
        firm = Outcome.FAIL
    else:
        firm = at_most(found.worst_bound, threshold, plan.scoring.comparison)
        if found.worst_bound > bound:
            said += f"; what stayed undecided could raise the bound to {float(found.worst_bound):.4f}"
    # Of the two recalls of the difference, each may fall by as much as supported judgments turn.
    doubt = _Doubt(
        firm,
        _within_reach(bound, threshold, evidence.judge.lost_signals.reach),
        _corrected_otherwise(
            evidence, lambda one: one.bound.high, lambda value: at_most(value, threshold, plan.scoring.comparison)
        ),
    )
    return _decided(verdict, outcome, doubt, said, evidence, plan)


def _guard(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    found, threshold = evidence.guard, plan.claims.precision_at_least
    estimate = Fraction(found.supported, found.judged) if found.judged else None
    verdict = _measured(GUARD, estimate, found.interval, threshold)
    verdict = replace(verdict, numerator=found.supported, denominator=found.judged)
    if obstacle := guard_obstacle(evidence, plan):
        return _withheld(verdict, obstacle, obstacle.outcome)
    assert estimate is not None
    assert found.reading is not None
    assert found.p_value is not None
    if (cell := evidence.correction.precision) and evidence.correction.decides_precision is not Estimator.RAW:
        return corrected_guard(verdict, cell, estimate, evidence, plan)
    outcome = at_least(estimate, threshold, plan.scoring.comparison)
    where = "below" if outcome is Outcome.FAIL else "at or above"
    said = (
        f"{found.supported} of {found.judged} signals that record a span follow from it, {where} the bar of"
        f" {float(threshold):.2f}: {found.reading.value} (so few would come with p = {found.p_value:.3f} at the bar)"
    )
    assert found.worst_case is not None
    assert found.worst_case.low is not None
    assert found.worst_case.high is not None
    if found.undecided:
        low, high = float(found.worst_case.low), float(found.worst_case.high)
        said += f"; {found.undecided} undecided ones leave precision anywhere from {low:.4f} to {high:.4f}"
    if found.facts and found.facts.look_one_based:
        said += (
            f"; the offsets look counted from 1: {found.facts.cut_words} spans cut a word, and"
            f" {found.facts.cut_words_one_lower} would one character earlier"
        )
    firm = at_least(found.worst_case.low, threshold, plan.scoring.comparison)
    checked = evidence.correction.precision
    otherwise = (
        checked is not None
        and checked.estimate is not None
        and at_least(checked.estimate, threshold, plan.scoring.comparison) is Outcome.FAIL
    )
    doubt = _Doubt(firm, _within_reach(estimate, threshold, estimate * evidence.judge.lost_spans.reach), otherwise)
    return _decided(verdict, outcome, doubt, said, evidence, plan)


def _corrected_otherwise(
    evidence: Evidence, estimate: Callable[[Estimates], float | None], outcome: Callable[[float], Outcome]
) -> bool:
    """Whether a corrected estimate that the plan does not let decide falls on the wrong side of the bar."""
    checked = evidence.correction.of(Estimator.POST_STRATIFIED)
    value = estimate(checked) if checked else None
    return value is not None and outcome(value) is Outcome.FAIL


def _measured(claim: str, estimate: Number | None, interval: Interval | None, threshold: Fraction) -> Verdict:
    """The verdict before anything is decided: the numbers as they were measured, and not binding."""
    return Verdict(claim, Outcome.SKIP, None, "", estimate, None, None, interval, threshold, advisory=True)


def _withheld(verdict: Verdict, obstacle: Obstacle, outcome: Outcome) -> Verdict:
    """The verdict with the reason, and with its numbers only where they were measured soundly."""
    refusal = obstacle.refusal
    if obstacle.advisory and verdict.estimate is not None:
        return replace(verdict, outcome=outcome, reason=refusal.reason, detail=refusal.detail)
    return replace(
        verdict,
        outcome=outcome,
        reason=refusal.reason,
        detail=refusal.detail,
        estimate=None,
        numerator=None,
        denominator=None,
        interval=None,
        advisory=False,
    )


@dataclass(frozen=True, slots=True)
class _Doubt:
    """What could turn a pass: what stayed undecided, at the worst, a judge that turns its answers, or its errors."""

    in_the_worst_case: Outcome
    turning: bool
    corrected_otherwise: bool


def _within_reach(number: Number, threshold: Fraction, reach: Fraction) -> bool:
    """Whether a judge that turns its answers as often as it did may have put the number on this side by chance."""
    return reach > 0 and abs(Fraction(number) - threshold) <= reach


def _decided(
    verdict: Verdict, outcome: Outcome, doubt: _Doubt, said: str, evidence: Evidence, plan: ExtractionPlan
) -> Verdict:
    """The verdict at its threshold.

    A pass that what stayed undecided, or a judge that turns its answers, could turn is a warning. A judge whose errors
    were never measured can raise an alarm, and cannot clear.
    """
    reason = Reason.THRESHOLD_MISSED if outcome is Outcome.FAIL else None
    if doubt.turning:
        said += "; asked once more the judge turned so many answers that the number could lie on either side of the bar"
    if outcome is Outcome.PASS and doubt.turning:
        outcome, reason = Outcome.WARN, Reason.UNREPEATABLE
    if plan.errors.counted_in == "propositions" and (outcome, doubt.in_the_worst_case) == (Outcome.PASS, Outcome.FAIL):
        outcome, reason = Outcome.WARN, Reason.UNDECIDED
    if doubt.corrected_otherwise:
        said += "; corrected for the judge's errors the bar is missed"
        if outcome is Outcome.PASS:
            outcome, reason = Outcome.WARN, Reason.JUDGE_ERRORS
    if _is_calibrated(verdict.claim, evidence) or plan.calibration.uncalibrated_pass == "pass":
        return replace(verdict, outcome=outcome, reason=reason, detail=said, advisory=False)
    if outcome is Outcome.PASS:
        outcome, reason = Outcome.WARN, Reason.UNCALIBRATED
    gold = evidence.correction.gold
    known = "were measured on the gold set alone" if gold and gold.labelled else "were never measured"
    said += f"; the judge's own error rates {known}"
    return replace(verdict, outcome=outcome, reason=reason, detail=said, advisory=True)


def _is_calibrated(claim: str, evidence: Evidence) -> bool:
    """Whether people's labels are what is measured by, or say how the judge errs in what this claim is about."""
    correction = evidence.correction
    check = correction.check
    checked = correction.precision is not None if claim == GUARD else check is not None and check.propositions > 0
    return evidence.judged.standing is Standing.ORACLE or checked
