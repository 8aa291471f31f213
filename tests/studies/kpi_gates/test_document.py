"""The document: whole, plain, and each constant with where it comes from."""

import json
from dataclasses import replace
from datetime import date

from eval_pipeline.document import document_bytes
from eval_pipeline.records import Reason
from eval_pipeline.report.closed_loop import as_html
from eval_pipeline.report.reasons import REASON_WORDS
from eval_pipeline.studies.kpi_gates.document import SCRIPT, constants, document_of
from eval_pipeline.studies.kpi_gates.promoted import gates_of
from eval_pipeline.studies.kpi_gates.verdict import gates_after
from tests.studies.kpi_gates.made_up import SHIPPED, default_comparison, default_findings

KEYS = [
    "study",
    "plan",
    "generation",
    "simulated",
    "claims",
    "decision",
    "findings",
    "held_out",
    "constants",
    "charts",
    "settled",
]
MEASURED = replace(default_findings(), simulated=False)


def test_the_document_has_its_keys_and_is_the_same_each_time():
    found = document_of(default_findings(), default_comparison(), SHIPPED)
    assert list(found) == KEYS
    assert found["simulated"] is True
    again = document_of(default_findings(), default_comparison(), SHIPPED)
    assert document_bytes(found) == document_bytes(again)
    assert json.loads(document_bytes(found)) == found


def test_a_constant_says_where_it_comes_from_or_is_a_heuristic():
    gates = gates_after(MEASURED, default_comparison())
    found = {one.name: one for one in constants(MEASURED, gates)}
    assert {name for name, one in found.items() if not one.heuristic} == {
        gate.name for gate in gates if gate.standing.promoted
    }
    one = found["iteration_count_max"]
    assert (one.script, one.n, one.data) == (SCRIPT, MEASURED.baseline, MEASURED.observations)
    assert one.computed_on == MEASURED.last_of_baseline.date() <= date(2026, 10, 15)
    plain = document_of(MEASURED, default_comparison(), SHIPPED)["constants"][0]
    assert (plain["computed_on"], plain["heuristic"]) == (one.computed_on.isoformat(), False)


def test_what_generated_runs_gave_is_a_heuristic():
    assert all(one["heuristic"] for one in document_of(default_findings(), default_comparison(), SHIPPED)["constants"])


def test_the_file_of_gates_in_the_document_loads_to_the_gates_in_force():
    found = json.loads(document_bytes(document_of(MEASURED, default_comparison(), SHIPPED)))
    loaded = gates_of(found["findings"]["gate_file"], SHIPPED, "gates")
    in_force = {one["gate"] for one in found["findings"]["gates"] if one["standing"] == "promoted"}
    assert set(loaded.promoted) == in_force
    before = json.loads(document_bytes(document_of(MEASURED, None, SHIPPED)))
    assert gates_of(before["findings"]["gate_file"], SHIPPED, "gates").promoted == ()


def test_the_chance_of_a_false_alarm_stands_beside_what_was_observed():
    family = document_of(default_findings(), default_comparison(), SHIPPED)["findings"]["family"]
    assert family["if_independent_at_anchor"] == 0.3697505903
    assert family["calibrated"]["share"] < family["alarms_at_most"] < family["at_anchor"]["share"]
    assert family["runs_needed"] == 663


def test_every_reason_has_words_and_the_page_can_be_written():
    assert {reason.value for reason in (Reason.BASELINE_CHANGED, Reason.NO_VARIATION)} <= set(REASON_WORDS)
    document = document_of(default_findings(), default_comparison(), SHIPPED)
    hashes = {"plan": "0" * 64, "observations": "0" * 64, "partition": "0" * 64}
    page = as_html(document | {"hashes": hashes, "charts": document["charts"][:1]})
    assert "iteration_count" in page


def test_a_document_without_held_out_runs_has_none():
    found = document_of(default_findings(), None, SHIPPED)
    assert found["held_out"] is None
    assert found["decision"]["word"] == "pending"
