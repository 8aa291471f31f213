"""Answers without a vote on a P chart: limits of the baseline, by hand, and what calls for a cause."""

import pytest

from eval_pipeline.loop import Signal
from eval_pipeline.studies.judge_reliability.parse_failures import charts_of
from tests.studies.judge_reliability.made_up import changed, judgment


@pytest.fixture
def small(plan):
    return changed(plan, parse_failures={"judgments_a_point": 10, "baseline_points": 4})


def rows_of(failures, judge="one"):
    """Points of ten judgments, of which so many give no vote."""
    said = [None if place < failed else "PASS" for failed in failures for place in range(10)]
    return [judgment(f"c{n}", vote, "HOLDS", judge_name=judge) for n, vote in enumerate(said)]


def test_the_limits_by_hand(small):
    """Baseline 4 of 40: .1 and 3 sqrt(.1 * .9 / 10) = .2846. A point of .4 lies beyond .3846, one of .3 does not."""
    (chart,) = charts_of(rows_of([1, 0, 2, 1, 3, 4]), small)
    assert (chart.name, chart.kind, chart.baseline) == ("parse failures of chat/one", "p", 4)
    assert chart.centre == 0.1
    assert chart.points == (0.1, 0, 0.2, 0.1, 0.3, 0.4)
    assert chart.upper[0] == pytest.approx(0.1 + 0.284605, abs=1e-6)
    assert chart.lower[0] == 0
    assert chart.signals == (Signal(5, "beyond_limits"),)
    assert chart.stable is False


def test_a_run_of_eight_above_the_centre_calls_for_a_cause(small):
    (chart,) = charts_of(rows_of([1, 1, 0, 2] + [2] * 9), small)
    assert chart.signals == (Signal(10, "run_of_eight"),)


def test_a_judge_that_fails_no_more_is_stable_and_a_last_point_may_be_short(small):
    (chart,) = charts_of(rows_of([1, 0, 2, 1, 1])[:-3], small)
    assert chart.stable is True
    assert len(chart.points) == 5
    assert chart.upper[4] > chart.upper[3]  # of 7 judgments


def test_too_few_judgments_make_no_limits_and_the_chart_says_so(small):
    one, two = charts_of([*rows_of([1, 1, 1, 1]), *rows_of([1, 1, 1], "two")], small)
    assert one.stable is True
    assert (two.stable, two.centre, two.upper) == (None, None, ())
    assert two.why == "30 judgments make no baseline, for which 40 are needed"
