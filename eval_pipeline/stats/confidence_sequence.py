"""Confidence sequences: intervals that hold at every look at once, however often and for whatever reason one looks."""

from math import exp, expm1, log, log1p

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln

from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, Reals, reals
from eval_pipeline.stats.scalars import exact_level, positive_number, real_number, whole_number

_LOG_LEAST = -700.0  # a mean below exp of this is 0
_LOG_MOST = -1e-16  # and exp of this is 1, where the beta function of its complement is still finite
_CONCENTRATIONS = (1e-3, 1e9)  # any is valid; above, rounding would drown the evidence


def mean_sequence(total: float, n: int, *, level: Number, tightest_at: float) -> Interval:
    """Interval for the mean of values in [0, 1] after n of them; the truth is in all of these, for every n, at `level`.

    The beta-binomial mixture for shares. It holds for any values in [0, 1], because t^x (1 - t)^(1 - x) is convex in x:
    betting on t against the true mean gains on average no more from such a value than from a 0 or 1 of that mean.
    Without values it is [0, 1].

    Args:
        total: the sum of the values so far, in 0..n; of yes and no, how many were yes.
        n: how many values there were so far. Given those before it, each must have the same mean.
        level: coverage, in (0, 1), of all looks together.
        tightest_at: the n, fixed beforehand, at which the interval is about as narrow as it can be made (t_opt of the
            source, with its alpha_opt = 1 - level).
    Raises: InputRefused: n is no whole number, total lies outside 0..n, level outside (0, 1), or tightest_at is not
        above 0.
    Source: Howard, Ramdas, McAuliffe & Sekhon (2021), Annals of Statistics 49(2), 1055-1080 (mixture, sub-Bernoulli);
        Hoeffding (1963), JASA 58, 13-30 (convexity).

    """
    size = whole_number(n, "n", at_least=0)
    yes = real_number(total, "total", low=0, high=size)
    threshold, rho = _log_threshold(level), normal_mixture_rho(tightest_at=tightest_at, level=level)
    concentration = float(np.clip(rho - 1, *_CONCENTRATIONS))
    low = _low_end(yes, size - yes, concentration, threshold)
    high = 1 - _low_end(size - yes, yes, concentration, threshold)
    return Interval(low, high, float(level))


def normal_mixture_rho(*, tightest_at: float, level: Number) -> float:
    """The rho for which the normal-mixture boundary is tightest near a given variance, in the unit of that variance.

    It is the closed form v / (2 log(1/a) + log(1 + 2 log(1/a))), a = 1 - level, which approximates the optimum.

    Args:
        tightest_at: the variance, summed over the observations, to be best at; fixed beforehand.
        level: coverage, in (0, 1).
    Raises: InputRefused: tightest_at is not above 0, or level lies outside (0, 1).
    Source: Howard, Ramdas, McAuliffe & Sekhon (2021), Annals of Statistics 49(2), 1055-1080.

    """
    twice = 2 * _log_threshold(level)
    return positive_number(tightest_at, "tightest_at") / (twice + log1p(twice))


def normal_mixture_boundary(variances: ArrayLike, *, rho: float, level: Number) -> Reals:
    """How far a sum of centred observations strays from 0, on either side, at no look with more chance than 1 - level.

    The boundary is sqrt((v + rho) log((v + rho) / (rho a^2))), a = 1 - level.

    Args:
        variances: any shape, the variance of the sum at each look; for sub-Gaussian observations their variance proxy.
        rho: above 0, from `normal_mixture_rho`.
        level: coverage, in (0, 1), of all looks together.
    Returns: the shape of `variances`.
    Raises: InputRefused: a variance is negative or no finite number, rho is not above 0, or level lies outside (0, 1).
    Source: Robbins (1970), Annals of Mathematical Statistics 41(5), 1397-1409; Howard, Ramdas, McAuliffe & Sekhon
        (2021), Annals of Statistics 49(2), 1055-1080.

    """
    rho = positive_number(rho, "rho")
    v = reals(variances, "variances", low=0)
    boundary: Reals = np.sqrt((v + rho) * (np.log1p(v / rho) + 2 * _log_threshold(level)))
    return boundary


def _low_end(yes: float, no: float, concentration: float, threshold: float) -> float:
    """The least mean against which the evidence stays within the threshold.

    The logarithm of the evidence is convex in the mean, or monotone, so the means within form an interval; it is at
    most 0 at the observed mean, and goes to infinity at 0 when more than 1 was seen there, else to 0 or below.
    """
    if yes <= 1:
        return 0.0

    def excess(log_mean: float) -> float:
        return _log_evidence(log_mean, yes, no, concentration) - threshold

    if excess(_LOG_LEAST) <= 0:
        return 0.0
    observed = min(log(yes / (yes + no)), _LOG_MOST)
    if excess(observed) >= 0:  # at a level so near 0 that rounding hides the width
        return exp(observed)
    return exp(brentq(excess, _LOG_LEAST, observed, xtol=1e-15, rtol=4 * np.finfo(float).eps, maxiter=500))


def _log_evidence(log_mean: float, yes: float, no: float, concentration: float) -> float:
    """How much likelier are the values under a beta mixture centred at the mean than under the mean itself."""
    mean, rest = exp(log_mean), -expm1(log_mean)
    a, b = concentration * mean, concentration * rest
    return float(betaln(a + yes, b + no) - betaln(a, b) - yes * log_mean - no * log(rest))


def _log_threshold(level: Number) -> float:
    """log(1 / (1 - level)), what the evidence against the truth exceeds with at most the chance 1 - level."""
    coverage = exact_level(level)
    return log1p(coverage / (1 - coverage))  # exact at either end, where 1 - level is not
