import asyncio
import gc
import json
import logging

import pytest

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.desk import Desk, Worked, work_through
from eval_pipeline.judge.journal import JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.protocol import key
from eval_pipeline.records import Label, NoLabel, Question

QUESTION = Question("e1", "A premise.", "A hypothesis.")


@pytest.fixture
def at_desk(tmp_path):
    """What comes of `work` at a desk whose journal lies beside those of earlier desks; and the desk."""

    def at_desk(judge, work, *, prompt="nli-v1"):
        with JournalWriter(tmp_path, "run") as journal:
            desk = Desk(
                judge,
                prompt_named(prompt),
                known_answers(map(read_journal, journal_files(tmp_path)), judge.identity),
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
    path.write_bytes(b"".join(lines[:4]) + lines[4][:30])
    again = scripted("a", "SUPPORTED")
    at_desk(again, asking(*questions(6)))
    assert [question.entry_id for question in again.asked] == ["e4", "e5"]


def test_the_key_of_a_judgment_is_that_of_its_judge_and_question(scripted, at_desk, tmp_path):
    judge = scripted("a", "SUPPORTED")
    (judgment,), _ = at_desk(judge, asking(QUESTION))
    (line,) = journal_files(tmp_path)[0].read_text().splitlines()
    assert judgment.key == json.loads(line)["key"] == key(judge, QUESTION)


def through(tasks, work, *, workers):
    return asyncio.run(asyncio.wait_for(work_through(tasks, work, workers=workers), 5))


def test_results_come_in_the_order_of_the_tasks():
    async def work(task):
        await asyncio.sleep(0.002 * (7 - task % 8))
        return task * 10

    assert through(range(40), work, workers=8) == Worked(tuple(range(0, 400, 10)), None)


@pytest.mark.parametrize(("tasks", "workers", "most"), [(30, 5, 5), (3, 5, 3), (10, 1, 1)])
def test_so_many_are_in_flight_and_no_more(tasks, workers, most):
    seen = {"now": 0, "most": 0}

    async def work(task):
        seen["now"] += 1
        seen["most"] = max(seen["most"], seen["now"])
        await asyncio.sleep(0.002)
        seen["now"] -= 1

    through(range(tasks), work, workers=workers)
    assert seen == {"now": 0, "most": most}


def test_the_endpoint_sees_as_many_in_flight_as_there_are_workers(server, completion, chat_at, questions):
    server.in_turn(completion("SUPPORTED", delay_s=0.02))
    judge = chat_at(server.url, in_flight=5)

    async def run():
        try:
            return await work_through(questions(30), judge.answer, workers=judge.in_flight)
        finally:
            await judge.close()

    worked = asyncio.run(run())
    assert [answer.raw for answer in worked.results] == ["SUPPORTED"] * 30
    assert server.most_in_flight == 5
    assert len(server.requests) == 30


def test_no_tasks_are_no_results():
    async def work(task):
        raise AssertionError(task)

    assert through([], work, workers=4) == Worked((), None)


def test_tasks_without_a_worker_are_not_said_to_be_done():
    """Either it is refused, or the tasks show as not done; an empty result would read as if there had been none."""

    async def work(task):
        return task

    try:
        worked = through([1, 2, 3], work, workers=0)
    except ValueError:
        return
    assert worked.results == (None, None, None)


def test_an_error_stops_the_rest_and_what_was_done_is_kept():
    begun = []

    async def work(task):
        begun.append(task)
        if task == 6:
            raise JudgeDown("it is down")
        await asyncio.sleep(0.01 if task < 4 else 60)
        return task

    # 4 workers: 0 to 3 are done; then 4 and 5 are in hand when 6 fails, and 7 may be
    worked = through(range(100), work, workers=4)
    assert worked.results[:4] == (0, 1, 2, 3)
    assert worked.results[4:] == (None,) * 96
    assert str(worked.ended_by) == "it is down"
    assert max(begun) <= 7


def test_what_was_in_hand_is_given_up_before_the_work_ends():
    given_up = []

    async def work(task):
        if task == 0:
            await asyncio.sleep(0.01)
            raise JudgeDown("it is down")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            given_up.append(task)
            raise

    through(range(3), work, workers=3)
    assert sorted(given_up) == [1, 2]


def test_workers_that_fail_together_leave_no_complaint_behind(caplog):
    """A judge that goes down fails all who ask it at the same moment; one error tells of it, the log does not.

    Twenty times over, since which of two workers is looked at first is left to chance.
    """
    caplog.set_level(logging.ERROR, logger="asyncio")

    async def work(together):
        await together.wait()
        raise JudgeDown("it is down")

    async def run():
        together = asyncio.Event()
        asyncio.get_running_loop().call_soon(together.set)
        return await work_through([together] * 2, work, workers=2)

    for _ in range(20):
        assert str(asyncio.run(run()).ended_by) == "it is down"
    gc.collect()
    assert caplog.messages == []


def test_work_that_is_called_off_leaves_no_worker_behind():
    async def work(task):
        await asyncio.sleep(60)

    async def run():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(work_through(range(8), work, workers=4), 0.02)
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1
