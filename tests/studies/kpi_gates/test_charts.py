"""Charts of batches: limits from the baseline, none where it says nothing, and no batch that is not whole."""

import numpy as np
import pytest

from eval_pipeline.errors import InputRefused
from eval_pipeline.studies.kpi_gates.charts import batch_means, event_chart, xmr_chart


def test_a_point_is_the_mean_of_a_whole_batch():
    assert batch_means(np.array([1.0, 3.0, 5.0, 7.0, 100.0]), 2).tolist() == [2, 6]
    assert batch_means(np.array([1.0]), 2).tolist() == []


def test_limits_lie_three_sigmas_from_the_centre():
    # Moving ranges 2, 2, 2: sigma 2 / 1.128, limits 11 +- 6 / 1.128.
    chart = xmr_chart("x", np.array([10.0, 12.0, 10.0, 12.0, 17.0]), baseline=4)
    assert (chart.centre, chart.lower[0], chart.upper[4]) == (
        11,
        pytest.approx(11 - 6 / 1.128),
        pytest.approx(11 + 6 / 1.128),
    )
    assert [(one.place, one.rule) for one in chart.signals] == [(4, "beyond_limits")]
    assert (chart.baseline, chart.stable, len(chart.lower)) == (4, False, 5)


def test_too_few_points_make_no_limits():
    chart = xmr_chart("x", np.array([1.0, 2.0]), baseline=3)
    assert (chart.centre, chart.lower, chart.why) == (None, (), "2 points of 3 that would make them")


def test_a_baseline_of_one_value_makes_no_limits():
    chart = xmr_chart("x", np.array([5.0, 5.0, 5.0, 6.0]), baseline=3)
    assert (chart.centre, chart.signals) == (None, ())
    assert chart.why == "the first 3 points are all 5, which says nothing of how far chance goes"


def test_a_baseline_of_one_point_is_refused():
    with pytest.raises(InputRefused, match="baseline: found 1"):
        xmr_chart("x", np.array([1.0, 2.0]), baseline=1)


def test_events_have_limits_of_their_share():
    # Centre 4/40; of 10 runs the limits are .1 +- 3 sqrt(.09 / 10) = .1 +- .2846, and 4 of 10 lie outside.
    events = np.array(([1] + [0] * 9) * 4 + [1, 1, 1, 1] + [0] * 6)
    chart = event_chart("e", events, size=10, baseline=4)
    assert (chart.kind, chart.centre, chart.upper[0]) == ("p", 0.1, pytest.approx(0.1 + 3 * 0.009**0.5))
    assert [(one.place, one.rule) for one in chart.signals] == [(4, "beyond_limits")]


def test_a_baseline_without_an_event_makes_no_limits():
    chart = event_chart("e", np.array([0] * 40 + [1] * 10), size=10, baseline=4)
    assert (chart.centre, chart.signals) == (None, ())
    assert chart.why.startswith("the first 4 batches are all alike")
    assert event_chart("e", np.zeros(30), size=10, baseline=4).why == "3 batches of 4 that would make them"
