import asyncio
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.judge.limit import LiveLimit

LAWS = settings(deadline=None, derandomize=True, max_examples=200)


async def a_while():
    """Time for every task to go as far as it can."""
    for _ in range(10):
        await asyncio.sleep(0)


def run(work):
    return asyncio.run(asyncio.wait_for(work, 20))


async def one_round(limit, *, refused):
    """As many answers as may be in flight, of which so many were refused."""
    answers = limit.limit
    for _ in range(answers):
        await limit.take()
    for number in range(answers):
        limit.give_back(busy=number < refused)


def limits_after(most, refusals):
    """The limit at first, and after each round with so many refusals of the calls in flight."""

    async def rounds():
        limit = LiveLimit(most)
        seen = [limit.limit]
        for refused in refusals:
            await one_round(limit, refused=min(refused, limit.limit))
            seen.append(limit.limit)
        return seen

    return run(rounds())


class TestTheLimit:
    def test_is_brought_to_one_by_a_round_of_refusals_and_stops_there(self):
        assert limits_after(64, [64] * 3) == [64, 1, 1, 1]

    def test_is_hardly_moved_by_a_stray_refusal(self):
        """One of 64 answers takes half of a 64th of 64, which is half a call, and 64 good answers give it back."""

        async def rounds():
            limit = LiveLimit(64)
            await one_round(limit, refused=1)
            fallen = limit.limit
            for _ in range(64):
                await limit.take()
                limit.give_back(busy=False)
            return fallen, limit.limit

        fallen, after = run(rounds())
        assert fallen >= 63
        assert after == 64

    @pytest.mark.parametrize(("refused", "limit"), [(0, 40), (4, 38), (10, 35), (20, 30), (30, 17), (36, 7), (40, 1)])
    def test_falls_by_half_the_share_that_was_refused_or_its_square_and_grows_by_the_rest(self, refused, limit):
        """40 * (1 - max(share / 2, share ** 2)) + 1 - share: 38.9, 35.75, 30.5, 17.75, 7.7 and 0, which is 1."""
        assert limits_after(40, [refused]) == [40, limit]

    def test_grows_by_one_a_round_up_to_the_most(self):
        """From 1, at which a round of refusals leaves it; the rounds after that have one answer, two, three, ..."""
        assert limits_after(8, [8, *[0] * 9]) == [8, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8]

    def test_of_one_stays_one_and_lets_one_through(self):
        assert limits_after(1, [1, 0, 1, 1, 0]) == [1] * 6

    def test_does_not_move_before_the_round_is_over(self):
        async def rounds():
            limit = LiveLimit(8)
            for _ in range(8):
                await limit.take()
            seen = []
            for _ in range(8):
                limit.give_back(busy=True)
                seen.append(limit.limit)
            return seen

        assert run(rounds()) == [8] * 7 + [1]

    def test_does_not_count_the_refusals_of_one_round_in_the_next(self):
        assert limits_after(8, [8, 0, 0]) == [8, 1, 2, 3]

    @LAWS
    @given(most=st.integers(1, 40), seed=st.integers(0, 2**32), share=st.floats(0, 1))
    def test_is_never_under_one_nor_over_the_most(self, most, seed, share):
        rng = random.Random(seed)

        async def calls():
            limit = LiveLimit(most)
            for _ in range(200):
                await limit.take()
                limit.give_back(busy=rng.random() < share)
                assert 1 <= limit.limit <= most

        run(calls())


class Server:
    """Has room for so many calls and refuses the others at once; a call takes some turns of the loop."""

    def __init__(self, room, *, turns=10):
        self.room = room
        self.turns = turns
        self.now = self.most = self.served = self.refused = 0

    async def call(self):
        """Whether it was refused."""
        if self.now >= self.room:
            self.refused += 1
            await asyncio.sleep(0)
            return True
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(self.turns):
            await asyncio.sleep(0)
        self.now -= 1
        self.served += 1
        return False


async def work_at(server, limit, *, workers, calls):
    """The limit after each call, of so many workers that call until there were so many calls."""
    left = iter(range(calls))
    limits = []

    async def worker():
        for _ in left:
            await limit.take()
            busy = await server.call()
            before = limit._in_flight
            limit.give_back(busy=busy)
            assert limit._in_flight <= max(limit.limit, before - 1)  # where it fell, nobody is let in
            limits.append(limit.limit)

    await asyncio.gather(*[worker() for _ in range(workers)])
    return limits


@pytest.mark.parametrize("room", [1, 4, 10, 25])
def test_under_a_server_with_room_for_k_the_limit_settles_near_k(room):
    """From far above: after the first 1,000 of 6,000 calls it keeps within 15 % of k, and one call more, around k.

    Where k is 4 or less, one refusal too many is the most of a round, and takes the limit down to 1 for a moment.
    """
    server, limit = Server(room), LiveLimit(64)
    limits = run(work_at(server, limit, workers=64, calls=6000))
    settled = limits[1000:]
    assert min(settled) >= (0.85 * room - 1 if room > 4 else 1)
    assert max(settled) <= 1.15 * room + 1
    assert sum(settled) / len(settled) == pytest.approx(room, rel=0.05, abs=1)


def test_refusals_that_come_at_random_do_not_bring_the_limit_down_to_a_few():
    """A tenth of the calls is refused, however many are in flight, as where a gateway shares out its places by lot.

    To send fewer at a time helps nobody then. 64 workers at a server that takes 50 ms, each of whose refusals costs a
    wait of 1.25 s, and so .125 s a call on average, would have 64 * .05 / (.05 + .125) = 18 in flight without any
    limit; one that settles far under that makes the run as much longer.
    """
    rng = random.Random(7)

    async def calls():
        limit, limits = LiveLimit(64), []
        for _ in range(6000):
            await limit.take()
            limit.give_back(busy=rng.random() < 0.1)
            limits.append(limit.limit)
        return limits

    settled = run(calls())[2000:]
    assert sum(settled) / len(settled) > 15


def test_a_limit_that_came_down_finds_its_way_back_when_there_is_room_again():
    async def busy_and_then_not():
        server, limit = Server(4), LiveLimit(32)
        down = await work_at(server, limit, workers=32, calls=2000)
        server.room = 1000
        up = await work_at(server, limit, workers=32, calls=2000)
        return down[-1], up

    low, up = run(busy_and_then_not())
    assert low <= 6
    assert up[-1] == 32
    assert all(later - sooner <= 1 for sooner, later in pairwise(up))


def test_without_refusals_all_are_in_flight_at_once():
    server = Server(64)
    run(work_at(server, LiveLimit(64), workers=64, calls=640))
    assert (server.most, server.refused) == (64, 0)


def test_a_limit_that_fell_lets_nobody_in_until_enough_have_come_back():
    """Of 4 in flight all are refused, so that 1 may be: the last that comes back makes no room, as the limit fell."""

    async def calls():
        limit = LiveLimit(4)
        callers = [asyncio.create_task(limit.take()) for _ in range(8)]
        await a_while()
        seen = []
        for _ in range(4):
            limit.give_back(busy=True)
            await a_while()
            seen.append(sum(task.done() for task in callers))
        callers[-1].cancel()
        return seen

    # three who come back are followed by three; the fourth ends the round, and 3 are in flight where 1 may be
    assert run(calls()) == [5, 6, 7, 7]


def test_first_come_is_first_served():
    async def calls():
        limit, order = LiveLimit(1), []

        async def caller(name):
            await limit.take()
            order.append(name)
            await asyncio.sleep(0)
            limit.give_back(busy=False)

        await asyncio.gather(*[caller(name) for name in range(20)])
        return order

    assert run(calls()) == list(range(20))


def test_who_comes_late_does_not_overtake_one_whose_permit_is_on_its_way():
    """The permit was given to the one who waits, who did not run yet; the next to ask finds none."""

    async def calls():
        limit, order = LiveLimit(1), []

        async def caller(name):
            await limit.take()
            order.append(name)

        await limit.take()
        patient = asyncio.create_task(caller("patient"))
        await a_while()
        limit.give_back(busy=False)
        hasty = asyncio.create_task(caller("hasty"))
        await a_while()
        assert order == ["patient"]
        limit.give_back(busy=False)
        await asyncio.gather(patient, hasty)
        return order

    assert run(calls()) == ["patient", "hasty"]


def test_a_permit_under_which_nothing_was_sent_goes_to_the_next_and_is_no_answer():
    """Seven of eight answers are refusals; were the permit that was put back the eighth, the round would be over."""

    async def calls():
        limit = LiveLimit(8)
        for _ in range(8):
            await limit.take()
        for _ in range(7):
            limit.give_back(busy=True)
        for _ in range(7):
            await limit.take()
        waiting = asyncio.create_task(limit.take())
        await a_while()
        assert not waiting.done()
        limit.put_back()
        await asyncio.wait_for(waiting, 1)
        return limit.limit

    assert run(calls()) == 8


class TestOneWhoStopsWaiting:
    def test_takes_no_permit_from_those_behind(self):
        async def calls():
            limit = LiveLimit(1)
            await limit.take()
            first, second = (asyncio.create_task(limit.take()) for _ in range(2))
            await a_while()
            first.cancel()
            await a_while()
            limit.give_back(busy=False)
            await asyncio.wait_for(second, 1)
            return first.cancelled()

        assert run(calls())

    def test_hands_on_a_permit_that_had_just_been_granted(self):
        """It is cancelled between the granting and its own next turn, so that it never knows of the permit."""

        async def calls():
            limit = LiveLimit(1)
            await limit.take()
            first, second = (asyncio.create_task(limit.take()) for _ in range(2))
            await a_while()
            limit.give_back(busy=False)
            first.cancel()
            await asyncio.wait_for(second, 1)
            return first.cancelled()

        assert run(calls())

    def test_leaves_a_permit_that_had_just_been_granted_for_whoever_comes(self):
        async def calls():
            limit = LiveLimit(1)
            await limit.take()
            only = asyncio.create_task(limit.take())
            await a_while()
            limit.give_back(busy=False)
            only.cancel()
            await a_while()
            await asyncio.wait_for(limit.take(), 1)

        run(calls())

    def test_stands_in_nobodys_way_when_all_stop_at_once(self):
        async def calls():
            limit = LiveLimit(3)
            for _ in range(3):
                await limit.take()
            waiting = [asyncio.create_task(limit.take()) for _ in range(20)]
            await a_while()
            limit.give_back(busy=False)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            for _ in range(2):
                limit.give_back(busy=False)
            for _ in range(3):
                await asyncio.wait_for(limit.take(), 1)
            fourth = asyncio.create_task(limit.take())
            await a_while()
            assert not fourth.done()
            fourth.cancel()

        run(calls())


@LAWS
@given(
    most=st.integers(1, 5),
    steps=st.lists(st.tuples(st.sampled_from(["come", "return", "refused", "cancel", "turn"]), st.integers(0, 30))),
)
def test_no_order_of_coming_going_and_cancelling_loses_a_permit_or_makes_one(most, steps):
    """Whatever happened, in the end the permits are as many as the limit says, and all who wait get one in turn.

    "turn" lets the tasks run; without one, a cancellation may come between the granting of a permit and its use.
    """

    async def interleaved():
        limit = LiveLimit(most)
        tasks = []
        holding = []

        async def caller():
            await limit.take()
            holding.append(None)

        def give_back(*, busy):
            if holding:
                holding.pop()
                limit.give_back(busy=busy)

        for step, choice in steps:
            if step == "come":
                tasks.append(asyncio.create_task(caller()))
            elif step == "return":
                give_back(busy=False)
            elif step == "refused":
                give_back(busy=True)
            elif step == "cancel" and tasks:
                tasks[choice % len(tasks)].cancel()
            else:
                before = limit.limit
                await a_while()
                assert len(holding) <= most
                assert limit.limit == before
        await a_while()
        while not all(task.done() for task in tasks):
            assert holding, "some wait, and nobody holds a permit that could come back"
            give_back(busy=False)
            await a_while()
        while holding:
            give_back(busy=False)
        taken = [asyncio.create_task(caller()) for _ in range(limit.limit + 1)]
        await a_while()
        assert [task.done() for task in taken] == [True] * limit.limit + [False]
        taken[-1].cancel()

    run(interleaved())
