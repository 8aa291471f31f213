"""The gates: an estimate against the threshold that the plan holds, compared exactly, but for a float's rounding."""

from fractions import Fraction
from typing import Literal

from eval_pipeline.records import Number, Outcome
from eval_pipeline.stats.scalars import reaches

Comparison = Literal["exact", "four_decimals"]


def at_least(estimate: Number, threshold: Fraction, comparison: Comparison) -> Outcome:
    """Pass if the estimate reaches the threshold, else fail."""
    return Outcome.PASS if reaches(_compared(estimate, comparison), threshold) else Outcome.FAIL


def at_most(estimate: Number, threshold: Fraction, comparison: Comparison) -> Outcome:
    """Pass if the estimate does not exceed the threshold, else fail."""
    return Outcome.PASS if reaches(-_compared(estimate, comparison), -threshold) else Outcome.FAIL


def below(estimate: Number, threshold: Fraction) -> Outcome:
    """Pass if the estimate lies below the threshold; one that equals it fails."""
    return Outcome.FAIL if reaches(estimate, threshold) else Outcome.PASS


def _compared(estimate: Number, comparison: Comparison) -> Number:
    """`four_decimals` is how the first version of this evaluation compared: .79996 was .8000 to it, and passed."""
    return Fraction(f"{float(estimate):.4f}") if comparison == "four_decimals" else estimate
