import json

import pytest

from eval_pipeline.errors import MalformedJournal
from eval_pipeline.judge import sitting
from eval_pipeline.judge.journal import (
    Head,
    JournalWriter,
    journal_files,
    known_answers,
    read_head,
    read_journal,
    record_fields,
)
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import key
from eval_pipeline.records import Answer, Judgment, Label, NoLabel, Question

READ = prompt_named("nli-v1").read
NOT_IN_EVERY_JOURNAL = ("repeat", "unread", "latency_s", "tokens")


def judgment(judge, question, raw="SUPPORTED", label=Label.SUPPORTED, no_label=None, attempts=1):
    return Judgment(key(judge, question), question, Answer(raw, no_label, attempts, 0.25, 40), label, no_label)


@pytest.fixture
def judge(scripted):
    return scripted("a", "SUPPORTED")


@pytest.fixture
def head(judge, head_of):
    return head_of(judge)


@pytest.fixture
def written(tmp_path, head, judge, questions):
    """A journal of three judgments, which stand on lines 2, 3 and 4."""
    with JournalWriter(tmp_path / "journals", head) as journal:
        for question in questions(3):
            journal.append(judgment(judge, question), judge)
    return journal.path


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_each_judgment_is_a_line_that_holds_all_there_is_to_know(tmp_path, head, judge):
    question = Question("e1", ("One text,\n", "and “another”."), "A {hypothesis}.")
    again = Question("e1", question.premise, question.hypothesis, repeat=1)
    with JournalWriter(tmp_path, head) as journal:
        journal.append(judgment(judge, question), judge)
        answer = Answer(None, NoLabel.TIMED_OUT, 6, 0.25, None, unread="Perhaps.")
        journal.append(Judgment(key(judge, again), again, answer, None, NoLabel.TIMED_OUT), judge)
    _, first, second = lines_of(journal.path)
    assert first == {
        "key": key(judge, question),
        "judge": {"kind": "scripted", "name": "a"},
        "entry_id": "e1",
        "premise": ["One text,\n", "and “another”."],
        "hypothesis": "A {hypothesis}.",
        "raw": "SUPPORTED",
        "label": "SUPPORTED",
        "no_label": None,
        "attempts": 1,
        "tokens": 40,
        "repeat": 0,
        "unread": None,
        "latency_s": 0.25,
    }
    assert second == first | {
        "key": key(judge, again),
        "raw": None,
        "label": None,
        "no_label": "timed_out",
        "attempts": 6,
        "tokens": None,
        "repeat": 1,
        "unread": "Perhaps.",
    }


def test_what_was_written_is_read_back(tmp_path, head, judge):
    question = Question("e1", ("One.", "Two."), "Both.", repeat=2)
    unread = judgment(judge, question, "Perhaps.", None, NoLabel.UNPARSABLE)
    silent = judgment(judge, question, None, None, NoLabel.REFUSED, 2)
    answer = Answer("SUPPORTED", None, 2, 0.25, 80, unread="Perhaps.")
    put_again = Judgment(key(judge, question), question, answer, Label.SUPPORTED, None)
    with JournalWriter(tmp_path, head) as journal:
        for each in (unread, silent, put_again):
            journal.append(each, judge)
    first, second, third = read_journal(journal.path).records
    assert (first.question, first.no_label) == (question, NoLabel.UNPARSABLE)
    assert first.answer == Answer("Perhaps.", None, 1, 0.25, 40)
    assert second.answer == silent.answer
    assert (third.question, third.answer, third.label) == (question, answer, Label.SUPPORTED)


def test_a_line_of_an_earlier_version_is_read_as_neither_repeated_nor_put_again(written):
    head, *lines = lines_of(written)
    for line in lines:
        for name in NOT_IN_EVERY_JOURNAL:
            del line[name]
    write_lines(written, [head, *lines])
    assert [(record.repeat, record.unread) for record in read_journal(written).records] == [(0, None)] * 3


def test_a_line_can_be_read_as_soon_as_it_was_appended(tmp_path, head, judge, questions):
    with JournalWriter(tmp_path, head) as journal:
        for count, question in enumerate(questions(3), 1):
            journal.append(judgment(judge, question), judge)
            assert len(read_journal(journal.path).records) == count


class TestTheHead:
    def test_is_the_first_line_and_says_which_run_judge_and_plan_it_was(self, written, head):
        first, *lines = lines_of(written)
        assert first == {
            "run": "run",
            "purpose": "run",
            "judge": {"kind": "scripted", "name": "a"},
            "others": [],
            "plan": {"study": "s", "seed": 1},
        }
        assert not any("run" in line for line in lines)
        assert read_head(written) == read_journal(written).head == head

    def test_is_no_judgment_and_no_fault(self, written):
        journal = read_journal(written)
        assert (len(journal.records), journal.unreadable, journal.torn) == (3, (), False)

    def test_without_a_purpose_or_other_judges_is_that_of_a_run_with_one(self, written):
        """As an earlier version wrote it."""
        first, *lines = lines_of(written)
        del first["purpose"], first["others"]
        write_lines(written, [first, *lines])
        assert read_head(written).purpose == "run"
        assert read_head(written).judges == (first["judge"],)

    def test_names_the_judges_of_the_other_journals_of_its_run(self, tmp_path, judge, scripted, questions):
        other = scripted("b", "SUPPORTED")
        head = sitting.head_of(judge, [other], {"study": "s"}, run="run", purpose="run")
        with JournalWriter(tmp_path, head) as journal:
            journal.append(judgment(judge, questions(1)[0]), judge)
        assert read_head(journal.path).judges == (judge.identity, other.identity)

    def test_may_be_absent(self, written):
        """As where a file was written as a finding is, or by an earlier version."""
        write_lines(written, lines_of(written)[1:])
        journal = read_journal(written)
        assert (journal.head, len(journal.records), journal.unreadable) == (None, 3, ())
        assert read_head(written) is None

    @pytest.mark.parametrize(
        "first",
        [
            b'{"run": "run", "judge": {"kin',
            b"",
            b"\n",
            b"not JSON\n",
            b"[]\n",
            b'{"run": 7, "judge": {}, "plan": {}}\n',
        ],
        ids=["torn", "empty file", "blank", "not JSON", "list", "another type"],
    )
    def test_that_cannot_be_read_is_none(self, tmp_path, first):
        path = tmp_path / "run.jsonl"
        path.write_bytes(first)
        assert read_head(path) is None
        assert read_journal(path).head is None

    @pytest.mark.parametrize("field", ["judge", "plan"])
    def test_that_was_damaged_is_told_as_any_other_line_is(self, written, field):
        head, *lines = lines_of(written)
        del head[field]
        write_lines(written, [head, *lines])
        journal = read_journal(written)
        assert (journal.head, len(journal.records)) == (None, 3)
        (fault,) = journal.unreadable
        assert fault.startswith("line 1, ")

    def test_stands_in_the_file_of_its_run_alone(self, tmp_path, judge, head_of, questions):
        """A second writer of the same run begins a file of its own, and with a head of its own."""
        for run in ("a", "b", "b"):
            with JournalWriter(tmp_path, head_of(judge, run)) as journal:
                journal.append(judgment(judge, questions(1)[0]), judge)
        assert [(path.name, read_head(path).run) for path in journal_files(tmp_path)] == [
            ("a.jsonl", "a"),
            ("b-2.jsonl", "b"),
            ("b.jsonl", "b"),
        ]

    def test_keeps_what_a_plan_holds(self, tmp_path, judge, questions):
        plan = {"study": "s", "numbers": [1, 0.1, -1e-9], "deep": {"é": None, "text": "“x”\n"}, "share": "1/3"}
        head = Head(run="run", judge=dict(judge.identity), plan=plan)
        with JournalWriter(tmp_path, head) as journal:
            journal.append(judgment(judge, questions(1)[0]), judge)
        assert read_head(journal.path) == head


def test_a_name_that_is_there_gets_a_number_and_the_file_is_left_alone(tmp_path, head, judge, questions):
    paths = []
    for question in questions(3):
        with JournalWriter(tmp_path, head) as journal:
            journal.append(judgment(judge, question), judge)
        paths.append(journal.path)
    assert [path.name for path in paths] == ["run.jsonl", "run-2.jsonl", "run-3.jsonl"]
    assert [read_journal(path).records[0].entry_id for path in paths] == ["e0", "e1", "e2"]


def test_two_writers_at_once_have_a_file_each(tmp_path, head, judge, questions):
    first, second = questions(2)
    with JournalWriter(tmp_path, head) as one, JournalWriter(tmp_path, head) as other:
        one.append(judgment(judge, first), judge)
        other.append(judgment(judge, second), judge)
    assert [record.entry_id for file in (one.path, other.path) for record in read_journal(file).records] == ["e0", "e1"]


def test_an_empty_journal_is_removed(tmp_path, head):
    with JournalWriter(tmp_path, head) as journal:
        assert journal.path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_breaks_off_keeps_its_lines(tmp_path, head, judge, questions):
    def run():
        with JournalWriter(tmp_path, head) as journal:
            journal.append(judgment(judge, questions(1)[0]), judge)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert len(read_journal(tmp_path / "run.jsonl").records) == 1


@pytest.mark.parametrize("left", [1, 20, -1], ids=["one byte", "half a line", "all but the line end"])
def test_a_torn_last_line_is_no_fault_and_is_told(written, left):
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(b"".join(lines[:3]) + lines[3][:left])
    journal = read_journal(written)
    assert [record.entry_id for record in journal.records] == ["e0", "e1"]
    assert journal.torn
    assert journal.unreadable == ()


def test_a_line_torn_within_a_letter_is_no_fault(tmp_path, head, judge):
    with JournalWriter(tmp_path, head) as journal:
        journal.append(judgment(judge, Question("e0", "Été.", "É")), judge)
        journal.append(judgment(judge, Question("e1", "É", "É")), judge)
    data = journal.path.read_bytes()
    journal.path.write_bytes(data[: data.rfind("É".encode()) + 1])
    torn = read_journal(journal.path)
    assert (len(torn.records), torn.torn, torn.unreadable) == (1, True, ())


def test_a_whole_journal_is_not_torn(written):
    journal = read_journal(written)
    assert (len(journal.records), journal.torn, journal.unreadable) == (3, False, ())


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("premise", "Something else.", "key"),
        ("hypothesis", "Something else.", "key"),
        ("repeat", 1, "key"),
        ("judge", {"kind": "scripted", "name": "b"}, "key"),
        ("judge", {"kind": "labels", "name": "a"}, "key"),
        ("key", "0" * 64, "key"),
        ("label", "MAYBE", "label"),
        ("no_label", "tired", "no_label"),
        ("premise", 7, "premise"),
    ],
)
def test_an_edited_line_is_unreadable_and_named(written, field, value, named):
    lines = lines_of(written)
    lines[2][field] = value
    write_lines(written, lines)
    journal = read_journal(written)
    assert [record.entry_id for record in journal.records] == ["e0", "e2"]
    (fault,) = journal.unreadable
    assert fault.startswith(f"line 3, field '{named}'")


@pytest.mark.parametrize("field", ["key", "judge", "entry_id", "premise", "hypothesis", "raw", "attempts"])
def test_a_line_that_lacks_a_field_is_unreadable(written, field):
    lines = lines_of(written)
    del lines[1][field]
    write_lines(written, lines)
    (fault,) = read_journal(written).unreadable
    assert fault.startswith(f"line 2, field '{field}'")


def test_half_a_line_in_the_middle_is_a_fault(written):
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(b"".join([*lines[:2], lines[2][:20], b"\n", lines[3]]))
    journal = read_journal(written)
    assert len(journal.records) == 2
    assert journal.unreadable[0].startswith("line 3, ")
    assert not journal.torn


def test_fields_that_a_journal_does_not_know_are_passed_over(written):
    head, *lines = lines_of(written)
    more = {"unit": 3, "kind": "recall_signal"}
    write_lines(written, [head | more, *[line | more for line in lines]])
    journal = read_journal(written)
    assert (journal.head.run, len(journal.records), journal.unreadable) == ("run", 3, ())


def test_a_line_of_a_proposition_that_nobody_was_asked_about_is_passed_over(written):
    line = lines_of(written)[1] | {"key": None, "kind": "recall_no_signals", "raw": None}
    with written.open("a") as file:
        file.write(json.dumps(line) + "\n")
    journal = read_journal(written)
    assert (len(journal.records), journal.unreadable) == (3, ())


def test_a_journal_that_is_not_there_is_refused_by_its_name(tmp_path):
    with pytest.raises(MalformedJournal, match=r"absent\.jsonl.*cannot be read"):
        read_journal(tmp_path / "absent.jsonl")


def test_an_oracles_key_covers_the_entry(tmp_path, scripted, head_of):
    """The same words may be labelled otherwise in another entry, so an edited entry is found out."""
    oracle = scripted("o", "SUPPORTED", kind="labels")
    with JournalWriter(tmp_path, head_of(oracle)) as journal:
        journal.append(judgment(oracle, Question("e1", "P.", "H.")), oracle)
    assert len(read_journal(journal.path).records) == 1
    journal.path.write_text(journal.path.read_text().replace('"e1"', '"e2"'))
    assert read_journal(journal.path).records == ()


def test_the_answers_of_a_judge_are_known_by_their_keys(written, judge, questions):
    known = known_answers([read_journal(written)], judge.identity, READ)
    assert set(known) == {key(judge, question) for question in questions(3)}
    assert set(known.values()) == {Answer("SUPPORTED", None, 1, 0.25, 40)}


def test_a_repeat_is_known_beside_what_it_repeats(tmp_path, head, judge):
    """Else a run that goes on would count the first answer as what the judge said when it was asked once more."""
    once, again = Question("e1", "P.", "H."), Question("e1", "P.", "H.", repeat=1)
    with JournalWriter(tmp_path, head) as journal:
        journal.append(judgment(judge, once, "SUPPORTED", Label.SUPPORTED), judge)
        journal.append(judgment(judge, again, "NOT_SUPPORTED", Label.NOT_SUPPORTED), judge)
    known = known_answers([read_journal(journal.path)], judge.identity, READ)
    assert {name: answer.raw for name, answer in known.items()} == {
        key(judge, once): "SUPPORTED",
        key(judge, again): "NOT_SUPPORTED",
    }


def test_another_judges_answers_are_not_known(written, scripted):
    assert known_answers([read_journal(written)], scripted("b", "SUPPORTED").identity, READ) == {}


@pytest.mark.parametrize("why", list(NoLabel))
def test_an_event_without_a_label_is_not_a_known_answer(tmp_path, head, judge, why):
    raw = "Perhaps." if why is NoLabel.UNPARSABLE else None
    with JournalWriter(tmp_path, head) as journal:
        journal.append(judgment(judge, Question("e1", "P.", "H."), raw, None, why), judge)
    assert known_answers([read_journal(journal.path)], judge.identity, READ) == {}


def test_a_label_is_known_whether_the_event_came_before_or_after(tmp_path, judge, head_of):
    question = Question("e1", "P.", "H.")
    lines = [judgment(judge, question), judgment(judge, question, None, None, NoLabel.FAILED)]
    for run, order in (("labelled first", lines), ("labelled last", lines[::-1])):
        with JournalWriter(tmp_path, head_of(judge, run)) as journal:
            for line in order:
                journal.append(line, judge)
        assert (
            known_answers([read_journal(journal.path)], judge.identity, READ)[key(judge, question)].raw == "SUPPORTED"
        )


def test_a_label_that_the_rule_would_not_give_now_is_not_a_known_answer(tmp_path, head, judge):
    """Its words may read otherwise, or not at all, or not be there."""
    with JournalWriter(tmp_path, head) as journal:
        for number, raw in enumerate(("NOT_SUPPORTED", "Perhaps.", None, "supported.")):
            journal.append(judgment(judge, Question("e1", "P.", str(number)), raw), judge)
    assert [answer.raw for answer in known_answers([read_journal(journal.path)], judge.identity, READ).values()] == [
        "supported."
    ]


@pytest.mark.parametrize("tokens", [-1, 2**80, "many", 1.5])
def test_a_count_of_tokens_that_makes_no_sense_is_unreadable(written, tokens):
    lines = lines_of(written)
    lines[1]["tokens"] = tokens
    write_lines(written, lines)
    assert read_journal(written).unreadable == ("line 2, field 'tokens': found no judgment",)


def test_an_edited_line_is_not_a_known_answer(written, judge, questions):
    written.write_text(written.read_text().replace("Hypothesis 1.", "Hypothesis 9."))
    assert set(known_answers([read_journal(written)], judge.identity, READ)) == {
        key(judge, questions(3)[0]),
        key(judge, questions(3)[2]),
    }


def test_the_journals_of_a_folder_come_in_the_order_of_their_names(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in journal_files(tmp_path)] == ["a.jsonl", "b.jsonl"]
    assert journal_files(tmp_path / "absent") == ()


def test_a_line_as_a_finding_holds_it_says_nothing_of_the_time_it_took(judge):
    assert "latency_s" not in record_fields(judgment(judge, Question("e1", "P.", "H.")), judge)
