import json
import os

import pytest

from eval_pipeline.errors import MalformedJournal
from eval_pipeline.judge import journal as journal_module
from eval_pipeline.judge.journal import JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.protocol import key
from eval_pipeline.records import Answer, Judgment, Label, NoLabel, Question


def judgment(judge, question, raw="SUPPORTED", label=Label.SUPPORTED, no_label=None, attempts=1):
    return Judgment(key(judge, question), question, Answer(raw, no_label, attempts, 0.25, 40), label, no_label)


@pytest.fixture
def judge(scripted):
    return scripted("a", "SUPPORTED")


@pytest.fixture
def written(tmp_path, judge, questions):
    """A journal of three judgments."""
    with JournalWriter(tmp_path / "journals", "run") as journal:
        for question in questions(3):
            journal.append(judgment(judge, question), judge)
    return journal.path


def test_each_judgment_is_a_line_that_holds_all_there_is_to_know(tmp_path, judge):
    question = Question("e1", ("One text,\n", "and “another”."), "A {hypothesis}.")
    with JournalWriter(tmp_path, "run") as journal:
        journal.append(judgment(judge, question), judge)
        journal.append(judgment(judge, question, None, None, NoLabel.TIMED_OUT, 6), judge)
    lines = [json.loads(line) for line in journal.path.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {
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
        "latency_s": 0.25,
    }
    assert (lines[1]["raw"], lines[1]["label"], lines[1]["no_label"], lines[1]["attempts"]) == (
        None,
        None,
        "timed_out",
        6,
    )


def test_what_was_written_is_read_back(tmp_path, judge):
    question = Question("e1", ("One.", "Two."), "Both.")
    unread = judgment(judge, question, "Perhaps.", None, NoLabel.UNPARSABLE)
    silent = judgment(judge, question, None, None, NoLabel.REFUSED, 2)
    with JournalWriter(tmp_path, "run") as journal:
        journal.append(unread, judge)
        journal.append(silent, judge)
    first, second = read_journal(journal.path).records
    assert (first.premise, first.hypothesis, first.no_label) == (question.premise, "Both.", NoLabel.UNPARSABLE)
    assert first.answer == Answer("Perhaps.", None, 1, 0.25, 40)
    assert second.answer == silent.answer


def test_a_line_can_be_read_as_soon_as_it_was_appended(tmp_path, judge, questions):
    with JournalWriter(tmp_path, "run") as journal:
        for count, question in enumerate(questions(3), 1):
            journal.append(judgment(judge, question), judge)
            assert len(read_journal(journal.path).records) == count


@pytest.mark.parametrize(
    ("every_s", "lines", "syncs"),
    [
        pytest.param(3600.0, 200, 200 // 64 + 1, id="every 64 lines, and at the end"),
        pytest.param(0.0, 5, 5 + 1, id="every line where the time is over, and at the end"),
    ],
)
def test_the_disk_is_told_to_keep_the_lines(tmp_path, judge, questions, monkeypatch, every_s, lines, syncs):
    told = []
    fsync = os.fsync
    monkeypatch.setattr(journal_module.os, "fsync", lambda fd: (told.append(fd), fsync(fd)))
    monkeypatch.setattr(journal_module, "_SYNC_S", every_s)
    with JournalWriter(tmp_path, "run") as journal:
        for question in questions(lines):
            journal.append(judgment(judge, question), judge)
    assert len(told) == syncs


def test_a_name_that_is_there_gets_a_number_and_the_file_is_left_alone(tmp_path, judge, questions):
    paths = []
    for question in questions(3):
        with JournalWriter(tmp_path, "run") as journal:
            journal.append(judgment(judge, question), judge)
        paths.append(journal.path)
    assert [path.name for path in paths] == ["run.jsonl", "run-2.jsonl", "run-3.jsonl"]
    assert [read_journal(path).records[0].entry_id for path in paths] == ["e0", "e1", "e2"]


def test_two_writers_at_once_have_a_file_each(tmp_path, judge, questions):
    first, second = questions(2)
    with JournalWriter(tmp_path, "run") as one, JournalWriter(tmp_path, "run") as other:
        one.append(judgment(judge, first), judge)
        other.append(judgment(judge, second), judge)
    assert [record.entry_id for file in (one.path, other.path) for record in read_journal(file).records] == ["e0", "e1"]


def test_an_empty_journal_is_removed(tmp_path):
    with JournalWriter(tmp_path, "run") as journal:
        assert journal.path.exists()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_breaks_off_keeps_its_lines(tmp_path, judge, questions):
    def run():
        with JournalWriter(tmp_path, "run") as journal:
            journal.append(judgment(judge, questions(1)[0]), judge)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run()
    assert len(read_journal(tmp_path / "run.jsonl").records) == 1


@pytest.mark.parametrize("left", [1, 20, -1], ids=["one byte", "half a line", "all but the line end"])
def test_a_torn_last_line_is_no_fault_and_is_told(written, left):
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(b"".join(lines[:2]) + lines[2][:left])
    journal = read_journal(written)
    assert [record.entry_id for record in journal.records] == ["e0", "e1"]
    assert journal.torn
    assert journal.unreadable == ()


def test_a_line_torn_within_a_letter_is_no_fault(tmp_path, judge):
    with JournalWriter(tmp_path, "run") as journal:
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
        ("judge", {"kind": "scripted", "name": "b"}, "key"),
        ("judge", {"kind": "labels", "name": "a"}, "key"),
        ("key", "0" * 64, "key"),
        ("label", "MAYBE", "label"),
        ("no_label", "tired", "no_label"),
        ("premise", 7, "premise"),
    ],
)
def test_an_edited_line_is_unreadable_and_named(written, field, value, named):
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    lines[1][field] = value
    written.write_text("".join(json.dumps(line) + "\n" for line in lines))
    journal = read_journal(written)
    assert [record.entry_id for record in journal.records] == ["e0", "e2"]
    (fault,) = journal.unreadable
    assert fault.startswith(f"line 2, field '{named}'")


@pytest.mark.parametrize("field", ["key", "judge", "entry_id", "premise", "hypothesis", "raw", "attempts"])
def test_a_line_that_lacks_a_field_is_unreadable(written, field):
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    del lines[0][field]
    written.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (fault,) = read_journal(written).unreadable
    assert fault.startswith(f"line 1, field '{field}'")


def test_half_a_line_in_the_middle_is_a_fault(written):
    lines = written.read_bytes().splitlines(keepends=True)
    written.write_bytes(lines[0] + lines[1][:20] + b"\n" + lines[2])
    journal = read_journal(written)
    assert len(journal.records) == 2
    assert journal.unreadable[0].startswith("line 2, ")
    assert not journal.torn


def test_fields_that_a_journal_does_not_know_are_passed_over(written):
    lines = [json.loads(line) | {"unit": 3, "kind": "recall_signal"} for line in written.read_text().splitlines()]
    written.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert len(read_journal(written).records) == 3


def test_a_line_of_a_proposition_that_nobody_was_asked_about_is_passed_over(written):
    line = json.loads(written.read_text().splitlines()[0]) | {"key": None, "kind": "recall_no_signals", "raw": None}
    with written.open("a") as file:
        file.write(json.dumps(line) + "\n")
    journal = read_journal(written)
    assert (len(journal.records), journal.unreadable) == (3, ())


def test_a_journal_that_is_not_there_is_refused_by_its_name(tmp_path):
    with pytest.raises(MalformedJournal, match=r"absent\.jsonl.*cannot be read"):
        read_journal(tmp_path / "absent.jsonl")


def test_an_oracles_key_covers_the_entry(tmp_path, scripted):
    """The same words may be labelled otherwise in another entry, so an edited entry is found out."""
    oracle = scripted("o", "SUPPORTED", kind="labels")
    with JournalWriter(tmp_path, "run") as journal:
        journal.append(judgment(oracle, Question("e1", "P.", "H.")), oracle)
    assert len(read_journal(journal.path).records) == 1
    journal.path.write_text(journal.path.read_text().replace('"e1"', '"e2"'))
    assert read_journal(journal.path).records == ()


def test_the_answers_of_a_judge_are_known_by_their_keys(written, judge, questions):
    known = known_answers([read_journal(written)], judge.identity)
    assert set(known) == {key(judge, question) for question in questions(3)}
    assert set(known.values()) == {Answer("SUPPORTED", None, 1, 0.25, 40)}


def test_another_judges_answers_are_not_known(written, scripted):
    assert known_answers([read_journal(written)], scripted("b", "SUPPORTED").identity) == {}


@pytest.mark.parametrize("why", list(NoLabel))
def test_an_event_without_a_label_is_not_a_known_answer(tmp_path, judge, why):
    raw = "Perhaps." if why is NoLabel.UNPARSABLE else None
    with JournalWriter(tmp_path, "run") as journal:
        journal.append(judgment(judge, Question("e1", "P.", "H."), raw, None, why), judge)
    assert known_answers([read_journal(journal.path)], judge.identity) == {}


def test_a_label_is_known_whether_the_event_came_before_or_after(tmp_path, judge):
    question = Question("e1", "P.", "H.")
    lines = [judgment(judge, question), judgment(judge, question, None, None, NoLabel.FAILED)]
    for run, order in (("labelled first", lines), ("labelled last", lines[::-1])):
        with JournalWriter(tmp_path, run) as journal:
            for line in order:
                journal.append(line, judge)
        assert known_answers([read_journal(journal.path)], judge.identity)[key(judge, question)].raw == "SUPPORTED"


def test_an_edited_line_is_not_a_known_answer(written, judge, questions):
    written.write_text(written.read_text().replace("Hypothesis 1.", "Hypothesis 9."))
    assert set(known_answers([read_journal(written)], judge.identity)) == {
        key(judge, questions(3)[0]),
        key(judge, questions(3)[2]),
    }


def test_the_journals_of_a_folder_come_in_the_order_of_their_names(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "notes.txt"):
        (tmp_path / name).touch()
    assert [path.name for path in journal_files(tmp_path)] == ["a.jsonl", "b.jsonl"]
    assert journal_files(tmp_path / "absent") == ()
