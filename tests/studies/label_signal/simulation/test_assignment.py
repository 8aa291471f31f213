"""Who rates which answer, and when: all pairs of raters meet, all work alike, and no batch is harder than another."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from math import gcd

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.label_signal.simulation.assignment import Assigned, Task, assignments
from eval_pipeline.studies.label_signal.track import Track
from tests.stats.laws import LAW

BUNDLED = ["agentic", "grounding", "reasoning", "refusal"]
SIZES = st.integers(2, 8).flatmap(lambda raters: st.tuples(st.just(raters), st.integers(2, raters)))


def made_up(items: int, *, systems: int = 1, seed: int = 0) -> list[Task]:
    """Answers of so many systems to so many items, of any difficulty."""
    hard = np.random.default_rng(seed).uniform(0.1, 0.95, size=items).tolist()
    return [Task(f"q{item:03}", f"s{system}", hard[item]) for item in range(items) for system in range(systems)]


def of_track(track: Track) -> list[Task]:
    """The answers of a track."""
    hard = {item.item_id: item.difficulty for item in track.items}
    return [Task(one.item_id, one.system_id, hard[one.item_id] or 0.0) for one in track.responses]


def by_task(assigned: Sequence[Assigned]) -> dict[int, list[Assigned]]:
    """The ratings of each answer in the order in which they were dealt."""
    found: dict[int, list[Assigned]] = {}
    for one in assigned:
        found.setdefault(one.task, []).append(one)
    return found


def pairs_that_meet(assigned: Sequence[Assigned]) -> set[tuple[int, int]]:
    """The pairs of raters who rated an answer in common."""
    own = by_task(assigned).values()
    return {pair for ratings in own for pair in combinations(sorted(one.rater for one in ratings), 2)}


def test_the_window_of_raters_moves_on_by_hand() -> None:
    """Six raters, three an answer: answer i starts at i mod 6, and the second lies (i div 6) mod 4 + 1 places on."""
    own = by_task(assignments(made_up(25), raters=6, replication=3, batches=5))
    raters = {task: [one.rater for one in ratings] for task, ratings in own.items()}
    assert raters[0] == [0, 1, 2]
    assert raters[5] == [5, 0, 1]
    # The second lap leaves one rater out after the first, the fourth leaves out three, and the fifth is the first.
    assert raters[6] == [0, 2, 3]
    assert raters[11] == [5, 1, 2]
    assert raters[18] == [0, 4, 5]
    assert raters[24] == [0, 1, 2]


def test_answers_are_dealt_to_batches_back_and_forth_by_hand() -> None:
    """Seven answers from the easiest, three batches: 0 1 2, then 2 1 0, then 0; the second system begins at batch 1."""
    tasks = [Task(f"q{place}", system, place / 10) for system in ("a", "b") for place in range(7)]
    own = by_task(assignments(tasks, raters=2, replication=1, batches=3))
    first = {(tasks[task].system_id, tasks[task].item_id): one.batch for task, (one,) in own.items()}
    assert [first["a", f"q{place}"] for place in range(7)] == [0, 1, 2, 2, 1, 0, 0]
    assert [first["b", f"q{place}"] for place in range(7)] == [1, 2, 0, 0, 2, 1, 1]


@LAW
@given(SIZES, st.integers(0, 20))
def test_all_pairs_of_raters_meet_once_each_window_has_been_round(sizes: tuple[int, int], more: int) -> None:
    raters, replication = sizes
    answers = raters * (raters - replication + 1) + more
    assigned = assignments(made_up(answers), raters=raters, replication=replication, batches=1)
    assert pairs_that_meet(assigned) == set(combinations(range(raters), 2))


@LAW
@given(SIZES, st.integers(1, 60))
def test_each_answer_is_rated_by_different_raters_as_often_as_planned_and_all_work_alike(
    sizes: tuple[int, int], answers: int
) -> None:
    raters, replication = sizes
    assigned = assignments(made_up(answers), raters=raters, replication=replication, batches=1)
    assert {len({one.rater for one in own}) for own in by_task(assigned).values()} == {replication}
    assert len(assigned) == answers * replication
    loads = Counter(one.rater for one in assigned)
    per_rater = [loads[rater] for rater in range(raters)]
    # A whole lap gives each rater as many; what is left over is less than a lap.
    assert max(per_rater) - min(per_rater) <= (0 if answers % raters == 0 else replication)


@LAW
@given(SIZES, st.integers(1, 40))
def test_the_position_counts_what_a_rater_did_before(sizes: tuple[int, int], answers: int) -> None:
    raters, replication = sizes
    assigned = assignments(made_up(answers), raters=raters, replication=replication, batches=1)
    for rater in range(raters):
        own = [one.position for one in assigned if one.rater == rater]
        assert own == list(range(len(own)))


@LAW
@given(SIZES, st.integers(1, 9), st.integers(1, 40))
def test_the_jth_rating_of_an_answer_lies_j_batches_on(sizes: tuple[int, int], batches: int, answers: int) -> None:
    raters, replication = sizes
    assume(gcd(batches, raters) == 1)
    assigned = assignments(made_up(answers), raters=raters, replication=replication, batches=batches)
    for own in by_task(assigned).values():
        assert [one.batch for one in own] == [(own[0].batch + j) % batches for j in range(replication)]


@LAW
@given(st.integers(1, 60), st.integers(1, 3), st.sampled_from([1, 5, 7]))
def test_each_system_is_dealt_evenly_to_the_batches(items: int, systems: int, batches: int) -> None:
    tasks = made_up(items, systems=systems)
    assigned = assignments(tasks, raters=6, replication=1, batches=batches)
    for system in {task.system_id for task in tasks}:
        dealt = Counter(one.batch for one in assigned if tasks[one.task].system_id == system)
        sizes = [dealt[batch] for batch in range(batches)]
        assert max(sizes) - min(sizes) <= 1


@LAW
@given(st.permutations(range(18)))
def test_the_order_in_which_answers_stand_changes_nothing(order: list[int]) -> None:
    tasks = made_up(6, systems=3)

    def named(given_tasks: Sequence[Task]) -> list[tuple[str, str, int, int, int]]:
        dealt = assignments(given_tasks, raters=6, replication=3, batches=5)
        own = [(given_tasks[one.task], one) for one in dealt]
        return [(task.item_id, task.system_id, one.rater, one.batch, one.position) for task, one in own]

    assert named([tasks[place] for place in order]) == named(tasks)


def batch_means(tasks: Sequence[Task], *, raters: int, batches: int) -> list[float]:
    """The mean difficulty of what is rated in each batch."""
    assigned = assignments(tasks, raters=raters, replication=3, batches=batches)
    of_batch = [[tasks[one.task].difficulty for one in assigned if one.batch == batch] for batch in range(batches)]
    return [float(np.mean(own)) for own in of_batch]


def assert_no_batch_is_harder(means: Sequence[float], tasks: Sequence[Task]) -> None:
    """Within a tenth of the mean of all."""
    whole = float(np.mean([task.difficulty for task in tasks]))
    assert max(abs(mean - whole) for mean in means) <= 0.1 * whole


@pytest.mark.parametrize(("raters", "batches"), [(6, 5), (6, 7), (5, 7)])
@pytest.mark.parametrize("key", BUNDLED)
def test_no_batch_of_a_bundled_track_is_harder_and_difficulty_does_not_rise_from_batch_to_batch(
    tracks: dict[str, Track], key: str, raters: int, batches: int
) -> None:
    """Difficulty that rose with the batches would look like drift."""
    tasks = of_track(tracks[key])
    means = batch_means(tasks, raters=raters, batches=batches)
    assert_no_batch_is_harder(means, tasks)
    assert means not in (sorted(means), sorted(means, reverse=True))


@pytest.mark.parametrize("key", BUNDLED)
def test_the_raters_of_a_bundled_track_all_meet_and_do_as_much(tracks: dict[str, Track], key: str) -> None:
    assigned = assignments(of_track(tracks[key]), raters=6, replication=3, batches=5)
    assert pairs_that_meet(assigned) == set(combinations(range(6), 2))
    assert set(Counter(one.rater for one in assigned).values()) == {len(assigned) // 6}
    # Since 5 and 6 have no common divisor, each rater works in each batch.
    assert len({(one.rater, one.batch) for one in assigned}) == 30


@LAW
@given(st.integers(36, 60), st.sampled_from([5, 7]), st.integers(0, 10**6))
def test_no_batch_is_harder_in_a_track_as_large_as_those_whatever_the_difficulties(
    items: int, batches: int, seed: int
) -> None:
    tasks = made_up(items, systems=3, seed=seed)
    assert_no_batch_is_harder(batch_means(tasks, raters=6, batches=batches), tasks)


@pytest.mark.parametrize("replication", [0, 4])
def test_more_ratings_of_an_answer_than_raters_or_none_are_refused(replication: int) -> None:
    sentence = f"replication: found {replication} ratings of an answer, expected 1 to 3, the raters"
    with pytest.raises(InputRefused, match=re.escape(sentence)):
        assignments(made_up(4), raters=3, replication=replication, batches=2)


@pytest.mark.parametrize(("raters", "batches"), [(6, 4), (6, 3), (5, 5), (6, 0)])
def test_batches_that_share_a_divisor_with_the_raters_are_refused(raters: int, batches: int) -> None:
    sentence = (
        f"batches: found {batches} for {raters} raters, expected a number without a common divisor; else some raters"
        " never meet some batches"
    )
    with pytest.raises(InputRefused, match=re.escape(sentence)):
        assignments(made_up(4), raters=raters, replication=2, batches=batches)
