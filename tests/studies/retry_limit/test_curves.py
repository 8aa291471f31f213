"""The curve of an arm and the steps of it, by hand and by other programs."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter

from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.studies.retry_limit.curves import arm_curve, curve, steps
from eval_pipeline.studies.retry_limit.sections import columns
from tests.stats.laws import LAW
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, of_first_version, section

PATHS = ["p", "rp", "rrp", "rt", "rrr", "t", "rrrrp"]


def test_a_section_that_gave_up_does_not_come_to_the_next_attempt():
    """10 sections: 6 pass at once and one gives up; of 3 who try again one passes, one gives up, the last passes."""
    paths = ["p"] * 6 + ["t", "rp", "rt", "rrp"]
    found = arm_curve(columns([section(f"r{k}", "s", path) for k, path in enumerate(paths)]), WITH, SHIPPED)
    assert (found.sections, found.runs, found.failed_first) == (10, 10, 4)
    assert [(one.attempt, one.at_risk, one.passed) for one in found.steps] == [(1, 10, 6), (2, 3, 1), (3, 1, 1)]
    assert [one.share for one in found.curve.points] == pytest.approx([4 / 10, 4 / 10 * 2 / 3, 0])
    assert found.curve.median == 1
    assert found.curve.points[-1].interval is None


def test_an_arm_without_sections_has_no_curve():
    found = arm_curve(columns([section("a", "s", "p", WITH)]), WITHOUT, SHIPPED)
    assert (found.sections, found.runs, found.curve, found.steps) == (0, 0, None, ())


def test_arms_are_kept_apart():
    sections = [section("a", "s", "p", WITH), section("b", "s", "rp", WITHOUT), section("b", "t", "rrp", WITHOUT)]
    assert [arm_curve(columns(sections), arm, SHIPPED).failed_first for arm in (WITHOUT, WITH)] == [2, 0]


@LAW
@given(st.lists(st.sampled_from(PATHS), min_size=2, max_size=40))
def test_a_step_is_the_fall_of_the_curve(paths):
    found = columns([section(f"r{k % 5}", f"s{k}", path) for k, path in enumerate(paths)])
    left = {point.attempt: point.share for point in curve(found.until, found.passed, SHIPPED.curves).points}
    before = 1.0
    for step in steps(found, SHIPPED.limit):
        after = left.get(step.attempt, before)
        assert step.share == pytest.approx(1 - after / before if before else 0, abs=1e-12)
        before = after


@pytest.mark.parametrize("transform", ["plain", "log-log"])
def test_lifelines_gives_the_same_curve(transform):
    rng = np.random.default_rng(4)
    until, passed = np.minimum(rng.geometric(0.4, 80), 5), rng.random(80) < 0.8
    found = curve(until, passed, amended(SHIPPED, curves={"transform": transform}).curves)
    other = KaplanMeierFitter().fit(until, passed)
    for point in found.points:
        assert point.share == pytest.approx(float(other.predict(point.attempt)), abs=1e-12)
        if transform == "log-log" and point.interval:
            limits = other.confidence_interval_.loc[point.attempt].tolist()
            assert [point.interval.low, point.interval.high] == pytest.approx(limits, abs=1e-6)
    assert found.median == other.median_survival_time_


def test_the_bound_counts_runs_for_what_they_are_worth():
    """20 passes at the second attempt: one in each of 20 runs of 20, or all of one run."""
    spread = [section(f"r{run}", f"s{k}", "rp" if k == 0 else "rt") for run in range(20) for k in range(20)]
    lumped = [section(f"r{run}", f"s{k}", "rp" if run == 0 else "rt") for run in range(20) for k in range(20)]
    even, uneven = (steps(columns(sections), SHIPPED.limit)[1] for sections in (spread, lumped))
    assert even.share == uneven.share == 1 / 20
    assert even.independent == uneven.independent
    assert even.clustered.high == pytest.approx(even.independent.high, abs=1e-12)
    assert uneven.clustered.high > 2 * even.clustered.high
    passes = np.array([20] + [0] * 19)
    assert uneven.clustered == share_interval(passes, np.full(20, 20), level=Fraction(19, 20), tails="two").interval


def test_one_run_gives_no_bound_that_counts_runs():
    found = steps(columns([section("a", f"s{k}", "rp") for k in range(9)]), SHIPPED.limit)
    assert found[1].clustered is None
    assert "at least 2 clusters" in found[1].why


def test_the_median_s_interval_is_open_where_the_limits_hold_a_half_to_the_last():
    until, passed = [1] * 4 + [2] * 2 + [3] * 6, [1] * 6 + [0] * 6
    assert curve(until, passed, SHIPPED.curves).median_interval.high is None
    assert curve(until, passed, of_first_version(SHIPPED).curves).median_interval.high == 2
