"""Which of several hypotheses fall when they are tested together.

P-values and alpha are read as the shortest decimals that give their floats, and everything is exact from there on: at
alpha .05, three times .05 are all rejected by Benjamini-Hochberg, though .05 * 3 / 3 rounds to more than .05.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.scalars import as_printed, open_share, real_number


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted:
    """A family of hypotheses, in the order in which its p-values were given.

    `p_values` are adjusted: the least alpha at which each hypothesis falls, rounded to floats. `rejected` says which
    fall at the alpha that was asked for, decided before that rounding.
    """

    p_values: Reals
    rejected: npt.NDArray[np.bool_]


def bonferroni(p_values: Iterable[float], *, alpha: float) -> Adjusted:
    """At most `alpha` chance of any false rejection, however the tests depend on each other: m p.

    Args:
        p_values: shape (m,), each in [0, 1]; m may be 0.
        alpha: in (0, 1).
    Raises: InputRefused: a p-value is missing or outside [0, 1] (the message has its index), or alpha is no share.
    Source: Dunn (1961), Journal of the American Statistical Association 56(293), 52-64.

    """
    return _adjusted(p_values, alpha, lambda ordered: [len(ordered) * p for p in ordered])


def holm(p_values: Iterable[float], *, alpha: float) -> Adjusted:
    """As Bonferroni, and never fewer rejections: max over j <= i of (m - j + 1) p_(j), from the smallest p on.

    Args: as in `bonferroni`.
    Raises: InputRefused: as in `bonferroni`.
    Source: Holm (1979), Scandinavian Journal of Statistics 6(2), 65-70.

    """

    def step_down(ordered: list[Fraction]) -> Iterable[Fraction]:
        return accumulate(((len(ordered) - i) * p for i, p in enumerate(ordered)), max)

    return _adjusted(p_values, alpha, step_down)


def benjamini_hochberg(p_values: Iterable[float], *, alpha: float) -> Adjusted:
    """At most `alpha` expected share of false ones among the rejections: min over j >= i of m p_(j) / j.

    It holds for tests that are independent or positively dependent. SciPy's `false_discovery_control` gives the same
    adjusted p-values but for rounding, which decides ties.

    Args: as in `bonferroni`.
    Raises: InputRefused: as in `bonferroni`.
    Source: Benjamini & Hochberg (1995), JRSS B 57(1), 289-300.

    """

    def step_up(ordered: list[Fraction]) -> Iterable[Fraction]:
        ranked = [len(ordered) * p / rank for rank, p in enumerate(ordered, start=1)]
        return reversed(list(accumulate(reversed(ranked), min)))

    return _adjusted(p_values, alpha, step_up)


def _adjusted(
    p_values: Iterable[float], alpha: float, adjust: Callable[[list[Fraction]], Iterable[Fraction]]
) -> Adjusted:
    """The family adjusted by a rule for p-values in ascending order, back in its own order."""
    family = [
        as_printed(real_number(p, f"p-value {index}", low=0, high=1), "p-value") for index, p in enumerate(p_values)
    ]
    order = sorted(range(len(family)), key=family.__getitem__)
    limit = as_printed(open_share(alpha, "alpha"), "alpha")
    adjusted, rejected = np.empty(len(family)), np.empty(len(family), dtype=bool)
    for index, p in zip(order, adjust([family[i] for i in order]), strict=True):
        adjusted[index], rejected[index] = min(p, Fraction(1)), p <= limit
    return Adjusted(adjusted, rejected)
