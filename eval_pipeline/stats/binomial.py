"""Exact inference for a share of independent trials."""

from scipy.stats import beta, binom

from eval_pipeline.records import Interval


def lower_bound(successes: int, trials: int, *, level: float) -> Interval:
    """Exact one-sided interval [low, 1] for a share; without a trial nothing is excluded, and low is 0.

    Args:
        successes: how many of the trials succeeded, in 0..trials.
        trials: how many there were.
        level: coverage, in (0, 1); the interval holds the true share at least that often.
    Raises: ValueError: successes outside 0..trials.
    Source: Clopper & Pearson (1934), Biometrika 26(4), 404-413.

    """
    _require(successes, trials)
    return Interval(_low_end(successes, trials, tail=1 - level), 1.0, level)


def exact_interval(successes: int, trials: int, *, level: float) -> Interval:
    """Exact two-sided interval for a share, equal in the tails; without a trial it is [0, 1].

    Args:
        successes: how many of the trials succeeded, in 0..trials.
        trials: how many there were.
        level: coverage, in (0, 1); the interval holds the true share at least that often.
    Raises: ValueError: successes outside 0..trials.
    Source: Clopper & Pearson (1934), Biometrika 26(4), 404-413.

    """
    _require(successes, trials)
    tail = (1 - level) / 2
    high = float(beta.ppf(1 - tail, successes + 1, trials - successes)) if successes < trials else 1.0
    return Interval(_low_end(successes, trials, tail=tail), high, level)


def shortfall_p_value(successes: int, trials: int, share: float) -> float:
    """P(X <= successes) for X ~ Binomial(trials, share): how surprising so few successes would be at that share.

    Raises: ValueError: successes outside 0..trials, or a share outside [0, 1].
    """
    _require(successes, trials)
    if not 0 <= share <= 1:
        raise ValueError(f"share must lie in [0, 1], found {share}")
    return float(binom.cdf(successes, trials, share))


def _low_end(successes: int, trials: int, *, tail: float) -> float:
    """The share at which so many successes or more come with the chance `tail`; 0 without a success."""
    return float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0


def _require(successes: int, trials: int) -> None:
    if not 0 <= successes <= trials:
        raise ValueError(f"successes must lie in 0..{trials}, found {successes}")
