import asyncio
import random
import time
from dataclasses import replace
from email.utils import formatdate

import httpx
import pytest

from eval_pipeline.judge import chat
from eval_pipeline.judge.completion import retry_after_s
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.records import NoLabel, Question

QUESTION = Question("e1", "A premise.", "A hypothesis.")
SLACK_S = 1.0  # what a busy machine may add

pytestmark = pytest.mark.usefixtures("quick")


@pytest.fixture
def answer_of(server, chat_at, answers_of):
    """The answer to one question at the server of this test."""
    return lambda **changes: answers_of(chat_at(server.url, **changes), QUESTION)[0]


@pytest.fixture
def answers_at_once(server, chat_at):
    """The answers of one judge to these questions, all of them asked at the same time."""

    def answers_at_once(*questions, **changes):
        judge = chat_at(server.url, **changes)

        async def ask():
            try:
                return await asyncio.gather(*map(judge.answer, questions))
            finally:
                await judge.close()

        return asyncio.run(ask())

    return answers_at_once


def test_latency_counts_all_attempts(server, reply, completion, answer_of):
    server.in_turn(reply(500, delay_s=0.05), completion("SUPPORTED", delay_s=0.05))
    assert 0.1 <= answer_of().latency_s < 5


def test_the_waits_grow_and_are_random(server, reply, answer_of, quick):
    """The wait before attempt k + 1 is a random share of FIRST_WAIT_S * 2 ** (k - 1)."""
    seeded, same = random.Random(0), random.Random(0)
    quick.setattr(chat.random, "Random", lambda: seeded)
    quick.setattr(chat, "FIRST_WAIT_S", 0.02)
    server.in_turn(reply(500))
    answer_of(attempts=6)
    waits = server.waits_s()
    shares = [same.random() for _ in range(5)]
    assert len(waits) == 5
    for number, (waited, share) in enumerate(zip(waits, shares, strict=True)):
        assert waited >= 0.02 * 2**number * share
    assert sum(waits) < 0.02 * (1 + 2 + 4 + 8 + 16) + SLACK_S


def test_the_waits_stop_growing_at_the_longest(server, reply, answer_of, quick):
    quick.setattr(chat, "FIRST_WAIT_S", 1000.0)
    quick.setattr(chat, "LONGEST_WAIT_S", 0.02)
    server.in_turn(reply(500))
    answer_of(attempts=4)
    assert len(server.requests) == 4
    assert sum(server.waits_s()) < 3 * 0.02 + SLACK_S


def test_retry_after_in_seconds_is_waited_for(server, problem, completion, answer_of):
    server.in_turn(problem(429, "slow down", Retry_After="1"), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert 1.0 <= server.waits_s()[0] < 3


def test_retry_after_as_a_date_is_waited_for(server, problem, completion, answer_of):
    """The date is of whole seconds, so 2 s from now may be little more than 1."""
    date = formatdate(time.time() + 2, usegmt=True)
    server.in_turn(problem(429, "slow down", Retry_After=date), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert 0.9 <= server.waits_s()[0] < 4


@pytest.mark.parametrize(
    ("status", "header"),
    [(429, "3600"), (503, formatdate(4102444800, usegmt=True)), (503, "inf")],
    ids=["an hour", "until 2100", "for ever"],
)
def test_retry_after_is_capped(server, problem, completion, answer_of, quick, status, header):
    quick.setattr(chat, "LONGEST_WAIT_S", 0.2)
    server.in_turn(problem(status, "slow down", Retry_After=header), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert 0.2 <= server.waits_s()[0] < 2


@pytest.mark.parametrize(
    "header",
    [
        "",
        "soon",
        "-5",
        "nan",
        "1 2",
        "Wed, 21 Oct 2015 07:28:00 GMT",
        "Wed, 99 Oct 2015 07:28:00 GMT",
        "Wed, 21 Oct 99999999999999999999 07:28:00 GMT",
    ],
)
def test_a_retry_after_that_makes_no_sense_or_has_passed_is_no_wait(server, problem, completion, answer_of, header):
    server.in_turn(problem(429, "slow down", Retry_After=header), completion("SUPPORTED"))
    assert answer_of().raw == "SUPPORTED"
    assert server.waits_s()[0] < 1


def test_the_date_of_retry_after_is_read_in_its_zone():
    at = time.time() + 3600
    zoned = formatdate(at, usegmt=False, localtime=False)  # ends in -0000
    for header in (formatdate(at, usegmt=True), zoned):
        wait_s = retry_after_s(httpx.Response(429, headers={"Retry-After": header}))
        assert wait_s == pytest.approx(3600, abs=2)


def test_those_who_were_sent_away_together_do_not_come_back_together(
    server, problem, completion, answers_at_once, questions, quick
):
    """Each waits for what was asked for, and then a random share of .25 s more, of which six lie .14 s apart."""
    seeded = random.Random(0)
    quick.setattr(chat.random, "Random", lambda: seeded)
    quick.setattr(chat, "FIRST_WAIT_S", 0.25)
    server.script = lambda number, request: (
        problem(429, "slow down", Retry_After="0.3") if number < 6 else completion("SUPPORTED")
    )
    answers_at_once(*questions(6), in_flight=6)
    away, back = server.requests[:6], server.requests[6:]
    sent_away = {request.question["hypothesis"]: request.at for request in away}
    assert all(request.at - sent_away[request.question["hypothesis"]] >= 0.3 for request in back)
    assert back[-1].at - back[0].at > 0.1


@pytest.mark.parametrize(
    ("status", "most_in_flight"),
    [(429, 3), (503, 3), (529, 3), (500, 8), (502, 8), (408, 8)],
)
def test_a_server_that_says_it_is_busy_gets_one_at_a_time_and_one_more_each_round(
    server, reply, completion, answers_at_once, questions, status, most_in_flight
):
    """All eight in flight are sent away for .3 s; a server that failed for another reason gets all eight again.

    One that was busy gets one, two, three, and then the two that are left.
    """

    def script(number, request):
        if number < 8:
            return reply(status, headers={"Retry-After": "0.3"})
        if number == 8:
            server.most_in_flight = 0
        return completion("SUPPORTED", delay_s=0.2)

    server.script = script
    answers = answers_at_once(*questions(8), in_flight=8)
    assert [(answer.raw, answer.attempts) for answer in answers] == [("SUPPORTED", 2)] * 8
    assert server.most_in_flight == most_in_flight


def test_who_waits_to_ask_again_holds_nobody_up(server, problem, completion, answers_at_once, questions):
    """One call may be in flight; the first question is sent away for a second, and the others pass it meanwhile."""
    server.in_turn(problem(429, "slow down", Retry_After="1"), completion("SUPPORTED"))
    answers_at_once(*questions(5), in_flight=1)
    asked = [request.question["hypothesis"] for request in server.requests]
    assert asked == [f"Hypothesis {number}." for number in (0, 1, 2, 3, 4, 0)]
    assert server.requests[4].at - server.requests[0].at < SLACK_S < server.requests[5].at - server.requests[0].at


class TestTheTimeLimitOfAQuestion:
    def test_ends_a_server_that_always_asks_for_patience(self, server, problem, answer_of):
        server.in_turn(problem(503, "not yet", Retry_After="0.1"))
        answer = answer_of(attempts=1000, total_timeout_s=0.6)
        # It ends while it waits, or on a slow machine within an attempt.
        assert answer.raw is None
        assert answer.no_label in (NoLabel.FAILED, NoLabel.TIMED_OUT)
        assert 0.4 < answer.latency_s < 0.6 + SLACK_S
        assert 2 <= len(server.requests) == answer.attempts <= 6

    def test_is_not_waited_out_where_the_next_attempt_would_come_after_it(self, server, problem, answer_of):
        server.in_turn(problem(503, "much later", Retry_After="30"))
        answer = answer_of(total_timeout_s=20.0)
        assert (answer.no_label, answer.attempts) == (NoLabel.FAILED, 1)
        assert answer.latency_s < SLACK_S

    def test_cuts_the_attempt_that_would_go_past_it(self, server, reply, answer_of):
        server.in_turn(reply(delay_s=20))
        answer = answer_of(attempt_timeout_s=20.0, total_timeout_s=0.3)
        assert (answer.no_label, answer.attempts) == (NoLabel.TIMED_OUT, 1)
        assert 0.3 <= answer.latency_s < 0.3 + SLACK_S

    def test_covers_the_putting_again_of_a_question(self, server, completion, reply, answer_of):
        server.in_turn(completion("Perhaps.", delay_s=0.6), reply(delay_s=20))
        answer = answer_of(attempt_timeout_s=20.0, total_timeout_s=0.8)
        assert (answer.no_label, answer.attempts, answer.unread) == (NoLabel.TIMED_OUT, 2, "Perhaps.")
        assert 0.8 <= answer.latency_s < 0.6 + 0.8 - 0.1

    def test_leaves_an_answer_that_came_too_late_to_be_put_again_as_it_is(self, server, completion, answer_of):
        """The reading takes as long as the time limit here, so that there is none left when it is done."""

        def slowly(words):
            time.sleep(0.6)

        server.in_turn(completion("Perhaps."))
        answer = answer_of(prompt=replace(prompt_named("nli-v1"), read=slowly), total_timeout_s=0.6)
        assert (answer.raw, answer.no_label, answer.attempts, answer.unread) == ("Perhaps.", None, 1, None)

    def test_is_that_of_each_question_and_not_of_all(self, server, completion, chat_at, answers_of, questions):
        server.in_turn(completion("SUPPORTED", delay_s=0.2))
        answers = answers_of(chat_at(server.url, total_timeout_s=0.7), *questions(4))  # .8 s in all
        assert [answer.raw for answer in answers] == ["SUPPORTED"] * 4

    def test_holds_where_many_wait_for_a_server_that_lets_in_few(self, server, reply, answers_at_once, questions):
        """Every refusal lowers the limit, so that soon one call is in flight and all others wait for a permit.

        Nobody may wait for longer than the limit and the one attempt that was under way when it ended, .2 s.
        """
        server.in_turn(reply(503, delay_s=0.2))
        answers = answers_at_once(*questions(16), in_flight=16, attempts=100, total_timeout_s=1.0)
        assert {answer.no_label for answer in answers} <= {NoLabel.FAILED, NoLabel.TIMED_OUT}
        assert max(answer.latency_s for answer in answers) < 1.0 + 0.2 + SLACK_S / 2

    def test_ends_the_wait_for_a_permit_and_nothing_is_sent_after_it(
        self, server, problem, reply, completion, chat_at, questions
    ):
        """One call may be in flight. The first question is sent away for .2 s and finds the permit taken when it is
        back, by a call that hangs until .9 s; its own time is up at .7 s.
        """
        server.in_turn(problem(429, "slow down", Retry_After="0.2"), reply(delay_s=20))
        judge = chat_at(server.url, in_flight=1, attempt_timeout_s=20.0, total_timeout_s=0.7)
        first, second = questions(2)

        async def ask():
            impatient = asyncio.create_task(judge.answer(first))
            await asyncio.sleep(0.1)
            holding = asyncio.create_task(judge.answer(second))
            await asyncio.sleep(0)
            answer, requests = await impatient, len(server.requests)
            assert not holding.done()
            await holding
            await judge.close()
            return answer, requests

        answer, requests = asyncio.run(ask())
        assert (answer.no_label, answer.attempts) == (NoLabel.FAILED, 1)
        assert (requests, len(server.requests), judge.spending.requests) == (2, 2, 2)


class TestTheTimeLimitOfAnAttempt:
    def test_does_not_run_while_a_permit_is_waited_for(self, server, completion, answers_at_once, questions):
        """One call may be in flight and takes .2 s, so the last of five is sent after .8 s, and none is over .4 s."""
        server.in_turn(completion("SUPPORTED", delay_s=0.2))
        answers = answers_at_once(*questions(5), in_flight=1, attempt_timeout_s=0.4 + SLACK_S / 4)
        assert [(answer.raw, answer.attempts) for answer in answers] == [("SUPPORTED", 1)] * 5
        assert max(answer.latency_s for answer in answers) >= 1.0
        assert server.most_in_flight == 1

    def test_begins_anew_with_each_attempt(self, server, reply, completion, answer_of):
        server.in_turn(reply(500, delay_s=0.3), reply(500, delay_s=0.3), completion("SUPPORTED", delay_s=0.3))
        answer = answer_of(attempt_timeout_s=0.8)
        assert (answer.raw, answer.attempts) == ("SUPPORTED", 3)
        assert answer.latency_s >= 0.9


def test_no_more_attempts_are_made_than_the_plan_has(server, reply, answer_of):
    server.in_turn(reply(500))
    for attempts in (1, 2, 6):
        server.requests.clear()
        answer = answer_of(attempts=attempts)
        assert len(server.requests) == answer.attempts == attempts
