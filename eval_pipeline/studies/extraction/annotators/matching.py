"""The matching of two lists, each member with one of the other at the most: the largest, and of these the nearest."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

from eval_pipeline.judge.lexical import similarity
from eval_pipeline.stats.arrays import Counts

_HALF_OF_ALL_WORDS = 500  # so that two texts of the same words are 1,000 near


@dataclass(frozen=True, slots=True, order=True)
class Match:
    """A member of the first list and one of the second, by their places from 0."""

    first: int
    second: int


def nearness(first: Sequence[str], second: Sequence[str]) -> Counts:
    """How near each text of the first list is to each of the second, shape (a, b): by words, and then by place.

    Whole numbers, so that sums compare exactly: no difference in place outweighs a thousandth of the words in common,
    over all the pairs of any matching.
    """
    words = [[round(_HALF_OF_ALL_WORDS * (similarity(a, b) + similarity(b, a))) for b in second] for a in first]
    longest, pairs = max(len(first), len(second)), min(len(first), len(second))
    apart = np.subtract.outer(np.arange(len(first)), np.arange(len(second))) ** 2  # squared: order is kept, not crossed
    table = np.array(words, dtype=np.int64).reshape(apart.shape)
    return np.asarray(table * (1 + pairs * longest**2) + longest**2 - apart)


def best_matching(possible: npt.NDArray[np.bool_], near: Counts) -> tuple[Match, ...]:
    """The matching of possible pairs that has most of them, and of these the one whose pairs are nearest in sum.

    Args:
        possible: shape (a, b), which pairs there may be.
        near: shape (a, b), how near they are, from 0 on.

    Source: Crouse (2016), On implementing 2D rectangular assignment algorithms, IEEE Transactions on Aerospace and
        Electronic Systems 52(4), 1679-1696, as SciPy has it.

    """
    one_more = 1 + min(possible.shape) * int(near.max(initial=0))  # outweighs all that nearness can sum to
    rows, columns = linear_sum_assignment(np.where(possible, one_more + near, 0), maximize=True)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return tuple(Match(row, column) for row, column in pairs if possible[row, column])
