"""A rate passes where it is shown to, fails where it reaches its bar, and is withheld where nothing measured it."""

from fractions import Fraction

from eval_pipeline.records import Alignment, Outcome, Reason, Refusal
from eval_pipeline.studies.judge_calibration.asking import Predictions
from eval_pipeline.studies.judge_calibration.confusion import error_rates
from eval_pipeline.studies.judge_calibration.verdict import CLAIMS, verdicts
from tests.studies.judge_calibration.made_up import LEVEL, composed, predicted


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
    assert (found.reason, found.threshold) == (Reason.THRESHOLD_MISSED, 0)


def test_a_single_partial_claim_that_is_not_taken_apart_fails_or_is_reported_as_the_plan_says(shipped, compat):
    last = max(item.index for item in LARGE.tuples if item.partial)

    def says(item):
        return Alignment.SUPPORTED if item.index == last else item.expected

    for plan, outcome in ((shipped, Outcome.FAIL), (compat, Outcome.WARN)):
        found = decided(LARGE, plan, says)[2]
        assert (found.outcome, found.reason, found.numerator) == (outcome, Reason.THRESHOLD_MISSED, 1)
        assert "1 of 10 claims" in found.detail


def test_a_rate_that_is_shown_to_reach_its_bar_says_so_and_one_that_merely_does_says_that(shipped):
    for wrong, words in ((40, "is shown to reach it"), (10, "do not show on which side")):
        found = decided(LARGE, shipped, lambda item, n=wrong: Alignment.AMBIGUOUS if item.index < n else item.expected)
        assert (found[1].outcome, found[1].reason) == (Outcome.FAIL, Reason.THRESHOLD_MISSED)
        assert words in found[1].detail


def test_where_the_plan_compares_points_alone_a_rate_below_its_bar_passes(compat):
    wrong = decided(LARGE, compat, lambda item: Alignment.AMBIGUOUS if item.index < 8 else item.expected)
    assert [(verdict.outcome, verdict.reason) for verdict in wrong[:2]] == [(Outcome.PASS, None)] * 2


def test_a_verdict_states_its_claim_and_the_numbers_that_it_rests_on(shipped):
    found = decided(LARGE, shipped, lambda item: Alignment.AMBIGUOUS if item.index < 8 else item.expected)
    assert tuple(verdict.claim for verdict in found) == CLAIMS
    missed, false, _ = found
    assert (missed.numerator, missed.denominator, missed.threshold) == (8, 100, Fraction(3, 20))
    assert (false.numerator, false.denominator, false.threshold) == (8, 100, Fraction(1, 10))
    assert missed.estimate == Fraction(8, 100)
    assert missed.interval.low < 0.08 < missed.interval.high
    assert not any(verdict.advisory for verdict in found)


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
        assert all(verdict.estimate is verdict.interval is verdict.threshold is None for verdict in found)


def test_as_many_answers_without_a_label_as_the_plan_allows_withhold_nothing(shipped):
    """Of 120 tuples 2 are no more than one in fifty, 3 are."""
    found = decided(LARGE, shipped, lambda item: None if item.index < 2 else item.expected)
    assert [verdict.outcome for verdict in found] == [Outcome.PASS] * 3
    assert [verdict.denominator for verdict in found[:2]] == [98, 98]


def test_no_predictions_at_all_are_too_few(shipped):
    found = verdicts(Predictions((), (), "made-up", {}, (), None), None, shipped)
    assert {(verdict.outcome, verdict.reason) for verdict in found} == {(Outcome.SKIP, Reason.UNDERPOWERED)}
