"""Planned events and subjects are those of the formulas, and log-rank tests of that size have the power."""

from math import ceil, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines.statistics import power_under_cph, sample_size_necessary_under_cph
from scipy.stats import binomtest, norm

from eval_pipeline.errors import InputRefused, NoEffect, TooFewObservations
from eval_pipeline.stats.survival_power import (
    FreedmanSize,
    SchoenfeldSize,
    freedman_size,
    schoenfeld_power,
    schoenfeld_size,
)
from tests.stats.laws import LAW

RATIOS = st.floats(0.2, 0.95)
USUAL = {"alpha": 0.05, "power": 0.8}


@pytest.mark.parametrize(
    ("hazard_ratio", "event_rate", "allocation", "events", "subjects"),
    [
        # 4 (1.959964 + .841621)^2 / ln(.7)^2 = 4 * 7.848880 / .127217 = 246.787; over .3, 822.6, whereas
        # ceil(247 / .3) = 824.
        (0.7, 0.30, 0.5, 247, 823),
        (0.7, 0.4762, 0.5, 247, 519),
        (0.7, 0.4545, 0.5, 247, 543),
        (0.7, 0.10, 0.5, 247, 2468),
        (0.7, 1.0, 0.5, 247, 247),
        (0.5, 0.30, 0.5, 66, 218),
        (0.8, 0.30, 0.5, 631, 2102),
        # 246.787 * .25 / (.2 * .8) = 385.60
        (0.7, 0.30, 0.2, 386, 1286),
    ],
)
def test_schoenfelds_sizes_by_hand(hazard_ratio, event_rate, allocation, events, subjects):
    found = schoenfeld_size(hazard_ratio, event_rate=event_rate, allocation=allocation, **USUAL)
    assert found == SchoenfeldSize(events, subjects)


def test_freedmans_sizes_by_hand():
    # 7.848880 (1.7 / .3)^2 = 252.04 events; .25 + .35 = .6 a pair; 252.04 / .6 = 420.06 pairs.
    found = freedman_size(0.7, treated_event_rate=0.25, control_event_rate=0.35, treated_per_control=1, **USUAL)
    assert found == FreedmanSize(events=253, treated=421, controls=421)


@pytest.mark.parametrize("treated_per_control", [0.5, 1, 2, 3.7])
@pytest.mark.parametrize(("hazard_ratio", "treated", "control"), [(0.7, 0.25, 0.35), (0.5, 0.1, 0.9), (1.6, 0.4, 0.2)])
@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.95)])
def test_lifelines_has_freedmans_sizes(treated_per_control, hazard_ratio, treated, control, alpha, power):
    """lifelines 0.30.3, sample_size_necessary_under_cph."""
    found = freedman_size(
        hazard_ratio,
        treated_event_rate=treated,
        control_event_rate=control,
        treated_per_control=treated_per_control,
        alpha=alpha,
        power=power,
    )
    theirs = sample_size_necessary_under_cph(power, treated_per_control, treated, control, hazard_ratio, alpha)
    assert (found.treated, found.controls) == theirs
    reached = power_under_cph(found.treated, found.controls, treated, control, hazard_ratio, alpha)
    assert power <= reached < power + 0.02


@LAW
@given(RATIOS, st.floats(0.05, 1), st.floats(0.05, 0.95))
def test_a_hazard_ratio_and_its_reciprocal_need_the_same_and_the_arms_may_change_names(ratio, rate, allocation):
    def size(hazard_ratio, share):
        return schoenfeld_size(hazard_ratio, event_rate=rate, allocation=share, **USUAL)

    found, mirrored = size(ratio, allocation), size(1 / ratio, 1 - allocation)
    assert abs(found.events - mirrored.events) <= 1e-9 * found.events + 1
    assert found.events >= size(ratio, 0.5).events
    assert found.events <= found.subjects * rate + 1


@LAW
@given(RATIOS, st.floats(0.1, 0.9), st.floats(0.001, 0.2), st.floats(0.25, 0.99))
def test_the_events_asked_for_have_the_power_and_one_fewer_has_not(ratio, allocation, alpha, power):
    events = schoenfeld_size(ratio, event_rate=0.5, allocation=allocation, alpha=alpha, power=power).events
    at = {"hazard_ratio": ratio, "allocation": allocation, "alpha": alpha}
    assert schoenfeld_power(events, **at) >= power - 1e-12
    assert schoenfeld_power(events - 1, **at) < power


@LAW
@given(RATIOS)
def test_freedman_asks_for_more_events_than_schoenfeld_and_nearly_as_many_near_1(ratio):
    """(1 + h) / (1 - h) > 2 / -ln(h), and their difference is of the order (1 - h)."""
    freedman = freedman_size(ratio, treated_event_rate=1, control_event_rate=1, treated_per_control=1, **USUAL).events
    schoenfeld = schoenfeld_size(ratio, event_rate=1, allocation=0.5, **USUAL).events
    assert schoenfeld <= freedman
    assert freedman <= ceil(schoenfeld * (1 + (1 - ratio) ** 2)) + 1


def log_rank_z(times, treated):
    """Standardised log-rank statistics of studies without ties and censoring, one a row."""
    order = np.argsort(times, axis=1)
    arm = treated[order].astype(float)
    at_risk = np.arange(times.shape[1], 0, -1)
    share = np.flip(np.cumsum(np.flip(arm, axis=1), axis=1), axis=1) / at_risk
    return (arm - share).sum(axis=1) / np.sqrt((share * (1 - share)).sum(axis=1))


@pytest.mark.parametrize(
    ("hazard_ratio", "treated_share", "power"), [(0.7, 0.5, 0.8), (1.35, 0.3, 0.9), (0.8, 0.5, 0.5)]
)
def test_simulated_log_rank_tests_of_schoenfelds_size_have_the_power(hazard_ratio, treated_share, power):
    rng = np.random.default_rng(8)
    events = schoenfeld_size(hazard_ratio, event_rate=1, allocation=treated_share, alpha=0.05, power=power).events
    treated = np.arange(events) < treated_share * events
    times = rng.exponential(np.where(treated, 1 / hazard_ratio, 1.0), (600, events))
    found = np.sign(log(hazard_ratio)) * log_rank_z(times, treated) > norm.isf(0.025)
    assert binomtest(int(found.sum()), 600, power).pvalue > 0.01
    assert schoenfeld_power(events, hazard_ratio=hazard_ratio, allocation=treated_share, alpha=0.05) == pytest.approx(
        power, abs=0.005
    )


def test_without_an_event_a_test_has_half_its_alpha_for_power():
    assert schoenfeld_power(0, hazard_ratio=0.7, allocation=0.5, alpha=0.05) == pytest.approx(0.025)


def test_events_in_eight_bits_do_not_wrap_around():
    at = {"hazard_ratio": 0.7, "allocation": 0.5, "alpha": 0.05}
    assert schoenfeld_power(np.uint8(247), **at) == schoenfeld_power(247, **at)


def test_a_hazard_ratio_of_1_has_no_size():
    with pytest.raises(NoEffect, match="a hazard ratio of 1 is no effect"):
        schoenfeld_size(1.0, event_rate=0.3, allocation=0.5, **USUAL)
    with pytest.raises(NoEffect, match="a hazard ratio of 1 is no effect"):
        freedman_size(1.0, treated_event_rate=0.3, control_event_rate=0.3, treated_per_control=1, **USUAL)
    with pytest.raises(NoEffect, match="a hazard ratio of 1 is no effect"):
        schoenfeld_power(10, hazard_ratio=1.0, allocation=0.5, alpha=0.05)


def test_an_event_rate_of_0_has_no_size():
    with pytest.raises(TooFewObservations, match="at an event rate of 0 no event is seen"):
        schoenfeld_size(0.7, event_rate=0.0, allocation=0.5, **USUAL)
    with pytest.raises(TooFewObservations, match="at an event rate of 0 no event is seen"):
        freedman_size(0.7, treated_event_rate=0, control_event_rate=0, treated_per_control=1, **USUAL)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("hazard_ratio", value) for value in (0, -0.7, float("nan"), float("inf"), None)],
        *[("event_rate", value) for value in (-0.1, 1.2, float("nan"))],
        *[("allocation", value) for value in (0, 1, 1.5)],
        *[("alpha", value) for value in (0, 1)],
        *[("power", value) for value in (0.05, 0.01, 1)],
    ],
)
def test_schoenfeld_refuses_what_is_out_of_range_by_name(name, value):
    arguments = {"hazard_ratio": 0.7, "event_rate": 0.3, "allocation": 0.5, **USUAL, name: value}
    with pytest.raises(InputRefused, match=name):
        schoenfeld_size(arguments.pop("hazard_ratio"), **arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hazard_ratio", 0),
        ("treated_event_rate", 1.1),
        ("control_event_rate", -0.1),
        ("treated_per_control", 0),
        ("power", 1),
    ],
)
def test_freedman_refuses_what_is_out_of_range_by_name(name, value):
    rates = {"treated_event_rate": 0.3, "control_event_rate": 0.3}
    arguments = {"hazard_ratio": 0.7, **rates, "treated_per_control": 1, **USUAL, name: value}
    with pytest.raises(InputRefused, match=name):
        freedman_size(arguments.pop("hazard_ratio"), **arguments)


@pytest.mark.parametrize("events", [-1, 2.5, None])
def test_events_that_are_no_count_are_refused(events):
    with pytest.raises(InputRefused, match="events"):
        schoenfeld_power(events, hazard_ratio=0.7, allocation=0.5, alpha=0.05)
