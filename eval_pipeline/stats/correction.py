"""What a share would be without the judge's errors: the ratio estimator, and its intervals for independent items."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from scipy.stats import binomtest

from eval_pipeline.errors import JudgeTooPoor, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.binomial import counted, high_end, low_end
from eval_pipeline.stats.scalars import choice, exact_share, open_share, real_number, two_sided_z

OfShare = Literal["wald", "wilson", "clopper-pearson"]


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected share: `raw` may leave [0, 1], as small samples make it do; `share` is the nearest that does not."""

    raw: Fraction
    share: Fraction


def rogan_gladen(observed: Number, *, sensitivity: Number, specificity: Number) -> Corrected:
    """The true share behind an observed one: (observed + specificity - 1) / (sensitivity + specificity - 1).

    The error rates are taken as known: an interval must draw them again together with what was observed.

    Args:
        observed: the share that the judge called supported, in [0, 1].
        sensitivity: how often the judge calls supported what is, in [0, 1].
        specificity: how often the judge calls unsupported what is, in [0, 1].

    Raises:
        JudgeTooPoor: sensitivity + specificity <= 1; the judge says nothing of the truth.
        InputRefused: an argument outside [0, 1].
    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107(1), 71-76.

    """
    p, se, sp = (
        exact_share(share, name)
        for share, name in ((observed, "observed"), (sensitivity, "sensitivity"), (specificity, "specificity"))
    )
    if se + sp <= 1:
        raise judge_too_poor(float(se), float(sp))
    raw = (p + sp - 1) / (se + sp - 1)
    return Corrected(raw, min(max(raw, Fraction(0)), Fraction(1)))


def judge_too_poor(sensitivity: float, specificity: float) -> JudgeTooPoor:
    """The refusal to correct by a judge whose labels do not depend on the truth, or depend on it the wrong way."""
    return JudgeTooPoor(
        f"a judge of sensitivity {sensitivity:.3g} and specificity {specificity:.3g} does no better than chance, so its"
        " labels cannot be corrected; measure another judge"
    )


def known_errors_interval(
    positives: int,
    trials: int,
    *,
    sensitivity: Number,
    specificity: Number,
    level: Number,
    method: OfShare,
) -> Interval:
    """Two-sided interval of the true share if the judge's error rates are known, not estimated.

    The correction rises with the observed share, so it takes an interval of that to an interval of the truth. With
    error rates that were measured it is too narrow, the more so the better the judge: use `lang_reiczigel`.

    Args:
        positives: how many the judge called supported, in 0..trials.
        trials: how many it judged, 1 or more.
        sensitivity, specificity: as in `rogan_gladen`.
        level: coverage, in (0, 1).
        method: the interval of the observed share; "wald" is the normal one about it.

    Raises: JudgeTooPoor, InputRefused: as in `rogan_gladen`; TooFewObservations: no trials.
    Source: Rogan & Gladen (1978), American Journal of Epidemiology 107(1), 71-76; Reiczigel, Foldi & Ozsvari (2010),
        Epidemiology and Infection 138(11), 1674-1678.

    """
    positives, trials = counted(positives, trials)
    if not trials:
        raise TooFewObservations("nothing was judged, so that there is no share to correct")
    coverage = open_share(level, "level")
    if choice(method, OfShare, "method") == "wald":
        share = positives / trials
        reach = two_sided_z(level) * (share * (1 - share) / trials) ** 0.5
        ends = max(share - reach, 0.0), min(share + reach, 1.0)
    elif method == "wilson":
        found = binomtest(positives, trials).proportion_ci(coverage, method="wilson")
        ends = found.low, found.high
    else:
        tail = (1 - coverage) / 2
        ends = low_end(positives, trials, tail=tail), high_end(positives, trials, tail=tail)
    low, high = (rogan_gladen(float(end), sensitivity=sensitivity, specificity=specificity).share for end in ends)
    return Interval(float(low), float(high), coverage)


def lang_reiczigel(
    observed: Number,
    trials: float,
    *,
    sensitivity: Number,
    positives: float,
    specificity: Number,
    negatives: float,
    level: Number,
) -> Interval:
    """Two-sided interval of the true share that carries the uncertainty of all three observed shares.

    Each is first drawn towards a half, as by two or four items more, so that a judge without an error in a small
    calibration is not taken for a perfect one.

    Args:
        observed: the share that the judge called supported, in [0, 1].
        trials: how many it judged; may be an effective number, above 0.
        sensitivity: the share of the known positives that it called supported.
        positives: how many known positives there were, above 0.
        specificity: the share of the known negatives that it did not.
        negatives: how many known negatives there were, above 0.
        level: coverage, in (0, 1).

    Raises:
        JudgeTooPoor: sensitivity + specificity <= 1.
        TooFewObservations: nothing was judged, or no known positive, or no known negative.
        InputRefused: a share outside [0, 1].
    Source: Lang & Reiczigel (2014), Preventive Veterinary Medicine 113(1), 13-22.

    """
    rogan_gladen(observed, sensitivity=sensitivity, specificity=specificity)
    trials, positives, negatives = (
        real_number(size, name, low=0)
        for size, name in ((trials, "trials"), (positives, "positives"), (negatives, "negatives"))
    )
    for what, size in (("judged items", trials), ("known positives", positives), ("known negatives", negatives)):
        if not size:
            raise TooFewObservations(f"there are no {what}, so that the judge's errors cannot be measured")
    z = two_sided_z(level)
    n, m1, m0 = trials + z**2, positives + 2, negatives + 2
    p = (trials * float(observed) + z**2 / 2) / n
    se, sp = (positives * float(sensitivity) + 1) / m1, (negatives * float(specificity) + 1) / m0
    beyond_chance = se + sp - 1
    if beyond_chance <= 0:
        raise judge_too_poor(se, sp)
    share = (p + sp - 1) / beyond_chance
    of_positives, of_negatives = se * (1 - se) / m1, sp * (1 - sp) / m0
    centre = share + 2 * z**2 * (share * of_positives - (1 - share) * of_negatives)
    variance = p * (1 - p) / n + share**2 * of_positives + (1 - share) ** 2 * of_negatives
    reach = z * float(np.sqrt(variance)) / beyond_chance
    low, high = (min(max(end, 0.0), 1.0) for end in (centre - reach, centre + reach))
    return Interval(low, high, float(level))
