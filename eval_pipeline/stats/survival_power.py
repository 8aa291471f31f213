"""How many events, and how many subjects, a comparison of two survival curves needs."""

from dataclasses import dataclass
from math import ceil, log, sqrt

from scipy.special import ndtr
from scipy.stats import norm

from eval_pipeline.errors import NoEffect, TooFewObservations
from eval_pipeline.stats.power import alpha_and_power, standard_errors
from eval_pipeline.stats.scalars import open_share, positive_number, real_number, whole_number


@dataclass(frozen=True, slots=True)
class SchoenfeldSize:
    """What a log-rank test needs: events in both arms together, and the subjects in whom so many are expected."""

    events: int
    subjects: int


@dataclass(frozen=True, slots=True)
class FreedmanSize:
    """What a log-rank test needs: events in both arms together, and the subjects of each arm."""

    events: int
    treated: int
    controls: int


def schoenfeld_size(
    hazard_ratio: float, *, event_rate: float, allocation: float, alpha: float, power: float
) -> SchoenfeldSize:
    """Events and subjects by Schoenfeld's formula: (z(1 - alpha / 2) + z(power))^2 / (p (1 - p) ln(HR)^2) events.

    Subjects are the events before rounding over the event rate: at a hazard ratio of .7 and a rate of .30, 823 and not
    824. A ratio and its reciprocal need the same.

    Args:
        hazard_ratio: of the arms, above 0.
        event_rate: share of all subjects in whom the event is seen, in (0, 1].
        allocation: share p of the subjects in one arm, in (0, 1).
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).

    Raises:
        InputRefused: an argument outside its range.
        NoEffect: hazard_ratio = 1.
        TooFewObservations: event_rate = 0; no event would be seen.
    Source: Schoenfeld (1983), Biometrics 39(2), 499-503.

    """
    alpha, power = alpha_and_power(alpha, power)
    events = (standard_errors(alpha, power) / _drift_per_root_event(hazard_ratio, allocation)) ** 2
    rate = real_number(event_rate, "event_rate", low=0, high=1)
    _require_events(rate)
    return SchoenfeldSize(ceil(events), ceil(events / rate))


def schoenfeld_power(events: int, *, hazard_ratio: float, allocation: float, alpha: float) -> float:
    """The chance that a log-rank test with so many events finds the hazard ratio, on its own side of 1.

    Args: events: in both arms together, from 0 on; the others as in `schoenfeld_size`.
    Raises: InputRefused: an argument outside its range. NoEffect: hazard_ratio = 1.
    Source: Schoenfeld (1983), Biometrics 39(2), 499-503.

    """
    events = whole_number(events, "events", at_least=0)
    drift = sqrt(events) * _drift_per_root_event(hazard_ratio, allocation)
    return float(ndtr(drift - norm.isf(open_share(alpha, "alpha") / 2)))


def freedman_size(
    hazard_ratio: float,
    *,
    treated_event_rate: float,
    control_event_rate: float,
    treated_per_control: float,
    alpha: float,
    power: float,
) -> FreedmanSize:
    """Events and subjects of each arm by Freedman's formula.

    Events are (z(1 - alpha / 2) + z(power))^2 ((1 + k HR) / (1 - HR))^2 / k; for equal arms never fewer than by
    Schoenfeld's. The arms are rounded up each for itself, from the events before rounding, as in lifelines.

    Args:
        hazard_ratio: of the treated against the controls, above 0.
        treated_event_rate: share of the treated in whom the event is seen, in [0, 1].
        control_event_rate: share of the controls, in [0, 1].
        treated_per_control: the ratio k of the arms' sizes, above 0.
        alpha: of the two-sided test, in (0, 1).
        power: in (alpha, 1).

    Raises:
        InputRefused: an argument outside its range.
        NoEffect: hazard_ratio = 1.
        TooFewObservations: both event rates are 0.
    Source: Freedman (1982), Statistics in Medicine 1(2), 121-129.

    """
    alpha, power = alpha_and_power(alpha, power)
    ratio, arms = _hazard_ratio(hazard_ratio), positive_number(treated_per_control, "treated_per_control")
    events = (standard_errors(alpha, power) * (1 + arms * ratio) / (1 - ratio)) ** 2 / arms
    treated_rate = real_number(treated_event_rate, "treated_event_rate", low=0, high=1)
    control_rate = real_number(control_event_rate, "control_event_rate", low=0, high=1)
    events_per_control = arms * treated_rate + control_rate
    _require_events(events_per_control)
    controls = events / events_per_control
    return FreedmanSize(ceil(events), treated=ceil(arms * controls), controls=ceil(controls))


def _drift_per_root_event(hazard_ratio: float, allocation: float) -> float:
    """Mean of the log-rank z over the square root of the events."""
    share = open_share(allocation, "allocation")
    return sqrt(share * (1 - share)) * abs(log(_hazard_ratio(hazard_ratio)))


def _hazard_ratio(value: float) -> float:
    if (ratio := positive_number(value, "hazard_ratio")) == 1:
        raise NoEffect("a hazard ratio of 1 is no effect; no number of events is large enough to find it")
    return ratio


def _require_events(rate: float) -> None:
    if rate == 0:
        raise TooFewObservations("at an event rate of 0 no event is seen, however many the subjects")
