"""The document is plain, whole, and says where each constant comes from."""

import json

import pytest

from eval_pipeline.document import document_bytes
from eval_pipeline.studies.fire_rate.document import document
from eval_pipeline.studies.fire_rate.findings import findings
from eval_pipeline.studies.fire_rate.generator import generated
from tests.studies.fire_rate.made_up import log_where


@pytest.fixture(scope="module")
def shipped_document(shipped):
    return document(findings(generated(shipped), shipped), None, shipped)


def test_the_document_has_the_keys_of_every_closed_loop(shipped_document):
    assert list(shipped_document) == [
        "study", "plan", "generation", "simulated", "claims", "decision", "findings", "held_out", "constants", "charts",
        "settled",
    ]  # fmt: skip
    assert json.loads(document_bytes(shipped_document)) == shipped_document


def test_the_generated_log_is_rarely_reached_at_look_2(shipped_document):
    assert shipped_document["simulated"] is True
    assert shipped_document["decision"]["word"] == "fallback_rarely_reached"
    assert [(one["number"], one["fires"], one["shown"]) for one in shipped_document["findings"]["looks"]] == [
        (1, 1, False),
        (2, 6, True),
    ]
    assert [one["outcome"] for one in shipped_document["claims"]] == ["pass", "pass", "skip"]
    assert shipped_document["held_out"] is None


def test_a_generated_log_makes_no_constant_and_a_real_one_names_its_data(shipped_document, shipped):
    assert all(one["heuristic"] for one in shipped_document["constants"])
    assert shipped_document["constants"][1]["data"] is None
    log = log_where(464)
    margin, rate = document(findings(log, shipped), None, shipped)["constants"]
    assert (margin["name"], margin["value"], margin["heuristic"]) == ("margin", 0.01, True)
    assert (rate["value"], rate["n"], rate["data"]) == (0.0, 464, log.hash)


def test_two_documents_of_one_log_are_one(shipped_document, shipped):
    again = document(findings(generated(shipped), shipped), None, shipped)
    assert document_bytes(again) == document_bytes(shipped_document)
