"""What several looks at one count of events come to: the exact chance that any of them declares the events rare."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import binom

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Number
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.scalars import real_number, whole_number

_LEAST = 1e-100  # below it SciPy's pmf overflows, and no look will ever see an event


@dataclass(frozen=True, slots=True)
class CountLook:
    """A look after so many trials, counted from the first: what it makes of the events so far.

    Up to `declared_up_to` events are declared rare (None: no number is), and from `ended_from` on nothing more is
    looked at, whether that is seen at the look or as soon as they have come. Between them the next look decides.
    """

    trials: int
    declared_up_to: int | None
    ended_from: int


@dataclass(frozen=True, slots=True)
class LookChances:
    """Of each look, the chance that it is reached with the question open, and that it declares the events rare."""

    reached: tuple[float, ...]
    declared: tuple[float, ...]

    @property
    def declared_at_all(self) -> float:
        """The chance that any of the looks declares the events rare."""
        return sum(self.declared)


def look_chances(looks: Sequence[CountLook], *, rate: Number) -> LookChances:
    """How likely each look is to be needed and to declare, summed over all paths that the counts can take.

    Args:
        looks: in their order; the last leaves nothing open, whatever its `ended_from`.
        rate: the true rate of events, in [0, 1].
    Raises: InputRefused: no look, trials that do not grow from look to look, a look that declares what it would end
        with, or a rate outside [0, 1].
    Source: Schultz, Nichol, Elfring & Weed (1973), Biometrics 29(2), 293-300.

    """
    share = real_number(rate, "rate", low=0, high=1)
    share = 0.0 if share < _LEAST else share
    open_counts: Reals = np.ones(1)
    reached, declared = [], []
    for before, look in pairwise([None, *_checked(looks)]):
        assert look is not None
        more = look.trials - (before.trials if before else 0)
        reached.append(float(open_counts.sum()))
        counts = np.convolve(open_counts, binom.pmf(np.arange(min(more, look.ended_from) + 1), more, share))
        counts = counts[: look.ended_from]
        first_open = 0 if look.declared_up_to is None else look.declared_up_to + 1
        declared.append(float(counts[:first_open].sum()))
        open_counts = counts.copy()
        open_counts[:first_open] = 0.0
    return LookChances(tuple(reached), tuple(declared))


def _checked(looks: Sequence[CountLook]) -> Sequence[CountLook]:
    if not looks:
        raise InputRefused("looks: found none, expected one or more")
    last = 0
    for number, look in enumerate(looks, 1):
        trials = whole_number(look.trials, f"trials of look {number}")
        if trials <= last:
            raise InputRefused(f"trials of look {number}: found {trials} after {last}, expected more")
        last, least = trials, -1
        if look.declared_up_to is not None:
            least = whole_number(look.declared_up_to, f"declared_up_to of look {number}", at_least=0)
        if whole_number(look.ended_from, f"ended_from of look {number}", at_least=1) <= least:
            raise InputRefused(
                f"ended_from of look {number}: found {look.ended_from}, expected more than the {least} events that are"
                " declared rare"
            )
    return looks
