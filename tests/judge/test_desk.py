import asyncio
import json
from dataclasses import replace

import pytest

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.desk import Desk
from eval_pipeline.judge.journal import JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import PROBE, key
from eval_pipeline.records import Label, NoLabel, Question

QUESTION = Question("e1", "A premise.", "A hypothesis.")


@pytest.fixture
def at_desk(tmp_path, head_of):
    """What comes of `work` at a desk whose journal lies beside those of earlier desks; and the desk."""

    def at_desk(judge, work, *, prompt="nli-v1"):
        with JournalWriter(tmp_path, head_of(judge)) as journal:
            desk = Desk(
                judge,
                prompt_named(prompt),
                known_answers(map(read_journal, journal_files(tmp_path)), judge.identity, prompt_named(prompt).read),
                journal,
            )
            return asyncio.run(work(desk)), desk

    return at_desk


def asking(*questions):
    """Asks one after the other."""

    async def work(desk):
        return [await desk.ask(question) for question in questions]

    return work


def asking_at_once(*questions):
    """Asks all at the same time; an error stands in the place of a judgment."""

    async def work(desk):
        return await asyncio.wait_for(asyncio.gather(*map(desk.ask, questions), return_exceptions=True), 2)

    return work


def journalled(folder):
    return [record for path in journal_files(folder) for record in read_journal(path).records]


@pytest.mark.parametrize(
    ("answer", "label", "no_label"),
    [
        ("SUPPORTED", Label.SUPPORTED, None),
        (" **not_supported**.", Label.NOT_SUPPORTED, None),
        ("Perhaps.", None, NoLabel.UNPARSABLE),
        ("", None, NoLabel.UNPARSABLE),
        (NoLabel.TIMED_OUT, None, NoLabel.TIMED_OUT),
        (NoLabel.REFUSED, None, NoLabel.REFUSED),
    ],
)
def test_an_answer_is_a_label_or_a_reason_why_there_is_none(scripted, at_desk, answer, label, no_label):
    (judgment,), _ = at_desk(scripted("a", answer), asking(QUESTION))
    assert (judgment.label, judgment.no_label, judgment.question) == (label, no_label, QUESTION)


def test_the_plans_prompt_reads_the_answer(scripted, at_desk):
    judge = scripted("a", "not supported")
    assert at_desk(judge, asking(QUESTION), prompt="nli-v1")[0][0].no_label is NoLabel.UNPARSABLE
    assert at_desk(judge, asking(QUESTION), prompt="nli-compat")[0][0].label is Label.NOT_SUPPORTED


def test_every_answer_of_the_judge_is_one_line_of_the_journal(scripted, at_desk, questions, tmp_path):
    judge = scripted("a", lambda question: "SUPPORTED" if question.entry_id != "e2" else NoLabel.REFUSED)
    judgments, desk = at_desk(judge, asking(*questions(5)))
    lines = journalled(tmp_path)
    assert [line.key for line in lines] == [judgment.key for judgment in judgments]
    assert [line.label for line in lines] == [judgment.label for judgment in judgments]
    assert desk.calls == len(judge.asked) == 5


def test_identical_questions_in_flight_at_once_are_asked_once(scripted, at_desk, tmp_path):
    judge = scripted("a", "SUPPORTED", takes_s=0.02)
    judgments, desk = at_desk(judge, asking_at_once(*[QUESTION] * 20))
    assert len(judge.asked) == desk.calls == len(journalled(tmp_path)) == 1
    assert {judgment.label for judgment in judgments} == {Label.SUPPORTED}
    assert len({judgment.key for judgment in judgments}) == 1


def test_each_who_waits_gets_a_judgment_of_its_own_question(scripted, at_desk):
    """The texts are the same, so one answer serves both; the entries are not."""
    elsewhere = Question("e2", QUESTION.premise, QUESTION.hypothesis)
    judge = scripted("a", "SUPPORTED", takes_s=0.02)
    judgments, _ = at_desk(judge, asking_at_once(QUESTION, elsewhere))
    assert [judgment.question.entry_id for judgment in judgments] == ["e1", "e2"]
    assert len(judge.asked) == 1


def test_one_text_and_a_list_of_that_text_are_two_questions(scripted, at_desk):
    judge = scripted("a", "SUPPORTED", takes_s=0.02)
    listed = Question("e1", (QUESTION.premise,), QUESTION.hypothesis)
    at_desk(judge, asking_at_once(QUESTION, listed))
    assert judge.asked == [QUESTION, listed]


def test_an_error_reaches_all_who_wait(scripted, at_desk, tmp_path):
    judge = scripted("a", JudgeDown("it is down"), takes_s=0.02)
    errors, _ = at_desk(judge, asking_at_once(*[QUESTION] * 5))
    assert [str(error) for error in errors] == ["it is down"] * 5
    assert len(judge.asked) == 1
    assert journalled(tmp_path) == []


def test_a_journal_that_cannot_be_written_reaches_all_who_wait(scripted, tmp_path):
    """Else they would wait for an answer that was had and lost."""

    class FullDisk:
        def append(self, judgment, judge):
            raise OSError(28, "No space left on device")

    desk = Desk(scripted("a", "SUPPORTED", takes_s=0.02), prompt_named("nli-v1"), {}, FullDisk())
    errors = asyncio.run(asking_at_once(*[QUESTION] * 3)(desk))
    assert [type(error) for error in errors] == [OSError] * 3


def test_one_who_stops_waiting_takes_the_answer_from_nobody(scripted, at_desk):
    async def work(desk):
        asker = asyncio.create_task(desk.ask(QUESTION))
        await asyncio.sleep(0)
        hasty, patient = (asyncio.create_task(desk.ask(QUESTION)) for _ in range(2))
        await asyncio.sleep(0)
        hasty.cancel()
        return await asyncio.wait_for(asyncio.gather(asker, patient), 2)

    judgments, _ = at_desk(scripted("a", "SUPPORTED", takes_s=0.02), work)
    assert [judgment.label for judgment in judgments] == [Label.SUPPORTED] * 2


def test_after_an_error_the_question_can_be_asked_again(scripted, at_desk):
    said = iter([JudgeDown("for a moment"), "SUPPORTED"])
    judge = scripted("a", lambda question: next(said))

    async def work(desk):
        with pytest.raises(JudgeDown):
            await desk.ask(QUESTION)
        return await desk.ask(QUESTION)

    judgment, desk = at_desk(judge, work)
    assert judgment.label is Label.SUPPORTED
    assert desk.calls == 2


@pytest.mark.parametrize("answer", ["SUPPORTED", "Perhaps.", NoLabel.FAILED])
def test_within_a_run_no_question_is_asked_twice_also_if_no_label_came_of_it(scripted, at_desk, tmp_path, answer):
    judge = scripted("a", answer)
    judgments, desk = at_desk(judge, asking(QUESTION, QUESTION, QUESTION))
    assert len(judge.asked) == len(journalled(tmp_path)) == 1
    assert judgments[0] == judgments[1] == judgments[2]
    assert (desk.calls, desk.remembered) == (1, 2)


def test_the_next_run_asks_only_what_gave_no_label(scripted, at_desk, questions):
    first = scripted("a", lambda question: "SUPPORTED" if question.entry_id != "e1" else NoLabel.TIMED_OUT)
    at_desk(first, asking(*questions(3)))
    again = scripted("a", "NOT_SUPPORTED")
    judgments, desk = at_desk(again, asking(*questions(3)))
    assert [question.entry_id for question in again.asked] == ["e1"]
    assert [judgment.label.value for judgment in judgments] == ["SUPPORTED", "NOT_SUPPORTED", "SUPPORTED"]
    assert (desk.calls, desk.remembered) == (1, 2)


def test_two_judges_over_one_folder_never_share_an_answer(scripted, at_desk, questions, tmp_path):
    always, never = scripted("always", "SUPPORTED"), scripted("never", "NOT_SUPPORTED")
    for judge, label in ((always, Label.SUPPORTED), (never, Label.NOT_SUPPORTED)):
        judgments, _ = at_desk(judge, asking(*questions(4)))
        assert [judgment.label for judgment in judgments] == [label] * 4
        assert len(judge.asked) == 4
    for judge, label in ((always, Label.SUPPORTED), (never, Label.NOT_SUPPORTED)):
        again = scripted(judge.identity["name"], NoLabel.FAILED)
        judgments, _ = at_desk(again, asking(*questions(4)))
        assert [judgment.label for judgment in judgments] == [label] * 4
        assert again.asked == []
    assert len(journalled(tmp_path)) == 8


def test_a_killed_run_repays_only_what_was_in_flight(scripted, at_desk, questions, tmp_path):
    """The journal ends in half a line, as a killed process leaves it."""
    at_desk(scripted("a", "SUPPORTED"), asking(*questions(6)))
    (path,) = journal_files(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:5]) + lines[5][:30])  # the head, four lines, and some of the fifth
    again = scripted("a", "SUPPORTED")
    at_desk(again, asking(*questions(6)))
    assert [question.entry_id for question in again.asked] == ["e4", "e5"]


def test_the_key_of_a_judgment_is_that_of_its_judge_and_question(scripted, at_desk, tmp_path):
    judge = scripted("a", "SUPPORTED")
    (judgment,), _ = at_desk(judge, asking(QUESTION))
    _, line = journal_files(tmp_path)[0].read_text().splitlines()
    assert judgment.key == json.loads(line)["key"] == key(judge, QUESTION)


def test_a_question_is_asked_again_as_often_as_it_is_to_be_repeated(scripted, at_desk, tmp_path):
    """A repeat is asked although the answer is known; the same repeat is not asked twice, in this run or the next."""
    repeats = [replace(QUESTION, repeat=number) for number in (0, 1, 2, 1, 0)]
    judge = scripted("a", lambda question: "NOT_SUPPORTED" if question.repeat == 2 else "SUPPORTED")
    judgments, _ = at_desk(judge, asking(*repeats))
    assert [judgment.label.value for judgment in judgments] == [
        "SUPPORTED",
        "SUPPORTED",
        "NOT_SUPPORTED",
        "SUPPORTED",
        "SUPPORTED",
    ]
    assert [question.repeat for question in judge.asked] == [0, 1, 2]
    assert len({judgment.key for judgment in judgments}) == 3
    again = scripted("a", NoLabel.FAILED)
    repeated, _ = at_desk(again, asking(*repeats))
    assert again.asked == []
    assert [judgment.label for judgment in repeated] == [judgment.label for judgment in judgments]


class TestTheProbe:
    @staticmethod
    async def probing(desk):
        return await desk.probe()

    @pytest.fixture
    def live(self, scripted):
        """A judge that answers its probe, and so many times as it is probed."""

        def live(name, answer):
            judge = scripted(name, answer)
            judge.probe = lambda: judge.answer(PROBE)
            return judge

        return live

    def test_is_judged_and_kept_as_any_question_is(self, live, at_desk, tmp_path):
        judge = live("a", "SUPPORTED")
        judgment, desk = at_desk(judge, self.probing)
        assert (judgment.question, judgment.label, judgment.key) == (PROBE, Label.SUPPORTED, key(judge, PROBE))
        (line,) = journalled(tmp_path)
        assert (line.key, line.label) == (judgment.key, Label.SUPPORTED)
        assert desk.known == {judgment.key: judgment.answer}

    @pytest.mark.parametrize(
        ("answer", "no_label"), [("Hello!", NoLabel.UNPARSABLE), (NoLabel.REFUSED, NoLabel.REFUSED)]
    )
    def test_may_give_no_label(self, live, at_desk, tmp_path, answer, no_label):
        judgment, _ = at_desk(live("a", answer), self.probing)
        assert (judgment.label, judgment.no_label) == (None, no_label)
        assert [line.no_label for line in journalled(tmp_path)] == [no_label]

    def test_is_asked_in_the_first_run_alone_and_its_answer_written_once(self, live, at_desk, tmp_path):
        """What it said first stays what it said."""
        first, _ = at_desk(live("a", "SUPPORTED"), self.probing)
        judge = live("a", "NOT_SUPPORTED")
        second, _ = at_desk(judge, self.probing)
        assert judge.asked == []
        assert (second.label, second.key) == (Label.SUPPORTED, first.key)
        assert len(journalled(tmp_path)) == 1

    def test_is_not_asked_again_as_a_question_of_the_same_run(self, live, at_desk):
        judge = live("a", "SUPPORTED")

        async def work(desk):
            return await desk.probe(), await desk.ask(PROBE)

        (probed, asked), _ = at_desk(judge, work)
        assert probed == asked
        assert judge.asked == [PROBE]

    def test_is_asked_once_before_the_first_question_whose_answer_is_not_known(self, live, at_desk, questions):
        """By whoever comes first, also where nobody asks for it, and in each run that asks anything."""

        async def work(desk):
            await asyncio.gather(*map(desk.ask, questions(3)))
            await desk.probe()

        for judge, asked in ((live("a", "SUPPORTED"), questions(3)), (live("a", "SUPPORTED"), questions(4)[3:])):
            _, desk = at_desk(judge, work if len(asked) == 3 else asking(*questions(4)))
            assert judge.asked == [PROBE, *asked]
            assert desk.calls == len(asked)

    def test_that_fails_fails_the_question_and_nothing_else_is_asked(self, live, at_desk, questions):
        judge = live("a", JudgeDown("it is down"))
        errors, desk = at_desk(judge, asking_at_once(*questions(3)))
        assert [str(error) for error in errors] == ["it is down"] * 3
        assert (judge.asked, desk.calls) == ([PROBE], 0)

    def test_is_not_missed_by_a_run_whose_answers_are_all_known(self, live, at_desk, questions):
        """So that such a run needs no server."""

        async def work(desk):
            return await desk.probe(), [await desk.ask(question) for question in questions(3)]

        before, _ = at_desk(live("a", "SUPPORTED"), work)
        gone = live("a", JudgeDown("it is gone"))
        after, desk = at_desk(gone, work)
        assert [judgment.label for judgment in (after[0], *after[1])] == [Label.SUPPORTED] * 4
        assert [judgment.key for judgment in after[1]] == [judgment.key for judgment in before[1]]
        assert (gone.asked, desk.calls) == ([], 0)

    def test_of_a_judge_that_cannot_be_down_is_nothing(self, scripted, at_desk, tmp_path):
        judgment, _ = at_desk(scripted("a", "SUPPORTED"), self.probing)
        assert judgment is None
        assert journalled(tmp_path) == []

    def test_of_a_judge_that_is_down_raises_and_leaves_no_line(self, live, at_desk, tmp_path):
        with pytest.raises(JudgeDown, match="it is down"):
            at_desk(live("a", JudgeDown("it is down")), self.probing)
        assert journalled(tmp_path) == []
