"""What is believed of a rate after some trials: Beta prior, Beta posterior."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.integrate import tanhsinh
from scipy.special import betainc, betaincc, betaincinv
from scipy.stats import beta

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.binomial import counted
from eval_pipeline.stats.scalars import open_share, real_number


@dataclass(frozen=True, slots=True)
class Beta:
    """A belief about a rate, worth `a` successes and `b` failures; both above 0, and held as exact fractions.

    Raises: InputRefused: a or b is not a finite number above 0.
    Source: Gelman et al. (2013), Bayesian Data Analysis, section 2.4.
    """

    a: Number
    b: Number

    def __post_init__(self) -> None:
        """Fractions, in which counts that are added can be taken out again without loss."""
        object.__setattr__(self, "a", _weight(self.a, "a"))
        object.__setattr__(self, "b", _weight(self.b, "b"))

    def updated(self, successes: int, trials: int) -> "Beta":
        """The belief after so many successes in so many further trials.

        Raises: InputRefused: successes outside 0..trials.
        """
        successes, trials = counted(successes, trials)
        return Beta(self.a + successes, self.b + (trials - successes))

    @property
    def mean(self) -> float:
        """Of the rate."""
        return float(self.a / (self.a + self.b))

    @property
    def mode(self) -> float | None:
        """The rate of highest density; None where it is flat (1, 1) or rises to both ends (a and b below 1)."""
        if self.a > 1 and self.b > 1:
            return float((self.a - 1) / (self.a + self.b - 2))
        if self.a == self.b or max(self.a, self.b) < 1:
            return None
        return 0.0 if self.a < self.b else 1.0

    def interval(self, *, level: Number) -> Interval:
        """The equal-tailed interval that holds the rate with probability `level`, in (0, 1).

        Raises: InputRefused: a level outside (0, 1).
        """
        coverage = open_share(level, "level")
        low, high = beta.interval(coverage, float(self.a), float(self.b))
        return Interval(float(low), float(high), coverage)

    def evidence_beyond(self, prior: "Beta") -> Fraction:
        """How many trials stand between the prior and this belief: a + b less the prior's."""
        return Fraction(self.a) + Fraction(self.b) - Fraction(prior.a) - Fraction(prior.b)


def data_dominate(posterior: Beta, *, prior: Beta, at_least: Number) -> bool:
    """Whether at least so many trials stand between prior and posterior, so that data and not prior speak."""
    return posterior.evidence_beyond(prior) >= at_least


def probability_greater(rate: Beta, other: Beta) -> float:
    """P(rate > other) for two independent beliefs, to about 1e-8.

    The mean of F_other at `rate`, over the quantiles of whichever belief is narrower, where it is smooth. Quantiles
    above 1/2 are taken as distances from 1, of which floats tell more apart.
    """
    if rate.a + rate.b < other.a + other.b:
        return 1 - probability_greater(other, rate)
    a, b, other_a, other_b = (float(weight) for weight in (rate.a, rate.b, other.a, other.b))

    def below(share: Reals) -> Reals:
        return np.asarray(betainc(other_a, other_b, betaincinv(a, b, share)))

    def above(share: Reals) -> Reals:
        return np.asarray(betaincc(other_b, other_a, betaincinv(b, a, share)))

    halves = tanhsinh(below, 0, betainc(a, b, 0.5)), tanhsinh(above, 0, betainc(b, a, 0.5))
    return float(sum(half.integral for half in halves))


def _weight(value: Number, name: str) -> Fraction:
    if not isinstance(value, Fraction):
        value = Fraction(real_number(value, name))
    if value <= 0:
        raise InputRefused(f"{name}: found {float(value):g}, expected a number above 0")
    return value
