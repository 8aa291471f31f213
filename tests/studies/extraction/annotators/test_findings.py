"""Two annotators from end to end: refused with a reason, or aligned, held against each other and written down."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from eval_pipeline.bundled import bundled
from eval_pipeline.corpus.snapshot import unread
from eval_pipeline.corpus.source import SAMPLE, pinned
from eval_pipeline.document import document_bytes
from eval_pipeline.evidence import json_bytes, read_json
from eval_pipeline.judge.offline import LexicalJudge, read_labels, read_replay
from eval_pipeline.judge.protocol import Standing
from eval_pipeline.judge.spending import CapReached, Spending
from eval_pipeline.records import NoLabel, Reason
from eval_pipeline.studies.extraction.annotators.document import annotators_document
from eval_pipeline.studies.extraction.annotators.findings import AnnotatorFindings, annotators_in_journal
from eval_pipeline.studies.extraction.fixture import Fixture, pinned_fixture, read_fixture
from tests.studies.extraction.annotators.two_annotators import in_silence, same_claim, wrote


@pytest.fixture
def findings(tmp_path):
    """The findings of a run, each with a journal of its own unless a folder is named."""

    def findings(first, second, snapshot, judge, plan, *, journals=None, run="run", resume=False):
        journals = journals or tmp_path
        return annotators_in_journal(
            first, second, snapshot, judge, plan, journals=journals, run=run, resume=resume, progress=in_silence
        )

    return findings


@pytest.fixture
def model(scripted):
    """A judge that is no oracle, under which everything is the same claim that is called so, or what it is told."""

    def model(says=same_claim, **about):
        return scripted(says, standing=Standing.UNCALIBRATED, **about)

    return model


@pytest.fixture(scope="session")
def world(counted, world_of):
    """Three entries whose four propositions each are all recovered."""
    return world_of(counted(f"e{k}") for k in range(3))


@pytest.fixture(scope="session")
def reworded(world):
    """The propositions of the world as another annotator words them."""
    return wrote(*((p.entry_id, p.quartile, f"{p.text}: in other words") for p in world.fixture.propositions))


def anything(world):
    """A judge's words: a signal supports all of its entry, and propositions are the same that are called the same."""

    def says(question):
        texts = question.premise if isinstance(question.premise, tuple) else (question.premise,)
        told = any(text.startswith("what ") for text in texts)
        return "SUPPORTED" if told else same_claim(question)

    return says


def test_two_annotators_are_aligned_held_against_each_other_and_judged(world, reworded, lenient, model, findings):
    judge = model(anything(world))
    found = findings(world.fixture, reworded, world.snapshot, judge, lenient)
    assert found.refusal is None
    assert (found.first_hash, found.second_hash) == (world.fixture.hash, reworded.hash)
    assert (found.agreement.matched, found.agreement.inclusion.estimate) == (12, 1)
    assert [on.judged for on in found.sensitivity.bases] == [12] * 4
    assert judge.closed


def refused(found, reason, words):
    assert (found.agreement, found.sensitivity) == (None, None)
    assert found.refusal.reason is reason
    assert words in found.refusal.detail


def test_a_file_that_is_missing_or_malformed_refuses_before_anything_is_asked(
    world, lenient, model, findings, tmp_path
):
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"entry_id": "a"}\n')
    judge = model(live=False)
    for first, second, reason, words in [
        (pinned_fixture(None), world.fixture, Reason.FIXTURE_MISSING, "of the first annotator: no propositions file"),
        (world.fixture, pinned_fixture(Path("none")), Reason.FIXTURE_MISSING, "of the second annotator: propositions"),
        (world.fixture, pinned_fixture(broken), Reason.FIXTURE_MALFORMED, "of the second annotator: propositions"),
    ]:
        refused(findings(first, second, world.snapshot, judge, lenient), reason, words)
    assert (judge.asked, judge.probes) == ([], 0)


def test_a_corpus_that_was_not_read_refuses_before_anything_is_asked(world, reworded, lenient, model, findings):
    judge = model(live=False)
    gone = unread(Reason.CORPUS_UNREACHABLE, "the database does not answer; start it", source="x")
    refused(findings(world.fixture, reworded, gone, judge, lenient), Reason.CORPUS_UNREACHABLE, "start it")
    assert judge.probes == 0


def test_peoples_labels_cannot_say_what_is_the_same(world, reworded, lenient, scripted, findings):
    judge = scripted(lambda question: "SUPPORTED", standing=Standing.ORACLE)
    found = findings(world.fixture, reworded, world.snapshot, judge, lenient)
    refused(found, Reason.NOT_MEASURED, "not whether two propositions are the same")
    assert judge.asked == []


def test_people_s_labels_judge_annotators_whose_texts_are_identical(world, lenient, scripted, findings):
    shouted = Fixture(tuple(replace(p, text=p.text.upper()) for p in world.fixture.propositions), refusal=None)
    judge = scripted(lambda question: "SUPPORTED", standing=Standing.ORACLE)
    found = findings(world.fixture, shouted, world.snapshot, judge, lenient)
    assert (found.agreement.inclusion.estimate, found.agreement.questions, found.refusal) == (1, 0, None)
    assert [on.recall.outcome for on in found.sensitivity.bases] == ["pass"] * 4


@pytest.mark.parametrize("down", [{"live": False}, {"down_after": 0}, {"down_after": 7}])
def test_a_judge_that_is_down_gives_a_refusal_and_nothing_half_done(world, reworded, lenient, model, findings, down):
    judge = model(**down)
    refused(findings(world.fixture, reworded, world.snapshot, judge, lenient), Reason.JUDGE_DOWN, "start it")
    assert judge.closed


def test_a_cap_that_is_reached_gives_a_refusal_and_nothing_half_done(world, reworded, lenient, model, findings):
    def says(question):
        if question.entry_id == "e2":
            raise CapReached("5 requests", Spending(None))
        return same_claim(question)

    found = findings(world.fixture, reworded, world.snapshot, model(says), lenient)
    refused(found, Reason.CAP_REACHED, "the cap of 5 requests leaves no room")


def test_a_judge_that_goes_down_after_the_alignment_leaves_the_agreement(world, reworded, lenient, model, findings):
    """The alignment takes 24 questions: both directions of 12 pairs."""
    judge = model(anything(world), down_after=25)
    found = findings(world.fixture, reworded, world.snapshot, judge, lenient)
    assert (found.refusal.reason, found.sensitivity) == (Reason.JUDGE_DOWN, None)
    assert (found.agreement.questions, found.agreement.inclusion.estimate) == (24, 1)


def test_a_probe_that_cannot_be_read_stops_it(world, reworded, lenient, model, findings):
    judge = model(probed="well")
    found = findings(world.fixture, reworded, world.snapshot, judge, lenient)
    refused(found, Reason.UNTRUSTWORTHY, "the judge's answer to the probe cannot be read")
    assert judge.asked == []


def test_too_many_answers_without_a_label_are_not_trusted(world, reworded, lenient, model, findings):
    judge = model(lambda question: NoLabel.REFUSED)
    found = findings(world.fixture, reworded, world.snapshot, judge, lenient)
    refused(found, Reason.UNTRUSTWORTHY, "gave no label (")


def test_more_questions_than_the_plan_has_calls_for_are_not_asked(world, reworded, lenient, amended, model, findings):
    """3 entries of 4 by 4 propositions, in both directions: 96."""
    judge = model()
    plan = amended(lenient, budget={"calls": 95})
    found = findings(world.fixture, reworded, world.snapshot, judge, plan)
    refused(found, Reason.CAP_REACHED, "may take 96 questions, and the plan's budget is 95")
    assert judge.asked == []
    assert findings(
        world.fixture, reworded, world.snapshot, model(), amended(lenient, budget={"calls": 96}), run="again"
    ).agreement


def test_a_second_run_asks_nothing_and_finds_the_same(world, reworded, lenient, model, findings):
    judge, silent = model(anything(world)), model(anything(world))
    lived = findings(world.fixture, reworded, world.snapshot, judge, lenient, run="a")
    assert findings(world.fixture, reworded, world.snapshot, silent, lenient, run="b", resume=True) == lived
    assert judge.asked
    assert silent.asked == []


def test_a_model_behind_an_endpoint_finds_the_same_and_is_asked_each_question_once(
    world, reworded, lenient, model, findings, endpoint, chat_judge, tmp_path
):
    """Its connections are closed after each basis and opened again for the next."""
    says = anything(world)
    endpoint.says = lambda request: says(request.question)
    found = findings(world.fixture, reworded, world.snapshot, chat_judge(), lenient, journals=tmp_path / "chat")
    assert found == findings(
        world.fixture, reworded, world.snapshot, model(says), lenient, journals=tmp_path / "scripted"
    )
    assert len(endpoint.asked) == len(set(endpoint.asked)) >= 24


def test_a_run_is_replayed_from_its_journals(world, reworded, lenient, model, findings, tmp_path):
    lived = findings(world.fixture, reworded, world.snapshot, model(anything(world)), lenient, journals=tmp_path)
    (folder,) = tmp_path.iterdir()
    replayed = findings(world.fixture, reworded, world.snapshot, read_replay(folder), lenient)
    assert replayed == lived


@pytest.fixture(scope="session")
def sample():
    """The bundled propositions as two annotators would have them.

    The first lacks the 4th of every 10. The second lacks the 8th, shouts every 3rd with wider spaces, and puts every
    12th that does not stand at the end one quarter later.
    """
    written = read_fixture(bundled("sample") / "propositions.jsonl").propositions
    first = tuple(p for k, p in enumerate(written) if k % 10 != 3)
    second = tuple(
        replace(
            p,
            text=p.text.upper().replace(" ", "  ") if k % 3 == 0 else p.text,
            quartile=p.quartile if k % 12 else min(4, p.quartile + 1),
        )
        for k, p in enumerate(written)
        if k % 10 != 7
    )
    return written, Fixture(first, refusal=None), Fixture(second, refusal=None)


@pytest.fixture(scope="session")
def on_sample(sample, shipped, tmp_path_factory):
    """What is found of them by words in common."""
    _, first, second = sample
    return annotators_in_journal(
        first,
        second,
        pinned(SAMPLE),
        LexicalJudge(),
        shipped,
        journals=tmp_path_factory.mktemp("journals"),
        run="run",
        resume=False,
        progress=in_silence,
    )


def test_of_the_sample_what_was_left_out_and_moved_is_what_is_found(sample, on_sample):
    written, _, _ = sample
    places = range(len(written))
    shared = [k for k in places if k % 10 not in (3, 7)]
    moved = [k for k in shared if k % 12 == 0 and written[k].quartile < 4]
    found = on_sample.agreement
    assert len(written) == 1020
    assert (found.entries, found.first, found.second) == (96, 918, 918)
    # What only one of them has tells another fact of its entry, and words in common do not call these the same.
    assert (found.matched, len(shared)) == (816, 816)
    assert found.inclusion.estimate == Fraction(2 * 816, 918 + 918) == Fraction(8, 9)
    assert found.same_quartile == 816 - len(moved)
    assert found.unread == 0
    sizes = {on.basis.value: on.propositions for on in on_sample.sensitivity.bases}
    assert sizes == {"union": 1020, "intersection": 816, "first_alone": 918, "second_alone": 918}


def test_on_the_sample_no_verdict_hangs_on_the_annotator(sample, on_sample, shipped, world_of, run_study):
    """The union is all that was written, a tenth of it in the words of the second; its recall is the study's own."""
    written, _, _ = sample
    for on in on_sample.sensitivity.bases:
        assert (on.recall.outcome, on.recall.reason) == ("warn", Reason.UNCALIBRATED)
        assert (on.uniformity.outcome, on.uniformity.reason) == ("fail", Reason.THRESHOLD_MISSED)
    assert (on_sample.sensitivity.recall_turns, on_sample.sensitivity.uniformity_turns) == (False, False)
    whole = replace(world_of([]), snapshot=pinned(SAMPLE), fixture=Fixture(written, refusal=None))
    study = run_study(whole, shipped, LexicalJudge())
    union = on_sample.sensitivity.bases[0]
    assert (union.recall.numerator, union.recall.denominator) == (study.recall.numerator, study.recall.denominator)


def test_labels_are_refused_on_the_sample(sample, shipped, findings):
    _, first, second = sample
    judge = read_labels(bundled("sample") / "labels.jsonl")
    refused(findings(first, second, pinned(SAMPLE), judge, shipped), Reason.NOT_MEASURED, "people's labels")


def test_the_findings_are_read_from_evidence_as_they_were_written(on_sample):
    assert read_json(json_bytes(on_sample, AnnotatorFindings), AnnotatorFindings) == on_sample


def test_the_document_says_the_numbers_and_null_where_there_is_none(on_sample):
    document = json.loads(document_bytes(annotators_document(on_sample)))
    agreement, judged = document["agreement"], document["sensitivity"]
    assert agreement["entries"] == {"of_both": 96, "of_first_alone": 0, "of_second_alone": 0}
    assert agreement["propositions"] == {"first": 918, "second": 918, "matched": 816}
    inclusion = agreement["inclusion"]
    assert inclusion["positive_agreement"]["estimate"] == inclusion["at_most"] == round(8 / 9, 10)
    assert inclusion["positive_agreement"]["level"] == 0.95
    low, high = inclusion["positive_agreement"]["interval"]
    assert low < 8 / 9 < high
    assert inclusion["kappa"]["estimate"] is None
    assert "nobody can count" in inclusion["kappa"]["undefined"]
    assert agreement["quartile"]["of"] == 816
    assert agreement["quartile"]["krippendorff_alpha_ordinal"]["undefined"] is None
    assert judged["turns"] == {"pooled_recall": False, "positional_uniformity": False}
    assert [on["basis"] for on in judged["bases"]] == ["union", "intersection", "first_alone", "second_alone"]
    for on, row in zip(on_sample.sensitivity.bases, judged["bases"], strict=True):
        assert row["pooled_recall"]["estimate"] == round(float(on.recall.estimate), 10)
        assert row["positional_uniformity"]["upper_bound"] == round(float(on.upper_bound), 10)
        assert row["fixture"] == on.fixture_hash
    assert document["refusal"] is None


def test_a_refusal_stands_in_the_document_in_place_of_all_numbers(world, lenient, model, findings):
    found = findings(pinned_fixture(None), world.fixture, world.snapshot, model(), lenient)
    assert annotators_document(found) == {
        "hashes": {"first": None, "second": world.fixture.hash},
        "agreement": None,
        "sensitivity": None,
        "refusal": {"reason": "fixture_missing", "detail": found.refusal.detail},
    }
