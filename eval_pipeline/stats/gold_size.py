"""How many units a gold set needs to show that an error is rarer than a bound, by the exact binomial test."""

from itertools import count

import numpy as np
from scipy.stats import binom, nbinom

from eval_pipeline.errors import InputRefused, NoEffect
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import Counts
from eval_pipeline.stats.scalars import open_share, real_number, whole_number

_AT_ONCE = 1024  # numbers of errors that are tried together
_MOST = 10**7  # units of a gold set; beyond it nobody builds one, and the quantiles take long or are not exact


def smallest_size(errors: int, *, bound: Number, level: Number) -> int:
    """The fewest units in which so many errors still show that the rate is below the bound.

    They show it where the exact one-sided upper bound does not exceed `bound`: P(X <= errors) <= 1 - level for
    X ~ Binomial(n, bound). That holds from the n on by which error number errors + 1 has come with probability `level`.

    Args:
        errors: how many of the units err, from 0 on.
        bound: the rate to be excluded, in (0, 1).
        level: of the one-sided bound, in (0, 1).
    Raises: InputRefused: an argument outside its range.
    Source: Clopper & Pearson (1934), Biometrika 26(4), 404-413.

    """
    errors = whole_number(errors, "errors", at_least=0)
    return int(_sizes(np.array([errors]), open_share(bound, "bound"), open_share(level, "level"))[0])


def errors_allowed(units: int, *, bound: Number, level: Number) -> int | None:
    """The most errors with which so many units still show that the rate is below the bound; None if not even 0 do.

    Args:
        units: in the gold set, from 0 on.
        bound: the rate to be excluded, in (0, 1).
        level: of the one-sided bound, in (0, 1).
    Raises: InputRefused: an argument outside its range.
    Source: Clopper & Pearson (1934), Biometrika 26(4), 404-413.

    """
    units = whole_number(units, "units", at_least=0)
    bound, tail = open_share(bound, "bound"), 1 - open_share(level, "level")
    errors = int(binom.ppf(tail, units, bound))  # the fewest whose cumulative chance reaches the tail
    errors -= bool(binom.cdf(errors, units, bound) > tail)
    return errors if errors >= 0 else None


def chance_to_show(units: int, *, rate: Number, bound: Number, level: Number) -> float:
    """The probability that so many units show the rate to be below the bound, where it truly is `rate`.

    Args:
        units: in the gold set, from 0 on.
        rate: the true rate of errors, in [0, 1]; at the bound or above it, the chance is that of a false finding.
        bound: the rate to be excluded, in (0, 1).
        level: of the one-sided bound, in (0, 1).
    Raises: InputRefused: an argument outside its range.

    """
    allowed = errors_allowed(units, bound=bound, level=level)
    rate = real_number(rate, "rate", low=0, high=1)
    return 0.0 if allowed is None else float(binom.cdf(allowed, whole_number(units, "units"), rate))


def size_for_power(rate: Number, *, bound: Number, level: Number, power: Number) -> int:
    """The fewest units that show a true `rate` to be below the bound with a probability of at least `power`.

    A few units more may have less power, because the errors allowed come in whole numbers: check the size that is
    taken with `chance_to_show`. For each number of errors allowed, the smallest set that allows them has most power.

    Args:
        rate: the true rate of errors, in [0, bound).
        bound: the rate to be excluded, in (0, 1).
        level: of the one-sided bound, in (0, 1).
        power: the probability that is asked for, in (0, 1).

    Raises:
        InputRefused: an argument outside its range.
        NoEffect: the rate is not below the bound.
    Source: Chernick & Liu (2002), The American Statistician 56(2), 149-155 (power that is not monotone in n).

    """
    rate = real_number(rate, "rate", low=0, high=1)
    bound, level, power = open_share(bound, "bound"), open_share(level, "level"), open_share(power, "power")
    if rate >= bound:
        raise NoEffect(f"a rate of {rate:g} is not below the bound of {bound:g}; no gold set can show that it is")
    for first in count(0, _AT_ONCE):
        errors = np.arange(first, first + _AT_ONCE)
        sizes = _sizes(errors, bound, level)
        enough = sizes[binom.cdf(errors, sizes, rate) >= power]
        if enough.size:
            return int(enough[0])
    raise AssertionError("unreachable: power tends to 1, or the sizes pass the largest that is tried")


def _sizes(errors: Counts, bound: float, level: float) -> Counts:
    """For each number of errors, the level-quantile of the trials up to and with one error more."""
    if (errors[-1] + 1) / bound > _MOST:
        raise InputRefused(
            f"bound: found {bound:g}, for which more than {_MOST:g} units are needed; choose a larger one"
        )
    return (errors + 1 + nbinom.ppf(level, errors + 1, bound)).astype(np.int64)
