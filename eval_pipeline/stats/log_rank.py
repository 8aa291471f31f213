"""Whether two arms differ in how long it takes until the event."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from eval_pipeline.errors import NoVariation, TooFewClusters, TooFewObservations
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, flags, groups, require_equal_lengths
from eval_pipeline.stats.survival import RiskTable, risk_table

_ROUNDING = 1e-20  # of the variance: what is left of sums of floats that cancel, squared


@dataclass(frozen=True, slots=True)
class LogRank:
    """A log-rank test of two arms: chi2 = (observed - expected)^2 / variance of either arm, on 1 degree of freedom.

    observed: the events of arm 0 and of arm 1.
    expected: how many there would be, given who was at risk, if the arms did not differ.
    variance: of observed - expected, if the arms do not differ.
    p_value: the upper tail of chi-squared beyond `chi2`, exact however far out.
    """

    observed: tuple[int, int]
    expected: tuple[float, float]
    variance: float
    chi2: float
    p_value: float


def log_rank(times: ArrayLike, events: ArrayLike, arm: ArrayLike) -> LogRank:
    """Mantel's log-rank test, with the hypergeometric variance; it takes subjects as independent.

    Args:
        times: shape (n,), above 0; when each subject had the event or was last seen.
        events: shape (n,), 1 for the event and 0 for a subject who was last seen without it.
        arm: shape (n,), 0 or 1.

    Raises:
        InputRefused: a time is not above 0, events or arm other than 0 or 1, or unequal lengths.
        TooFewObservations: an arm has no subjects, or nobody had the event.
        NoVariation: at every event only one arm was at risk, or all at risk had the event.
    Source: Mantel (1966), Cancer Chemotherapy Reports 50(3), 163-170; Peto & Peto (1972), JRSS A 135(2), 185-206.

    """
    return log_rank_of(risk_table(times, events, arm))


def log_rank_of(table: RiskTable) -> LogRank:
    """The test of the two arms of a table.

    Raises: TooFewObservations, NoVariation: as in `log_rank`.
    """
    return _test(table, _mantel_variance(table))


def clustered_log_rank(times: ArrayLike, events: ArrayLike, arm: ArrayLike, clusters: ArrayLike) -> LogRank:
    """The log-rank test where the subjects of a cluster have their events together: a sandwich for the variance.

    The variance is the sum of squares of what each cluster adds to observed - expected. This is the robust score test
    of R's coxph with ties = "breslow". It rests on many clusters: at alpha .05 it rejects some 8 times in 100
    with 10 clusters an arm, and 6 to 7 times with 20 to 30. A cluster may lie in one arm or in both.

    Args:
        times, events, arm: shape (n,), as in `log_rank`.
        clusters: shape (n,), the cluster of each subject; integers or strings.

    Raises:
        InputRefused, TooFewObservations: as in `log_rank`.
        TooFewClusters: an arm has subjects of only one cluster.
        NoVariation: as in `log_rank`, or what each cluster adds is 0.
    Source: Lin & Wei (1989), JASA 84(408), 1074-1078; Lee, Wei & Amato (1992), Cox-type regression analysis for large
        numbers of small groups of correlated failure time observations, in Survival Analysis: State of the Art.

    """
    table, member = risk_table(times, events, arm), groups(clusters, "clusters")
    happened, side = flags(events, "events"), flags(arm, "arm")
    require_equal_lengths(times=table.rows, clusters=member)
    mantel = _mantel_variance(table)
    for number in (0, 1):
        if len(np.unique(member[side == number])) < 2:
            raise TooFewClusters(f"arm {number} has subjects of one cluster, and at least 2 are needed in each arm")
    variance = float((np.bincount(member, weights=_scores(table, happened, side)) ** 2).sum())
    if variance <= _ROUNDING * mantel:
        raise NoVariation("in every cluster the events are those expected; nothing says how they would vary")
    return _test(table, variance)


def _test(table: RiskTable, variance: float) -> LogRank:
    observed, expected = table.events.sum(axis=1), (_hazard(table) * table.at_risk).sum(axis=1)
    statistic = float((observed[1] - expected[1]) ** 2 / variance)
    return LogRank(
        observed=(int(observed[0]), int(observed[1])),
        expected=(float(expected[0]), float(expected[1])),
        variance=variance,
        chi2=statistic,
        p_value=float(chdtrc(1, statistic)),
    )


def _mantel_variance(table: RiskTable) -> float:
    """Of d events among n at risk, those in an arm of n_1 have variance d (n - d) n_0 n_1 / (n^2 (n - 1))."""
    (n_0, n_1), d = table.at_risk, table.events.sum(axis=0)
    n = n_0 + n_1
    if not (n_0[0] and n_1[0]):
        raise TooFewObservations(f"found {n_0[0]} subjects in arm 0 and {n_1[0]} in arm 1; expected some in both")
    if not d.any():
        raise TooFewObservations("nobody had the event; without events the arms cannot be compared")
    variance = float((d * (n_0 / n) * (n_1 / n) * ((n - d) / np.maximum(n - 1, 1))).sum())
    if variance == 0:
        raise NoVariation("at every event one arm alone was at risk, or all at risk had it; nothing compares the arms")
    return variance


def _hazard(table: RiskTable) -> Reals:
    """Of those at risk, of either arm, the share with the event."""
    share: Reals = table.events.sum(axis=0) / table.at_risk.sum(axis=0)
    return share


def _scores(table: RiskTable, happened: Counts, side: Counts) -> Reals:
    """What each subject adds to observed - expected in arm 1: Lin & Wei's W_i at no effect."""
    share = table.at_risk[1] / table.at_risk.sum(axis=0)
    apart = np.array([-share, 1 - share])
    owed = np.cumsum(_hazard(table) * apart, axis=1)
    scores: Reals = happened * apart[side, table.rows] - owed[side, table.rows]
    return scores
