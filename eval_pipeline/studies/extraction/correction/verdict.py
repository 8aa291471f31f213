"""The verdict where a corrected estimate decides: it binds, and says what it rests on and what is still needed."""

from dataclasses import replace
from fractions import Fraction

from eval_pipeline.gates import at_least, at_most
from eval_pipeline.records import Number, Outcome, Reason, Verdict
from eval_pipeline.studies.extraction.correction.estimates import Cell, Estimates, Estimator
from eval_pipeline.studies.extraction.correction.findings import Needed
from eval_pipeline.studies.extraction.obstacles import Evidence
from eval_pipeline.studies.extraction.plan import ExtractionPlan
from eval_pipeline.studies.extraction.wording import change, place


def corrected_recall(verdict: Verdict, corrected: Estimates, evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    """The verdict on recall."""
    cell, raw, threshold = corrected.pooled, evidence.recall.pooled, plan.claims.recall_at_least
    assert cell.estimate is not None  # else it is an obstacle
    assert raw.estimate is not None
    outcome = at_least(cell.estimate, threshold, plan.scoring.comparison)
    said = (
        f"corrected for the judge's errors {_evidence_of(corrected, evidence)}, recall is {cell.estimate:.4f}; the bar"
        f" is {float(threshold):.2f}, and {place(cell.interval, threshold)}; uncorrected it is"
        f" {float(raw.estimate):.4f}, {raw.hits} of {raw.judged} propositions"
    ) + _to_decide(evidence.correction.recall_needs)
    worst = evidence.recall.worst_case
    assert worst is not None
    assert worst.low is not None
    undecided = corrected.estimator is Estimator.RATIO_BY_GOLD and raw.undecided > 0
    firm = outcome if not undecided else at_least(worst.low, threshold, plan.scoring.comparison)
    if undecided:
        said += f"; {raw.undecided} undecided ones are left out"
    return _by_correction(verdict, cell, outcome, firm, said)


def corrected_uniformity(
    verdict: Verdict, corrected: Estimates, raw: Number, evidence: Evidence, plan: ExtractionPlan
) -> Verdict:
    """The verdict on uniformity; `raw` is the bound as the judge has it."""
    cell, threshold, found = corrected.bound, plan.claims.bound_at_most, evidence.uniformity
    bound = cell.high
    assert bound is not None  # else it is an obstacle
    assert cell.interval is not None
    outcome = at_most(bound, threshold, plan.scoring.comparison)
    said = (
        f"corrected for the judge's errors {_evidence_of(corrected, evidence)}, recall {change(bound)} from quartile 1"
        f" to quartile 4, at {cell.interval.level:.0%} confidence; the bar is {float(threshold):.2f}; uncorrected it"
        f" {change(raw)}{_to_decide(evidence.correction.uniformity_needs)}"
    )
    firm = outcome
    if corrected.estimator is Estimator.RATIO_BY_GOLD and found.worst_bound is not None and found.worst_bound > raw:
        firm = at_most(found.worst_bound, threshold, plan.scoring.comparison)
        said += "; what stayed undecided is left out"
    return _by_correction(verdict, cell, outcome, firm, said)


def corrected_guard(verdict: Verdict, cell: Cell, raw: Fraction, evidence: Evidence, plan: ExtractionPlan) -> Verdict:
    """The verdict on precision; `raw` is the share as the judge has it."""
    threshold, check = plan.claims.precision_at_least, evidence.correction.check
    assert check is not None  # no precision is corrected without one
    assert cell.estimate is not None
    outcome = at_least(cell.estimate, threshold, plan.scoring.comparison)
    said = (
        f"corrected for the judge's errors by what people say of {check.spans} spans, precision is {cell.estimate:.4f}"
        f" and, at {float(plan.guard.level):.0%} confidence, at least {cell.low:.4f}; the bar is"
        f" {float(threshold):.2f}; uncorrected it is {float(raw):.4f}"
    )
    return _by_correction(verdict, cell, outcome, outcome, said)


def _by_correction(verdict: Verdict, cell: Cell, outcome: Outcome, firm: Outcome, said: str) -> Verdict:
    """The verdict by a corrected estimate, which binds; a pass that what stayed undecided could turn is a warning."""
    reason = Reason.THRESHOLD_MISSED if outcome is Outcome.FAIL else None
    if (outcome, firm) == (Outcome.PASS, Outcome.FAIL):
        outcome, reason = Outcome.WARN, Reason.UNDECIDED
    return replace(
        verdict,
        outcome=outcome,
        reason=reason,
        detail=said,
        estimate=cell.estimate,
        numerator=None,
        denominator=None,
        interval=cell.interval,
        advisory=False,
    )


def _evidence_of(corrected: Estimates, evidence: Evidence) -> str:
    """What is known of them, in words."""
    check, gold = evidence.correction.check, evidence.correction.gold
    if corrected.estimator is Estimator.RATIO_BY_GOLD and gold:
        return f"by those on {gold.labelled} claims of the gold set"
    assert check is not None  # no other estimator corrects without one
    return f"by what people say of {check.propositions} propositions in {check.entries} entries"


def _to_decide(needs: Needed | None) -> str:
    if needs is None:
        return ""
    if needs.beyond:
        return (
            f"; to decide, about {needs.needed} {needs.unit} must be labelled, which is more than there are: measure"
            " more entries"
        )
    return (
        f"; to decide, about {needs.needed} {needs.unit} must be labelled in all, if the estimate stays, and"
        f" {needs.labelled} are"
    )
