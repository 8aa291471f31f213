"""Each branch is said with its outcome, its reason and what to do; a skip states no number."""

from fractions import Fraction

import pytest

from eval_pipeline.records import Outcome, Reason
from eval_pipeline.studies.fire_rate.findings import findings
from eval_pipeline.studies.fire_rate.verdict import BELOW, CLAIMS, COVERED, STEADY, reason_of, verdicts
from tests.studies.fire_rate.made_up import first_runs, log_where


@pytest.fixture
def said(shipped):
    """The verdicts by claim and the reason of the decision, of a log in which the runs of these numbers fired."""

    def of(runs, fired=()):
        found = findings(log_where(runs, fired), shipped)
        return {one.claim: one for one in verdicts(found, shipped)}, reason_of(found, shipped)

    return of


def test_every_claim_is_said_in_order(said):
    claims, _ = said(8)
    assert list(claims) == list(CLAIMS)


def test_a_fallback_that_no_run_reached_passes_at_look_1(said):
    claims, reason = said(464)
    verdict = claims[BELOW]
    assert (verdict.outcome, verdict.reason) == (Outcome.PASS, None)
    assert (verdict.estimate, verdict.numerator, verdict.denominator) == (0, 0, 464)
    assert (verdict.interval.low, verdict.interval.level) == (0, 0.975)
    assert verdict.interval.high == pytest.approx(0.0079, abs=5e-5)
    assert verdict.threshold == Fraction(1, 100)
    assert verdict.detail == (
        "0 fires in 464 runs: look 1 shows the rate to lie below 1 %, by the exact one-sided test at 0.025 (p = 0.0094)"
    )
    assert reason == (
        "0 fires in 464 runs: look 1 shows the rate to lie below 1 %, and no run of the log reached the fallback."
        " Before it is deleted: a regression test that still detects an injected mismatch of each kind."
    )


def test_a_fallback_that_was_reached_is_rare_and_not_called_unreached(said):
    claims, reason = said(3000, [1, 1000])
    assert claims[BELOW].outcome is Outcome.PASS
    assert claims[BELOW].estimate == Fraction(2, 3000)
    assert "2 of the log's 3000 runs reached the fallback. It is rare, not unreached" in reason


@pytest.mark.parametrize(
    ("runs", "fired", "detail"),
    [
        (100, (), "0 fires in 100 runs: look 1 is due at 464 runs; run 364 more"),
        (464, [3], "1 fire in 464 runs: look 1 leaves it open, and look 2 is due at 3000 runs; run 2536 more"),
        (461, [3], "1 fire in 461 runs: look 1 is due at 464 runs; run 3 more"),
    ],
)
def test_too_few_runs_are_skipped_without_a_number(said, runs, fired, detail):
    claims, reason = said(runs, fired)
    verdict = claims[BELOW]
    assert (verdict.outcome, verdict.reason, verdict.detail) == (Outcome.SKIP, Reason.UNDERPOWERED, detail)
    assert (verdict.estimate, verdict.numerator, verdict.interval) == (None, None, None)
    assert (claims[COVERED].outcome, claims[COVERED].reason) == (Outcome.SKIP, Reason.UNDERPOWERED)
    assert reason == f"{detail}."


def test_five_fires_fail_with_an_interval_that_holds_whenever_one_stops(said, shipped):
    claims, reason = said(300, first_runs(5))
    verdict = claims[BELOW]
    assert (verdict.outcome, verdict.reason) == (Outcome.FAIL, Reason.THRESHOLD_MISSED)
    assert verdict.interval == findings(log_where(300, first_runs(5)), shipped).anytime
    assert verdict.detail == "5 fires in 5 runs: from 5 fires on nothing more is run, and look 1 is not waited for"
    assert reason.endswith("Keep it, and find out what changes the plans of these runs.")
    assert claims[COVERED].outcome is Outcome.SKIP


def test_a_last_look_that_does_not_show_it_fails(shipped):
    """A later stop than the plan's lets the look itself say no."""
    looks = tuple(look.model_copy(update={"stop_at": look.stop_at + 9}) for look in shipped.test.looks)
    patient = shipped.model_copy(update={"test": shipped.test.model_copy(update={"looks": looks})})
    found = findings(log_where(3000, range(1, 3000, 140)), patient)
    verdict = verdicts(found, patient)[0]
    assert (found.fires, verdict.outcome) == (22, Outcome.FAIL)
    assert verdict.detail == "22 fires in 3000 runs: look 2 shows the rate to lie below 1 % with 19 fires at the most"
    assert verdict.interval == found.course.looks[-1].interval


def test_contexts_that_were_run_are_covered(said):
    verdict = said(464)[0][COVERED]
    assert (verdict.outcome, verdict.estimate, verdict.threshold) == (Outcome.PASS, 1, 1)
    assert verdict.detail == "all 8 contexts have the 58 runs of look 1, or more"


def test_contexts_that_lack_runs_keep_the_rate_from_being_said(shipped):
    log = log_where(480)
    rows = tuple(
        row.model_copy(update={"context": "bug" if row.context == "cicd" else row.context}) for row in log.rows
    )
    found = findings(type(log)(rows, simulated=False), shipped)
    below, covered, _ = verdicts(found, shipped)
    assert (below.outcome, below.reason, below.estimate) == (Outcome.SKIP, Reason.UNCOVERED, None)
    assert below.detail == "0 fires in 480 runs: look 1 waits for contexts with fewer than 58 runs; run 58 of cicd"
    assert (covered.outcome, covered.reason, covered.estimate) == (Outcome.FAIL, Reason.UNCOVERED, Fraction(7, 8))
    assert covered.detail == "7 of 8 contexts have the 58 runs of look 1; run 58 of cicd"


@pytest.mark.parametrize(
    ("runs", "fired", "outcome", "reason", "detail"),
    [
        (200, (), Outcome.SKIP, Reason.UNDERPOWERED, "10 batches of 20 runs, and 12 make the limits; run more"),
        (400, (), Outcome.SKIP, Reason.NOT_MEASURED, "the first 12 points are all 0, so that any other"),
        (400, [50], Outcome.SKIP, Reason.NOT_MEASURED, "the limits of the first 12 batches let no single fire pass"),
        (400, [25, 165, 300], Outcome.SKIP, Reason.NOT_MEASURED, "most of the first 12 batches hold no fire"),
        (400, range(21, 400, 40), Outcome.PASS, None, "0 of 20 batches call for a cause"),
        (400, [*range(21, 400, 40), 302, 303, 304], Outcome.WARN, Reason.DRIFT, "1 of 20 batches call for a cause"),
    ],
)
def test_the_chart_speaks_only_where_it_can_tell(said, runs, fired, outcome, reason, detail):
    verdict = said(runs, fired)[0][STEADY]
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    assert verdict.detail.startswith(detail)
