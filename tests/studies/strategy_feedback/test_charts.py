"""A chart of gains stands about the value in force, and says when there is nothing to hold points against."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from eval_pipeline.loop import Signal
from eval_pipeline.stats.control_charts import special_causes, xmr_limits
from eval_pipeline.studies.strategy_feedback.charts import batch_means, gain_chart
from tests.stats.laws import LAW

POINTS = st.lists(st.integers(-40, 40).map(lambda n: Fraction(n, 100)), min_size=4, max_size=30)


def hundredths(*numbers):
    return tuple(Fraction(number, 100) for number in numbers)


def test_the_mean_of_each_full_batch_in_the_order_of_time():
    assert batch_means([Fraction(n) for n in (1, 2, 3, 4, 9)], batch=2) == (Fraction(3, 2), Fraction(7, 2))
    assert batch_means([Fraction(1)], batch=2) == ()


def test_limits_lie_about_the_target_as_far_as_the_baseline_moves():
    # Moving ranges of 10, 12, 10, 12: .02 each; 3 (.02) / 1.128 = .0531914893 about .20, not about .11.
    chart = gain_chart("gain", hundredths(10, 12, 10, 12), baseline=4, target=Fraction(1, 5))
    assert (chart.centre, chart.baseline) == (0.2, 4)
    assert (chart.lower[0], chart.upper[3]) == (pytest.approx(0.2 - 0.06 / 1.128), pytest.approx(0.2 + 0.06 / 1.128))
    assert chart.signals == tuple(Signal(place, "beyond_limits") for place in range(4))


def test_what_is_steadily_off_its_constant_is_called_out_though_it_is_stable_about_its_mean():
    points = hundredths(*(10, 14) * 6)
    assert special_causes([float(p) for p in points], limits=xmr_limits([float(p) for p in points])) == ()
    chart = gain_chart("gain", points, baseline=12, target=Fraction(16, 100))
    assert chart.signals == (Signal(7, "run_of_eight"),)
    assert gain_chart("gain", points, baseline=12, target=Fraction(12, 100)).stable


def test_a_point_on_a_limit_in_decimals_is_no_signal():
    # Limits of a moving range of .0564 are .15 off: .25 and -.05 about .1.
    points = (*(Fraction("0.0564"), Fraction(0)), Fraction("0.25"), Fraction("-0.05"), Fraction("0.2500001"))
    chart = gain_chart("gain", points, baseline=2, target=Fraction(1, 10))
    assert (chart.lower[0], chart.upper[0]) == (-0.05, 0.25)
    assert chart.signals == (Signal(4, "beyond_limits"),)


def test_a_point_on_a_limit_in_decimals_is_no_signal_about_any_target():
    for hundredth in range(100):
        target, reach = Fraction(hundredth, 100), Fraction("0.15")
        points = (Fraction("0.0564") + target, target, target + reach, target - reach)
        beyond = [one for one in gain_chart("gain", points, baseline=2, target=target).signals if one.place > 1]
        assert not beyond, target


def test_too_few_batches_make_no_limits():
    chart = gain_chart("gain", hundredths(1, 2, 3), baseline=4, target=Fraction(0))
    assert (chart.centre, chart.stable, chart.lower, chart.signals) == (None, None, (), ())
    assert chart.why == "3 batches are there, and limits take 4; nothing moves until then"


def test_a_baseline_without_variation_makes_no_limits():
    chart = gain_chart("gain", hundredths(3, 3, 3, 3, 90), baseline=4, target=Fraction(0))
    assert (chart.stable, chart.points[-1]) == (None, 0.9)
    assert chart.why == "all 4 batches of the baseline are 0.03: without variation nothing says what is unusual"


@LAW
@given(POINTS, st.integers(-5, 5))
def test_points_and_target_that_shift_together_give_the_same_signals(points, shift):
    here = gain_chart("gain", tuple(points), baseline=4, target=Fraction(1, 10))
    there = gain_chart("gain", tuple(p + shift for p in points), baseline=4, target=Fraction(1, 10) + shift)
    assert [one for one in here.signals if one.rule == "run_of_eight"] == [
        one for one in there.signals if one.rule == "run_of_eight"
    ]
    assert here.stable == there.stable


def charts_of(gain, *, charts):
    """Charts of 24 batches of ten executions, each with a standard deviation of .06, about an expected gain of .10."""
    means = np.random.default_rng(11).normal(gain, 0.06 / 10**0.5, (charts, 24)).round(4)
    return [
        gain_chart("gain", tuple(Fraction(str(mean)) for mean in row), baseline=12, target=Fraction(1, 10))
        for row in means.tolist()
    ]


def test_a_gain_that_is_as_expected_gives_a_run_of_eight_as_often_as_a_fair_coin():
    """The chance of one among 24 throws is .0695, by counting the sequences without one."""
    charts = charts_of(0.10, charts=400)
    with_run = sum(any(one.rule == "run_of_eight" for one in chart.signals) for chart in charts)
    assert binomtest(with_run, 400, 0.0695).pvalue > 0.01
    # Limits from twelve points lie off by chance, so that some more have a point beyond them: one chart in five in all.
    assert sum(not chart.stable for chart in charts) < 120


def test_a_gain_two_thirds_of_what_is_expected_is_called_out():
    """It lies 1.8 standard deviations of a point off; of 2,000 other charts 7 had no signal.

    At that rate 6 or more of 200 have a chance below .001.
    """
    assert sum(not chart.stable for chart in charts_of(0.066, charts=200)) >= 195
