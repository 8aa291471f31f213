"""Nothing is read, and nothing is counted, until an event that was put in on purpose is counted."""

from pathlib import Path

import pytest

from eval_pipeline.errors import EvidenceRefused
from eval_pipeline.plan import parse_plan
from eval_pipeline.studies.fire_rate import events
from eval_pipeline.studies.fire_rate.events import KINDS
from eval_pipeline.studies.fire_rate.findings import findings
from eval_pipeline.studies.fire_rate.plan import FireRatePlan
from eval_pipeline.studies.fire_rate.preflight import AS_WRITTEN, require_counted
from eval_pipeline.studies.fire_rate.study import STUDY
from tests.studies.fire_rate.made_up import log_where

MISSPELT = "[self_check] plan mismatch detected - mismatch_kind:content_mutation"


def test_the_events_as_they_are_written_are_counted():
    assert require_counted(AS_WRITTEN) == KINDS


@pytest.mark.parametrize(
    ("text", "as_what"),
    [
        (MISSPELT, "not counted"),
        ("[self_check] mismatch: content_mutation", "not counted"),
        ("", "not counted"),
        (AS_WRITTEN["ordering_regression"], "counted as ordering_regression"),
    ],
)
def test_an_event_that_is_not_counted_as_its_kind_stops_everything(text, as_what):
    with pytest.raises(EvidenceRefused) as refusal:
        require_counted(dict(AS_WRITTEN) | {"content_mutation": text})
    said = str(refusal.value)
    assert said.startswith("injected event of kind 'content_mutation': found ")
    assert f"{as_what}, expected it counted as content_mutation; nothing is read until the text is as the" in said


def test_a_reader_that_looks_for_another_text_opens_no_file(monkeypatch):
    """There is no such file: that it is not missed shows that it was not looked for."""
    monkeypatch.setattr(events, "PREFIX", "[self_check] plan drift — mismatch_kind:")
    with pytest.raises(EvidenceRefused, match="injected event of kind 'content_mutation'"):
        STUDY.read(Path("/nowhere/log.jsonl"))


def test_a_pipeline_that_writes_another_text_has_nothing_counted(shipped):
    values = shipped.model_dump(mode="json")
    injected = values["preflight"]["injected"] | {"content_mutation": MISSPELT}
    plan = parse_plan(values | {"preflight": {"injected": injected}}, FireRatePlan, "plan 'mine'")
    with pytest.raises(EvidenceRefused, match="not counted, expected it counted as content_mutation"):
        findings(log_where(8), plan)
