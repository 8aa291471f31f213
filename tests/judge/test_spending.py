import asyncio
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.desk import Desk, work_through
from eval_pipeline.judge.journal import JournalWriter, journal_files, known_answers, read_journal
from eval_pipeline.judge.prompt import prompt_named
from eval_pipeline.judge.spending import NOTHING, CapReached, Caps, Meter, Prices, Spending, Tokens, estimated
from eval_pipeline.records import Label, NoLabel

LAWS = settings(deadline=None, derandomize=True, max_examples=200)
PRICES = Prices(prompt_usd=2.0, completion_usd=10.0)
EXPECTED = Tokens(90, 10)  # .00018 + .0001 = .00028 USD

pytestmark = pytest.mark.usefixtures("quick")


def run(work):
    return asyncio.run(asyncio.wait_for(work, 5))


async def a_while():
    """Time for every task to go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def spend(meter, expected=EXPECTED, used=None):
    """One request after the other; it costs what was set aside for it, or that."""
    aside = await meter.set_aside(expected)
    meter.settle(aside, used or aside)


async def spend_until_refused(meter):
    """How many requests there was room for, and what the refusal says."""
    for count in range(1000):
        try:
            await spend(meter)
        except CapReached as reached:
            return count, str(reached)
    raise AssertionError("no cap held")


class TestACap:
    @pytest.mark.parametrize(
        ("caps", "count", "named"),
        [
            (Caps(requests=7), 7, "the cap of 7 requests"),
            (Caps(requests=0), 0, "the cap of 0 requests"),
            (Caps(tokens=1000), 10, "the cap of 1,000 tokens"),
            (Caps(tokens=1099), 10, "the cap of 1,099 tokens"),
            (Caps(tokens=1100), 11, "the cap of 1,100 tokens"),
            (Caps(tokens=99), 0, "the cap of 99 tokens"),
            (Caps(usd=0.0029), 10, "the cap of 0.0029 USD"),
            (Caps(usd=0.0027), 9, "the cap of 0.0027 USD"),
            (Caps(usd=0.0), 0, "the cap of 0 USD"),
            (Caps(requests=3, tokens=1000, usd=1.0), 3, "the cap of 3 requests"),
            (Caps(requests=30, tokens=500, usd=1.0), 5, "the cap of 500 tokens"),
            (Caps(requests=30, tokens=5000, usd=0.001), 3, "the cap of 0.001 USD"),
        ],
    )
    def test_leaves_room_for_as_many_requests_as_it_can_pay_and_is_named(self, caps, count, named):
        found, said = run(spend_until_refused(Meter(caps, PRICES)))
        assert found == count
        assert said.startswith(f"{named} leaves no room for one more request: {count} requests, {100 * count:,} tokens")
        assert said.endswith("raise the cap and run again, only what has no label is asked again")

    def test_that_is_reached_exactly_is_not_passed(self):
        async def spent():
            meter = Meter(Caps(tokens=300), None)
            for aside in [await meter.set_aside(EXPECTED) for _ in range(3)]:
                meter.settle(aside, aside)
            return meter.spending.tokens

        assert run(spent()) == 300

    def test_counts_nothing_for_the_request_that_it_refuses(self):
        async def spent():
            meter = Meter(Caps(tokens=150), PRICES)
            await spend(meter)
            before = (meter.spending.requests, meter.spending.tokens, meter.spending.usd)
            with pytest.raises(CapReached):
                await meter.set_aside(EXPECTED)
            assert (meter.spending.requests, meter.spending.tokens, meter.spending.usd) == before
            return before

        assert run(spent()) == (1, 100, 0.00028)

    def test_leaves_room_again_when_less_was_used_than_was_set_aside(self):
        async def spent():
            meter = Meter(Caps(tokens=100), None)
            await spend(meter, used=Tokens(40, 2))
            assert meter.spending.tokens == 42
            await spend(meter, Tokens(50, 8))
            with pytest.raises(CapReached):
                await meter.set_aside(Tokens(1, 0))

        run(spent())

    def test_of_a_large_request_leaves_room_for_a_small_one(self):
        async def spent():
            meter = Meter(Caps(tokens=150), None)
            await spend(meter)
            with pytest.raises(CapReached):
                await meter.set_aside(EXPECTED)
            await spend(meter, Tokens(45, 5))
            return meter.spending.tokens

        assert run(spent()) == 150

    def test_that_is_not_set_holds_nothing_back(self):
        async def spent():
            meter = Meter(Caps(), PRICES)
            for aside in [await meter.set_aside(EXPECTED) for _ in range(1000)]:
                meter.settle(aside, aside)
            return meter.spending.requests, meter.spending.tokens

        assert run(spent()) == (1000, 100_000)

    @pytest.mark.parametrize(("used", "goes_on"), [(Tokens(40, 2), True), (EXPECTED, False), (NOTHING, True)])
    def test_that_depends_on_what_is_in_flight_is_waited_for(self, used, goes_on):
        async def spent():
            meter = Meter(Caps(tokens=150), None)
            aside = await meter.set_aside(EXPECTED)
            waiting = asyncio.create_task(meter.set_aside(EXPECTED))
            await a_while()
            assert (waiting.done(), meter.spending.requests) == (False, 1)
            meter.settle(aside, used)
            (found,) = await asyncio.gather(waiting, return_exceptions=True)
            return found

        found = run(spent())
        assert found == EXPECTED if goes_on else isinstance(found, CapReached)

    @pytest.mark.parametrize("caps", [Caps(requests=1), Caps(tokens=99)], ids=["used up", "too small for it alone"])
    def test_that_does_not_depend_on_what_is_in_flight_is_not_waited_for(self, caps):
        async def spent():
            meter = Meter(caps, None)
            await meter.set_aside(Tokens(1, 0))
            with pytest.raises(CapReached):
                await meter.set_aside(EXPECTED)

        run(spent())

    def test_lets_as_many_of_those_who_wait_go_on_as_there_is_room_for(self):
        async def spent():
            meter = Meter(Caps(tokens=200), None)
            first = [await meter.set_aside(EXPECTED) for _ in range(2)]
            waiting = [asyncio.create_task(meter.set_aside(EXPECTED)) for _ in range(3)]
            for aside, through in zip(first, (1, 2), strict=True):
                meter.settle(aside, NOTHING)
                await a_while()
                assert sum(task.done() for task in waiting) == through
            waiting[2].cancel()

        run(spent())

    @LAWS
    @given(
        cap=st.integers(0, 3000),
        requests=st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50), st.integers(-50, 50)), max_size=60),
        in_flight=st.integers(1, 8),
    )
    def test_is_never_passed_by_more_than_the_estimates_were_wrong(self, cap, requests, in_flight):
        """Calls in flight together, each settled when the next comes in its place; the server counts as it counts."""

        async def spent():
            meter, flying, wrong = Meter(Caps(tokens=cap), None), [], 0
            for prompt, completion, error in requests:
                if len(flying) == in_flight:
                    meter.settle(*flying.pop(0))
                asking = asyncio.create_task(meter.set_aside(Tokens(prompt, completion)))
                await asyncio.sleep(0)
                while not asking.done():
                    meter.settle(*flying.pop(0))
                    await a_while()
                if asking.exception():
                    assert isinstance(asking.exception(), CapReached)
                    continue
                used = Tokens(max(0, prompt + error), completion)
                flying.append((asking.result(), used))
                wrong += max(0, used.total - asking.result().total)
                assert meter.spending.tokens <= cap + wrong
            for aside, used in flying:
                meter.settle(aside, used)
            assert meter.spending.tokens <= cap + wrong

        run(spent())


class TestAMeterThatSeveralJudgesHave:
    """One after the other, each in an event loop of its own, as the prompts of a calibration are asked."""

    @pytest.mark.parametrize(
        ("caps", "count", "named"),
        [
            (Caps(requests=7), 7, "the cap of 7 requests"),
            (Caps(tokens=1000), 10, "the cap of 1,000 tokens"),
            (Caps(usd=0.0029), 10, "the cap of 0.0029 USD"),
        ],
    )
    def test_leaves_the_second_what_the_first_has_left(self, caps, count, named):
        meter = Meter(caps, PRICES)
        for _ in range(count - 2):
            run(spend(meter))
        found, said = run(spend_until_refused(meter))
        assert found == 2
        assert said.startswith(f"{named} leaves no room for one more request: {count} requests, {100 * count:,} tokens")

    def test_may_be_waited_for_in_one_loop_after_the_other(self):
        async def one_waits(meter):
            aside = await meter.set_aside(EXPECTED)
            waiting = asyncio.create_task(meter.set_aside(EXPECTED))
            await a_while()
            assert not waiting.done()
            meter.settle(aside, NOTHING)
            meter.settle(await waiting, NOTHING)

        meter = Meter(Caps(tokens=150), None)
        for _ in range(3):
            run(one_waits(meter))
        assert (meter.spending.requests, meter.spending.tokens) == (6, 0)

    def test_is_none_the_worse_for_one_that_was_called_off_while_it_waited(self):
        async def called_off(meter):
            aside = await meter.set_aside(EXPECTED)
            waiting = asyncio.create_task(meter.set_aside(EXPECTED))
            await a_while()
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
            meter.settle(aside, NOTHING)

        async def goes_on(meter):
            aside = await meter.set_aside(EXPECTED)
            waiting = asyncio.create_task(meter.set_aside(EXPECTED))
            await a_while()
            meter.settle(aside, Tokens(40, 0))
            return await waiting

        meter = Meter(Caps(tokens=150), None)
        run(called_off(meter))
        assert run(goes_on(meter)) == EXPECTED


class TestAServerThatCountsMoreThanWasExpected:
    def test_is_expected_to_from_then_on(self):
        async def spent():
            meter = Meter(Caps(), None)
            await spend(meter, used=Tokens(180, 20))
            return await meter.set_aside(EXPECTED), await meter.set_aside(Tokens(10, 5))

        assert run(spent()) == (Tokens(180, 20), Tokens(20, 10))

    def test_is_not_expected_to_count_less_after_it_did_once(self):
        async def spent():
            meter = Meter(Caps(), None)
            for used in (Tokens(180, 20), Tokens(9, 1)):
                await spend(meter, used=used)
            return await meter.set_aside(EXPECTED)

        assert run(spent()) == Tokens(180, 20)

    def test_of_all_in_flight_is_expected_to_count_so_much_more_and_not_its_power(self):
        """Each of eight costs twice what was set aside for it, and the ninth is expected to, and not 256 times that."""

        async def spent():
            meter = Meter(Caps(tokens=10_000), None)
            for aside in [await meter.set_aside(EXPECTED) for _ in range(8)]:
                meter.settle(aside, Tokens(180, 20))
            return await meter.set_aside(EXPECTED)

        assert run(spent()) == Tokens(180, 20)


class TestWhatWasSpent:
    def test_is_what_the_server_counts_in_the_place_of_what_was_expected(self):
        meter = Meter(Caps(), PRICES)
        run(spend(meter, used=Tokens(1000, 100)))
        spending = meter.spending
        assert (spending.requests, spending.prompt_tokens, spending.completion_tokens) == (1, 1000, 100)
        assert spending.usd == pytest.approx((1000 * 2 + 100 * 10) / 1e6)

    def test_is_counted_when_it_is_known_and_the_request_at_once(self):
        meter = Meter(Caps(), PRICES)
        aside = run(meter.set_aside(EXPECTED))
        assert (meter.spending.requests, meter.spending.tokens, meter.spending.usd) == (1, 0, 0)
        meter.settle(aside, aside)
        assert (meter.spending.requests, meter.spending.tokens) == (1, 100)

    def test_of_a_request_that_was_refused_by_the_server_is_the_request_alone(self):
        meter = Meter(Caps(), PRICES)
        run(spend(meter, used=NOTHING))
        assert (meter.spending.requests, meter.spending.tokens, meter.spending.usd) == (1, 0, 0)

    def test_has_no_money_in_it_without_prices(self):
        meter = Meter(Caps(), None)
        run(spend(meter))
        assert meter.spending.usd is None
        assert str(meter.spending) == "1 requests, 100 tokens"

    def test_reads_as_a_person_writes_it(self):
        spending = Spending(PRICES, requests=1234, prompt_tokens=1_000_000, completion_tokens=50_000)
        assert str(spending) == "1,234 requests, 1,050,000 tokens, 2.5000 USD"

    def test_is_said_as_of_when_the_message_is_read(self):
        """Calls in flight go on after a cap was reached, and cost what they cost."""

        async def spent():
            meter = Meter(Caps(requests=1), PRICES)
            aside = await meter.set_aside(EXPECTED)
            with pytest.raises(CapReached) as reached:
                await meter.set_aside(EXPECTED)
            meter.settle(aside, Tokens(120, 3))
            return str(reached.value)

        assert "room for one more request: 1 requests, 123 tokens, 0.0003 USD were spent" in run(spent())


class TestAnEstimate:
    def test_counts_a_token_for_four_bytes_of_each_text_the_marks_of_the_turns_and_the_longest_answer(self):
        """8 + ceil(5 / 4) + ceil(4 / 4) = 11; the second text has two letters of two bytes each."""
        assert estimated("abcde", "éé", completion=9) == Tokens(11, 9)

    def test_of_longer_texts_is_no_less(self):
        lengths = [estimated("x" * length, completion=0).prompt for length in range(200)]
        assert lengths == sorted(lengths)


def used(prompt, completion):
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


@pytest.fixture
def work_at(server, chat_at, questions, head_of, tmp_path):
    """What comes of so many questions at a desk, with as many workers as may be in flight; the judge; its journal."""

    def work_at(count, **changes):
        judge = chat_at(server.url, probed=False, **{"in_flight": 8, **changes})

        async def run(desk):
            try:
                return await work_through(questions(count), desk.ask, workers=judge.in_flight)
            finally:
                await judge.close()

        known = known_answers(map(read_journal, journal_files(tmp_path)), judge.identity, prompt_named("nli-v1").read)
        with JournalWriter(tmp_path, head_of(judge)) as journal:
            worked = asyncio.run(run(Desk(judge, prompt_named("nli-v1"), known, journal)))
        return worked, judge, read_journal(journal.path).records if journal.path.exists() else ()

    return work_at


class TestACapOnTheRequestsOfARun:
    @pytest.mark.parametrize("in_flight", [1, 8, 20])
    def test_is_what_the_server_sees_to_the_request_and_all_of_it_is_kept(self, server, completion, work_at, in_flight):
        server.in_turn(completion("SUPPORTED", delay_s=0.01))
        worked, judge, lines = work_at(50, caps=Caps(requests=20), in_flight=in_flight)
        assert len(server.requests) == judge.spending.requests == 20
        assert isinstance(worked.ended_by, CapReached)
        done = [judgment for judgment in worked.results if judgment is not None]
        assert [judgment.label for judgment in done] == [Label.SUPPORTED] * 20
        assert {line.key for line in lines} == {judgment.key for judgment in done}
        assert len(lines) == 20

    def test_lets_what_is_in_flight_end_and_keeps_it(self, server, completion, work_at):
        """The first seven answer at once, and find no room for more, long before the eighth has its answer."""
        server.script = lambda number, request: completion("SUPPORTED", delay_s=0.5 if number == 3 else 0.0)
        worked, judge, lines = work_at(30, caps=Caps(requests=8))
        assert len(server.requests) == len(lines) == 8
        assert max(line.latency_s for line in lines) >= 0.5
        assert f"8 requests, {8 * 40} tokens were spent" in str(worked.ended_by)
        assert judge.spending.tokens == 8 * 40

    def test_counts_every_attempt(self, server, completion, reply, work_at):
        server.script = lambda number, request: reply(500) if number % 2 else completion("SUPPORTED")
        _, judge, lines = work_at(50, caps=Caps(requests=25), in_flight=3, attempts=6)
        assert len(server.requests) == judge.spending.requests == 25
        assert {line.label for line in lines} == {Label.SUPPORTED}

    def test_counts_what_is_put_again(self, server, completion, work_at):
        server.in_turn(completion("Perhaps."))
        _, _, lines = work_at(50, caps=Caps(requests=20), in_flight=1)
        assert len(server.requests) == 20
        assert [(line.no_label, line.attempts) for line in lines] == [(NoLabel.UNPARSABLE, 2)] * 10

    def test_that_is_reached_before_a_question_is_put_again_leaves_it_without_an_answer(
        self, server, completion, work_at
    ):
        """Its words alone would read as if it had been put twice; the next run puts it anew."""
        server.in_turn(completion("Perhaps."))
        worked, _, lines = work_at(50, caps=Caps(requests=19), in_flight=1)
        assert isinstance(worked.ended_by, CapReached)
        assert (len(server.requests), len(lines)) == (19, 9)

    def test_may_be_raised_and_the_next_run_pays_for_the_rest_alone(self, server, completion, work_at):
        server.in_turn(completion("SUPPORTED"))
        first, _, _ = work_at(50, caps=Caps(requests=20))
        second, judge, lines = work_at(50, caps=Caps(requests=100))
        assert isinstance(first.ended_by, CapReached)
        assert second.ended_by is None
        assert (judge.spending.requests, len(lines), len(server.requests)) == (30, 30, 50)
        assert [judgment.label for judgment in second.results] == [Label.SUPPORTED] * 50
        asked = Counter(request.question["hypothesis"] for request in server.requests)
        assert set(asked.values()) == {1}

    def test_that_is_as_large_as_the_work_ends_nothing(self, server, completion, work_at):
        server.in_turn(completion("SUPPORTED"))
        worked, _, _ = work_at(20, caps=Caps(requests=20))
        assert worked.ended_by is None
        assert None not in worked.results

    def test_gives_way_to_a_judge_that_is_down(self, server, completion, problem, work_at):
        """What is wrong with the judge says more than that there is no room to ask it again."""
        server.script = lambda number, request: (
            problem(401, "No auth") if number == 7 else completion("SUPPORTED", delay_s=0.05)
        )
        worked, _, _ = work_at(30, caps=Caps(requests=8))
        assert isinstance(worked.ended_by, JudgeDown)


class TestACapOnTheTokensOfARun:
    def test_is_not_passed_where_the_server_counts_no_more_than_was_expected(self, server, completion, work_at):
        """About 190 are set aside for each of 8 in flight, and the server counts 103, so the end is one by one.

        It comes when there is no room for one more alone, and not when there is none beside what is in flight.
        """
        server.in_turn(completion("SUPPORTED", usage=used(100, 3), delay_s=0.002))
        worked, judge, lines = work_at(100, caps=Caps(tokens=3000))
        assert isinstance(worked.ended_by, CapReached)
        assert judge.spending.tokens == 103 * len(server.requests)
        assert 3000 - 200 <= judge.spending.tokens <= 3000
        assert len(lines) == len(server.requests)

    @pytest.mark.parametrize("each", [403, 2000])
    def test_is_passed_by_no_more_than_the_server_counts_above_what_was_expected_of_those_in_flight(
        self, server, completion, work_at, each
    ):
        """Then the run stops, since as much is expected of the next."""
        server.in_turn(completion("SUPPORTED", usage=used(each - 3, 3), delay_s=0.02))
        worked, judge, lines = work_at(100, caps=Caps(tokens=3000))
        system = prompt_named("nli-v1").system
        least = estimated(system, '{"premise": "Premise 0.", "hypothesis": "Hypothesis 0."}', completion=8)
        assert isinstance(worked.ended_by, CapReached)
        assert judge.spending.tokens == each * len(server.requests)
        assert 3000 < judge.spending.tokens <= 3000 + 8 * (each - least.total)
        assert len(lines) == len(server.requests)

    def test_is_used_up_by_a_server_that_counts_more_than_was_expected(self, server, completion, work_at):
        """It counts about twice as much, which is known after the first eight, and there is room for 100 of them."""
        server.in_turn(completion("SUPPORTED", usage=used(400, 3), delay_s=0.002))
        worked, judge, _ = work_at(200, caps=Caps(tokens=40_300))
        assert isinstance(worked.ended_by, CapReached)
        assert 40_300 - 2 * 403 <= judge.spending.tokens <= 40_300

    def test_holds_what_was_expected_of_a_request_that_the_server_does_not_count(self, server, reply, work_at):
        server.in_turn(reply(body=b'{"choices": [{"message": {"content": "SUPPORTED"}}]}'))
        _, judge, _ = work_at(100, caps=Caps(tokens=3000), in_flight=1)
        each = judge.spending.tokens / len(server.requests)
        assert 150 < each < 250
        assert len(server.requests) == math.floor(3000 / each)

    def test_holds_what_was_expected_of_a_request_that_had_no_answer(self, server, reply, work_at):
        """What it cost is not known, and may be all of it."""
        server.in_turn(reply(sent="reset"))
        _, judge, _ = work_at(1, attempts=3)
        assert judge.spending.requests == 3
        assert judge.spending.tokens > 3 * 150

    def test_is_not_touched_by_a_request_that_reached_nobody(self, chat_at, answers_of, questions, no_proxy):
        judge = chat_at("http://127.0.0.1:9/v1")
        (answer,) = answers_of(judge, *questions(1))
        assert (answer.no_label, judge.spending.requests, judge.spending.tokens) == (NoLabel.FAILED, 3, 0)

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_is_not_touched_by_a_request_that_the_server_refused(self, server, reply, work_at, status):
        server.in_turn(reply(status))
        _, judge, _ = work_at(1, attempts=3)
        assert (judge.spending.requests, judge.spending.tokens) == (3, 0)

    @pytest.mark.parametrize("extra", [{"max_tokens": 600}, {"max_tokens": None, "max_completion_tokens": 600}])
    def test_reckons_with_the_longest_answer_that_the_request_allows(self, server, completion, work_at, extra):
        """However it is set: what the server counts is within what the request says, and so the cap must hold."""
        server.in_turn(completion("SUPPORTED", usage=used(10, 600), delay_s=0.02))
        _, judge, _ = work_at(30, caps=Caps(tokens=2000), extra=extra)
        assert judge.spending.tokens <= 2000


class TestACapOnTheMoneyOfARun:
    def test_is_not_passed_where_the_server_counts_no_more_than_was_expected(self, server, completion, work_at):
        server.in_turn(completion("SUPPORTED", usage=used(100, 3), delay_s=0.002))
        worked, judge, lines = work_at(100, caps=Caps(usd=0.005), prices=PRICES)
        assert isinstance(worked.ended_by, CapReached)
        assert judge.spending.usd == pytest.approx(len(server.requests) * (100 * 2 + 3 * 10) / 1e6)
        assert 0.005 - 0.0005 <= judge.spending.usd <= 0.005
        assert len(lines) == len(server.requests)
        assert f"{judge.spending.usd:.4f} USD were spent" in str(worked.ended_by)

    def test_holds_nothing_back_where_the_prices_are_nothing(self, server, completion, work_at):
        server.in_turn(completion("SUPPORTED"))
        worked, judge, _ = work_at(30, caps=Caps(usd=0.0), prices=Prices(0.0, 0.0))
        assert worked.ended_by is None
        assert judge.spending.usd == 0


@pytest.mark.parametrize(
    ("usage", "spent"),
    [
        (used(70, 5), (70, 5)),
        ({"prompt_tokens": 70, "completion_tokens": 5}, (70, 5)),
        ({"prompt_tokens": 70}, (70, 0)),
        ({"total_tokens": 75}, (75, 0)),
        ({"completion_tokens": 5, "total_tokens": 75}, (70, 5)),
    ],
    ids=["all three", "no total", "the prompt alone", "the total alone", "no prompt"],
)
def test_the_servers_count_is_taken_in_every_shape_that_it_has(server, completion, work_at, usage, spent):
    server.in_turn(completion("SUPPORTED", usage=usage))
    _, judge, (line,) = work_at(1)
    assert (judge.spending.prompt_tokens, judge.spending.completion_tokens) == spent
    assert line.tokens == sum(spent)


@pytest.mark.parametrize(
    "usage",
    [
        "n/a",
        [70, 5],
        {"total_tokens": "75"},
        {"total_tokens": 75.5},
        {"total_tokens": True},
        {"total_tokens": -75},
        {"prompt_tokens": None, "total_tokens": None},
        {"completion_tokens": 5},
        {"total_tokens": 2**31},
        {"prompt_tokens": 10**400},
    ],
    ids=[
        "text",
        "list",
        "text within",
        "fraction",
        "true",
        "negative",
        "null",
        "no count of the prompt",
        "huge",
        "beyond all numbers",
    ],
)
def test_a_count_that_makes_no_sense_is_none_and_costs_no_answer(server, completion, work_at, usage):
    """What was expected of the request stands then."""
    server.in_turn(completion("SUPPORTED", usage=usage))
    _, judge, (line,) = work_at(1)
    assert (line.label, line.tokens, line.attempts) == (Label.SUPPORTED, None, 1)
    assert judge.spending.tokens > 150


def test_a_count_that_contradicts_itself_is_never_negative(server, completion, work_at):
    """Else a cap would be further away after each request."""
    server.in_turn(completion("SUPPORTED", usage={"completion_tokens": 75, "total_tokens": 70}))
    _, judge, _ = work_at(1)
    assert (judge.spending.prompt_tokens, judge.spending.completion_tokens) == (0, 75)


@pytest.mark.parametrize(
    "usage",
    [
        {"total_tokens": 2**31 - 1},
        {"prompt_tokens": 2**31 - 1, "completion_tokens": 2**31 - 1},
        {"prompt_tokens": 5, "completion_tokens": 10**30},
    ],
    ids=["the largest", "the largest twice", "one beyond it"],
)
@pytest.mark.parametrize("content", ["SUPPORTED", "Perhaps."], ids=["once", "put again"])
def test_a_huge_count_loses_no_answer(server, completion, work_at, usage, content):
    """Not of many in flight, nor of those that are put again, whose counts are added up; each line can be read back."""
    server.in_turn(completion(content, usage=usage, delay_s=0.05))
    worked, _, lines = work_at(80, in_flight=64)
    assert worked.ended_by is None
    assert [judgment.label for judgment in worked.results] == [Label.SUPPORTED if content == "SUPPORTED" else None] * 80
    assert len(lines) == 80
