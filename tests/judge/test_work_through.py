import asyncio
import gc
import logging

import pytest

from eval_pipeline.errors import JudgeDown
from eval_pipeline.judge.desk import Worked, work_through
from eval_pipeline.judge.spending import CapReached, Spending


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


class Purse:
    """Pays for so many pieces of work, and for the next raises what a meter raises."""

    def __init__(self, holds):
        self.holds = holds
        self.refused = []

    def pay(self, task):
        if not self.holds:
            self.refused.append(task)
            raise CapReached("4 requests", Spending(None))
        self.holds -= 1


def test_a_cap_that_is_reached_lets_what_is_in_flight_end():
    purse = Purse(4)

    async def work(task):
        purse.pay(task)
        await asyncio.sleep(0.01 * (task + 1))
        return task

    # 3 workers: 0, 1 and 2 are in flight; 0 ends, and 3 takes the last of the purse; who comes next is refused
    worked = through(range(50), work, workers=3)
    assert worked.results == (0, 1, 2, 3, *[None] * 46)
    assert isinstance(worked.ended_by, CapReached)


def test_a_cap_that_is_reached_stops_each_worker_at_the_first_refusal():
    """Else each of the tasks that are left would be tried in vain."""
    purse = Purse(4)

    async def work(task):
        purse.pay(task)
        await asyncio.sleep(0.001)

    through(range(5000), work, workers=3)
    assert purse.refused == [4, 5, 6]


def test_work_that_costs_nothing_is_done_by_the_others_after_the_cap():
    """A worker is stopped by what it cannot pay, and by nothing that another one could not pay."""

    async def work(task):
        if task == 0:
            raise CapReached("0 requests", Spending(None))
        await asyncio.sleep(0.001)
        return task

    worked = through(range(30), work, workers=3)
    assert worked.results == (None, *range(1, 30))
    assert isinstance(worked.ended_by, CapReached)


@pytest.mark.parametrize("cap_first", [True, False], ids=["after a cap", "before a cap"])
def test_a_judge_that_goes_down_stops_the_rest_whether_or_not_a_cap_was_reached(cap_first):
    async def work(task):
        if task == 0:
            await asyncio.sleep(0.01 if cap_first else 0.03)
            raise CapReached("1 request", Spending(None))
        if task == 1:
            await asyncio.sleep(0.03 if cap_first else 0.01)
            raise JudgeDown("it is down")
        await asyncio.sleep(60)

    worked = through(range(3), work, workers=3)
    assert str(worked.ended_by) == "it is down"


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
