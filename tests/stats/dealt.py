"""A generator whose draws are chosen beforehand, so that a bootstrap can be worked out by hand."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class Dealt:
    """A generator that deals the row numbers it was given, in their order, two to a word with the first in front."""

    def __init__(self, rows: Sequence[int] | npt.NDArray[np.int64], clusters: int) -> None:
        numbers = -(-(np.asarray(rows, dtype=np.int64) << 32) // clusters)
        self.halves = np.append(numbers, [0] * (len(numbers) % 2)).astype(np.uint64)
        self.bit_generator = self

    def random_raw(self, size: int) -> npt.NDArray[np.uint64]:
        dealt, self.halves = self.halves[: 2 * size], self.halves[2 * size :]
        return dealt[::2] | dealt[1::2] << np.uint64(32)


def every_resample(clusters: int, times: int = 1) -> Dealt:
    """Deals each of the k^k ways to draw k clusters out of k, so many times."""
    once = np.indices((clusters,) * clusters).reshape(clusters, -1).T.ravel()
    return Dealt(np.tile(once, times), clusters)


def halves_of(seed: int, size: int) -> list[int]:
    """The first 32-bit numbers of a seed in plain integers: of each 64-bit word the lower half, then the upper."""
    words = np.random.PCG64(seed).random_raw((size + 1) // 2).tolist()
    return [half for word in words for half in (word % 2**32, word // 2**32)][:size]
