"""Exact inference for a share of independent trials."""

from scipy.stats import beta, binom

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.scalars import open_share, real_number, whole_number


def lower_bound(successes: int, trials: int, *, level: Number) -> Interval:
    """Exact one-sided interval [low, 1] for a share; without a trial nothing is excluded, and low is 0.

    Args:
        successes: how many of the trials succeeded, in 0..trials; an integer of any type, here and below.
        trials: how many there were.
        level: coverage, in (0, 1); the interval holds the true share at least that often.
    Raises: InputRefused: successes outside 0..trials, or a level outside (0, 1).
    Source: Clopper & Pearson (1934), Biometrika 26(4), 404-413.

    """
    successes, trials = counted(successes, trials)
    coverage = open_share(level, "level")
    return Interval(low_end(successes, trials, tail=1 - coverage), 1.0, coverage)


def upper_bound(successes: int, trials: int, *, level: Number) -> Interval:
    """Exact one-sided interval [0, high] for a share; without a trial nothing is excluded, and high is 1.

    Args:
        successes: how many of the trials succeeded, in 0..trials.
        trials: how many there were.
        level: coverage, in (0, 1); the interval holds the true share at least that often.
    Raises: InputRefused: successes outside 0..trials, or a level outside (0, 1).
    Source: Clopper & Pearson (1934), Biometrika 26(4), 404-413.

    """
    successes, trials = counted(successes, trials)
    coverage = open_share(level, "level")
    return Interval(0.0, high_end(successes, trials, tail=1 - coverage), coverage)


def exact_interval(successes: int, trials: int, *, level: Number) -> Interval:
    """Exact two-sided interval for a share, equal in the tails; without a trial it is [0, 1].

    Args:
        successes: how many of the trials succeeded, in 0..trials.
        trials: how many there were.
        level: coverage, in (0, 1); the interval holds the true share at least that often.
    Raises: InputRefused: successes outside 0..trials, or a level outside (0, 1).
    Source: Clopper & Pearson (1934), Biometrika 26(4), 404-413.

    """
    successes, trials = counted(successes, trials)
    coverage = open_share(level, "level")
    tail = (1 - coverage) / 2
    return Interval(low_end(successes, trials, tail=tail), high_end(successes, trials, tail=tail), coverage)


def shortfall_p_value(successes: int, trials: int, share: Number) -> float:
    """P(X <= successes) for X ~ Binomial(trials, share): how surprising so few successes would be at that share.

    Raises: InputRefused: successes outside 0..trials, or a share outside [0, 1].
    """
    successes, trials = counted(successes, trials)
    return float(binom.cdf(successes, trials, real_number(share, "share", low=0, high=1)))


def counted(successes: int, trials: int) -> tuple[int, int]:
    """Both as Python integers, which do not wrap around.

    Raises: InputRefused: one is no single whole number, or successes lie outside 0..trials.
    """
    successes, trials = whole_number(successes, "successes"), whole_number(trials, "trials")
    if not 0 <= successes <= trials:
        raise InputRefused(f"successes: found {successes}, expected 0..{trials}")
    return successes, trials


def low_end(successes: float, trials: float, *, tail: float) -> float:
    """The share at which so many successes or more come with the chance `tail`; 0 without a success.

    Both numbers may be effective ones, with a fraction.
    """
    return float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0


def high_end(successes: float, trials: float, *, tail: float) -> float:
    """The share at which so many successes or fewer come with the chance `tail`; 1 without a failure; see `low_end`."""
    return float(beta.isf(tail, successes + 1, trials - successes)) if successes < trials else 1.0
