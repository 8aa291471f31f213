"""The judging: what is asked, in which order, and what is kept when the judge cannot go on."""

import asyncio
import hashlib
import random
from collections import Counter
from dataclasses import replace

import pytest

from eval_pipeline.judge.offline import read_replay
from eval_pipeline.records import NoLabel, Reason
from eval_pipeline.studies.extraction.judging import Judged

EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def kinds(study):
    return [row["kind"] for row in study.judged.rows]


def is_screen(question):
    return isinstance(question.premise, tuple)


@pytest.fixture(scope="session")
def three_signals(note, world_of):
    """One entry whose second signal of three entails its proposition, and whose third shares the most words with it."""
    signals = {"rain fell": [], "the pump hums all night": ["the pump was heard"], "the pump was old": []}
    return world_of([note("a", signals, [(1, "the pump was heard")])])


def test_all_signals_are_screened_and_then_tried_by_key_until_one_supports(three_signals, lenient, amended, run_study):
    study = run_study(three_signals, amended(lenient, judging={"signal_order": "key", "screen_order": "key"}))
    assert kinds(study) == ["recall_screen", "recall_signal", "recall_signal"]
    assert [row["signal_id"] for row in study.judged.rows] == [None, "a-s00", "a-s01"]
    assert [row["label"] for row in study.judged.rows] == ["SUPPORTED", "NOT_SUPPORTED", "SUPPORTED"]
    assert study.judged.rows[0]["premise"] == ["rain fell", "the pump hums all night", "the pump was old"]


def test_the_most_similar_signal_is_tried_first_where_the_plan_says_so(three_signals, lenient, run_study):
    study = run_study(three_signals, lenient)
    # "the pump was heard" has the stems pump, heard: two signals hold one of them, the first by key goes first.
    assert [row["signal_id"] for row in study.judged.rows] == [None, "a-s01"]


def test_a_screen_that_says_no_ends_the_matter_with_one_call(note, world_of, lenient, run_study):
    study = run_study(world_of([note("a", {"s": [], "t": [], "u": []}, [(1, "x")])]), lenient)
    assert (kinds(study), len(study.judge.asked)) == (["recall_screen"], 1)
    assert study.fate_of == {"x": "missed"}


def test_an_entry_without_signals_is_missed_without_a_call_or_a_probe(note, world_of, lenient, run_study, scripted):
    judge = scripted(lambda question: "SUPPORTED", live=False)
    study = run_study(world_of([note("a", {}, [(1, "x"), (4, "y")])]), lenient, judge)
    assert kinds(study) == ["recall_no_signals"] * 2
    assert {row["premise_sha256"] for row in study.judged.rows} == {EMPTY_SHA256}
    assert (judge.asked, judge.probes, study.judged.refusal) == ([], 0, None)
    assert study.fate_of == {"x": "missed", "y": "missed"}


@pytest.mark.parametrize("why", [NoLabel.UNPARSABLE, NoLabel.REFUSED, NoLabel.TIMED_OUT, "I think it is supported"])
def test_an_unreadable_screen_falls_through_to_the_signals(three_signals, lenient, run_study, scripted, why):
    judge = scripted(lambda question: why if is_screen(question) else three_signals.says(question))
    study = run_study(three_signals, lenient, judge)
    assert kinds(study) == ["recall_screen", "recall_signal"]
    assert study.judged.rows[0]["no_label"] == (why if isinstance(why, NoLabel) else "unparsable")
    assert study.fate_of == {"the pump was heard": "recovered"}


def test_an_unreadable_screen_ends_the_matter_where_the_plan_says_so(
    three_signals, lenient, amended, run_study, scripted
):
    judge = scripted(lambda question: NoLabel.FAILED if is_screen(question) else "SUPPORTED")
    study = run_study(three_signals, amended(lenient, judging={"unreadable_screen": "undecided"}), judge)
    assert kinds(study) == ["recall_screen"]
    assert study.fate_of == {"the pump was heard": "undecided"}


@pytest.mark.parametrize(
    ("rule", "fate"), [("undecided", "undecided"), ("not_supported", "missed")], ids=["undecided", "not-supported"]
)
def test_one_unreadable_signal_and_no_support_means_what_the_plan_says(
    three_signals, lenient, amended, run_study, scripted, rule, fate
):
    def says(question):
        if is_screen(question):
            return "SUPPORTED"
        return NoLabel.CUT_OFF if question.premise == "rain fell" else "NOT_SUPPORTED"

    study = run_study(three_signals, amended(lenient, judging={"unreadable_signal": rule}), scripted(says))
    assert Counter(kinds(study)) == {"recall_screen": 1, "recall_signal": 3}
    assert study.fate_of == {"the pump was heard": fate}


def test_an_unreadable_signal_does_not_matter_where_another_supports(three_signals, lenient, run_study, scripted):
    def says(question):
        return NoLabel.CUT_OFF if question.premise == "the pump hums all night" else "SUPPORTED"

    study = run_study(three_signals, lenient, scripted(says))
    assert [row["no_label"] for row in study.judged.rows] == [None, "cut_off", None]
    assert study.fate_of == {"the pump was heard": "recovered"}


def test_a_cap_tries_the_first_signals_by_key_alone(note, world_of, lenient, amended, run_study):
    world = world_of([note("a", {"s0": [], "s1": ["x"], "s2": ["y"]}, [(1, "x"), (2, "y")])])
    study = run_study(world, amended(lenient, judging={"signals_at_most": 2}))
    assert {tuple(row["premise"]) for row in study.judged.rows if row["kind"] == "recall_screen"} == {("s0", "s1")}
    assert study.fate_of == {"x": "recovered", "y": "missed"}


def test_spans_are_judged_after_the_propositions_each_in_one_call(counted, spanned, world_of, lenient, run_study):
    study = run_study(world_of([counted("a"), spanned("s", spans=3, supported=2)]), lenient)
    spans = study.judged.rows[-3:]
    assert [row["kind"] for row in spans] == ["precision_span"] * 3
    assert [row["label"] for row in spans] == ["SUPPORTED", "SUPPORTED", "NOT_SUPPORTED"]
    assert (spans[0]["unit"], spans[0]["quartile"], spans[0]["premise"]) == (None, None, ["s told 0000"])


def test_hashes_are_of_the_texts_that_the_judge_saw(three_signals, lenient, run_study):
    screen, signal = run_study(three_signals, lenient).judged.rows
    assert screen["premise_sha256"] == hashlib.sha256("\n\n".join(screen["premise"]).encode()).hexdigest()
    assert signal["premise_sha256"] == hashlib.sha256(b"the pump hums all night").hexdigest()
    assert signal["hypothesis_sha256"] == hashlib.sha256(b"the pump was heard").hexdigest()


def test_a_judge_that_is_down_from_the_start_is_asked_nothing_and_let_go(
    counted, world_of, lenient, run_study, scripted
):
    judge = scripted(lambda question: "SUPPORTED", live=False)
    study = run_study(world_of([counted("a")]), lenient, judge)
    assert (study.judged.rows, study.judged.refusal.reason) == ((), Reason.JUDGE_DOWN)
    assert study.judged.refusal.detail == "the scripted judge is down; start it"
    assert (judge.asked, judge.closed) == ([], True)


def test_a_judge_that_goes_down_half_way_keeps_what_was_judged(counted, world_of, lenient, run_study, scripted):
    world = world_of([counted("a"), counted("b")])
    judge = scripted(world.says, down_after=5)  # two calls a proposition: the third is begun and not finished
    study = run_study(world, lenient, judge)
    assert study.judged.refusal.reason is Reason.JUDGE_DOWN
    assert [row["unit"] for row in study.judged.rows] == [0, 0, 1, 1]
    assert judge.closed
    cells = [(row["hits"], row["judged"], row["undecided"]) for row in study.quartiles.to_pylist()]
    assert cells == [(1, 1, 0)] * 2 + [(0, 0, 1)] * 6


def test_any_other_error_of_a_judge_is_raised_and_the_judge_let_go(counted, world_of, lenient, run_study, scripted):
    def says(question):
        raise ZeroDivisionError("a fault of the script")

    judge = scripted(says)
    with pytest.raises(ZeroDivisionError):
        run_study(world_of([counted("a")]), lenient, judge)
    assert judge.closed


def test_judgments_stand_in_the_order_of_the_frame_however_many_are_in_flight(
    counted, spanned, world_of, lenient, run_study, scripted
):
    class Dawdling(scripted):
        async def answer(self, question):
            for _ in range(len(question.hypothesis) * 7 % 5):
                await asyncio.sleep(0)
            return await super().answer(question)

    world = world_of(
        [*(counted(f"e{'x' * n}", hits=(1, 0, 1, 0)) for n in range(6)), spanned("s", spans=9, supported=5)]
    )
    one, many = (run_study(world, lenient, Dawdling(world.says, in_flight=n)) for n in (1, 8))
    assert many.judge.asked != one.judge.asked
    assert many.judged == one.judged


def test_what_was_labelled_is_not_asked_again_and_what_was_not_is(
    counted, world_of, lenient, run_study, scripted, tmp_path
):
    world = world_of([counted("a"), counted("b")])
    once = scripted(
        lambda question: NoLabel.TIMED_OUT if question.hypothesis == "a tells 1.0" else world.says(question)
    )
    again = scripted(world.says)
    first, second = (run_study(world, lenient, judge, journals=tmp_path) for judge in (once, again))
    assert first.fate_of["a tells 1.0"] == "undecided"
    assert {question.hypothesis for question in again.asked} == {"a tells 1.0"}
    assert second.judged == run_study(world, lenient).judged


def test_a_question_that_comes_twice_is_asked_once(spanned, world_of, lenient, run_study, scripted):
    world = world_of([spanned("s", spans=2, supported=2)])
    signals = world.snapshot.signals
    world = replace(world, snapshot=replace(world.snapshot, signals=(*signals, replace(signals[0], id="s-s0009"))))
    study = run_study(world, lenient)
    assert (len(study.judged.rows), len(study.judge.asked)) == (3, 2)
    assert [row["label"] for row in study.judged.rows] == ["SUPPORTED"] * 3


def test_progress_is_told_for_each_proposition_and_span(counted, spanned, world_of, lenient, scripted, sit):
    world, told = world_of([counted("a"), spanned("s", spans=3, supported=2)]), []
    sit(world, lenient, scripted(world.says), progress=lambda done, of: told.append((done, of)))
    assert told == [(done, 7) for done in range(1, 8)]


@pytest.fixture(scope="session")
def eventful(counted, note, spanned, world_of, lenient, run_study, scripted):
    """A study with judgments of every kind, and with events among them."""
    world = world_of([counted("a"), note("silent", {}, [(1, "x")]), spanned("s", spans=3, supported=2)])
    unread = {"a tells 2.0": NoLabel.TIMED_OUT, "a tells 3.0": "perhaps", "s signal 0001": NoLabel.REFUSED}
    judge = scripted(lambda question: unread.get(question.hypothesis) or world.says(question))
    return world, run_study(world, lenient, judge)


def test_judgments_survive_the_way_through_a_table(eventful):
    _, study = eventful
    assert set(kinds(study)) == {"recall_no_signals", "recall_screen", "recall_signal", "precision_span"}
    assert Judged.from_table(study.judged.to_table()) == study.judged


def test_a_refusal_survives_the_way_through_a_table(counted, world_of, lenient, run_study, scripted):
    world = world_of([counted("a")])
    judged = run_study(world, lenient, scripted(world.says, down_after=2)).judged
    assert Judged.from_table(judged.to_table()) == judged


def test_the_lines_of_a_study_replay_to_the_same_judgments_without_the_judge(eventful, lenient, run_study, tmp_path):
    world, study = eventful
    path = tmp_path / "judgments.jsonl"
    path.write_bytes(study.judged.to_lines())
    replayed = run_study(world, lenient, read_replay(path))
    assert replayed.judged == study.judged


def test_the_order_of_the_signals_changes_the_cost_and_never_the_fates(note, world_of, lenient, amended, run_study):
    """60 entries, each with its own random matrix of which signal entails which proposition."""
    draw = random.Random(7)
    notes, truth = [], {}
    for place in range(60):
        texts = [f"e{place} pump {'hums ' * k}{k}" for k in range(draw.randint(1, 4))]
        signals = {
            f"the pump hums {k}": [text for text in texts if draw.random() < 0.3] for k in range(draw.randint(1, 5))
        }
        notes.append(note(f"e{place}", signals, [(1, text) for text in texts]))
        found = {text for entailed in signals.values() for text in entailed}
        truth |= {text: "recovered" if text in found else "missed" for text in texts}
    by_key, by_similarity = (
        run_study(world_of(notes), amended(lenient, judging={"signal_order": order})) for order in ("key", "similarity")
    )
    assert by_key.fate_of == by_similarity.fate_of == truth
    assert len(by_key.judge.asked) != len(by_similarity.judge.asked)
