"""How much chance each of endlessly many looks may spend, so that the intervals of all of them hold together."""

from fractions import Fraction

from eval_pipeline.records import Number
from eval_pipeline.stats.scalars import exact_level, whole_number


def level_of_look(look: int, *, level: Number) -> Fraction:
    """The level of the interval at a look: 1 - a / (k (k + 1)) at look k, where a = 1 - level.

    After k looks a k / (k + 1) is spent, and over all that can ever be a. Where the interval of each look holds at its
    level, all of them hold together at `level`, for as many looks as there will be and whatever goes on between them:
    the chance that any one misses is at most the sum of the chances (Boole). The truth may differ from look to look,
    and the data of one look may be those of another. What may not be is a look that is left out of the count for what
    it showed.

    Args:
        look: its number, from 1 on.
        level: coverage of all looks together, in (0, 1).
    Raises: InputRefused: look is no whole number of 1 or more, or level lies outside (0, 1).
    Source: Lan & DeMets (1983), Biometrika 70(3), 659-663 (alpha as a sum that is spent over looks); Dunn (1961),
        Journal of the American Statistical Association 56(293), 52-64 (that it may be shared out unequally).

    """
    number = whole_number(look, "look", at_least=1)
    return 1 - (1 - exact_level(level)) / (number * (number + 1))
