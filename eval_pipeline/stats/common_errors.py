"""Whether two judges err on the same cases more often than their error rates make them."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import hypergeom

from eval_pipeline.errors import TooFewObservations
from eval_pipeline.stats.arrays import ArrayLike, Reals, flags, groups, in_a_row, require_equal_lengths


@dataclass(frozen=True, slots=True)
class CommonErrors:
    """On how many of `n` cases both err, how many that would be if they erred apart, and P(as many or more) then."""

    n: int
    both: int
    expected: Fraction
    p_value: float


def common_errors(first: ArrayLike, second: ArrayLike, strata: ArrayLike) -> CommonErrors:
    """The errors that two judges share, against independence within each stratum, exactly.

    Given how often each errs in a stratum, the errors in common are hypergeometric; those of the strata add up. Cases
    of which all judges err more often than of others are to stand in a stratum of their own.

    Args:
        first: shape (n,), 1 where the first judge errs, else 0.
        second: shape (n,), the same of the second.
        strata: shape (n,), the stratum of each case.

    Raises:
        TooFewObservations: n = 0.
        InputRefused: unequal lengths, or values other than 0 and 1.
    Source: Mantel & Haenszel (1959), JNCI 22(4), 719-748; Agresti (2013), Categorical Data Analysis, 3rd ed., 7.3.5.

    """
    errs = in_a_row(flags(first, "first"), "first"), in_a_row(flags(second, "second"), "second")
    stratum = groups(strata, "strata")
    require_equal_lengths(first=errs[0], second=errs[1], strata=stratum)
    if not len(stratum):
        raise TooFewObservations("there are no cases that both judges judged")
    sizes = np.bincount(stratum).tolist()
    one, other = (np.bincount(stratum[each == 1], minlength=len(sizes)).tolist() for each in errs)
    both = int((errs[0] & errs[1]).sum())
    chances: Reals = np.ones(1)
    for n, a, b in zip(sizes, one, other, strict=True):
        chances = np.convolve(chances, hypergeom.pmf(np.arange(min(a, b) + 1), n, a, b))
    return CommonErrors(
        n=len(stratum),
        both=both,
        expected=sum((Fraction(a * b, n) for n, a, b in zip(sizes, one, other, strict=True)), Fraction(0)),
        p_value=min(1.0, float(chances[both:].sum())),
    )
