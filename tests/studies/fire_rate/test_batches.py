"""The chart of batches: its limits come of twelve, and it says when they can tell nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.studies.fire_rate.batches import batch_chart, individuals_chart
from tests.stats.laws import LAW


def flags(*fires, size=20, rest=0):
    """Runs of batches in which so many fired, and some that fill no batch."""
    batches = [[True] * count + [False] * (size - count) for count in fires]
    return np.array([one for batch in batches for one in batch] + [True] * rest, dtype=bool)


def test_the_limits_by_hand(shipped):
    """Twelve batches with 0 1 0 1 ... fires in 20: the mean is .025, every range .05, 3 * .05 / 1.128 = .13298."""
    found = batch_chart(flags(*[0, 1] * 6, 3, 4, rest=7), shipped.batches)
    chart = found.chart
    assert found.standing == "informative"
    assert found.runs_left == 7
    assert (chart.centre, chart.baseline) == (0.025, 12)
    assert chart.points == tuple([0, 0.05] * 6 + [0.15, 0.2])
    assert chart.upper == pytest.approx([0.025 + 0.13298] * 14, abs=1e-5)
    assert chart.lower == pytest.approx([0.025 - 0.13298] * 14, abs=1e-5)
    assert [(one.place, one.rule) for one in chart.signals] == [(13, "beyond_limits")]
    assert chart.stable is False


def test_a_run_of_eight_on_one_side_calls_for_a_cause(shipped):
    chart = batch_chart(flags(*[0, 1] * 6, *[1] * 7), shipped.batches).chart
    assert [(one.place, one.rule) for one in chart.signals] == [(18, "run_of_eight")]


@pytest.mark.parametrize("runs", [0, 19, 239])
def test_fewer_than_twelve_full_batches_have_no_limits(shipped, runs):
    found = batch_chart(np.ones(runs, dtype=bool), shipped.batches)
    assert found.standing == "too_few"
    assert (found.chart.centre, found.chart.upper, found.chart.stable) == (None, (), None)
    assert found.chart.why == f"{runs // 20} points, and 12 make the limits"


def test_a_baseline_without_a_fire_tells_nothing_of_the_fires_after_it(shipped):
    found = batch_chart(flags(*[0] * 12, 5), shipped.batches)
    assert found.standing == "no_variation"
    assert found.chart.centre is None
    assert found.chart.signals == ()
    assert found.chart.why == "the first 12 points are all 0, so that any other would lie outside"


def test_limits_below_one_fire_say_so(shipped):
    """One fire in twelve batches: .05/12 + 3 * (2 * .05/11) / 1.128 = .0283, less than the .05 of one fire."""
    found = batch_chart(flags(*[0] * 6, 1, *[0] * 7), shipped.batches)
    assert found.standing == "single_fires"
    assert found.chart.upper[0] == pytest.approx(0.02834, abs=1e-5)
    assert [one.place for one in found.chart.signals if one.rule == "beyond_limits"] == [6]


def test_where_most_batches_are_empty_eight_in_a_row_are_no_sign(shipped):
    """Two fires in twelve batches: the limits let one fire pass, and the eight empty batches are called out in vain."""
    found = batch_chart(flags(0, 1, *[0] * 5, 1, *[0] * 12), shipped.batches)
    assert found.chart.upper[0] >= 0.05
    assert [one.rule for one in found.chart.signals] == ["run_of_eight"]
    assert found.standing == "empty_batches"
    assert batch_chart(flags(*[0, 1] * 5, 0, 0), shipped.batches).standing == "empty_batches"
    assert batch_chart(flags(*[0, 1] * 6), shipped.batches).standing == "informative"


@LAW
@given(st.lists(st.integers(0, 20), min_size=12, max_size=40), st.integers(0, 19))
def test_runs_that_fill_no_batch_change_nothing(shipped, fires, rest):
    whole, longer = batch_chart(flags(*fires), shipped.batches), batch_chart(flags(*fires, rest=rest), shipped.batches)
    assert longer.chart == whole.chart
    assert (whole.runs_left, longer.runs_left) == (0, rest)


def test_the_order_within_a_batch_does_not_matter(shipped):
    fired = flags(*[0, 1, 2] * 6)
    mixed = np.random.default_rng(3).permuted(fired.reshape(-1, 20), axis=1).reshape(-1)
    assert batch_chart(mixed, shipped.batches) == batch_chart(fired, shipped.batches)


def test_a_chart_takes_any_number_for_its_baseline():
    chart, standing = individuals_chart([1.0, 3.0, 1.0], baseline=2, one=1)
    assert (chart.centre, standing) == (2.0, "informative")
