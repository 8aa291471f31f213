"""The verdict on a judge: its false negatives, its false positives, and whether it still takes claims apart."""

from dataclasses import dataclass
from fractions import Fraction

from eval_pipeline.gates import below
from eval_pipeline.records import Interval, Outcome, Reason, Verdict
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.confusion import ErrorRates, Rate, Standing, standing_of
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan

FALSE_NEGATIVES, FALSE_POSITIVES, DECOMPOSITION = "false_negatives", "false_positives", "decomposition"
CLAIMS = (FALSE_NEGATIVES, FALSE_POSITIVES, DECOMPOSITION)

_SHOWN = {
    "shown_below": "and is shown to lie below it",
    "not_shown": "and so many tuples do not show on which side of it the true rate lies",
    "shown_above": "and is shown to reach it",
}


@dataclass(frozen=True, slots=True)
class _Obstacle:
    reason: Reason
    detail: str


def verdicts(predictions: Predictions, rates: ErrorRates | None, plan: CalibrationPlan) -> tuple[Verdict, ...]:
    """The verdicts on each claim, in the order of `CLAIMS`.

    Args:
        predictions: what the judge said, or why it said nothing.
        rates: its error rates; None where there are no predictions.
        plan: the bars.

    """
    gate = plan.gate
    if obstacle := _obstacle(predictions, rates, plan):
        return tuple(Verdict.withheld(claim, obstacle.reason, obstacle.detail) for claim in CLAIMS)
    assert rates is not None
    return (
        _rate_below(FALSE_NEGATIVES, rates.false_negatives, gate.false_negatives_below, plan),
        _rate_below(FALSE_POSITIVES, rates.false_positives, gate.false_positives_below, plan),
        _decomposition(rates.partial_misses, plan),
    )


def _obstacle(predictions: Predictions, rates: ErrorRates | None, plan: CalibrationPlan) -> _Obstacle | None:
    if predictions.refusal:
        return _Obstacle(predictions.refusal.reason, predictions.refusal.detail)
    if rates is None or rates.invalid.n < plan.minimum_tuples:
        asked = len(predictions.first)
        return _Obstacle(
            Reason.UNDERPOWERED, f"{asked} tuples were judged and the plan asks for {plan.minimum_tuples}; add tuples"
        )
    if rates.invalid.estimate is not None and rates.invalid.estimate > plan.asking.invalid_at_most:
        return _Obstacle(
            Reason.UNTRUSTWORTHY,
            f"{rates.invalid.errors} of {rates.invalid.n} answers gave no label, and at most"
            f" {float(plan.asking.invalid_at_most):.0%} may; see the predictions for why",
        )
    return None


def _rate_below(claim: str, rate: Rate, threshold: Fraction, plan: CalibrationPlan) -> Verdict:
    standing = standing_of(rate, threshold, level=plan.gate.level)
    if rate.estimate is None or standing is None:
        return Verdict.withheld(claim, Reason.NOT_MEASURED, "no tuple measures this rate; add tuples that do")
    outcome, reason = below(rate.estimate, threshold), None
    if outcome is Outcome.FAIL:
        reason = Reason.THRESHOLD_MISSED
    elif standing != "shown_below" and plan.gate.not_shown == "warn":
        outcome, reason = Outcome.WARN, Reason.NOT_SHOWN
    return _said(claim, outcome, reason, rate, threshold, _sentence(rate, threshold, standing, plan.gate.level))


def _sentence(rate: Rate, threshold: Fraction, standing: Standing, level: Fraction) -> str:
    assert rate.estimate is not None
    side = "lies below" if rate.estimate < threshold else "reaches"
    return (
        f"{rate.errors} errors in {rate.n}: the rate {side} the bar of {float(threshold):.2f},"
        f" {_SHOWN[standing]} at {float(level):.0%} confidence"
    )


def _decomposition(rate: Rate, plan: CalibrationPlan) -> Verdict:
    if rate.estimate is None:
        return Verdict.withheld(DECOMPOSITION, Reason.NOT_MEASURED, "no tuple is supported in part; add some that are")
    detail = f"{rate.errors} of {rate.n} claims that are supported in part were not taken apart rightly"
    if not rate.errors:
        return _said(DECOMPOSITION, Outcome.PASS, None, rate, Fraction(0), detail)
    outcome = Outcome.FAIL if plan.gate.partial_misses == "fail" else Outcome.WARN
    return _said(DECOMPOSITION, outcome, Reason.THRESHOLD_MISSED, rate, Fraction(0), detail)


def _said(claim: str, outcome: Outcome, reason: Reason | None, rate: Rate, threshold: Fraction, detail: str) -> Verdict:
    interval: Interval | None = rate.interval
    return Verdict(
        claim, outcome, reason, detail, rate.estimate, rate.errors, rate.n, interval, threshold, advisory=False
    )
