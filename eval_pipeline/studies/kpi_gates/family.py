"""How often several gates together stop a good run, and what each may then have of that."""

from fractions import Fraction
from math import ceil, expm1, log, log1p
from typing import Literal

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Number
from eval_pipeline.stats.scalars import choice, exact_level, exact_share, open_share, whole_number

Method = Literal["bonferroni", "sidak"]

_ROUNDING = 1e-9  # of a number of runs, which a power of the share may reach exactly


def family_wise(rate: Number, gates: int) -> Fraction:
    """The chance that one or more of independent gates fires, each with this rate: 1 - (1 - rate)^gates.

    Raises: InputRefused: a rate outside [0, 1], or no gates.
    """
    return 1 - (1 - exact_share(rate, "rate")) ** whole_number(gates, "gates", at_least=1)


def share_of_each(alarms_at_most: Number, gates: int, *, method: Method) -> float:
    """The rate at which each of the gates may fire, so that one or more do with at most the chance given.

    "bonferroni" holds however the gates depend on each other; "sidak", 1 - (1 - alarms)^(1/gates), is a little larger
    and holds where they are independent or fire together.

    Args:
        alarms_at_most: of all gates together, in (0, 1).
        gates: how many there are.
        method: how it is shared out.
    Raises: InputRefused: outside these.
    Source: Dunn (1961), JASA 56(293), 52-64; Sidak (1967), JASA 62(318), 626-633.

    """
    whole, number = open_share(alarms_at_most, "alarms_at_most"), whole_number(gates, "gates", at_least=1)
    return whole / number if choice(method, Method, "method") == "bonferroni" else -expm1(log1p(-whole) / number)


def fewest_runs(share: float, *, level: Number) -> int:
    """How many runs bound a percentile from above: the least n with share^n within (1 - level)/2.

    With fewer, even the largest value may well lie below it.

    Args:
        share: which percentile, in (0, 1).
        level: coverage of the interval, in (0, 1).
    Raises: InputRefused: outside these.

    """
    tail = (1 - exact_level(level)) / 2
    found = max(1, ceil(log(float(tail)) / log(open_share(share, "share")) - _ROUNDING))
    if found > 10**9:
        raise InputRefused(f"share: found {share:g}, expected a percentile that fewer than 10^9 runs can bound")
    return found
