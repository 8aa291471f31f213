"""The verdict as a document: the same bytes for the same evidence, and null wherever a number may not be stated."""

import json
from dataclasses import replace

import pytest

from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import unread
from eval_pipeline.document import document_bytes
from eval_pipeline.records import Reason
from eval_pipeline.seal import seal_of
from eval_pipeline.studies.extraction.bands import band_ledger
from eval_pipeline.studies.extraction.document import verdict_document
from eval_pipeline.studies.extraction.fixture import pinned_fixture

STATED_OF_UNIFORMITY = ("first_less_last", "upper_bound", "slope_per_quartile")
STATED_OF_THE_GUARD = ("interval", "p_value", "reading")


@pytest.fixture(scope="session")
def document_of(run_study):
    """The document of a study, as one reads it from its bytes."""

    def document(world, plan, judge=None):
        study = run_study(world, plan, judge)
        written = verdict_document(
            (study.recall, study.uniformity, study.guard),
            study.evidence,
            band_ledger(world.snapshot),
            seal=seal_of(plan),
            plan_name=plan.name,
            versions={"numpy": "2"},
        )
        return json.loads(document_bytes(written))

    return document


@pytest.fixture(scope="session")
def world(counted, spanned, note, world_of):
    """Four notes with a loss at the end, one without signals, one with spans; and rows that were left out."""
    notes = [
        *(counted(f"e{k}", (2, 2, 1, 1), (2, 2, 2, 2), band="triage") for k in range(4)),
        note("mute", {}, [(1, "x")]),
    ]
    built = world_of([*notes, spanned("s", spans=20, supported=19)])
    return replace(built, snapshot=replace(built.snapshot, left_out=LeftOut(1, 2, 3, 4)))


def test_a_document_says_the_numbers_of_the_study(world, lenient, document_of):
    document = document_of(world, lenient)
    recall, uniformity, guard = document["claims"]
    # Of 4 entries 6 of 8 propositions are recovered, and the mute entry's one is missed: 24/33, under .80.
    assert (recall["claim"], recall["outcome"], recall["reason"]) == ("pooled_recall", "fail", "threshold_missed")
    assert (recall["numerator"], recall["denominator"]) == (24, 33)
    assert recall["estimate"] == round(24 / 33, 10)
    assert (recall["level"], recall["threshold"], recall["advisory"]) == (0.95, 0.8, False)
    assert (uniformity["claim"], uniformity["interval"][0]) == ("positional_uniformity", None)
    assert uniformity["estimate"] == round(8 / 9 - 1 / 2, 10)
    assert (guard["estimate"], guard["outcome"]) == (0.95, "pass")
    assert [(q["quartile"], q["hits"], q["judged"], q["undecided"]) for q in document["quartiles"]] == [
        (1, 8, 9, 0),
        (2, 8, 8, 0),
        (3, 4, 8, 0),
        (4, 4, 8, 0),
    ]
    assert document["findings"]["recall"]["macro"] == round(4 * 0.75 / 5, 10)
    assert document["findings"]["signals_per_entry"][1] == {
        "band": "triage",
        "entries": 4,
        "entries_with_signals": 4,
        "signals": 4,
        "signals_per_entry": 1.0,
    }


def test_a_document_says_what_the_frame_held_and_what_was_left_out(world, lenient, document_of):
    frame = document_of(world, lenient)["frame"]
    assert frame["left_out"] == {
        "deleted_entries": 1,
        "deleted_signals": 2,
        "orphan_signals": 3,
        "blank_signals": 4,
    }
    assert (frame["entries"], frame["entries_judged"], frame["entries_without_signals"]) == (5, 5, 1)
    assert (frame["propositions"], frame["propositions_in"], frame["spans"]) == (33, 33, 20)
    assert frame["calls_at_most"] == 32 * 2 + 20
    assert frame["entries_dense"] is None


def test_a_document_names_what_it_rests_on(world, lenient, document_of, scripted):
    document = document_of(world, lenient, scripted(world.says, kind="labels"))
    assert document["hashes"] == {
        "corpus": world.snapshot.hash,
        "fixture": world.fixture.hash,
        "plan": seal_of(lenient),
        "human_check": None,
    }
    assert (document["judge"]["kind"], document["judge"]["standing"]) == ("labels", "oracle")
    assert document["judge"]["identity"] == {"kind": "labels"}
    assert (document["plan"], document["versions"]) == ("extraction", {"numpy": "2"})


def test_two_runs_on_the_same_evidence_give_the_same_document(world, lenient, document_of):
    assert document_bytes(document_of(world, lenient)) == document_bytes(document_of(world, lenient))


def test_how_many_questions_were_in_flight_leaves_no_trace(world, lenient, document_of, scripted):
    one, many = (document_of(world, lenient, scripted(world.says, in_flight=n)) for n in (1, 16))
    assert one == many


def test_a_withheld_claim_states_no_estimate_anywhere(world, lenient, document_of, scripted):
    document = document_of(world, lenient, scripted(lambda question: "?"))
    recall, uniformity, guard = document["claims"]
    findings = document["findings"]
    for claim in (recall, uniformity, guard):
        assert (claim["estimate"], claim["interval"], claim["numerator"], claim["level"]) == (None,) * 4
        assert claim["reason"] == "untrustworthy"
    assert {(q["estimate"], q["interval"]) for q in document["quartiles"]} == {(None, None)}
    assert (findings["recall"]["macro"], findings["recall"]["pooled"]["estimate"]) == (None, None)
    assert [findings["uniformity"][name] for name in STATED_OF_UNIFORMITY] == [None] * 3
    assert [findings["guard"][name] for name in STATED_OF_THE_GUARD] == [None] * 3
    assert findings["guard"]["undecided"] == 20


def test_a_judge_that_went_down_leaves_counts_and_no_estimate(world, lenient, document_of, scripted):
    """It answers all the propositions, and not all the spans: everything could be computed, and nothing is stated."""
    document = document_of(world, lenient, scripted(world.says, down_after=65))
    findings = document["findings"]
    assert [claim["reason"] for claim in document["claims"]] == ["judge_down"] * 3
    assert [(q["hits"], q["judged"]) for q in document["quartiles"]] == [(8, 9), (8, 8), (4, 8), (4, 8)]
    assert {q["estimate"] for q in document["quartiles"]} == {None}
    assert {group["interval"] is None for group in findings["recall"]["by_band"]} == {True}
    assert [findings["uniformity"][name] for name in STATED_OF_UNIFORMITY] == [None] * 3
    assert [findings["guard"][name] for name in STATED_OF_THE_GUARD] == [None] * 3
    assert findings["uniformity"]["valid"] == 1000


def test_uniformity_alone_may_be_withheld(counted, world_of, lenient, document_of):
    thin = world_of(counted(f"e{k}", (1, 1, 1, 0), (1, 1, 1, 0)) for k in range(4))
    document = document_of(thin, lenient)
    assert document["claims"][0]["estimate"] == 1.0
    assert document["findings"]["uniformity"]["first_less_last"] is None
    assert document["quartiles"][0]["estimate"] == 1.0
    assert document["quartiles"][3]["estimate"] is None


def test_the_worst_case_is_always_printed(world, lenient, document_of, scripted):
    silent = {"e0 tells 1.0", "e0 tells 4.1"}
    judge = scripted(lambda question: "?" if question.hypothesis in silent else world.says(question))
    # One of the two was recovered and one missed: 23 recovered of 31 judged, 2 undecided of 33.
    assert document_of(world, lenient, judge)["findings"]["recall"]["worst_case"] == [
        round(23 / 33, 10),
        round(25 / 33, 10),
    ]
    assert document_of(world, lenient, scripted(lambda q: "?"))["findings"]["recall"]["worst_case"] == [
        0.0,
        round(32 / 33, 10),
    ]


@pytest.mark.parametrize("silent", ["e0 tells 1.0", "e0"], ids=["one-proposition", "one-entry"])
def test_judged_and_undecided_add_up_to_the_frame_wherever_they_stand(world, lenient, document_of, scripted, silent):
    judge = scripted(lambda question: "?" if question.hypothesis.startswith(silent) else world.says(question))
    document = document_of(world, lenient, judge)
    size, pooled = document["frame"]["propositions_in"], document["findings"]["recall"]["pooled"]
    assert sum(quartile["judged"] + quartile["undecided"] for quartile in document["quartiles"]) == size
    assert pooled["judged"] + pooled["undecided"] == size


def test_an_unread_corpus_gives_a_document_of_nulls(world, lenient, document_of):
    lost = replace(world, snapshot=unread(Reason.CORPUS_UNREACHABLE, "down", source="x"))
    document = document_of(lost, lenient)
    assert [claim["reason"] for claim in document["claims"]] == ["corpus_unreachable"] * 3
    assert document["hashes"]["corpus"] is None
    guard = document["findings"]["guard"]
    assert (guard["signals"], guard["spans"], guard["faults"], guard["status"]) == (None, None, None, "unknown")
    assert document["findings"]["recall"]["worst_case"] is None


def test_a_missing_fixture_has_no_hash(world, lenient, document_of):
    document = document_of(replace(world, fixture=pinned_fixture(None)), lenient)
    assert document["hashes"]["fixture"] is None
    assert [claim["outcome"] for claim in document["claims"]] == ["skip", "skip", "pass"]


def test_broken_spans_are_counted_by_kind(world, lenient, document_of):
    first, *rest = world.snapshot.signals
    reversed_span = replace(rest[-1], start=9, end=3)
    broken = replace(world, snapshot=replace(world.snapshot, signals=(first, *rest[:-1], reversed_span)))
    assert document_of(broken, lenient)["findings"]["guard"]["faults"] == {"reversed": 1}
