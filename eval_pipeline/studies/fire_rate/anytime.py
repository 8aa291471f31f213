"""The interval of a fire rate at any level, for looks without end."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from eval_pipeline.history import Anytime
from eval_pipeline.records import Interval
from eval_pipeline.stats.confidence_sequence import mean_sequence
from eval_pipeline.studies.fire_rate.plan import FireRatePlan
from eval_pipeline.studies.fire_rate.verdict import BELOW


def anytime(document: Mapping[str, Any], plan: FireRatePlan) -> Anytime:
    """The rate as a confidence sequence: its runs are counted up to where fires ended them, so that n is no constant.

    The level of a look is its own all the same, since another generation has other runs.
    """
    claim = next(one for one in document["claims"] if one["claim"] == BELOW)
    if not claim["denominator"]:
        return Anytime(plan.intervals.level, {})

    def interval_at(level: Fraction) -> Interval:
        first = plan.test.looks[0].runs
        return mean_sequence(claim["numerator"], claim["denominator"], level=level, tightest_at=first)

    return Anytime(plan.intervals.level, {BELOW: interval_at})
