"""The gates: a pass is shown, a miss fails, and what cannot be said is skipped with its reason."""

from fractions import Fraction

import pytest

from eval_pipeline.errors import PlanRefused
from eval_pipeline.importers.results import Undecided
from eval_pipeline.plan import parse_plan
from eval_pipeline.records import Outcome, Reason
from eval_pipeline.studies.imported.anytime import anytime
from eval_pipeline.studies.imported.estimates import findings
from eval_pipeline.studies.imported.plan import ImportedPlan
from eval_pipeline.studies.imported.verdict import verdicts, worst
from tests.studies.imported.made_up import bundled_plan, plan_with, results

ERRORED = Undecided.ERRORED
AT_LEAST, AT_MOST = {"metric": "m", "at_least": "4/5"}, {"metric": "m", "at_most": "1/5"}


def decided(scores, *gates, **intake):
    (verdict,) = verdicts(findings(results(s=scores), plan := plan_with(*gates, **intake)), plan)
    return verdict


@pytest.mark.parametrize(
    ("scores", "outcome", "reason"),
    [
        ([1] * 17, Outcome.PASS, None),  # .025^(1/17) is .8049
        ([1] * 16, Outcome.WARN, Reason.NOT_SHOWN),  # .025^(1/16) is .7941
        ([1] * 4 + [0], Outcome.WARN, Reason.NOT_SHOWN),  # the estimate is the bar
        ([1] * 79 + [0] * 21, Outcome.FAIL, Reason.THRESHOLD_MISSED),
        ([1] * 120 + [ERRORED] * 40, Outcome.WARN, Reason.UNDECIDED),  # 120 of 160 is .75
        ([1] * 120 + [ERRORED] * 20, Outcome.PASS, None),  # 120 of 140 is .857
    ],
)
def test_a_bar_from_below_passes_only_if_the_interval_shows_it(scores, outcome, reason):
    verdict = decided(scores, AT_LEAST)
    assert (verdict.outcome, verdict.reason, verdict.threshold) == (outcome, reason, Fraction(4, 5))
    mirrored = decided([score if score is ERRORED else 1 - score for score in scores], AT_MOST)
    assert (mirrored.outcome, mirrored.reason, mirrored.threshold) == (outcome, reason, Fraction(1, 5))


def test_a_verdict_says_its_numbers_in_words():
    verdict = decided([1] * 17, AT_LEAST)
    assert verdict.detail == (
        "mean 1.0000 over 17 items with 17 scores; the bar is at least 0.8000, and the interval shows it"
    )
    assert (verdict.estimate, verdict.denominator, verdict.advisory) == (1, 17, False)
    assert (
        "which what is undecided could turn: the mean may be 0.7500"
        in decided([1] * 120 + [ERRORED] * 40, AT_LEAST).detail
    )


@pytest.mark.parametrize(
    ("scores", "intake", "reason", "said"),
    [
        (
            [1] * 17 + [ERRORED] * 3,
            {"undecided_at_most": "1/10"},
            Reason.UNTRUSTWORTHY,
            "(3 errored), and at most 10.0% may be; the mean lies between 0.8500 and 1.0000",
        ),
        ([1] * 17, {"smallest_items": 18}, Reason.UNDERPOWERED, "17 items have a score and the plan asks for 18"),
        ({"a": [1, 1, 1], "b": [0]}, {"smallest_items": 3}, Reason.UNDERPOWERED, "2 items have a score"),
        ([ERRORED] * 9, {"undecided_at_most": "1"}, Reason.UNDERPOWERED, "0 items have a score"),
    ],
)
def test_what_cannot_be_said_is_skipped_without_a_number(scores, intake, reason, said):
    verdict = decided(scores, AT_LEAST, **intake)
    assert (verdict.outcome, verdict.reason) == (Outcome.SKIP, reason)
    assert (verdict.estimate, verdict.interval, verdict.threshold) == (None, None, None)
    assert said in verdict.detail


def test_as_many_items_as_the_plan_asks_for_are_enough():
    assert decided([1] * 17, AT_LEAST, smallest_items=17).outcome is Outcome.PASS


def test_as_much_undecided_as_the_budget_allows_is_allowed():
    assert decided([1] * 18 + [ERRORED] * 2, AT_LEAST, undecided_at_most="1/10").reason is not Reason.UNTRUSTWORTHY


def test_a_metric_that_the_log_lacks_is_skipped_and_those_it_has_are_named():
    verdict = decided([1] * 30, {"metric": "tone", "at_least": "1/2"})
    assert (verdict.claim, verdict.outcome, verdict.reason) == ("tone", Outcome.SKIP, Reason.NOT_MEASURED)
    assert verdict.detail == "the log has no metric 'tone', but m; name one of these"


def test_a_gate_is_held_for_each_system():
    found = findings(results(good=[1] * 17, bad=[0] * 17), plan := plan_with(AT_LEAST))
    assert [(verdict.claim, verdict.outcome) for verdict in verdicts(found, plan)] == [
        ("m of bad", Outcome.FAIL), ("m of good", Outcome.PASS),
    ]  # fmt: skip


def test_the_bundled_plan_decides_nothing_and_shows_the_numbers():
    found = findings(results(s=[1] * 20, t=[ERRORED] * 20), plan := bundled_plan())
    shown, unknown = verdicts(found, plan)
    assert (shown.outcome, shown.reason, shown.estimate) == (Outcome.SKIP, Reason.NO_BAR, 1)
    assert shown.interval.low == pytest.approx(0.025 ** (1 / 20))
    assert "the plan holds no bar for it: give one in [[gates]]" in shown.detail
    assert (unknown.reason, unknown.estimate) == (Reason.NOT_MEASURED, None)


def test_the_sample_sizes_that_the_bundled_plan_names_show_its_bar():
    for good, n in ((17, 17), (25, 26), (32, 34), (89, 101)):
        assert decided([1] * good + [0] * (n - good), AT_LEAST).outcome is Outcome.PASS
        assert decided([1] * (good - 1) + [0] * (n - good), AT_LEAST).outcome is Outcome.WARN
        assert f"{good} of {n}" in bundled_plan().protocol.sample_size


def test_the_worst_of_all_gates_decides():
    order = [Outcome.PASS, Outcome.WARN, Outcome.SKIP, Outcome.FAIL]
    for place, outcome in enumerate(order):
        assert worst([outcome, *order[:place]]) is outcome


def test_at_later_looks_the_same_scores_have_wider_intervals():
    given = results(s=[1] * 30 + [0] * 5)
    found = findings(given, plan := plan_with(AT_LEAST))
    at = anytime(given, found, plan)
    assert at.level == Fraction(95, 100)
    narrow, wide = (at.intervals["m"](level) for level in (Fraction(95, 100), Fraction(999, 1000)))
    assert narrow == found.estimates[0].interval
    assert wide.low < narrow.low < narrow.high < wide.high


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        ([{"metric": "m"}], "one bar: at_least or at_most"),
        ([{"metric": "m", "at_least": "1/2", "at_most": "1/2"}], "one bar: at_least or at_most"),
        ([AT_LEAST, AT_MOST], "one gate for each metric"),
        ([{"metric": "m", "at_least": "3/2"}], "less than or equal to 1"),
        ([{"metric": "", "at_least": "1/2"}], "at least 1 character"),
        ([{"metric": "m", "above": "1/2"}], "found a field that no rule reads; remove it"),
    ],
)
def test_a_plan_that_says_what_cannot_be_is_refused(gates, said):
    with pytest.raises(PlanRefused) as refusal:
        plan_with(*gates)
    assert said in str(refusal.value)


def test_a_plan_without_gates_must_say_so():
    values = bundled_plan().model_dump(mode="json")
    del values["gates"]
    with pytest.raises(PlanRefused, match="field 'gates': found nothing, expected a value"):
        parse_plan(values, ImportedPlan, "plan 'mine'")
