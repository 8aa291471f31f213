"""A rate passes where it is shown to, fails where it reaches its bar, and is withheld where nothing measured it."""

from fractions import Fraction

import pytest

from eval_pipeline.errors import PlanRefused
from eval_pipeline.plan import parse_plan
from eval_pipeline.records import Alignment, Outcome, Reason, Refusal
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.concentration import concentrations
from eval_pipeline.studies.judge_calibration.confusion import error_rates
from eval_pipeline.studies.judge_calibration.gold import gold_of
from eval_pipeline.studies.judge_calibration.plan import CalibrationPlan, Intake
from eval_pipeline.studies.judge_calibration.verdict import verdicts
from tests.studies.judge_calibration.made_up import LEVEL, ROOT, composed, constraint_row, predicted


def decided(gold, plan, says=lambda item: item.expected, *, takes_apart=True, refusal=None):
    found = predicted(gold, says, takes_apart=takes_apart)
    predictions = Predictions(tuple(found), (), "made-up", {}, (), refusal)
    return verdicts(predictions, error_rates(found, level=LEVEL), plan)


LARGE = composed({"SUPPORTED": 40, "UNSUPPORTED": 40}, {"VIOLATED": 20, "NOT_VIOLATED": 20}, partial=10)


def test_a_judge_without_errors_on_enough_tuples_passes(shipped):
    assert [verdict.outcome for verdict in decided(LARGE, shipped)] == [Outcome.PASS] * 3


def test_a_rate_below_its_bar_that_is_not_shown_to_be_is_a_warning(shipped):
    wrong = decided(LARGE, shipped, lambda item: Alignment.AMBIGUOUS if item.index < 8 else item.expected)
    assert [(verdict.outcome, verdict.reason) for verdict in wrong[:2]] == [
        (Outcome.PASS, None),
        (Outcome.WARN, Reason.NOT_SHOWN),
    ]
    assert "do not show on which side" in wrong[1].detail


def test_a_rate_that_equals_its_bar_fails(shipped):
    wrong = decided(LARGE, shipped, lambda item: Alignment.AMBIGUOUS if item.index < 10 else item.expected)
    assert wrong[1].estimate == Fraction(1, 10)
    assert (wrong[1].outcome, wrong[1].reason) == (Outcome.FAIL, Reason.THRESHOLD_MISSED)


def test_claims_that_are_not_taken_apart_fail(shipped):
    found = decided(LARGE, shipped, takes_apart=False)[2]
    assert (found.outcome, found.numerator, found.denominator) == (Outcome.FAIL, 10, 10)


def test_nothing_passes_that_was_not_measured(compat):
    only_rules = composed({}, {"NOT_VIOLATED": 3})
    found = decided(only_rules, compat)
    assert [(verdict.outcome, verdict.reason) for verdict in found] == [
        (Outcome.SKIP, Reason.NOT_MEASURED),
        (Outcome.PASS, None),
        (Outcome.SKIP, Reason.NOT_MEASURED),
    ]


def test_too_few_tuples_too_many_answers_without_a_label_and_an_absent_judge_withhold_all(shipped):
    small = composed({"SUPPORTED": 5}, {"NOT_VIOLATED": 3})
    for found, reason in (
        (decided(small, shipped), Reason.UNDERPOWERED),
        (decided(LARGE, shipped, lambda item: None if item.index < 3 else item.expected), Reason.UNTRUSTWORTHY),
        (decided(LARGE, shipped, refusal=Refusal(Reason.JUDGE_DOWN, "gone")), Reason.JUDGE_DOWN),
    ):
        assert {(verdict.outcome, verdict.reason) for verdict in found} == {(Outcome.SKIP, reason)}


def test_a_bar_above_that_of_the_contract_needs_a_reason(shipped):
    values = shipped.model_dump(mode="json")
    values["gate"]["false_positives_below"] = "3/20"
    with pytest.raises(PlanRefused, match=r"a written justification, since a bar is above \.15 or \.10"):
        parse_plan(values, CalibrationPlan, "plan")
    values["gate"]["justification"] = "A person reads every flag of this judge before it blocks."
    assert parse_plan(values, CalibrationPlan, "plan").gate.false_positives_below == Fraction(3, 20)


def test_a_set_of_one_domain_is_clustered():
    domains = ["law", "law", "law", "history"]
    rows = [constraint_row(f"{n}.", "NOT_VIOLATED", metadata={"domain": name}) for n, name in enumerate(domains)]
    intake = Intake(fields=("domain", "year"), largest_share_below=Fraction(3, 4))
    by_domain, by_year = concentrations(gold_of(rows, folder=ROOT), intake)
    # Entropy of 3/4 and 1/4 over that of two halves: .8113.
    assert (by_domain.largest, by_domain.largest_share, by_domain.clustered) == ("law", Fraction(3, 4), True)
    assert by_domain.entropy == pytest.approx(0.811278, abs=1e-6)
    assert (by_year.unnamed, by_year.entropy) == (4, None)
