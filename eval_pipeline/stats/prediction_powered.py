"""The difference estimator: people's labels of some, moved by what a judge says of all, right whatever its errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from eval_pipeline.errors import InputRefused, RatioUndefined, TooFewClusters, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, in_a_row, reals, require_equal_lengths
from eval_pipeline.stats.judged_clusters import JudgedClusters, weighed
from eval_pipeline.stats.scalars import real_number, two_sided_z
from eval_pipeline.stats.tails import Tails, interval_of, tail_of

Trust = float | Literal["tuned"]

_CELLS_AT_ONCE = 1 << 18  # of clusters left out by clusters: some 10 MB


@dataclass(frozen=True, slots=True)
class PredictionPowered:
    """An estimate with its interval, and the weight in [0, 1] that the judge was given; at 0 only the labels count."""

    estimate: float
    interval: Interval
    trust: float


def prediction_powered_mean(
    truth: ArrayLike, judged: ArrayLike, judged_alone: ArrayLike, *, trust: Trust, level: Number
) -> PredictionPowered:
    """The mean of independent items: mean(truth) + trust (mean(judged_alone) - mean(judged)), with a normal interval.

    Variances divide by n, but for the judge's in the tuned weight, by n - 1: as in the authors' ppi-python.

    Args:
        truth: shape (n,), a person's scores of the labelled items.
        judged: shape (n,), the judge's of the same.
        judged_alone: shape (m,), the judge's of items that nobody labelled.
        trust: the weight of the judge, in [0, 1]; "tuned" takes the one of least variance, 0 where the judge does not
            vary or goes against the truth.
        level: coverage of the two-sided interval, in (0, 1).

    Raises: TooFewObservations: fewer than two labelled items, or no other; InputRefused: unequal lengths, a trust
        outside [0, 1], or scores that are no finite numbers.
    Source: Angelopoulos, Duchi & Zrnic (2023), PPI++: Efficient Prediction-Powered Inference, arXiv:2311.01453.

    """
    labels, known, alone = (
        in_a_row(reals(scores, name), name)
        for scores, name in ((truth, "truth"), (judged, "judged"), (judged_alone, "judged_alone"))
    )
    require_equal_lengths(truth=labels, judged=known)
    if len(labels) < 2 or not len(alone):
        raise TooFewObservations(
            f"the mean needs at least 2 labelled items and 1 other, and was given {len(labels)} and {len(alone)}"
        )
    if trust == "tuned":
        spread = (1 + len(labels) / len(alone)) * float(np.concatenate([known, alone]).var(ddof=1))
        together = float(((labels - labels.mean()) * (known - known.mean())).mean())
        weight = min(max(together / spread, 0.0), 1.0) if spread > 0 else 0.0
    else:
        weight = _fixed(trust)
    estimate = float(labels.mean() + weight * (alone.mean() - known.mean()))
    variance = (labels - weight * known).var() / len(labels) + weight**2 * alone.var() / len(alone)
    reach = two_sided_z(level) * float(np.sqrt(variance))
    return PredictionPowered(estimate, Interval(estimate - reach, estimate + reach, float(level)), weight)


def prediction_powered_contrast(
    table: JudgedClusters, weights: Sequence[Fraction | int], *, trust: Trust, level: Number, tails: Tails
) -> PredictionPowered:
    """sum_j w_j [L_j + trust (A_j - K_j)] over groups j, with an interval from the spread between clusters.

    L is the share that is supported in truth among the checked items, K the share of them that the judge supported, A
    the share that it supported of the unchecked. The variance sums the squares of what each cluster adds to the
    estimate to first order, whole clusters being checked or not; where the trust is tuned, a jackknife over clusters
    tunes it anew each time. The quantile is Student's, for as many clusters as have checks in the group that has the
    fewest. Where the labels hardly vary, near 0 and 1, a tuned trust is little more than noise and the interval too
    narrow: fix it.

    Args:
        table: what the judge said and what was checked, of one population; see `JudgedClusters`.
        weights: length g, 1 for a share, 1 and -1 for a difference.
        trust: the weight of the judge, in [0, 1]; "tuned" takes the one of least variance.
        level: coverage, in (0, 1).
        tails: "two" for equal tails; "lower" or "upper" for that bound alone.

    Raises:
        RatioUndefined: a group without checked, or without unchecked, items. TooFewClusters: a group has either in
            one cluster alone, or no two clusters have checks.
        InputRefused: clusters of a gold set, whose share is not the population's; weights of another length.
    Source: Angelopoulos, Duchi & Zrnic (2023), arXiv:2311.01453, with ratios linearised over clusters as in Cochran
        (1977), Sampling Techniques, chapter 6.

    """
    used = weighed(weights, table)
    if (table.checked > table.judged).any():
        raise InputRefused("table: found clusters of a gold set, expected checks of the population's own judgments")
    judged = table.judged[:, used]
    some = judged.sum(axis=1) > 0
    judged, checked, supported, truth, said_so = (
        count[some]
        for count in (
            judged,
            table.checked[:, used],
            table.supported[:, used],
            table.known_positives[:, used],
            (table.true_positives + table.false_positives)[:, used],
        )
    )
    labelled = checked.sum(axis=1) > 0
    if labelled.sum() < 2:
        raise TooFewClusters(f"the labels need at least 2 checked clusters and stand in {labelled.sum()}")
    parts = _Parts(
        truth=_Shares(truth, checked),
        known=_Shares(said_so, checked),
        alone=_Shares(supported - said_so, judged - checked),
        labelled=labelled,
        weights=np.array([float(weights[group]) for group in used]),
    )
    for shares, what in ((parts.known, "checked"), (parts.alone, "unchecked")):
        shares.require(what)
    found = _fits(parts, np.ones((1, len(labelled))), trust)
    variance = float(found.variances[0]) if trust != "tuned" else _jackknife_variance(parts)
    estimate = float(found.estimates[0])
    reach = -float(stdtrit(int((checked > 0).sum(axis=0).min()) - 1, float(tail_of(level, tails)))) * float(
        np.sqrt(variance)
    )
    interval = interval_of(estimate - reach, estimate + reach, level, tails)
    return PredictionPowered(estimate, interval, float(found.trusts[0]))


@dataclass(frozen=True, slots=True)
class _Linear:
    """A contrast of shares over some of the clusters, shape (r,), and what each adds to its error, shape (r, k)."""

    values: Reals
    influences: Reals


@dataclass(frozen=True, slots=True)
class _Shares:
    """Shares by group: successes and trials of each cluster, shape (k, g)."""

    successes: Counts
    trials: Counts

    def require(self, what: str) -> None:
        """That each group has trials in two clusters or more."""
        for clusters in (self.trials > 0).sum(axis=0).tolist():
            if not clusters:
                raise RatioUndefined(f"a group has no {what} items; there is nothing to estimate")
            if clusters < 2:
                raise TooFewClusters(f"a group needs {what} items in at least 2 clusters and has them in 1")

    def linear(self, kept: Reals, weights: Reals) -> _Linear:
        """Their contrast to first order; row r of `kept`, shape (r, k), holds 1 for each cluster that has a part."""
        totals = kept @ self.trials
        shares = kept @ self.successes / totals
        per_trial = weights / totals
        influences = kept * (per_trial @ self.successes.T - (per_trial * shares) @ self.trials.T)
        return _Linear(shares @ weights, influences)


@dataclass(frozen=True, slots=True)
class _Parts:
    """What the estimate is made of: shares by people and by the judge, and which clusters have labels."""

    truth: _Shares
    known: _Shares
    alone: _Shares
    labelled: npt.NDArray[np.bool_]
    weights: Reals


@dataclass(frozen=True, slots=True)
class _Fits:
    """Estimates, the judge's weights, and variances to first order that take these for known; shape (r,) each."""

    estimates: Reals
    trusts: Reals
    variances: Reals


def _fits(parts: _Parts, kept: Reals, trust: Trust) -> _Fits:
    """The estimates over the clusters that each row keeps."""
    truth, known, alone = (shares.linear(kept, parts.weights) for shares in (parts.truth, parts.known, parts.alone))
    values, influences = known.values - alone.values, known.influences - alone.influences
    labelled, others = (kept @ rows for rows in (parts.labelled, ~parts.labelled))
    unbiased = [size / np.maximum(size - 1, 1) for size in (labelled, others)]
    scale = np.where(parts.labelled, *(factor[:, np.newaxis] for factor in unbiased))
    if trust == "tuned":
        spread, together = ((scale * other * influences).sum(axis=1) for other in (influences, truth.influences))
        trusts = np.divide(together, spread, out=np.zeros(len(kept)), where=spread > 0).clip(0, 1)
    else:
        trusts = np.full(len(kept), _fixed(trust))
    variances = (scale * (truth.influences - trusts[:, np.newaxis] * influences) ** 2).sum(axis=1)
    return _Fits(truth.values - trusts * values, trusts, variances)


def _jackknife_variance(parts: _Parts) -> float:
    """What the estimate varies by when each cluster is left out in turn and the judge's weight is tuned again.

    The variance to first order takes the weight for known, and is too small by what tuning it to these data gained.
    """
    clusters = len(parts.labelled)
    some = max(1, _CELLS_AT_ONCE // clusters)
    left_out = (np.arange(first, min(first + some, clusters)) for first in range(0, clusters, some))
    estimates = np.concatenate(
        [_fits(parts, (np.arange(clusters) != rows[:, np.newaxis]) * 1.0, "tuned").estimates for rows in left_out]
    )
    variance = 0.0
    for stratum in (parts.labelled, ~parts.labelled):
        if size := int(stratum.sum()):
            variance += (size - 1) / size * float(((estimates[stratum] - estimates[stratum].mean()) ** 2).sum())
    return variance


def _fixed(trust: float | str) -> float:
    if isinstance(trust, str):
        raise InputRefused(f"trust: found {trust!r}, expected 'tuned' or a number in [0, 1]")
    return real_number(trust, "trust", low=0, high=1)
