"""How large an effect a study can find, and how large a study must be to find it: means and proportions.

All tests are two-sided at `alpha`; a one-sided one at alpha is the two-sided one at 2 alpha. Power is the chance to
find the effect with its own sign, as in R: a rejection on the wrong side is no finding, and is not counted.
"""

from itertools import count
from math import asin, ceil, sqrt
from typing import Literal

import numpy as np
from scipy.integrate import tanhsinh
from scipy.optimize import brentq
from scipy.special import gammainc, gammaincc, gammainccinv, gammaincinv, ndtr
from scipy.stats import chi2, norm, t

from eval_pipeline.errors import InputRefused, NoEffect, NotIdentifiable, NoVariation, TooFewObservations
from eval_pipeline.stats.arrays import Reals
from eval_pipeline.stats.gold_size import size_for_power
from eval_pipeline.stats.scalars import choice, open_share, real_number, whole_number

Design = Literal["paired", "unpaired"]
Distribution = Literal["normal", "t"]
OneProportion = Literal["score", "exact"]
TwoProportions = Literal["arcsine", "pooled", "unpooled"]


def minimum_detectable_effect(
    sd: float, n: int, *, alpha: float, power: float, design: Design, distribution: Distribution
) -> float:
    """The smallest difference of means, on the observed scale, that a study of this size finds with this power.

    "normal" takes `sd` as known and promises too much below some 100 units; "t" allows for its being estimated.
    The effect is in the unit of `sd`. In units of `sd`, `true_effect` takes it to the score without measurement error.

    Args:
        sd: "paired": standard deviation of the differences; "unpaired": within each of two arms alike.
        n: "paired": pairs; "unpaired": units in each arm.
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).
        design: what `sd` and `n` count.
        distribution: the test's.

    Raises:
        InputRefused: an argument outside its range.
        NoVariation: sd = 0, in which any effect would be found.
        TooFewObservations: n < 1, or n < 2 for "t".
    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2.

    """
    alpha, power = alpha_and_power(alpha, power)
    n = _size(n, at_least=2 if choice(distribution, Distribution, "distribution") == "t" else 1)
    unit = _spread(sd, design) / sqrt(n)
    if distribution == "normal":
        return unit * standard_errors(alpha, power)
    degrees = 2 * n - 2 if design == "unpaired" else n - 1
    critical = float(t.isf(alpha / 2, degrees))
    # Where the test's standard error and its mean each go so far astray with half the chance to miss, power is reached.
    miss = (1 - power) / 2
    enough = critical * sqrt(chi2.isf(miss, degrees) / degrees) + norm.isf(miss)
    return unit * float(brentq(lambda shift: _t_power(shift, critical, degrees) - power, 0, enough, xtol=1e-12))


def true_effect(observed: float, *, reliability: float) -> float:
    """An effect in standard deviations of the error-free score, from the observed one: observed / sqrt(reliability).

    Noise is in the observed standard deviation already: dividing n by it as well would count it twice.

    Raises: InputRefused: a reliability outside [0, 1]. NotIdentifiable: one of 0; the score is noise alone.
    Source: Hunter & Schmidt (2004), Methods of Meta-Analysis, chapter 7.

    """
    reliability = real_number(reliability, "reliability", low=0, high=1)
    if reliability == 0:
        raise NotIdentifiable("a score of reliability 0 is noise alone, and shows no true effect of any size")
    return real_number(observed, "observed") / sqrt(reliability)


def mean_power(sd: float, n: int, *, effect: float, alpha: float, design: Design, distribution: Distribution) -> float:
    """The chance that a study of this size finds a true difference of means.

    Args: as in `minimum_detectable_effect`; effect: the true difference, in the unit of `sd`, not 0.
    Raises: NoEffect: the effect is 0. InputRefused, NoVariation, TooFewObservations: as there.
    """
    alpha, n = (
        open_share(alpha, "alpha"),
        _size(n, at_least=2 if choice(distribution, Distribution, "distribution") == "t" else 1),
    )
    shift = _distance(effect) * sqrt(n) / _spread(sd, design)
    if distribution == "normal":
        return float(ndtr(shift - norm.isf(alpha / 2)))
    degrees = 2 * n - 2 if design == "unpaired" else n - 1
    return _t_power(shift, float(t.isf(alpha / 2, degrees)), degrees)


def mean_size(
    sd: float, *, effect: float, alpha: float, power: float, design: Design, distribution: Distribution
) -> int:
    """The fewest pairs, or units in each arm, that find a true difference of means with this power.

    Args: as in `minimum_detectable_effect`; effect: the true difference, in the unit of `sd`, not 0.
    Raises: NoEffect: the effect is 0. InputRefused, NoVariation: as there.
    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2.

    """
    alpha, power = alpha_and_power(alpha, power)
    spread = _spread(sd, design)
    at_least = _normal_size(_distance(effect), spread, spread, alpha, power)
    if choice(distribution, Distribution, "distribution") == "normal":
        return at_least
    # With a variance that must be estimated, no test at alpha has more power than the normal one at the same size.
    return next(
        n
        for n in count(max(2, at_least))
        if mean_power(sd, n, effect=effect, alpha=alpha, design=design, distribution="t") >= power
    )


def one_proportion_size(null: float, alternative: float, *, alpha: float, power: float, method: OneProportion) -> int:
    """The fewest units that tell a share from a fixed one with this power.

    "score": normal test with the null's variance under the null, the alternative's under the alternative; .70 against
    .80 needs 153. "exact": binomial test at alpha / 2 on the alternative's side, as the Clopper-Pearson interval
    decides; its power is not monotone in n, see `gold_size.size_for_power`.

    Args:
        null, alternative: the share to be excluded, and the true one, in (0, 1).
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).
        method: the test.

    Raises: InputRefused: an argument outside its range. NoEffect: both shares are one.
    Source: Fleiss, Levin & Paik (2003), Statistical Methods for Rates and Proportions, section 2.5.

    """
    alpha, power = alpha_and_power(alpha, power)
    null, alternative = _distinct_shares(null, alternative)
    if choice(method, OneProportion, "method") == "score":
        null_sd, alternative_sd = sqrt(null * (1 - null)), sqrt(alternative * (1 - alternative))
        return _normal_size(abs(alternative - null), null_sd, alternative_sd, alpha, power)
    rate, bound = (alternative, null) if alternative < null else (1 - alternative, 1 - null)
    return size_for_power(rate, bound=bound, level=1 - alpha / 2, power=power)


def two_proportion_size(first: float, second: float, *, alpha: float, power: float, convention: TwoProportions) -> int:
    """The fewest units in each of two arms that tell their shares apart with this power, without continuity correction.

    "arcsine": Cohen's h, whose variance does not depend on the share. "pooled": variance of the common share under the
    null (R's power.prop.test). "unpooled": the alternative's variance throughout. For .70 and .80 at alpha .05 and
    power .80 they give 292, 294 and 291.

    Args:
        first, second: the shares in the arms, in (0, 1).
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).
        convention: the formula.

    Raises: InputRefused: an argument outside its range. NoEffect: both shares are one.
    Source: Cohen (1988), chapter 6 (arcsine); Fleiss, Levin & Paik (2003), section 4.2 (pooled).

    """
    alpha, power = alpha_and_power(alpha, power)
    return _normal_size(*_two_proportions(first, second, convention), alpha, power)


def two_proportion_power(first: float, second: float, n: int, *, alpha: float, convention: TwoProportions) -> float:
    """The chance that two arms of n units each are told apart, their true shares being these.

    Args: as in `two_proportion_size`; n: units in each arm, from 1 on.
    Raises: InputRefused, NoEffect: as there. TooFewObservations: n < 1.
    """
    alpha, n = open_share(alpha, "alpha"), _size(n, at_least=1)
    distance, null_sd, alternative_sd = _two_proportions(first, second, convention)
    return float(ndtr((distance * sqrt(n) - norm.isf(alpha / 2) * null_sd) / alternative_sd))


def alpha_and_power(alpha: float, power: float) -> tuple[float, float]:
    """Both as floats.

    Raises: InputRefused: they do not keep to 0 < alpha < power < 1; chance alone rejects as often as alpha.
    """
    alpha, power = open_share(alpha, "alpha"), open_share(power, "power")
    if power <= alpha:
        raise InputRefused(f"power must exceed alpha, found {power:g} and {alpha:g}")
    return alpha, power


def standard_errors(alpha: float, power: float) -> float:
    """How many of them an effect must measure: z(1 - alpha / 2) + z(power)."""
    return float(norm.isf(alpha / 2) + norm.ppf(power))


def _two_proportions(first: float, second: float, convention: TwoProportions) -> tuple[float, float, float]:
    """Distance of the arms, and the standard deviation of an estimated distance times sqrt(n): null, alternative."""
    first, second = _distinct_shares(first, second)
    if choice(convention, TwoProportions, "convention") == "arcsine":
        return 2 * abs(asin(sqrt(second)) - asin(sqrt(first))), sqrt(2), sqrt(2)
    common = (first + second) / 2
    unpooled = sqrt(first * (1 - first) + second * (1 - second))
    return abs(second - first), sqrt(2 * common * (1 - common)) if convention == "pooled" else unpooled, unpooled


def _distinct_shares(null: float, alternative: float) -> tuple[float, float]:
    null, alternative = open_share(null, "share"), open_share(alternative, "share")
    if null == alternative:
        raise NoEffect(f"both shares are {null:g}; no sample is large enough to tell them apart")
    return null, alternative


def _normal_size(distance: float, null_sd: float, alternative_sd: float, alpha: float, power: float) -> int:
    root = (norm.isf(alpha / 2) * null_sd + norm.ppf(power) * alternative_sd) / distance
    return max(1, ceil(max(root, 0) ** 2))


def _t_power(shift: float, critical: float, degrees: int) -> float:
    """P(Z + shift > critical * S) for S^2 ~ chi2(degrees) / degrees, integrated over the quantiles of S.

    The noncentral t of SciPy 1.17 does not return for 1 or 2 degrees of freedom and small alpha.
    """

    def chance(half_squares: Reals) -> Reals:
        return np.asarray(ndtr(shift - critical * np.sqrt(2 * half_squares / degrees)))

    def steady(share: Reals) -> Reals:
        return chance(np.asarray(gammaincinv(degrees / 2, share), dtype=np.float64))

    def noisy(share: Reals) -> Reals:
        return chance(np.asarray(gammainccinv(degrees / 2, share), dtype=np.float64))

    even = degrees / 2 * (shift / critical) ** 2  # where the chance falls to a half
    sides = tanhsinh(steady, 0, gammainc(degrees / 2, even)), tanhsinh(noisy, 0, gammaincc(degrees / 2, even))
    return float(sum(side.integral for side in sides))


def _spread(sd: float, design: Design) -> float:
    """Standard deviation of the estimated effect, times sqrt(n)."""
    sd = real_number(sd, "sd", low=0)
    if sd == 0:
        raise NoVariation("with a standard deviation of 0 any effect would be found; measure it on more units")
    return sd * sqrt(2) if choice(design, Design, "design") == "unpaired" else sd


def _distance(effect: float) -> float:
    if (distance := abs(real_number(effect, "effect"))) == 0:
        raise NoEffect("the effect to be found is 0; no sample is large enough to find it")
    return distance


def _size(n: int, *, at_least: int) -> int:
    if (n := whole_number(n, "n")) < at_least:
        raise TooFewObservations(f"n: found {n}, expected {at_least} or more")
    return n
