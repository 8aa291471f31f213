"""At each attempt, how many of those who come to it have the event: survival in discrete time."""

from dataclasses import dataclass

import numpy as np

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, whole_numbers
from eval_pipeline.stats.binomial import exact_interval
from eval_pipeline.stats.scalars import open_share
from eval_pipeline.stats.survival import risk_table


@dataclass(frozen=True, slots=True)
class Hazard:
    """At one attempt: how many made it, how many had the event at it, their share, and its interval."""

    attempt: int
    at_risk: int
    events: int
    share: float
    interval: Interval


def hazards(attempts: ArrayLike, events: ArrayLike, *, level: Number) -> tuple[Hazard, ...]:
    """The hazard of each attempt from 1 to the last that was made: of those who came to it, the share with the event.

    The hazard of attempt k + 1 is 1 - S(k + 1) / S(k) of the Kaplan-Meier curve. Each interval is exact and stands for
    itself; it takes subjects as independent. Where they fail together, give `pooled_ratio.ratio_contrast` the events
    and the subjects at risk of each cluster.

    Args:
        attempts: shape (n,), whole numbers from 1 on; at which attempt each subject had the event, or its last without.
        events: shape (n,), 1 for the event and 0 for a subject who stopped without it.
        level: coverage of each interval, in (0, 1).

    Raises:
        InputRefused: attempts below 1 or not whole, events other than 0 or 1, unequal lengths, level outside (0, 1).
        TooFewObservations: n = 0.
    Source: Cox (1972), JRSS B 34(2), 187-220, section 7 (discrete time); Clopper & Pearson (1934), Biometrika 26(4).

    """
    coverage = open_share(level, "level")
    table = risk_table(whole_numbers(attempts, "attempts", at_least=1), events)
    every = np.arange(1, int(table.times[-1]) + 1)
    rows = np.searchsorted(table.times, every)
    failed = np.where(table.times[rows] == every, table.events[0, rows], 0)
    counted = zip(every.tolist(), table.at_risk[0, rows].tolist(), failed.tolist(), strict=True)
    return tuple(Hazard(k, n, d, d / n, exact_interval(d, n, level=coverage)) for k, n, d in counted)
