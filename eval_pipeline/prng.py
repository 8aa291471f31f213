"""mulberry32, the generator of the first version's seals: what it drew can be drawn again."""

from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")
_WORD = 0xFFFFFFFF


def mulberry32(seed: int) -> Callable[[], float]:
    """A function that gives the next number in [0, 1), from a state of 32 bits.

    It is kept to read old seals, and for nothing else: 32 bits are too few for an estimate.
    """
    state = seed & _WORD

    def draw() -> float:
        nonlocal state
        state = (state + 0x6D2B79F5) & _WORD
        mixed = ((state ^ state >> 15) * (state | 1)) & _WORD
        mixed ^= (mixed + ((mixed ^ mixed >> 7) * (mixed | 61) & _WORD)) & _WORD
        return ((mixed ^ mixed >> 14) & _WORD) / 2**32

    return draw


def shuffled(values: Sequence[_T], draw: Callable[[], float]) -> list[_T]:
    """The values in random order, by Fisher and Yates from the end: place i trades with floor(u (i + 1)).

    Source: Durstenfeld (1964), Communications of the ACM 7(7), 420.
    """
    found = list(values)
    for place in range(len(found) - 1, 0, -1):
        other = int(draw() * (place + 1))
        found[place], found[other] = found[other], found[place]
    return found
