"""How large an effect a study can find, and how large a study must be to find it: means and proportions.

All tests are two-sided at `alpha`; a one-sided one at alpha is the two-sided one at 2 alpha. Power is the chance to find
the effect with its own sign, as in R: the chance to reject on the wrong side is no finding, and is not counted.
"""

from collections.abc import Callable
from itertools import count
from math import asin, ceil, sqrt
from typing import Literal

from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import gammaincinv, ndtr
from scipy.stats import chi2, norm, t

from eval_pipeline.errors import InputRefused, NoEffect, NotIdentifiable, NoVariation, TooFewObservations
from eval_pipeline.stats.arrays import reals
from eval_pipeline.stats.binomial import open_share, whole_number
from eval_pipeline.stats.gold_size import size_for_power

Design = Literal["paired", "unpaired"]
Distribution = Literal["normal", "t"]
OneProportion = Literal["score", "exact"]
TwoProportions = Literal["arcsine", "pooled", "unpooled"]


def minimum_detectable_effect(
    sd: float, n: int, *, alpha: float, power: float, design: Design, distribution: Distribution
) -> float:
    """The smallest difference of means, on the observed scale, that a study of this size finds with this power.

    "normal" takes `sd` as known and promises too much below some 100 units; "t" allows for its being estimated.

    Args:
        sd: "paired": standard deviation of the differences; "unpaired": within each of two arms alike.
        n: "paired": pairs; "unpaired": units in each arm.
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).
        design: what `sd` and `n` count.
        distribution: the test's.

    Returns: the effect in the unit of `sd`; `true_effect` takes it to the scale without measurement error.

    Raises:
        InputRefused: an argument outside its range.
        NoVariation: sd = 0, in which any effect would be found.
        TooFewObservations: n < 1, or n < 2 for "t".
    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2.

    """
    alpha, power = _errors_allowed(alpha, power)
    n = _size(n, at_least=2 if distribution == "t" else 1)
    unit = _spread(sd, design) / sqrt(n)
    if distribution == "normal":
        return unit * _z_sum(alpha, power)
    degrees = _degrees(n, design)
    critical = float(t.isf(alpha / 2, degrees))
    # Where the test's standard error and its mean each go so far astray with half the chance to miss, power is reached.
    miss = (1 - power) / 2
    enough = critical * sqrt(chi2.isf(miss, degrees) / degrees) + norm.isf(miss)
    return unit * float(brentq(lambda shift: _t_power(shift, critical, degrees) - power, 0, enough, xtol=1e-12))


def true_effect(observed: float, *, reliability: float) -> float:
    """An effect in standard deviations of the error-free score, from the observed one: observed / sqrt(reliability).

    Noise is in the observed standard deviation already: dividing n by it as well would count it twice.

    Raises:
        InputRefused: a reliability outside [0, 1].
        NotIdentifiable: a reliability of 0; the score is noise alone.
    Source: Hunter & Schmidt (2004), Methods of Meta-Analysis, chapter 7.

    """
    reliability = float(reals(reliability, "reliability", low=0, high=1))
    if reliability == 0:
        raise NotIdentifiable("a score of reliability 0 is noise alone, and shows no true effect of any size")
    return float(reals(observed, "observed")) / sqrt(reliability)


def mean_power(
    sd: float, n: int, *, effect: float, alpha: float, design: Design, distribution: Distribution
) -> float:
    """The chance that a study of this size finds a true difference of means.

    Args: as in `minimum_detectable_effect`; effect: the true difference, in the unit of `sd`, not 0.
    Raises: NoEffect: the effect is 0. InputRefused, NoVariation, TooFewObservations: as there.
    """
    alpha, n = open_share(alpha, "alpha"), _size(n, at_least=2 if distribution == "t" else 1)
    shift = _distance(effect) * sqrt(n) / _spread(sd, design)
    if distribution == "normal":
        return float(ndtr(shift - norm.isf(alpha / 2)))
    degrees = _degrees(n, design)
    return _t_power(shift, float(t.isf(alpha / 2, degrees)), degrees)


def mean_size(
    sd: float, *, effect: float, alpha: float, power: float, design: Design, distribution: Distribution
) -> int:
    """The fewest pairs, or units in each arm, that find a true difference of means with this power.

    Args: as in `minimum_detectable_effect`; effect: the true difference, in the unit of `sd`, not 0.
    Raises: NoEffect: the effect is 0. InputRefused, NoVariation: as there.
    Source: Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, chapter 2.

    """
    alpha, power = _errors_allowed(alpha, power)
    spread = _spread(sd, design)
    at_least = _normal_size(_distance(effect), spread, spread, alpha, power)
    if distribution == "normal":
        return at_least

    def reached(n: int) -> bool:
        return power <= mean_power(sd, n, effect=effect, alpha=alpha, design=design, distribution="t")

    return _first(reached, from_=max(2, at_least))  # at one size and one alpha, t has never more power than normal


def one_proportion_size(null: float, alternative: float, *, alpha: float, power: float, method: OneProportion) -> int:
    """The fewest units that tell a share from a fixed one with this power.

    "score": normal test with the null's variance under the null, the alternative's under the alternative; .70 against
    .80 needs 153. "exact": binomial test at alpha / 2 on the alternative's side, as the Clopper-Pearson interval decides;
    its power is not monotone in n, see `gold_size.size_for_power`.

    Args:
        null: the share to be excluded, in (0, 1).
        alternative: the true share, in (0, 1).
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).
        method: the test.

    Raises:
        InputRefused: an argument outside its range.
        NoEffect: both shares are one.
    Source: Fleiss, Levin & Paik (2003), Statistical Methods for Rates and Proportions, section 2.5.

    """
    alpha, power = _errors_allowed(alpha, power)
    distance, null_sd, alternative_sd = _one_proportion(null, alternative)
    if method == "score":
        return _normal_size(distance, null_sd, alternative_sd, alpha, power)
    rate, bound = (alternative, null) if alternative < null else (1 - alternative, 1 - null)
    return size_for_power(rate, bound=bound, level=1 - alpha / 2, power=power)


def two_proportion_size(
    first: float, second: float, *, alpha: float, power: float, convention: TwoProportions
) -> int:
    """The fewest units in each of two arms that tell their shares apart with this power, without continuity correction.

    "arcsine": Cohen's h, whose variance does not depend on the share. "pooled": variance of the common share under the
    null (R's power.prop.test). "unpooled": the alternative's variance throughout. For .70 and .80 at alpha .05 and
    power .80 they give 292, 294 and 291.

    Args:
        first: the share in one arm, in (0, 1).
        second: the share in the other, in (0, 1).
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).
        convention: the formula.

    Raises:
        InputRefused: an argument outside its range.
        NoEffect: both shares are one.
    Source: Cohen (1988), chapter 6 (arcsine); Fleiss, Levin & Paik (2003), section 4.2 (pooled).

    """
    alpha, power = _errors_allowed(alpha, power)
    return _normal_size(*_two_proportions(first, second, convention), alpha, power)


def two_proportion_power(first: float, second: float, n: int, *, alpha: float, convention: TwoProportions) -> float:
    """The chance that two arms of n units each are told apart, their true shares being these.

    Args: as in `two_proportion_size`; n: units in each arm, from 1 on.
    Raises: InputRefused, NoEffect: as there. TooFewObservations: n < 1.
    """
    alpha, n = open_share(alpha, "alpha"), _size(n, at_least=1)
    distance, null_sd, alternative_sd = _two_proportions(first, second, convention)
    return float(ndtr((distance * sqrt(n) - norm.isf(alpha / 2) * null_sd) / alternative_sd))


def _two_proportions(first: float, second: float, convention: TwoProportions) -> tuple[float, float, float]:
    """Distance of the arms, and the standard deviation of an estimated distance times sqrt(n): null, alternative."""
    first, second = _distinct_shares(first, second)
    if convention == "arcsine":
        return 2 * abs(asin(sqrt(second)) - asin(sqrt(first))), sqrt(2), sqrt(2)
    common = (first + second) / 2
    unpooled = sqrt(first * (1 - first) + second * (1 - second))
    return abs(second - first), sqrt(2 * common * (1 - common)) if convention == "pooled" else unpooled, unpooled


def _one_proportion(null: float, alternative: float) -> tuple[float, float, float]:
    null, alternative = _distinct_shares(null, alternative)
    return abs(alternative - null), sqrt(null * (1 - null)), sqrt(alternative * (1 - alternative))


def _normal_size(distance: float, null_sd: float, alternative_sd: float, alpha: float, power: float) -> int:
    root = (norm.isf(alpha / 2) * null_sd + norm.ppf(power) * alternative_sd) / distance
    return max(1, ceil(root**2))
