"""How long until an event, when some leave before theirs: the Kaplan-Meier curve of those without it."""

from dataclasses import dataclass
from math import isfinite, prod
from typing import Literal

import numpy as np

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Interval, Number
from eval_pipeline.stats.arrays import (
    ArrayLike,
    Counts,
    Reals,
    flags,
    in_a_row,
    labels,
    reals,
    require_equal_lengths,
    whole_numbers,
)
from eval_pipeline.stats.scalars import choice, open_share, two_sided_z

Transform = Literal["plain", "log", "log-log"]

_FEW = 32
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
    whole = labels(times, "times").dtype.kind in "iu"
    until = whole_numbers(times, "times") if whole else reals(times, "times")
    happened, side = flags(events, "events"), None if arm is None else flags(arm, "arm")
    given = {"times": until, "events": happened} | ({} if side is None else {"arm": side})
    for name, array in given.items():
        in_a_row(array, name)
    require_equal_lengths(**given)
    if not until.size:
        raise TooFewObservations("found no subject; a curve or a test of survival needs at least one")
    if until.min() <= 0:
        raise InputRefused(f"times: found {until.min():g}, expected times above 0")
    distinct, rows = _rows(until)
    cells = happened.copy() if side is None else side * 2 + happened
    cells *= len(distinct)
    cells += rows
    arms = 1 if side is None else 2
    table = np.bincount(cells, minlength=arms * 2 * len(distinct)).reshape(arms, 2, -1)
    at_risk = table.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    return RiskTable(distinct, at_risk, table[:, 1], rows)


def _rows(times: Reals | Counts) -> tuple[Reals, Counts]:
    """Ascending times, and which of them is each subject's; small whole numbers are their own rows, without a sort."""
    if times.max() <= times.size and ((whole := times.astype(np.int64, copy=False)) is times or (whole == times).all()):
        return np.arange(whole.max() + 1, dtype=np.float64), whole
    distinct, rows = np.unique(times, return_inverse=True)
    return distinct.astype(np.float64), rows.astype(np.int64, copy=False)


def kaplan_meier(times: ArrayLike, events: ArrayLike, *, level: Number, transform: Transform) -> Curve:
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
    (curve,) = curves(risk_table(times, events), level=level, transform=transform)
    return curve


def curves(table: RiskTable, *, level: Number, transform: Transform) -> tuple[Curve, ...]:
    """The curve of each arm of a table, in their order, as `kaplan_meier` gives that of one group.

    Raises: InputRefused: level outside (0, 1); TooFewObservations: an arm without subjects.
    """
    choice(transform, Transform, "transform")
    return tuple(_curve(table, arm, open_share(level, "level"), transform) for arm in range(len(table.at_risk)))


def _curve(table: RiskTable, arm: int, coverage: float, transform: Transform) -> Curve:
    if not table.at_risk[arm, 0]:
        raise TooFewObservations(f"found no subject in arm {arm}; a curve needs at least one")
    kept = table.events[arm] > 0
    when, at_risk, failed = table.times[kept], table.at_risk[arm, kept], table.events[arm, kept]
    survival = np.cumprod((at_risk - failed) / at_risk)
    n, d, above_0 = (array[failed < at_risk] for array in (at_risk, failed, survival))
    log_error = np.sqrt(np.cumsum(d / n / (n - d)))  # Greenwood: that of S is S times that of log S
    low, high = _limits(above_0, log_error, z=two_sided_z(coverage), transform=transform)
    row = _median_row(survival, at_risk, failed)
    return Curve(
        times=when,
        at_risk=at_risk,
        events=failed,
        survival=survival,
        std_error=above_0 * log_error,
        low=low,
        high=high,
        level=coverage,
        followed_until=float(table.times[np.flatnonzero(table.at_risk[arm])[-1]]),
        median=_time_of(row, when),
        median_interval=Interval(
            _time_of(int(np.cumprod(low > 0.5).sum()), when[: len(low)]),
            _time_of(len(high) - int(np.cumprod(high[::-1] < 0.5).sum()), when[: len(high)]),
            coverage,
        ),
    )


def _limits(survival: Reals, log_error: Reals, *, z: float, transform: Transform) -> tuple[Reals, Reals]:
    if transform == "plain":
        half = z * survival * log_error
        return np.maximum(survival - half, 0.0), np.minimum(survival + half, 1.0)
    if transform == "log":
        return survival * np.exp(-z * log_error), np.minimum(survival * np.exp(z * log_error), 1.0)
    power = np.exp(-z * log_error / np.log(survival))
    return survival**power, survival ** (1 / power)


def _median_row(survival: Reals, at_risk: Counts, failed: Counts) -> int:
    """How many rows have S > 1/2; whole numbers settle the one row that may be off by rounding."""
    row = int((survival > 0.5 + _ROUNDING).sum())
    if row < len(survival) and survival[row] > 0.5 - _ROUNDING:
        seen = slice(row + 1)
        row += 2 * _product((at_risk - failed)[seen].tolist()) > _product(at_risk[seen].tolist())
    return row


def _product(numbers: list[int]) -> int:
    """Of many numbers, in halves: one after the other would multiply ever longer numbers by short ones."""
    if len(numbers) < _FEW:
        return prod(numbers)
    half = len(numbers) // 2
    return _product(numbers[:half]) * _product(numbers[half:])


def _time_of(row: int, times: Reals) -> float | None:
    return float(times[row]) if row < len(times) else None
