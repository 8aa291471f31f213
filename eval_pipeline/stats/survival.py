"""How long until an event when some leave before theirs: the curve of those without it, and the hazard per attempt."""

from dataclasses import dataclass
from math import isfinite, prod
from typing import Literal

import numpy as np
from scipy.special import ndtri

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Interval
from eval_pipeline.stats.arrays import ArrayLike, Counts, Reals, flags, reals, require_equal_lengths, whole_numbers
from eval_pipeline.stats.binomial import exact_interval

Transform = Literal["plain", "log", "log-log"]

_ROUNDING = 1e-9  # far above the error of a product of floats, far below the step of a curve at one event


@dataclass(frozen=True, slots=True)
class RiskTable:
    """How many were at risk and had the event at each time, by arm: all that the estimators need of the subjects.

    Whoever is censored at a time is at risk at it and leaves after its events. Times are the same where they are equal
    as floats.

    times: shape (k,), ascending; all at which somebody had the event or left, perhaps others.
    at_risk, events: shape (arms, k), the subjects of each arm.
    rows: shape (n,), the row of each subject's own time.
    """

    times: Reals
    at_risk: Counts
    events: Counts
    rows: Counts


def risk_table(times: ArrayLike, events: ArrayLike, arm: ArrayLike | None = None) -> RiskTable:
    """The table of one group of subjects, or of two arms.

    Args:
        times: shape (n,), above 0; when each subject had the event or was last seen.
        events: shape (n,), 1 for the event and 0 for a subject who was last seen without it.
        arm: shape (n,), 0 or 1; None for one group.

    Raises:
        InputRefused: a time is not above 0, events or arm other than 0 or 1, or unequal lengths.
        TooFewObservations: n = 0.

    """
    until, happened = reals(times, "times"), flags(events, "events")
    side = None if arm is None else flags(arm, "arm")
    for name, array in (("times", until), ("events", happened), ("arm", side)):
        if array is not None and array.ndim != 1:
            raise InputRefused(f"{name}: found {array.ndim} dimensions, expected 1")
    require_equal_lengths(times=until, events=happened, arm=happened if side is None else side)
    if not until.size:
        raise TooFewObservations("found no subject; a curve or a test of survival needs at least one")
    if until.min() <= 0:
        raise InputRefused(f"times: found {until.min():g}, expected times above 0")
    distinct, rows = _rows(until)
    cells = happened * len(distinct)
    cells += rows
    if side is not None:
        cells += side * (2 * len(distinct))
    arms = 1 if side is None else 2
    table = np.bincount(cells, minlength=arms * 2 * len(distinct)).reshape(arms, 2, -1)
    at_risk = table.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    return RiskTable(distinct, at_risk, table[:, 1], rows)


def _rows(times: Reals) -> tuple[Reals, Counts]:
    """Ascending times, and which of them is each subject's; small whole numbers are their own rows, without a sort."""
    if times.max() <= times.size and ((whole := times.astype(np.int64)) == times).all():
        return np.arange(whole.max() + 1, dtype=np.float64), whole
    distinct, rows = np.unique(times, return_inverse=True)
    return distinct, rows.astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class Survival:
    """The share without the event up to a time.

    `std_error` and `interval` are None where Greenwood's formula says nothing: before the first event, and at 0.
    """

    share: float
    std_error: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Curve:
    """A Kaplan-Meier curve: a step at each time of an event, level in between.

    times, at_risk, events, survival: shape (k,), at the times at which somebody had the event; `survival` holds from
        that time on.
    std_error, low, high: shape (k,), or (k - 1,) where the curve ends at 0, for there Greenwood's formula divides by 0.
    level: the coverage of `low` to `high` at each single time, and of `median_interval`.
    followed_until: the largest time of any subject; where the curve goes from there is unknown unless it is at 0.
    median: the first time with S <= 1/2; None where the curve stays above.
    median_interval: an end that is None was not reached.
    """

    times: Reals
    at_risk: Counts
    events: Counts
    survival: Reals
    std_error: Reals
    low: Reals
    high: Reals
    level: float
    followed_until: float
    median: float | None
    median_interval: Interval

    def at(self, time: float) -> Survival:
        """S(time), the share of subjects whose event comes after it.

        Raises:
            InputRefused: a time that is negative or not finite.
            TooFewObservations: nobody was followed so long, and the curve had not come to 0.

        """
        if not (isfinite(time) and time >= 0):
            raise InputRefused(f"time: found {time:g}, expected a finite time, 0 or more")
        row = int(np.searchsorted(self.times, time, side="right")) - 1
        if row < 0 and time <= self.followed_until:
            return Survival(1.0, None, None)
        if row >= len(self.std_error):
            return Survival(0.0, None, None)
        if time > self.followed_until:
            raise TooFewObservations(f"S({time:g}) is unknown: the last subject was seen at {self.followed_until:g}")
        interval = Interval(float(self.low[row]), float(self.high[row]), self.level)
        return Survival(float(self.survival[row]), float(self.std_error[row]), interval)


def kaplan_meier(times: ArrayLike, events: ArrayLike, *, level: float, transform: Transform) -> Curve:
    """The curve S(t) of those without the event, with Greenwood's errors, pointwise intervals and the median.

    The median is the first time with S <= 1/2, decided in whole numbers. Where the curve is level at exactly 1/2, R
    gives the middle of the step instead, and statsmodels, which asks for S < 1/2, its end.

    The interval of the median inverts the pointwise intervals: from the first time whose lower limit is at most 1/2 to
    the first time from which on all upper limits are below 1/2.

    Args:
        times: shape (n,), above 0; when each subject had the event or was last seen.
        events: shape (n,), 1 for the event and 0 for a subject who was last seen without it.
        level: coverage, in (0, 1).
        transform: the scale on which the interval is S +- z std_error: that of S itself, cut off at 0 and 1; of log S,
            cut off at 1; or of log(-log S), which stays within (0, 1) and holds its level best in small samples.

    Raises:
        InputRefused: a time is not above 0, events other than 0 or 1, unequal lengths, level outside (0, 1).
        TooFewObservations: n = 0.
    Source: Kaplan & Meier (1958), JASA 53(282), 457-481; Greenwood (1926), The natural duration of cancer; Brookmeyer &
        Crowley (1982), Biometrics 38(1), 29-41; Klein & Moeschberger (2003), Survival Analysis, 2nd ed., 104-122.

    """
    _require_level(level)
    table = risk_table(times, events)
    kept = table.events[0] > 0
    when, at_risk, failed = table.times[kept], table.at_risk[0, kept], table.events[0, kept]
    survival = np.cumprod((at_risk - failed) / at_risk)
    n, d, above_0 = (array[failed < at_risk] for array in (at_risk, failed, survival))
    log_error = np.sqrt(np.cumsum(d / n / (n - d)))  # Greenwood: that of S is S times that of log S
    low, high = _limits(above_0, log_error, z=-float(ndtri((1 - level) / 2)), transform=transform)
    row = _median_row(survival, at_risk, failed)
    return Curve(
        times=when,
        at_risk=at_risk,
        events=failed,
        survival=survival,
        std_error=above_0 * log_error,
        low=low,
        high=high,
        level=level,
        followed_until=float(table.times[-1]),
        median=float(when[row]) if row < len(when) else None,
        median_interval=Interval(
            _time_of(int(np.cumprod(low > 0.5).sum()), when[: len(low)]),
            _time_of(len(high) - int(np.cumprod(high[::-1] < 0.5).sum()), when[: len(high)]),
            level,
        ),
    )


def _limits(survival: Reals, log_error: Reals, *, z: float, transform: Transform) -> tuple[Reals, Reals]:
    if transform == "plain":
        half = z * survival * log_error
        return np.maximum(survival - half, 0.0), np.minimum(survival + half, 1.0)
    if transform == "log":
        return survival * np.exp(-z * log_error), np.minimum(survival * np.exp(z * log_error), 1.0)
    if transform == "log-log":
        power = np.exp(-z * log_error / np.log(survival))
        return survival**power, survival ** (1 / power)
    raise InputRefused(f"transform: found {transform!r}, expected 'plain', 'log' or 'log-log'")


def _median_row(survival: Reals, at_risk: Counts, failed: Counts) -> int:
    """How many rows have S > 1/2; whole numbers settle the one row that may be off by rounding."""
    row = int((survival > 0.5 + _ROUNDING).sum())
    if row < len(survival) and survival[row] > 0.5 - _ROUNDING:
        seen = slice(row + 1)
        row += 2 * prod((at_risk - failed)[seen].tolist()) > prod(at_risk[seen].tolist())
    return row


def _time_of(row: int, times: Reals) -> float | None:
    return float(times[row]) if row < len(times) else None


@dataclass(frozen=True, slots=True)
class Hazard:
    """At one attempt: how many made it, how many had the event at it, their share, and its interval."""

    attempt: int
    at_risk: int
    events: int
    share: float
    interval: Interval


def hazards(attempts: ArrayLike, events: ArrayLike, *, level: float) -> tuple[Hazard, ...]:
    """The hazard of each attempt from 1 to the last that was made: of those who came to it, the share with the event.

    The hazard of attempt k + 1 is 1 - S(k + 1) / S(k) of the Kaplan-Meier curve. Each interval is exact and stands for
    itself; it takes subjects as independent. Where they fail together, give `bootstrap.ratio_contrast` the events and
    the subjects at risk of each cluster.

    Args:
        attempts: shape (n,), whole numbers from 1 on; at which attempt each subject had the event, or its last without.
        events: shape (n,), 1 for the event and 0 for a subject who stopped without it.
        level: coverage of each interval, in (0, 1).

    Raises:
        InputRefused: attempts below 1 or not whole, events other than 0 or 1, unequal lengths, level outside (0, 1).
        TooFewObservations: n = 0.
    Source: Cox (1972), JRSS B 34(2), 187-220, section 7 (discrete time); Clopper & Pearson (1934), Biometrika 26(4).

    """
    _require_level(level)
    table = risk_table(whole_numbers(attempts, "attempts", at_least=1), events)
    every = np.arange(1, int(table.times[-1]) + 1)
    rows = np.searchsorted(table.times, every)
    failed = np.where(table.times[rows] == every, table.events[0, rows], 0)
    counted = zip(every.tolist(), table.at_risk[0, rows].tolist(), failed.tolist(), strict=True)
    return tuple(Hazard(k, n, d, d / n, exact_interval(d, n, level=level)) for k, n, d in counted)


def _require_level(level: float) -> None:
    if not 0 < level < 1:
        raise InputRefused(f"level: found {level}, expected a coverage between 0 and 1")
