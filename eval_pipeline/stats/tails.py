"""One bound or two: what lies outside an interval, and at which end."""

from fractions import Fraction
from typing import Literal

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.scalars import choice, exact_level

Tails = Literal["two", "lower", "upper"]


def tail_of(level: Number, tails: Tails) -> Fraction:
    """The chance that is left outside at an end: half of it on either side for "two".

    Raises: InputRefused: level outside (0, 1), or no such word.
    """
    outside = 1 - exact_level(level)
    return outside / 2 if choice(tails, Tails, "tails") == "two" else outside


def interval_of(low: Number, high: Number, level: Number, tails: Tails) -> Interval:
    """The interval of two ends, open where only the other was asked for."""
    return Interval(None if tails == "upper" else low, None if tails == "lower" else high, float(level))
