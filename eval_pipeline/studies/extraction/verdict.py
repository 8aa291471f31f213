"""The verdict: three claims, each past the obstacles or withheld, and then held against its threshold."""

from dataclasses import replace
from fractions import Fraction

from eval_pipeline.errors import SealBroken
from eval_pipeline.gates import at_least, at_most
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.records import Interval, Number, Outcome, Reason, Verdict
from eval_pipeline.studies.extraction.obstacles import (
    Evidence,
    Obstacle,
    guard_obstacle,
    recall_obstacle,
    worst_case,
)
from eval_pipeline.studies.extraction.plan import ExtractionPlan

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
    low = pooled.interval.low if pooled.interval else None
    firm = (
        "the interval lies above it" if low is not None and low >= threshold else "the interval does not lie above it"
    )
    outcome = at_least(pooled.estimate, threshold, plan.scoring.comparison)
    said = f"{pooled.hits} of {pooled.judged} propositions recovered; the bar is {float(threshold):.2f}, and {firm}"
    if pooled.undecided:
        said += f"; {pooled.undecided} undecided ones leave recall anywhere {worst_case(evidence)}"
    return _decided(verdict, outcome, said, evidence, plan)


def _uniformity(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    found, threshold = evidence.uniformity, plan.claims.bound_at_most
    bounded = found.bound
    estimate, interval = (bounded.estimate, bounded.interval) if bounded else (None, None)
    verdict = _measured(UNIFORMITY, estimate, interval, threshold)
    if obstacle := recall_obstacle(evidence, plan):
        return _withheld(verdict, obstacle, Outcome.SKIP)
    if found.refusal:
        return _withheld(verdict, Obstacle(Outcome.SKIP, found.refusal, advisory=False), Outcome.SKIP)
    assert bounded is not None
    assert bounded.interval.high is not None
    bound: Number = bounded.interval.high
    said = (
        f"recall falls by at most {float(bound):.4f} from quartile 1 to quartile 4; the bar is {float(threshold):.2f}"
    )
    if found.degenerate:
        said += "; all resamples agree, so the bound has no width and says less than it seems"
    return _decided(verdict, at_most(bound, threshold, plan.scoring.comparison), said, evidence, plan)


def _guard(evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    found, threshold = evidence.guard, plan.claims.precision_at_least
    estimate = Fraction(found.supported, found.judged) if found.judged else None
    verdict = _measured(GUARD, estimate, found.interval, threshold)
    verdict = replace(verdict, numerator=found.supported, denominator=found.judged)
    if obstacle := guard_obstacle(evidence, plan):
        return _withheld(verdict, obstacle, obstacle.outcome)
    assert estimate is not None
    assert found.reading is not None
    said = (
        f"{found.supported} of {found.judged} signals follow from their span; the bar is {float(threshold):.2f}:"
        f" {found.reading.value}"
    )
    if found.facts and found.facts.look_one_based:
        said += (
            f"; the offsets look counted from 1: {found.facts.cut_words} spans cut a word, and"
            f" {found.facts.cut_words_one_lower} would one character earlier"
        )
    return _decided(verdict, at_least(estimate, threshold, plan.scoring.comparison), said, evidence, plan)


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


def _decided(verdict: Verdict, outcome: Outcome, said: str, evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    """The verdict at its threshold. A judge whose errors were never measured can raise an alarm, and cannot clear."""
    reason = Reason.THRESHOLD_MISSED if outcome is Outcome.FAIL else None
    if evidence.judged.standing is Standing.ORACLE or plan.calibration.uncalibrated_pass == "pass":
        return replace(verdict, outcome=outcome, reason=reason, detail=said, advisory=False)
    if outcome is Outcome.PASS:
        outcome, reason = Outcome.WARN, Reason.UNCALIBRATED
    said += "; the judge's own error rates were never measured"
    return replace(verdict, outcome=outcome, reason=reason, detail=said, advisory=True)
