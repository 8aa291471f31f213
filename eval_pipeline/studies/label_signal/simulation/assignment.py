"""Who rates which answer, and in which batch: all pairs of raters meet, and no batch is harder than the others."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from eval_pipeline.errors import InputRefused


@dataclass(frozen=True, slots=True)
class Task:
    """An answer that is to be rated, and how hard its item is."""

    item_id: str
    system_id: str
    difficulty: float


@dataclass(frozen=True, slots=True)
class Assigned:
    """One rating to be given: whose, of what, in which batch, and as the how manieth of the rater's own."""

    task: int
    rater: int
    batch: int
    position: int


def assignments(tasks: Sequence[Task], *, raters: int, replication: int, batches: int) -> tuple[Assigned, ...]:
    """The ratings of all answers, in the order of their ids.

    Of answer i the window of raters starts at i mod r, and its second rater lies (i div r) mod (r - k + 1) + 1 places
    further, so that in time all pairs meet and all work alike. Within a system the answers are dealt to batches from
    the easiest to the hardest and back, so that no batch is harder; the j-th rating of an answer goes j batches on,
    since drift shows only where the same answers lie in several batches.

    Args:
        tasks: the answers.
        raters: r, how many there are.
        replication: k, how many rate each answer.
        batches: how many there are.
    Raises: InputRefused: more ratings of an answer than raters, or batches that share a divisor with the raters.

    """
    if not 1 <= replication <= raters:
        raise InputRefused(f"replication: found {replication} ratings of an answer, expected 1 to {raters}, the raters")
    if gcd(batches, raters) != 1:
        raise InputRefused(
            f"batches: found {batches} for {raters} raters, expected a number without a common divisor; else some"
            " raters never meet some batches"
        )
    order = sorted(range(len(tasks)), key=lambda task: (tasks[task].item_id, tasks[task].system_id))
    first_batch = _dealt(tasks, batches)
    done: dict[int, int] = defaultdict(int)
    assigned = []
    for index, task in enumerate(order):
        lead = index // raters % (raters - replication + 1)
        offsets = [0, *(lead + step for step in range(1, replication))]
        for j, offset in enumerate(offsets):
            rater = (index + offset) % raters
            assigned.append(Assigned(task, rater, (first_batch[task] + j) % batches, done[rater]))
            done[rater] += 1
    return tuple(assigned)


def _dealt(tasks: Sequence[Task], batches: int) -> dict[int, int]:
    """The batch of the first rating of each answer: dealt back and forth, each system from another batch on."""
    of_system: dict[str, list[int]] = defaultdict(list)
    for place, task in enumerate(tasks):
        of_system[task.system_id].append(place)
    batch: dict[int, int] = {}
    for offset, system in enumerate(sorted(of_system)):
        ordered = sorted(of_system[system], key=lambda place: (tasks[place].difficulty, tasks[place].item_id))
        for rank, place in enumerate(ordered):
            lap, step = divmod(rank, batches)
            dealt = step if lap % 2 == 0 else batches - 1 - step
            batch[place] = (dealt + offset) % batches
    return batch
