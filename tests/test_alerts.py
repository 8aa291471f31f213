"""Alerts: what is told, in which words, and that it is told."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.alerts import OPERATIONAL, Evaluation, Event, Standing, event_of, payload, post, standing_after
from eval_pipeline.errors import AlertNotDelivered
from eval_pipeline.records import Outcome, Reason
from tests.receiver import receiving

FAIL = Evaluation(
    key="run-1:7:extraction_verdict:positional_uniformity:",
    study="extraction",
    asset="extraction_verdict",
    check="positional_uniformity",
    subject="",
    passed=False,
    severe=True,
    outcome=Outcome.FAIL,
    reason="threshold_missed",
    detail="recall falls",
    estimate=0.2298,
    threshold=0.1,
    run="run-1234567890",
    at="2026-11-30T02:00:00+00:00",
)


@pytest.mark.parametrize(
    ("changes", "standing"),
    [
        ({}, Standing.BREACH),
        ({"outcome": Outcome.PASS, "reason": None}, Standing.GOOD),
        ({"outcome": Outcome.WARN, "reason": "uncalibrated"}, Standing.GOOD),
        ({"outcome": Outcome.SKIP, "reason": "judge_down"}, Standing.BREACH),
        ({"outcome": Outcome.SKIP, "reason": "seal_broken"}, Standing.BREACH),
        ({"outcome": Outcome.SKIP, "reason": "underpowered"}, Standing.OPEN),
        ({"outcome": Outcome.SKIP, "reason": None}, Standing.OPEN),
        ({"outcome": None}, Standing.BREACH),
        ({"outcome": None, "passed": True}, Standing.GOOD),
        ({"outcome": None, "severe": False}, Standing.OPEN),
    ],
)
def test_a_breach_is_a_fail_a_broken_seal_or_a_skip_that_somebody_must_mend(
    changes: dict[str, Any], standing: Standing
) -> None:
    assert replace(FAIL, **changes).standing is standing


def test_a_skip_for_want_of_evidence_wakes_nobody_and_one_for_what_is_broken_does() -> None:
    """Each reason was put on one side; what a new one is must be decided here too."""
    statistical = {
        "underpowered", "thin_quartiles", "span_pending", "uncalibrated", "not_measured", "not_shown",
        "raters_disagree", "judge_errors", "undecided", "unrepeatable", "uncovered", "raters_flagged", "drift",
        "rubric_gaps", "no_bar", "depth", "dependent", "no_variation", "threshold_missed",
    }  # fmt: skip
    assert {reason.value for reason in Reason} == statistical | {reason.value for reason in OPERATIONAL}
    assert not statistical & OPERATIONAL


@given(st.lists(st.sampled_from(["fail", "pass", "warn", "skip"]), max_size=30))
def test_a_recovery_is_told_once_after_each_row_of_breaches_and_a_breach_each_time(outcomes: list[str]) -> None:
    """What is open changes nothing: without it the events are the breaches, and the first good one after them."""
    standing, told = None, []
    for outcome in outcomes:
        one = replace(FAIL, outcome=Outcome(outcome), reason=None)
        told.append(event_of(one, standing))
        standing = standing_after(one, standing)
    closed = [outcome for outcome in outcomes if outcome != "skip"]
    expected = [
        Event.BREACH if outcome == "fail" else Event.RECOVERY if place and closed[place - 1] == "fail" else None
        for place, outcome in enumerate(closed)
    ]
    assert [event for event, outcome in zip(told, outcomes, strict=True) if outcome != "skip"] == expected
    assert all(event is None for event, outcome in zip(told, outcomes, strict=True) if outcome == "skip")


def test_the_line_for_people_says_what_where_and_by_how_much_and_the_fields_say_it_to_programs() -> None:
    body = payload(Event.BREACH, FAIL)
    assert body["text"] == (
        "BREACH extraction: positional_uniformity fail (threshold_missed), estimate 0.2298, bar 0.1. recall falls"
        " [run run-1234]"
    )
    fields = {name: body[name] for name in ("event", "study", "check", "outcome", "reason", "estimate", "evaluation")}
    assert fields == {
        "event": "breach", "study": "extraction", "check": "positional_uniformity", "outcome": "fail",
        "reason": "threshold_missed", "estimate": 0.2298, "evaluation": FAIL.key,
    }  # fmt: skip
    assert payload(Event.RECOVERY, replace(FAIL, outcome=None, reason=None, subject="tags", estimate=None))[
        "text"
    ].startswith("RECOVERY extraction: positional_uniformity of tags passed, bar 0.1.")


def test_no_text_of_the_data_is_a_link_or_a_mention_where_it_is_shown() -> None:
    body = payload(Event.BREACH, replace(FAIL, detail="<!channel> & <http://127.0.0.1|here>"))
    assert "&lt;!channel&gt; &amp; &lt;http://127.0.0.1|here&gt;" in body["text"]
    assert body["detail"] == "<!channel> & <http://127.0.0.1|here>"


def test_a_post_is_one_request_under_the_key_of_its_evaluation() -> None:
    with receiving() as receiver:
        post(receiver.url, payload(Event.BREACH, FAIL))
    assert [body["check"] for body in receiver.taken] == ["positional_uniformity"]
    assert receiver.keys == [FAIL.key]


@pytest.mark.parametrize("status", [302, 400, 404, 429, 500, 503])
def test_an_answer_other_than_2xx_is_no_delivery_and_the_secret_path_is_not_shown(status: int) -> None:
    with receiving() as receiver:
        receiver.status = status
        with pytest.raises(AlertNotDelivered, match=rf"did not take an alert \(it answered {status}\)") as refusal:
            post(receiver.url, payload(Event.BREACH, FAIL))
    assert "hook-4e1f7c" not in str(refusal.value)


@pytest.mark.parametrize(
    "address", ["", "here", "http://", "ftp://127.0.0.1/x", "http://[::1", "http://127.0.0.1:99999/x"]
)
def test_what_is_no_address_is_refused_in_one_sentence(address: str) -> None:
    with pytest.raises(AlertNotDelivered, match=r"^the webhook is no http or https address with a host"):
        post(address, payload(Event.BREACH, FAIL))


def test_a_receiver_that_is_not_there_is_named_by_its_host_alone() -> None:
    with receiving() as receiver:
        url = receiver.url
    with pytest.raises(AlertNotDelivered) as refusal:
        post(url, payload(Event.BREACH, FAIL))
    assert str(refusal.value) == f"the webhook at {url.rsplit('/', 1)[0]} did not take an alert (ConnectError)"
