"""Each claim's outcomes, and the word of the decision for each of its branches."""

from dataclasses import replace

import pytest

from eval_pipeline.records import Outcome, Reason
from eval_pipeline.report.reasons import REASON_WORDS
from eval_pipeline.studies.judge_reliability.findings import findings
from eval_pipeline.studies.judge_reliability.held_out import held_out
from eval_pipeline.studies.judge_reliability.verdict import CLAIMS, decide, verdicts
from eval_pipeline.studies.judge_reliability.words import Grounding, Label, Truth
from tests.studies.judge_reliability.made_up import changed, confusion, judgment, log_of
from tests.studies.judge_reliability.test_held_out import CALIBRATION, rest

HOLDS, OPEN = Label.HOLDS, Label.INCONCLUSIVE


@pytest.fixture(scope="module")
def sharp(plan):
    return findings(log_of(CALIBRATION), plan)


def claim(name, found, tested, plan):
    (one,) = (one for one in verdicts(found, tested, plan) if one.claim == name)
    return one


def harmful(claims):
    """The trusted judge is wrong and both others are right."""
    rows = rest(claims, "FAILS")
    return log_of(row.model_copy(update={"truth": Truth.HOLDS}) for row in rows)


def test_all_claims_are_said_in_their_order(sharp, plan):
    assert [one.claim for one in verdicts(sharp, None, plan)] == list(CLAIMS)
    assert all(sentence.endswith(".") for sentence in CLAIMS.values())


def test_a_calibration_that_helps_persists(sharp, plan):
    tested = held_out(sharp, log_of(rest(40)), plan)
    found = claim("calibration_does_not_harm", sharp, tested, plan)
    assert (found.outcome, found.reason, found.numerator, found.denominator) == (Outcome.PASS, None, 40, 40)
    assert decide(sharp, tested, plan).word == "persist"


def test_a_calibration_that_harms_is_reverted(sharp, plan):
    tested = held_out(sharp, harmful(40), plan)
    found = claim("calibration_does_not_harm", sharp, tested, plan)
    assert (found.outcome, found.reason, found.estimate) == (Outcome.FAIL, Reason.THRESHOLD_MISSED, -1)
    assert decide(sharp, tested, plan).word == "revert"


def test_a_comparison_that_shows_nothing_warns_and_does_not_regress(sharp, plan):
    agreed = log_of(judgment(f"h{n}", "PASS", "HOLDS") for n in range(40))
    tested = held_out(sharp, agreed, plan)
    found = claim("calibration_does_not_harm", sharp, tested, plan)
    assert (found.outcome, found.reason) == (Outcome.WARN, Reason.NOT_SHOWN)
    assert decide(sharp, tested, plan).word == "persist"


def test_too_few_held_out_claims_keep_the_prior(sharp, plan):
    tested = held_out(sharp, harmful(29), plan)
    found = claim("calibration_does_not_harm", sharp, tested, plan)
    assert (found.outcome, found.reason, found.estimate) == (Outcome.SKIP, Reason.UNDERPOWERED, None)
    assert "29 held-out claims have a known truth, and 30 are needed; add claims" in found.detail
    assert decide(sharp, tested, plan).word == "keep_prior"


def test_without_a_replay_nothing_is_decided(sharp, plan):
    found = claim("calibration_does_not_harm", sharp, None, plan)
    assert (found.outcome, found.reason) == (Outcome.SKIP, Reason.NOT_MEASURED)
    assert decide(sharp, None, plan).word == "undecided"


def test_abilities_that_are_told_apart_or_not(sharp, plan):
    found = claim("judges_differ_from_the_prior", sharp, None, plan)
    assert (found.outcome, found.numerator, found.denominator) == (Outcome.PASS, 6, 6)
    alike = findings(log_of(confusion(42, 18, 42, 18)), plan)
    found = claim("judges_differ_from_the_prior", alike, None, plan)
    assert (found.outcome, found.reason, found.numerator) == (Outcome.WARN, Reason.NOT_SHOWN, 0)
    assert decide(alike, held_out(alike, log_of(rest(40)), plan), plan).word == "keep_prior"
    few = findings(log_of(confusion(29, 0, 29, 0)), plan)
    found = claim("judges_differ_from_the_prior", few, None, plan)
    assert (found.outcome, found.reason) == (Outcome.SKIP, Reason.UNDERPOWERED)


@pytest.mark.parametrize(
    ("failures", "outcome", "reason"),
    [
        ([1, 0, 2, 1, 1], Outcome.PASS, None),
        ([1, 0, 2, 1, 9], Outcome.WARN, Reason.UNTRUSTWORTHY),
        ([1, 0, 2], Outcome.SKIP, Reason.UNDERPOWERED),
    ],
)
def test_parse_failures(plan, failures, outcome, reason):
    small = changed(plan, parse_failures={"judgments_a_point": 10, "baseline_points": 4})
    said = [None if place < failed else "PASS" for failed in failures for place in range(10)]
    found = findings(log_of(judgment(f"c{n}", vote, "HOLDS") for n, vote in enumerate(said)), small)
    verdict = claim("parse_failures_are_stable", found, None, small)
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    if outcome is not Outcome.SKIP:
        assert (verdict.numerator, verdict.denominator) == (sum(failures), 50)


def test_a_judge_without_limits_beside_one_with_them_is_said(plan):
    small = changed(plan, parse_failures={"judgments_a_point": 10, "baseline_points": 4})
    rows = [judgment(f"c{n}", "PASS", "HOLDS") for n in range(40)]
    rows += [judgment(f"c{n}", "PASS", "HOLDS", judge_name="two") for n in range(5)]
    verdict = claim("parse_failures_are_stable", findings(log_of(rows), small), None, small)
    assert (verdict.outcome, verdict.reason) == (Outcome.WARN, Reason.NOT_SHOWN)
    assert "1 of 2 judges have too few judgments for limits" in verdict.detail


@pytest.mark.parametrize(
    ("dropped", "outcome", "reason"), [(1, Outcome.PASS, None), (2, Outcome.FAIL, Reason.RUBRIC_GAPS)]
)
def test_labelling(plan, dropped, outcome, reason):
    rows = [
        judgment(
            f"c{n}",
            "PASS",
            None if n < dropped else "HOLDS",
            grounding=Grounding.ANNOTATORS,
            labels=(OPEN, OPEN) if n < dropped else (HOLDS, HOLDS),
        )
        for n in range(10)
    ]
    verdict = claim("labelling_is_settled", findings(log_of(rows), plan), None, plan)
    assert (verdict.outcome, verdict.reason, verdict.numerator, verdict.denominator) == (outcome, reason, dropped, 10)
    none = claim("labelling_is_settled", findings(log_of(rows[:0]), plan), None, plan)
    assert (none.outcome, none.reason) == (Outcome.SKIP, Reason.NOT_MEASURED)


def test_judges_that_err_together_or_apart(sharp, plan):
    found = claim("judges_err_apart", sharp, None, plan)
    # "two" and "three" err on the very same claims.
    assert (found.outcome, found.reason, found.numerator, found.denominator) == (Outcome.WARN, Reason.DEPENDENT, 1, 3)
    assert "chat/three and chat/two on 60 claims where 30.0 are expected" in found.detail
    assert REASON_WORDS["dependent"]
    apart = replace(sharp, pairs=tuple(replace(pair, together=False) for pair in sharp.pairs))
    assert claim("judges_err_apart", apart, None, plan).outcome is Outcome.PASS
    alone = claim("judges_err_apart", replace(sharp, pairs=()), None, plan)
    assert (alone.outcome, alone.reason) == (Outcome.SKIP, Reason.NOT_MEASURED)
