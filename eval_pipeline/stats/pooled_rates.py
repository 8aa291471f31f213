"""Rates of groups that are alike but not the same: each leans on the others, the more so the less was seen of it."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaln, expit, logit, logsumexp

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, counts, in_a_row, require_equal_lengths
from eval_pipeline.stats.beta_binomial import Beta
from eval_pipeline.stats.scalars import open_share, whole_number

_REACH = 8.0  # standard errors of the common mean, on the scale of log odds, over which it is integrated
_STEPS = 33
_TINY = 1e-300
_NEGLIGIBLE = 1e-8  # of all probability, beside the likeliest point's


@dataclass(frozen=True, slots=True)
class PooledRate:
    """What is believed of a group's rate: its mean, and the interval that leaves as much on either side."""

    mean: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class PooledRates:
    """The rates of the groups in their order, the mean of all such groups, and how far such groups' rates spread.

    `spread` is the standard deviation between groups; 0 would say that all share one rate.
    """

    rates: tuple[PooledRate, ...]
    centre: float
    spread: float


def pooled_rates(successes: ArrayLike, trials: ArrayLike, *, centre: Beta, nodes: int, level: Number) -> PooledRates:
    """Hierarchical Beta-binomial: group rates are Beta(m s, (1 - m) s), and m and s are learnt from all groups.

    The mean m has the prior `centre`. Of the concentration s, 1 / sqrt(s) is uniform on (0, 1): from rates that are 0
    or 1 as good as, to rates that are all the same. Both are integrated out: s by Gauss and Legendre, m by trapezia on
    the scale of log odds about where each s puts it. A group without a trial is believed to be as the others are.

    Args:
        successes: shape (k,), of each group.
        trials: shape (k,), of each group; 0 is allowed.
        centre: what was believed of the mean before.
        nodes: of the integral over s; 32 do for some dozens of groups.
        level: coverage of each interval, in (0, 1).

    Raises:
        TooFewObservations: there is no group.
        InputRefused: not whole numbers with 0 <= successes <= trials, unequal lengths, fewer than 8 nodes, or a level
            outside (0, 1).
    Source: Gelman et al. (2013), Bayesian Data Analysis, 3rd ed., section 5.3.

    """
    coverage = open_share(level, "level")
    hit, total = in_a_row(counts(successes, "successes"), "successes"), in_a_row(counts(trials, "trials"), "trials")
    require_equal_lengths(successes=hit, trials=total)
    if not len(hit):
        raise TooFewObservations("there is no group whose rate could be pooled with others")
    if (over := np.flatnonzero(hit > total)).size:
        raise InputRefused(f"group {over[0]}: found {hit[over[0]]} successes in {total[over[0]]} trials")
    a, b, weights = _integrand(hit, total, centre, whole_number(nodes, "nodes", at_least=8))
    means = a / (a + b)
    return PooledRates(
        rates=tuple(_rate(a + x, b + (n - x), weights, coverage) for x, n in zip(hit, total, strict=True)),
        centre=float(weights @ means),
        spread=float(weights @ np.sqrt(means * (1 - means) / (a + b + 1))),
    )


def _integrand(hit: Counts, total: Counts, centre: Beta, nodes: int) -> tuple[Reals, Reals, Reals]:
    """Weights a and b of the groups' law at each point of the integral, and that point's posterior probability."""
    roots, widths = np.polynomial.legendre.leggauss(nodes)
    concentration = ((roots + 1) / 2)[:, None] ** -2
    steps = np.linspace(-_REACH, _REACH, _STEPS)[None, :]
    place, error = _about(hit, total, centre, concentration)
    odds = logit(place) + steps * error
    mean, rest = np.maximum(expit(odds), _TINY), np.maximum(expit(-odds), _TINY)  # 1 - mean would lose a rest below eps
    a, b = mean * concentration, rest * concentration
    density = (float(centre.a) * np.log(mean) + float(centre.b) * np.log(rest)) + np.log(widths[:, None] * error)
    for x, n in zip(hit, total, strict=True):
        density += betaln(a + x, b + (n - x)) - betaln(a, b)
    weights = np.exp(density - logsumexp(density))
    kept = weights > _NEGLIGIBLE * weights.max()
    return a[kept], b[kept], weights[kept] / weights[kept].sum()


def _about(hit: Counts, total: Counts, centre: Beta, concentration: Reals) -> tuple[Reals, Reals]:
    """Where each concentration puts the common mean, and its standard error as log odds, by the normal law."""
    prior = float(centre.a + centre.b)
    seen = total > 0
    rough = (hit.sum() + float(centre.a)) / (total.sum() + prior)
    # Var of x / n is m (1 - m) (1 / n + (1 - 1 / n) / (s + 1)); a mean of them has the inverse weights.
    information = 1 / (1 / total[seen] + (1 - 1 / total[seen]) / (concentration + 1))
    whole = information.sum(axis=1, keepdims=True) + prior
    place = (information @ (hit[seen] / total[seen]))[:, None] + float(centre.a)
    place = place / whole
    return place, 1 / np.sqrt(whole * min(rough * (1 - rough), 0.25))


def _rate(a: Reals, b: Reals, weights: Reals, coverage: float) -> PooledRate:
    tail = (1 - coverage) / 2

    def end(share: float) -> float:
        return float(brentq(lambda rate: float(weights @ betainc(a, b, rate)) - share, 0.0, 1.0, xtol=1e-8))

    return PooledRate(float(weights @ (a / (a + b))), Interval(end(tail), end(1 - tail), coverage))
