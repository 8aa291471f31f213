"""The curve, its errors and its median are those of the textbooks, also at ties and at 0, and cover what they say."""

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from scipy.stats import binomtest
from statsmodels.duration.survfunc import SurvfuncRight

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.records import Interval
from eval_pipeline.stats.survival import Survival, _median_row, kaplan_meier, risk_table
from tests.stats.laws import LAW

SUBJECTS = st.lists(st.tuples(st.integers(1, 12), st.booleans()), min_size=1, max_size=40)
Z = 1.959963984540054  # the normal quantile of .975
STUDIES = 1000

# Weeks in remission of 42 children with leukaemia: Freireich et al. (1963), in Gehan (1965), Biometrika 52, 203-223.
WEEKS_6MP = [6, 6, 6, 6, 7, 9, 10, 10, 11, 13, 16, 17, 19, 20, 22, 23, 25, 32, 32, 34, 35]
RELAPSED_6MP = [1, 1, 1, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
WEEKS_PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
ALL_21 = [1] * 21
# Weeks in remission under maintained chemotherapy: Miller (1981), Survival Analysis; `aml` in R's survival.
WEEKS_AML = [9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161]
RELAPSED_AML = [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0]


def curve(times, events, *, level=0.95, transform="log-log"):
    return kaplan_meier(times, events, level=level, transform=transform)


def test_a_curve_falls_by_the_share_of_those_at_risk():
    """Events at 1, 3 and 4, one subject last seen at 2."""
    found = curve([1, 2, 3, 4], [1, 0, 1, 1], transform="plain")
    assert found.times.tolist() == [1, 3, 4]
    assert found.at_risk.tolist() == [4, 2, 1]
    assert found.events.tolist() == [1, 1, 1]
    # 3/4; 3/4 of 1/2; nothing.
    assert found.survival == pytest.approx([3 / 4, 3 / 8, 0], abs=1e-15)
    # Greenwood: S^2 times the sum of d / (n (n - d)): 9/16 of 1/12; 9/64 of 1/12 + 1/2. The third divides by 0.
    first, second = 3 / 4 * sqrt(1 / 12), 3 / 8 * sqrt(7 / 12)
    assert found.std_error == pytest.approx([first, second], abs=1e-15)
    assert found.low == pytest.approx([3 / 4 - Z * first, 0], abs=1e-14)
    assert found.high == pytest.approx([1, 3 / 8 + Z * second], abs=1e-14)
    assert found.median == 3


@pytest.mark.parametrize(
    ("transform", "low", "high"),
    [
        # S = 3/4 at the first of four events; log S has the error sqrt(1/12).
        pytest.param("plain", 0.75 - Z * 0.75 * sqrt(1 / 12), 1.0, id="plain"),
        pytest.param("log", 0.75 * exp(-Z * sqrt(1 / 12)), 1.0, id="log"),
        # The error of log(-log S) is that of log S over |log S|.
        pytest.param(
            "log-log",
            exp(-exp(log(-log(0.75)) + Z * sqrt(1 / 12) / -log(0.75))),
            exp(-exp(log(-log(0.75)) - Z * sqrt(1 / 12) / -log(0.75))),
            id="log-log",
        ),
    ],
)
def test_the_interval_is_made_on_the_scale_that_was_asked_for(transform, low, high):
    found = curve([1, 2, 3, 4], [1, 1, 1, 1], transform=transform)
    assert found.low[0] == pytest.approx(low, abs=1e-14)
    assert found.high[0] == pytest.approx(high, abs=1e-14)


def test_who_is_censored_at_the_time_of_an_event_is_still_at_risk_at_it():
    assert curve([2, 2, 3], [1, 0, 1]).at_risk.tolist() == [3, 1]


def test_the_leukaemia_data_give_the_published_curves():
    """Kleinbaum & Klein, Survival Analysis, table of the 6-MP arm: S(t) and its standard errors."""
    treated, placebo = curve(WEEKS_6MP, RELAPSED_6MP), curve(WEEKS_PLACEBO, ALL_21)
    assert treated.times.tolist() == [6, 7, 10, 13, 16, 22, 23]
    assert treated.survival == pytest.approx([0.8571, 0.8067, 0.7529, 0.6902, 0.6275, 0.5378, 0.4482], abs=5e-5)
    assert treated.std_error == pytest.approx([0.0764, 0.0869, 0.0963, 0.1068, 0.1141, 0.1282, 0.1346], abs=6e-5)
    published = [0.9048, 0.8095, 0.7619, 0.6667, 0.5714, 0.381, 0.2857, 0.1905, 0.1429, 0.0952, 0.0476, 0.0]
    assert placebo.survival == pytest.approx(published, abs=5e-5)
    assert (treated.median, placebo.median) == (23, 8)


@pytest.mark.parametrize(
    ("transform", "treated", "placebo", "maintained"),
    [
        # R's survfit prints (16, NA), (4, 12) and (18, NA) for "log"; statsmodels 0.15.0 gives the others.
        pytest.param("log", (16, None), (4, 12), (18, None), id="log"),
        pytest.param("plain", (13, None), (4, 11), (18, 48), id="plain"),
        pytest.param("log-log", (13, None), (4, 11), (13, None), id="log-log"),
    ],
)
def test_the_interval_of_the_median_is_the_published_one(transform, treated, placebo, maintained):
    assert curve(WEEKS_6MP, RELAPSED_6MP, transform=transform).median_interval == Interval(*treated, 0.95)
    assert curve(WEEKS_PLACEBO, ALL_21, transform=transform).median_interval == Interval(*placebo, 0.95)
    assert curve(WEEKS_AML, RELAPSED_AML, transform=transform).median_interval == Interval(*maintained, 0.95)


def test_attempts_that_all_stop_at_the_third_have_the_errors_of_shares():
    """Of 100, 60 pass at the first attempt, 20 at the second, 5 at the third, and 15 never do."""
    found = curve(np.repeat([1, 2, 3, 3], [60, 20, 5, 15]), np.repeat([1, 1, 1, 0], [60, 20, 5, 15]), transform="plain")
    assert found.survival == pytest.approx([0.4, 0.2, 0.15], abs=1e-15)
    # No one leaves early, so Greenwood's error is that of a share of 100: sqrt(S (1 - S) / 100).
    assert found.std_error == pytest.approx([sqrt(0.24) / 10, sqrt(0.16) / 10, sqrt(0.1275) / 10], abs=1e-15)
    assert found.low == pytest.approx([0.303982, 0.121601, 0.080015], abs=1e-6)
    assert found.high == pytest.approx([0.496018, 0.278399, 0.219985], abs=1e-6)
    # At the first attempt already all of the interval lies below 1/2.
    assert (found.median, found.median_interval) == (1, Interval(1, 1, 0.95))


def random_subjects(rng, n):
    """Real times; the last subject is censored, so that the curve never comes to 0."""
    until, lost = rng.exponential(1, n), rng.exponential(1.5, n)
    times, events = np.minimum(until, lost), until <= lost
    events[times.argmax()] = False
    return times, events


@pytest.mark.parametrize("seed", range(5))
def test_lifelines_draws_the_same_curve(seed):
    times, events = random_subjects(np.random.default_rng(seed), 60)
    found = curve(times, events, level=0.9)
    other = KaplanMeierFitter(alpha=0.1).fit(times, events)
    assert found.survival == pytest.approx(other.survival_function_at_times(found.times).to_numpy(), abs=1e-12)
    limits = other.confidence_interval_.loc[found.times].to_numpy()
    assert np.column_stack([found.low, found.high]) == pytest.approx(limits, abs=1e-9)
    assert found.median == other.median_survival_time_


@pytest.mark.parametrize(("transform", "method"), [("plain", "linear"), ("log", "log"), ("log-log", "cloglog")])
def test_statsmodels_gives_the_same_errors_and_the_same_interval_of_the_median(transform, method):
    for seed in range(20):
        times, events = random_subjects(np.random.default_rng(seed), 45)
        found, other = curve(times, events, transform=transform), SurvfuncRight(times, events.astype(int))
        assert found.std_error == pytest.approx(other.surv_prob_se[np.isin(other.surv_times, found.times)], abs=1e-12)
        low, high = other.quantile_ci(0.5, alpha=0.05, method=method)
        assert found.median_interval == Interval(low, high if np.isfinite(high) else None, 0.95)


def test_the_interval_of_the_median_lasts_while_any_later_upper_limit_reaches_one_half():
    """Of 1000, 540 have the event at 1 and 458 are last seen at 2, so that of the 2 at risk at 3 little is known."""
    stops = [540, 458, 1, 1]
    found = curve(np.repeat([1, 2, 3, 4], stops), np.repeat([1, 0, 1, 0], stops), transform="log")
    # .46 exp(z sqrt(540 / (1000 * 460))) = .492; .23 exp(z sqrt(540 / (1000 * 460) + 1 / 2)) = .921.
    assert found.high == pytest.approx([0.4920, 0.9211], abs=5e-4)
    assert found.median_interval == Interval(1, None, 0.95)


@pytest.mark.parametrize("half", range(1, 100))
def test_a_curve_at_exactly_one_half_has_reached_its_median(half):
    """Of 2h events at 1..2h, the h-th leaves h without: S = 1/2, though the product of floats may lie above."""
    assert curve(np.arange(1, 2 * half + 1), np.ones(2 * half)).median == half


def test_a_curve_that_is_above_one_half_by_less_than_a_float_can_tell_has_not_reached_its_median():
    at_risk, failed = np.array([2**57]), np.array([2**56 - 1])
    survival = (at_risk - failed) / at_risk
    assert survival[0] == 0.5
    assert _median_row(survival, at_risk, failed) == 1
    assert _median_row(survival, at_risk, failed + 1) == 0


def test_a_curve_level_at_one_half_to_the_end_has_reached_its_median():
    assert curve([3, 3, 3, 3], [1, 1, 0, 0]).median == 3


@LAW
@given(SUBJECTS)
def test_the_median_is_the_first_time_at_which_exact_fractions_come_to_one_half(subjects):
    times, events = map(np.array, zip(*subjects, strict=True))
    share, expected = Fraction(1), None
    for time in np.unique(times[events]):
        at_risk = int((times >= time).sum())
        share *= 1 - Fraction(int((events & (times == time)).sum()), at_risk)
        if share <= Fraction(1, 2):
            expected = time
            break
    assert curve(times, events).median == expected


@LAW
@given(SUBJECTS)
def test_at_a_time_each_subject_has_left_or_is_at_risk(subjects):
    times, events = map(np.array, zip(*subjects, strict=True))
    found = curve(times, events)
    assert found.at_risk.tolist() == [(times >= time).sum() for time in found.times]
    assert found.events.tolist() == [(events & (times == time)).sum() for time in found.times]
    assert found.times.tolist() == sorted(set(times[events].tolist()))


@LAW
@given(SUBJECTS, st.sampled_from([0.001, 0.3, 1000.0]), st.randoms(use_true_random=False))
def test_neither_the_unit_of_time_nor_the_order_of_subjects_changes_a_curve(subjects, unit, shuffler):
    times, events = zip(*subjects, strict=True)
    shuffled = shuffler.sample(subjects, len(subjects))
    found, other = curve(times, events), curve([time * unit for time, _ in shuffled], [event for _, event in shuffled])
    assert other.times == pytest.approx(found.times * unit)
    for name in ("at_risk", "events", "survival", "std_error", "low", "high"):
        assert getattr(other, name).tolist() == getattr(found, name).tolist()
    assert other.median == (None if found.median is None else pytest.approx(found.median * unit))


@LAW
@given(st.lists(st.integers(1, 12), min_size=1, max_size=40))
def test_where_no_one_leaves_early_the_curve_is_the_share_of_later_times(times):
    found = curve(times, np.ones(len(times)))
    assert found.survival == pytest.approx([np.mean(np.array(times) > time) for time in found.times], abs=1e-12)


def test_the_curve_is_looked_up_between_its_steps():
    found = curve([1, 2, 3, 5], [1, 0, 1, 0])
    assert found.at(0.5) == Survival(1.0, None, None)
    assert (
        found.at(1) == found.at(2.9) == Survival(0.75, found.std_error[0], Interval(found.low[0], found.high[0], 0.95))
    )
    assert found.at(5) == Survival(0.375, found.std_error[1], Interval(found.low[1], found.high[1], 0.95))


def test_at_0_the_curve_stays_and_no_error_is_given():
    found = curve([1, 2, 3], [1, 1, 1])
    assert found.std_error == pytest.approx([0.2721655, 0.2721655], abs=1e-7)
    assert len(found.low) == len(found.high) == 2
    assert found.at(3) == found.at(100) == Survival(0.0, None, None)


def test_one_step_to_0_has_a_median_without_an_interval():
    found = curve([1, 1], [1, 1])
    assert (found.median, found.median_interval) == (1, Interval(None, None, 0.95))


def test_without_an_event_the_curve_stays_at_1_and_no_median_is_reached():
    found = curve([1, 2, 3], [0, 0, 0])
    assert found.at(3) == Survival(1.0, None, None)
    assert (found.median, found.median_interval) == (None, Interval(None, None, 0.95))
    assert found.times.size == found.survival.size == 0


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float32, object, pd.Series])
def test_every_kind_of_array_gives_the_same_curve(kind):
    """300 subjects, so that counts held in 8 bits would wrap around."""
    times, events = np.tile([1, 2, 3], 100), np.tile([1, 0, 1, 1], 75)
    cast = kind if kind is pd.Series else lambda array: array.astype(kind)
    found, expected = curve(cast(times), cast(events)), curve(times, events)
    assert found.at_risk.tolist() == expected.at_risk.tolist() == [300, 200, 100]
    assert found.survival.tolist() == expected.survival.tolist()


def test_whole_times_may_be_of_any_size():
    found = curve([1, 3, 1e12, 1e13], [1, 1, 1, 0])
    assert found.times.tolist() == [1, 3, 1e12]
    assert found.at_risk.tolist() == [4, 3, 2]


def studies_that_hold_the_truth(subjects, hazard, lost, transform):
    """Of S(2) = (1 - hazard)^2, where each attempt ends in the event with one chance and in leaving with another."""
    rng = np.random.default_rng(11)
    hits, truth = 0, (1 - hazard) ** 2
    for _ in range(STUDIES):
        until, left = rng.geometric(hazard, subjects), rng.geometric(lost, subjects)
        interval = curve(np.minimum(until, left), until <= left, transform=transform).at(2).interval
        hits += interval.low <= truth <= interval.high
    return hits


@pytest.mark.parametrize(
    ("subjects", "hazard", "lost", "transform"),
    [
        pytest.param(400, 0.4, 0.1, "plain", id="plain"),
        pytest.param(400, 0.4, 0.1, "log", id="log"),
        pytest.param(150, 0.4, 0.1, "log-log", id="log-log"),
        pytest.param(60, 0.15, 0.3, "log-log", id="log-log, few and much lost"),
        pytest.param(120, 0.75, 0.02, "log-log", id="log-log, near 0"),
    ],
)
def test_a_95_percent_interval_holds_the_true_survival_in_95_percent_of_studies(subjects, hazard, lost, transform):
    hits = studies_that_hold_the_truth(subjects, hazard, lost, transform)
    assert binomtest(hits, STUDIES, 0.95).pvalue > 0.01


def test_the_plain_interval_holds_too_seldom_in_small_samples():
    hits = studies_that_hold_the_truth(60, 0.15, 0.3, "plain")
    assert binomtest(hits, STUDIES, 0.95, alternative="less").pvalue < 0.01


def test_a_90_percent_interval_of_the_median_holds_the_true_one_in_90_percent_of_studies():
    rng = np.random.default_rng(12)
    hits = 0
    for _ in range(STUDIES):
        until, left = rng.exponential(1, 80), rng.exponential(2, 80)
        found = curve(np.minimum(until, left), until <= left, level=0.9).median_interval
        hits += found.low <= log(2) < (found.high or np.inf)
    assert binomtest(hits, STUDIES, 0.9).pvalue > 0.01


@pytest.mark.parametrize(
    ("times", "events", "message"),
    [
        ([1, 0], [1, 1], "times: found 0, expected times above 0"),
        ([1, -2.5], [1, 1], "found -2.5"),
        ([1, np.nan], [1, 1], "times"),
        ([1, np.inf], [1, 1], "times"),
        ([1, 2], [1, 2], "events: found 2, expected 0 or 1"),
        ([1, 2], [1, None], "events"),
        ([1, 2, 3], [1, 1], "found 3 times, 2 events"),
        ([[1, 2]], [1], "times: found 2 dimensions"),
        ([1, 2], [[1, 0]], "events: found 2 dimensions"),
        (["1", "2"], [1, 1], "times"),
    ],
)
def test_what_is_no_time_or_no_event_is_refused(times, events, message):
    with pytest.raises(InputRefused, match=message):
        curve(times, events)


def test_lengths_are_told_of_what_was_given_alone():
    with pytest.raises(InputRefused, match=r"^found 3 times, 2 events; expected"):
        risk_table([1, 2, 3], [1, 1])
    with pytest.raises(InputRefused, match=r"^found 2 times, 2 events, 1 arm; expected"):
        risk_table([1, 2], [1, 1], [0])


def test_an_arm_that_is_no_list_is_refused():
    with pytest.raises(InputRefused, match="arm: found 2 dimensions"):
        risk_table([1, 2], [1, 1], [[0, 1]])


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_that_is_no_coverage_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        curve([1], [1], level=level)


def test_a_level_may_be_a_fraction():
    found = curve([1, 2, 3], [1, 1, 0], level=Fraction(9, 10))
    assert found.at(1) == curve([1, 2, 3], [1, 1, 0], level=0.9).at(1)


def test_an_unknown_transform_is_refused():
    with pytest.raises(InputRefused, match="transform: found 'linear'"):
        curve([1, 2], [1, 1], transform="linear")


def test_no_subjects_are_refused():
    with pytest.raises(TooFewObservations, match="no subject"):
        curve([], [])


def test_beyond_the_last_subject_the_curve_is_unknown():
    with pytest.raises(TooFewObservations, match=r"S\(5.5\) is unknown: the last subject was seen at 5"):
        curve([1, 5], [1, 0]).at(5.5)
    with pytest.raises(TooFewObservations, match="unknown"):
        curve([1, 5], [0, 0]).at(6)


@pytest.mark.parametrize("time", [-1, float("nan"), float("inf")])
def test_the_curve_is_not_looked_up_at_what_is_no_time(time):
    with pytest.raises(InputRefused, match="time: found"):
        curve([1, 2], [1, 1]).at(time)


def test_masked_times_are_refused_and_not_taken_for_observed():
    with pytest.raises(InputRefused, match="times: found a masked value"):
        kaplan_meier(np.ma.array([1.0, 2, 3], mask=[0, 1, 0]), [1, 1, 1], level=0.9, transform="plain")
    with pytest.raises(InputRefused, match="times: found a masked value"):
        risk_table(np.ma.array([1, 2, 3], mask=[0, 1, 0]), [1, 1, 1])


def test_the_median_of_many_distinct_times_is_exact():
    """Of 2n + 1 events without a tie S is at most a half from event n + 1 on, and of 2n from event n on."""
    for n in (20_000, 20_001):
        found = kaplan_meier(np.arange(1, n + 1) / 7, np.ones(n), level=0.9, transform="plain")
        assert found.median == (n + 1) // 2 / 7
