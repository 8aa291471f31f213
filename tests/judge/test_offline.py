import asyncio
import json
from dataclasses import replace
from itertools import pairwise

import pytest

from eval_pipeline.errors import JudgeUnknown, MalformedJournal, MalformedLabels
from eval_pipeline.judge.claims import ALIGNMENT
from eval_pipeline.judge.claims import CONSTRAINT as RULES
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.journal import JournalWriter, journal_files, record_fields
from eval_pipeline.judge.offline import LexicalJudge, UnrecordedJudge, read_labels, read_replay, read_replays
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import PROBE, Standing, fingerprint, key, standing_of
from eval_pipeline.records import Answer, Judgment, Label, NoLabel, Question

NLI = prompt_named("nli-v1")
LABELS = [
    {"entry_id": "e1", "proposition": "Cats purr.", "supported": True},
    {"entry_id": "e1", "proposition": "Cats bark.", "supported": False},
    {"entry_id": "e2", "proposition": "Cats purr.", "supported": False},
]


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def labels_of(tmp_path):
    """The judge of a labels file with these rows."""
    return lambda rows: read_labels(write_lines(tmp_path / "labels.jsonl", rows))


@pytest.fixture
def judge_all(tmp_path, head_of):
    """The judgments of these questions, kept in a journal in `folder`."""

    def judge_all(judge, questions, folder="journals"):
        async def ask():
            return [await desk.ask(question) for question in questions]

        with JournalWriter(tmp_path / folder, head_of(judge)) as journal:
            desk = Desk(judge, prompt_named("nli-v1"), {}, journal)
            return asyncio.run(ask())

    return judge_all


@pytest.fixture
def write_judgments(tmp_path):
    """A file with one judgment of each of these judges, as findings hold it."""

    def write_judgments(*judges):
        asked, answer = Question("e1", "P.", "H."), Answer("SUPPORTED", None, 1, 0.0, 9)
        said = [(Judgment(key(judge, asked), asked, answer, Label.SUPPORTED, None), judge) for judge in judges]
        return write_lines(tmp_path / "judgments.jsonl", [record_fields(*one) for one in said])

    return write_judgments


@pytest.mark.parametrize(
    ("premise", "raw"),
    [
        ("Cats purr loudly.", "SUPPORTED"),
        (("Dogs bark.", "Cats purr."), "SUPPORTED"),
        ("Dogs bark.", "NOT_SUPPORTED"),
        ((), "NOT_SUPPORTED"),
    ],
)
def test_the_lexical_judge_answers_with_one_of_the_two_words(answers_of, premise, raw):
    (answer,) = answers_of(LexicalJudge(), Question("e1", premise, "Cats purr."))
    assert (answer.raw, answer.no_label, answer.attempts, answer.tokens) == (raw, None, 1, None)


def test_the_lexical_judge_is_never_calibrated_and_names_the_revision_of_its_rule():
    assert standing_of(LexicalJudge().identity) is Standing.UNCALIBRATED
    assert LexicalJudge().identity == {"kind": "lexical", "revision": "lexical-1"}
    assert fingerprint(LexicalJudge()) == fingerprint(LexicalJudge())


def test_offline_judges_can_always_be_asked(labels_of):
    for judge in (LexicalJudge(), labels_of(LABELS)):
        assert asyncio.run(judge.probe()) is None
        assert judge.in_flight == 1


def test_a_replay_says_to_the_probe_what_the_recorded_judge_said(scripted, judge_all, questions, tmp_path):
    judge_all(scripted("a", "SUPPORTED"), [*questions(2), PROBE], "probed")
    judge_all(scripted("a", "SUPPORTED"), questions(2), "not probed")
    assert asyncio.run(read_replay(tmp_path / "probed").probe()).raw == "SUPPORTED"
    assert asyncio.run(read_replay(tmp_path / "not probed").probe()) is None


def test_a_repeat_is_replayed_as_what_it_was(scripted, judge_all, answers_of, tmp_path):
    """The judge changed its mind when it was asked once more, and so does its replay."""
    once = Question("e1", "P.", "H.")
    again = replace(once, repeat=1)
    judge_all(scripted("a", lambda question: "NOT_SUPPORTED" if question.repeat else "SUPPORTED"), [once, again])
    answers = answers_of(read_replay(tmp_path / "journals"), once, again, replace(once, repeat=2))
    assert [answer.raw for answer in answers] == ["SUPPORTED", "NOT_SUPPORTED", None]


@pytest.mark.parametrize("premise", ["Cats purr.", "Cats never purr.", "", ("a", "b"), ()])
def test_labels_answer_whatever_the_premise_is(labels_of, answers_of, premise):
    answers = answers_of(labels_of(LABELS), *[Question("e1", premise, row["proposition"]) for row in LABELS[:2]])
    assert [answer.raw for answer in answers] == ["SUPPORTED", "NOT_SUPPORTED"]


def test_labels_belong_to_their_entry(labels_of, answers_of):
    judge = labels_of(LABELS)
    here, there = Question("e1", "P.", "Cats purr."), Question("e2", "P.", "Cats purr.")
    assert [answer.raw for answer in answers_of(judge, here, there)] == ["SUPPORTED", "NOT_SUPPORTED"]
    assert key(judge, here) != key(judge, there)


@pytest.mark.parametrize(
    ("entry_id", "proposition"), [("e3", "Cats purr."), ("e1", "cats purr."), ("e2", "Cats bark.")]
)
def test_what_has_no_label_is_not_labelled_rather_than_not_supported(labels_of, answers_of, entry_id, proposition):
    (answer,) = answers_of(labels_of(LABELS), Question(entry_id, "P.", proposition))
    assert (answer.raw, answer.no_label) == (None, NoLabel.NOT_LABELLED)


def test_two_labels_that_contradict_each_other_are_refused_with_their_line(labels_of):
    with pytest.raises(MalformedLabels, match=r"line 4, field 'supported': found false .*'e1'"):
        labels_of([*LABELS, LABELS[0] | {"supported": False}])


def test_a_label_that_is_there_twice_is_no_contradiction(labels_of):
    assert labels_of([*LABELS, LABELS[0]]).labels == labels_of(LABELS).labels


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        pytest.param({"supported": 1}, "line 1, field 'supported': found 1, expected true or false", id="number"),
        pytest.param({"supported": "true"}, "line 1, field 'supported': found \"true\"", id="text"),
        pytest.param({"supported": None}, "line 1, field 'supported': found null", id="null"),
        pytest.param({"entry_id": 7}, "line 1, field 'entry_id': found 7, expected text", id="number as entry"),
        pytest.param({"proposition": ["x"]}, "line 1, field 'proposition': found a list", id="list"),
    ],
)
def test_a_field_of_another_type_is_refused_with_what_was_found(labels_of, row, fault):
    with pytest.raises(MalformedLabels) as refused:
        labels_of([LABELS[0] | row])
    assert fault in str(refused.value)


def test_every_fault_of_a_labels_file_is_told_at_once(labels_of):
    with pytest.raises(MalformedLabels) as refused:
        labels_of([LABELS[0] | {"supported": 1}, {"entry_id": "e1", "supported": True}, LABELS[2]])
    assert len(refused.value.faults) == 2
    assert "line 2, field 'proposition': found nothing" in refused.value.faults[1]


def test_an_empty_labels_file_is_refused(labels_of):
    with pytest.raises(MalformedLabels, match="expected at least one label"):
        labels_of([])


def test_a_labels_file_that_is_not_there_is_refused_by_its_name(tmp_path):
    with pytest.raises(MalformedLabels, match=r"absent\.jsonl.*cannot be read"):
        read_labels(tmp_path / "absent.jsonl")


def test_labels_are_the_oracle(labels_of):
    assert standing_of(labels_of(LABELS).identity) is Standing.ORACLE
    assert labels_of(LABELS).kind == "labels"


def test_labels_in_another_order_are_the_same_judge_and_other_labels_are_another(labels_of):
    assert fingerprint(labels_of(LABELS)) == fingerprint(labels_of(LABELS[::-1]))
    changed = [LABELS[0] | {"supported": False}, *LABELS[1:]]
    assert fingerprint(labels_of(LABELS)) != fingerprint(labels_of(changed))


def test_a_replay_gives_the_labels_and_the_name_of_the_judge_that_was_recorded(
    scripted, judge_all, questions, tmp_path
):
    asked = questions(6)
    said = ["SUPPORTED", "**NOT_SUPPORTED**", " supported. ", "Perhaps.", NoLabel.REFUSED, "NOT_SUPPORTED"]
    judge = scripted("a", lambda question: said[int(question.entry_id[1:])])
    recorded = judge_all(judge, asked)
    judge.asked.clear()
    replay = read_replay(tmp_path / "journals" / "run.jsonl")
    replayed = judge_all(replay, asked, "replayed")
    assert [(j.key, j.label, j.no_label, j.answer.raw) for j in replayed] == [
        (j.key, j.label, j.no_label, j.answer.raw) for j in recorded
    ]
    assert (replay.identity, fingerprint(replay)) == (judge.identity, fingerprint(judge))
    assert judge.asked == []


def test_a_replay_of_a_replay_is_the_first_replay(scripted, judge_all, questions, tmp_path):
    judge_all(scripted("a", "SUPPORTED"), questions(3), "once")
    once = read_replay(tmp_path / "once")
    judge_all(once, questions(3), "twice")
    assert read_replay(tmp_path / "twice") == once


def test_a_chat_judge_is_replayed_without_a_call(server, completion, chat_at, judge_all, questions, head_of, tmp_path):
    server.script = lambda number, request: completion(["SUPPORTED", "NOT_SUPPORTED"][number % 2])
    judge = chat_at(server.url, api_key="sk-secret", probed=False)

    async def closed_afterwards():
        with JournalWriter(tmp_path / "journals", head_of(judge)) as journal:
            desk = Desk(judge, prompt_named("nli-v1"), {}, journal)
            try:
                return [await desk.ask(question) for question in questions(4)]
            finally:
                await judge.close()

    recorded = asyncio.run(closed_afterwards())
    replay = read_replay(tmp_path / "journals")
    replayed = judge_all(replay, questions(4), "replayed")
    assert [j.label for j in replayed] == [j.label for j in recorded]
    assert [j.label for j in recorded] == [Label.SUPPORTED, Label.NOT_SUPPORTED] * 2
    assert fingerprint(replay) == fingerprint(judge)
    assert len(server.requests) == 4


def test_an_oracles_replay_still_tells_the_entries_apart(labels_of, judge_all, tmp_path):
    asked = [Question(row["entry_id"], "P.", row["proposition"]) for row in LABELS]
    oracle = labels_of(LABELS)
    recorded = judge_all(oracle, asked)
    replay = read_replay(tmp_path / "journals")
    assert standing_of(replay.identity) is Standing.ORACLE
    assert [j.label for j in judge_all(replay, asked, "replayed")] == [j.label for j in recorded]


@pytest.mark.parametrize(
    "question",
    [
        Question("e0", "Premise 0.", "Something else."),
        Question("e0", "Something else.", "Hypothesis 0."),
        Question("e0", ("Premise 0.",), "Hypothesis 0."),
    ],
    ids=["hypothesis", "premise", "a list of that premise"],
)
def test_what_was_never_asked_is_not_recorded(scripted, judge_all, questions, answers_of, tmp_path, question):
    judge_all(scripted("a", "SUPPORTED"), questions(1))
    (answer,) = answers_of(read_replay(tmp_path / "journals"), question)
    assert (answer.raw, answer.no_label) == (None, NoLabel.NOT_RECORDED)


def test_the_runs_of_a_folder_are_replayed_together_and_a_label_wins_over_none(
    scripted, judge_all, questions, answers_of, tmp_path
):
    """The first run failed on a question that the second settled, and the third failed on it again."""
    judge_all(
        scripted("a", lambda question: "SUPPORTED" if question.entry_id == "e0" else NoLabel.FAILED), questions(2)
    )
    judge_all(scripted("a", "NOT_SUPPORTED"), questions(2)[1:])
    judge_all(scripted("a", NoLabel.TIMED_OUT), questions(2)[1:])
    assert len(journal_files(tmp_path / "journals")) == 3
    answers = answers_of(read_replay(tmp_path / "journals"), *questions(2))
    assert [answer.raw for answer in answers] == ["SUPPORTED", "NOT_SUPPORTED"]


def test_the_judgments_of_two_judges_are_refused(scripted, judge_all, questions, tmp_path):
    judge_all(scripted("a", "SUPPORTED"), questions(2))
    judge_all(scripted("b", "SUPPORTED"), questions(2))
    with pytest.raises(MalformedJournal, match="found the judgments of 2 judges, expected those of exactly one"):
        read_replay(tmp_path / "journals")


def test_a_judge_that_was_recorded_under_several_prompts_is_replayed_once_for_each(chat_at, write_judgments, tmp_path):
    """A prompt may ask for answers of its own length."""
    judges = [chat_at("http://127.0.0.1:9/v1", prompt=prompt, max_tokens=n) for prompt, n in ((NLI, 8), (RULES, 256))]
    path = write_judgments(*judges)
    replays = read_replays(path)
    assert [replay.identity for replay in replays] == [judge.identity for judge in judges]
    assert [replay.prompt_id for replay in replays] == ["nli-v1", "constraint-v1"]
    assert [[replay.was_under(prompt) for prompt in (NLI, RULES, ALIGNMENT)] for replay in replays] == [
        [True, False, False],
        [False, True, False],
    ]
    assert not replays[0].was_under(replace(NLI, system="Judge."))
    with pytest.raises(MalformedJournal, match="found the judgments of 2 judges"):
        read_replay(path)


def test_a_judge_that_needs_no_prompt_is_replayed_once_for_each_task(write_judgments):
    replays = read_replays(write_judgments(LexicalJudge("alignment"), LexicalJudge("constraint")))
    assert [replay.prompt_id for replay in replays] == ["alignment", "constraint"]
    assert [[replay.was_under(prompt) for prompt in (NLI, ALIGNMENT, RULES)] for replay in replays] == [
        [False, True, False],
        [False, False, True],
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"prompt": NLI}, {"prompt": RULES, "model": "n"}),
        ({"prompt": NLI}, {"prompt": RULES, "extra": {"seed": 7}}),
        ({"prompt": NLI}, {"prompt": NLI, "max_tokens": 9}),
        ({"prompt": NLI}, {"prompt": replace(RULES, id="nli-v1"), "base_url": "http://127.0.0.1:8/v1"}),
    ],
    ids=["model", "decoding", "one prompt twice", "endpoint"],
)
def test_what_differs_in_more_than_the_prompt_is_two_judges(chat_at, write_judgments, one, other):
    judges = [chat_at(**{"base_url": "http://127.0.0.1:9/v1", **changes}) for changes in (one, other)]
    with pytest.raises(MalformedJournal, match="found the judgments of 2 judges, expected those of exactly one"):
        read_replays(write_judgments(*judges))


def test_under_a_prompt_that_was_not_recorded_a_replay_has_a_name_and_refuses_to_be_asked(answers_of):
    judge = UnrecordedJudge(RULES, "the rules are missing")
    assert asyncio.run(judge.probe()) is None
    assert judge.identity == {"kind": "replay", "prompt": {"id": "constraint-v1", "sha256": RULES.hash}}
    with pytest.raises(JudgeUnknown, match="the rules are missing"):
        answers_of(judge, Question("e1", "P.", "H."))


def test_a_folder_without_a_journal_is_refused(tmp_path):
    with pytest.raises(MalformedJournal, match="found the judgments of 0 judges"):
        read_replay(tmp_path)


def test_a_journal_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(MalformedJournal, match="cannot be read"):
        read_replay(tmp_path / "absent.jsonl")


@pytest.mark.parametrize(
    ("words", "others"),
    [("Premise 1.", "Premise 7."), ("Hypothesis 1.", "Hypothesis 7."), ('"judge": {', '"judge": {"seed": 1, ')],
    ids=["premise", "hypothesis", "judge"],
)
def test_a_line_that_was_edited_is_refused_with_its_number(scripted, judge_all, questions, tmp_path, words, others):
    judge_all(scripted("a", "SUPPORTED"), questions(3))
    path = tmp_path / "journals" / "run.jsonl"
    lines = path.read_text().splitlines(keepends=True)  # the first is the head
    lines[2] = lines[2].replace(words, others)
    path.write_text("".join(lines))
    with pytest.raises(MalformedJournal, match="line 3, field 'key'"):
        read_replay(path)


def test_a_torn_last_line_is_passed_over(scripted, judge_all, questions, answers_of, tmp_path):
    judge_all(scripted("a", "SUPPORTED"), questions(3))
    path = tmp_path / "journals" / "run.jsonl"
    path.write_bytes(path.read_bytes()[:-25])
    answers = answers_of(read_replay(path), *questions(3))
    assert [answer.raw for answer in answers] == ["SUPPORTED", "SUPPORTED", None]
    assert answers[2].no_label is NoLabel.NOT_RECORDED


def test_every_kind_of_judge_has_a_key_of_its_own_for_a_question(labels_of, scripted):
    judges = [LexicalJudge(), labels_of(LABELS), scripted("a", "SUPPORTED"), scripted("b", "SUPPORTED")]
    keys = sorted(key(judge, Question("e1", "P.", "H.")) for judge in judges)
    assert all(one != other for one, other in pairwise(keys))
