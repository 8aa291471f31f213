"""Each claim in each of its outcomes, with its reason and the number that decides."""

from dataclasses import replace
from fractions import Fraction

import pytest

from eval_pipeline.loop import Chart, Signal
from eval_pipeline.records import Outcome, Reason
from eval_pipeline.studies.retry_limit.findings import Delivery, Findings, findings
from eval_pipeline.studies.retry_limit.generator import generated_log
from eval_pipeline.studies.retry_limit.held_out import HeldOutFindings, after, replayed
from eval_pipeline.studies.retry_limit.limit import Rung, decide
from eval_pipeline.studies.retry_limit.verdict import CLAIMS, verdicts
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, runs_in, section

PLAN = amended(SHIPPED, generated={"inputs": 140})
PASS, WARN, FAIL, SKIP = Outcome.PASS, Outcome.WARN, Outcome.FAIL, Outcome.SKIP


@pytest.fixture(scope="module")
def found() -> Findings:
    """2,240 sections of the default truth: enough of them, and a limit is found with a few more failures of it."""
    made = findings(generated_log(PLAN), PLAN)
    assert made.counted.sections >= made.preflight.required
    return with_evidence(made, rungs=(Rung(1, 0.6, 0.7), Rung(2, 0.01, 0.03)))


def with_evidence(made: Findings, **changes: object) -> Findings:
    """The findings with other evidence, and the decision that follows."""
    evidence = replace(made.evidence, **changes)
    return replace(made, evidence=evidence, decision=decide(evidence, PLAN))


def replay_of(made: Findings, *paths: str, runs: int = 10) -> HeldOutFindings:
    """Held-out runs that all have these sections."""
    sections = [section(run, f"s{k}", path) for run in runs_in(WITH, runs) for k, path in enumerate(paths)]
    replay = replayed(sections, 2, amended(PLAN, replay={"resamples": 1000}))
    return HeldOutFindings("0" * 64, replay, after(made.decision, replay, PLAN))


def claims(made: Findings, held: HeldOutFindings | None = None):
    """The claims by their names."""
    given = verdicts(made, held, PLAN)
    assert [one.claim for one in given] == list(CLAIMS)
    for one in given:
        assert (one.outcome is PASS) == (one.reason is None)
        assert not one.detail.endswith(".")
        if one.outcome is SKIP:
            assert one.estimate is None
    return {one.claim: one for one in given}


def standing(one):
    return one.outcome, one.reason


def test_all_claims_may_pass(found):
    given = claims(found, replay_of(found, "p", "rp"))
    assert {standing(one) for one in given.values()} == {(PASS, None)}
    assert given["limit_shown"].estimate == 0.01
    assert (given["limit_shown"].interval.low, given["limit_shown"].interval.high) == (None, 0.03)
    assert given["feedback_helps"].estimate == found.comparison.rate_ratio > 1
    assert given["feedback_helps"].threshold == 1
    assert given["held_out_no_worse"].threshold == Fraction(-1, 50)
    assert given["enough_sections"].estimate == 2240
    assert given["enough_sections"].threshold == found.preflight.required


def test_too_few_sections_decide_nothing(found):
    few = with_evidence(found, sections=100)
    given = claims(replace(few, counted=replace(found.counted, sections=100)))
    for claim in ("enough_sections", "feedback_helps", "limit_shown", "held_out_no_worse"):
        outcome = (SKIP, Reason.NOT_MEASURED if claim == "held_out_no_worse" else Reason.UNDERPOWERED)
        assert standing(given[claim]) == outcome
    assert "100 sections of" in given["enough_sections"].detail
    held = claims(few, replay_of(few, "p"))["held_out_no_worse"]
    assert standing(held) == (SKIP, Reason.UNDERPOWERED)


def test_no_size_that_is_enough_is_a_skip_with_its_reason(found):
    none = replace(found.preflight, required=None, why="all sections are in one arm; run until both have some")
    given = claims(replace(with_evidence(found, required=None), preflight=none))
    assert standing(given["enough_sections"]) == (SKIP, Reason.UNDERPOWERED)
    assert given["enough_sections"].detail == none.why


def test_hardly_any_first_failures_hold_the_limit(found):
    given = claims(with_evidence(found, first_failing=Fraction(1, 100)))
    assert standing(given["enough_sections"]) == (SKIP, Reason.NOT_MEASURED)
    assert standing(given["feedback_helps"]) == (SKIP, Reason.UNDERPOWERED)


def test_a_broken_mechanism_fails_and_leaves_no_limit(found):
    broken = with_evidence(found, p_value=0.4)
    given = claims(broken, replay_of(broken, "p"))
    assert standing(given["feedback_helps"]) == (FAIL, Reason.MECHANISM_BROKEN)
    assert standing(given["limit_shown"]) == (SKIP, Reason.MECHANISM_BROKEN)
    assert standing(given["held_out_no_worse"]) == (SKIP, Reason.MECHANISM_BROKEN)
    assert standing(given["enough_sections"]) == (PASS, None)


def test_feedback_that_does_harm_fails(found):
    tests = replace(found.comparison, faster=WITHOUT, rate_ratio=0.7)
    given = claims(replace(with_evidence(found, faster=WITHOUT), comparison=tests))
    assert standing(given["feedback_helps"]) == (FAIL, Reason.THRESHOLD_MISSED)
    assert given["feedback_helps"].estimate == 0.7


@pytest.mark.parametrize(
    ("rungs", "reason", "estimate"),
    [
        ((Rung(1, 0.5, 0.6), Rung(2, 0.04, 0.06)), Reason.NOT_SHOWN, 0.04),
        ((Rung(1, 0.5, 0.6), Rung(2, 0.04, None)), Reason.NOT_SHOWN, 0.04),
        ((Rung(1, 0.5, 0.6),), Reason.THRESHOLD_MISSED, None),
    ],
)
def test_a_limit_that_is_not_shown_is_a_warning(found, rungs, reason, estimate):
    kept = with_evidence(found, rungs=rungs)
    given = claims(kept, replay_of(kept, "p"))
    assert standing(given["limit_shown"]) == (WARN, reason)
    assert given["limit_shown"].estimate == estimate
    assert standing(given["held_out_no_worse"]) == (SKIP, Reason.NOT_SHOWN)


def test_a_limit_that_loses_in_held_out_runs_fails(found):
    one = claims(found, replay_of(found, *["p"] * 9, "rrp"))["held_out_no_worse"]
    assert standing(one) == (FAIL, Reason.THRESHOLD_MISSED)
    assert one.estimate == Fraction(-1, 10)
    assert one.detail.startswith("90 of 100 held-out sections pass within 2 attempts and 100 within 3")


def test_held_out_runs_that_cannot_say_are_a_skip(found):
    one = claims(found, replay_of(found, "p", runs=1))["held_out_no_worse"]
    assert standing(one) == (SKIP, Reason.UNDERPOWERED)


@pytest.mark.parametrize(
    ("made", "outcome"),
    [
        (Delivery(100, 2), (PASS, None)),
        (Delivery(100, 3), (FAIL, Reason.THRESHOLD_MISSED)),
        (Delivery(0, 0), (SKIP, Reason.NOT_MEASURED)),
    ],
)
def test_what_strays_from_the_arms_has_a_bar(found, made, outcome):
    assert standing(claims(replace(found, delivery=made))["feedback_delivered"]) == outcome


def test_a_chart_that_signals_is_a_warning_and_one_without_limits_a_skip(found):
    signals = replace(found.chart, signals=(Signal(3, "beyond_limits"),))
    assert standing(claims(replace(found, chart=signals))["first_failures_stable"]) == (WARN, Reason.DRIFT)
    none = Chart("first_failures", "xmr", (0.3,), None, (), (), (), 12, "1 batch, and 12 make the limits")
    assert standing(claims(replace(found, chart=none))["first_failures_stable"]) == (SKIP, Reason.UNDERPOWERED)
