"""Beliefs about abilities: what they stand for, when they are relied on, and what stands in for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from eval_pipeline.arms import Arm
from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Interval
from eval_pipeline.stats.beta_binomial import Beta
from eval_pipeline.studies.judge_reliability.posterior import (
    excludes,
    mode_or_mean,
    posterior_of,
    prior_point,
    source_of,
)
from eval_pipeline.studies.judge_reliability.words import Source
from tests.studies.judge_reliability.made_up import changed


def test_the_prior_alone(plan):
    """Beta(7, 3): mode 6 / 8, mean 7 / 10."""
    found = posterior_of(0, 0, plan)
    assert (found.mode, found.mean, found.point) == (0.75, 0.7, 0.75)
    assert prior_point(plan) == 0.75
    assert (found.dominant, found.candidate) == (False, False)


def test_a_plan_may_name_the_mean(plan):
    other = changed(plan, persistence={"point": "mean"})
    assert posterior_of(23, 30, other).point == 30 / 40
    assert prior_point(other) == 0.7


@pytest.mark.parametrize(("a", "b", "point"), [(2, 2, 0.5), (1, 3, 0.25), (3, 1, 0.75), (0.5, 0.5, 0.5), (7, 3, 0.75)])
def test_without_a_peak_inside_the_mean_stands_for_the_belief(a, b, point):
    assert mode_or_mean(Beta(a, b)) == point


@pytest.mark.parametrize(
    ("low", "high", "outside"),
    [(0.6, 0.69, True), (0.71, 0.9, True), (0.5, 0.9, False), (0.7, 0.9, False), (0.5, 0.7, False)],
)
def test_an_interval_that_ends_at_a_value_does_not_exclude_it(plan, low, high, outside):
    assert excludes(Interval(low, high, 0.95), plan.persistence.null) is outside


@given(st.integers(0, 60), st.integers(0, 60))
def test_a_candidate_has_claims_enough_and_an_interval_beyond_the_null(plan, right, wrong):
    """scipy 1.17.1, beta.ppf."""
    found = posterior_of(right, right + wrong, plan)
    low, high = beta.ppf([0.025, 0.975], 7 + right, 3 + wrong)
    assert found.candidate is (right + wrong >= 30 and not low <= 0.7 <= high)
    assert found.dominant is (right + wrong >= 30)


@pytest.mark.parametrize(
    ("own", "over", "arm", "source"),
    [
        ((30, 30), (80, 80), Arm.TREATMENT, Source.CELL),
        ((29, 29), (80, 80), Arm.TREATMENT, Source.JUDGE_GLOBAL),  # too few claims
        ((22, 30), (80, 80), Arm.TREATMENT, Source.JUDGE_GLOBAL),  # .70 is not excluded
        ((22, 30), (20, 29), Arm.TREATMENT, Source.PRIOR),
        ((22, 30), (21, 30), Arm.TREATMENT, Source.JUDGE_GLOBAL),
        ((30, 30), (80, 80), Arm.CONTROL, Source.PRIOR),
        (None, (80, 80), Arm.TREATMENT, Source.JUDGE_GLOBAL),
        (None, None, Arm.TREATMENT, Source.PRIOR),
        ((30, 30), None, Arm.TREATMENT, Source.CELL),
    ],
)
def test_what_stands_in_for_a_cell(plan, own, over, arm, source):
    assert source_of(own and posterior_of(*own, plan), over and posterior_of(*over, plan), arm) is source


def test_more_right_votes_than_claims_are_refused(plan):
    with pytest.raises(InputRefused, match=r"successes: found 3, expected 0\.\.2"):
        posterior_of(3, 2, plan)
