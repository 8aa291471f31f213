"""A calibrated threshold replaces the provisional one where all that the plan asks for holds, and else it says why."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eval_pipeline.records import Interval
from eval_pipeline.studies.kpi_gates.kpis import Kpi
from eval_pipeline.studies.kpi_gates.promotion import WORDS, excludes, relative_change, standing_of, threshold_of
from tests.stats.laws import LAW
from tests.studies.kpi_gates.made_up import SHIPPED

RULE = SHIPPED.promotion


def standing(provisional, estimate, low, high, *, kpi=Kpi.ITERATION_COUNT, alike=False):
    return standing_of(kpi, Fraction(str(provisional)), estimate, Interval(low, high, 0.95), RULE, no_variation=alike)


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ((100, 64.0, 62.0, 66.0), "promoted"),  # 1.1 * 64 = 70.4 above 66
        ((100, 64.0, 62.0, None), "too_few_runs"),
        ((100, 0.0, 0.0, 0.0), "at_zero"),
        ((64, 64.0, 62.0, 66.0), "provisional_within"),
        ((66, 64.0, 62.0, 66.0), "provisional_within"),  # the end is within
        ((70, 64.0, 62.0, 66.0), "headroom_reaches_provisional"),  # 64 < 70 <= 70.4
        ((70.4, 64.0, 62.0, 66.0), "headroom_reaches_provisional"),
        ((74, 64.0, 62.0, 66.0), "small_change"),  # 3.6 / 74 = 4.9 %
        ((74.2, 64.0, 62.0, 66.0), "promoted"),  # 3.8 / 74.2 = 5.1 %
        ((100, 64.0, 62.0, 76.8), "blunt"),  # 1.2 * 64 = 76.8 does not exceed 76.8
        ((100, 64.0, 62.0, 76.7), "promoted"),
        ((50, 64.0, 62.0, 66.0), "promoted"),  # up as well as down
        ((61, 64.0, 62.0, 66.0), "promoted"),
    ],
)
def test_the_first_reason_that_applies_is_given(numbers, why):
    assert standing(*numbers).why == why
    assert standing(*numbers).promoted == (why == "promoted")


def test_a_baseline_without_variation_promotes_nothing():
    assert standing(100, 64.0, 64.0, 64.0, alike=True).why == "no_variation"
    assert standing(100, 64.0, 64.0, 64.0, alike=True).calibrated is None


def test_a_gate_that_could_never_fire_is_not_promoted():
    # 1.1 * .93 = 1.023, and no rate exceeds 1.
    assert standing(0.5, 0.93, 0.92, 0.94, kpi=Kpi.DISTRIBUTION_PASS_RATE).why == "never_fires"
    assert standing(0.5, 0.85, 0.84, 0.86, kpi=Kpi.DISTRIBUTION_PASS_RATE).why == "promoted"


def test_the_threshold_is_the_upper_end_or_the_headroom_whichever_is_higher_rounded_up():
    assert threshold_of(64.0, Interval(62.0, 66.0, 0.95), RULE) == Fraction("70.4")
    assert threshold_of(64.0, Interval(62.0, 75.0, 0.95), RULE) == 75
    assert threshold_of(0.3333, Interval(0.3, 0.34, 0.95), RULE) == Fraction("0.3667")  # .36663


@LAW
@given(st.integers(1, 10**6), st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_a_promoted_gate_never_equals_what_it_was_calibrated_on(estimate, below, above, provisional):
    x = estimate / 1000
    found = standing(provisional / 1000, x, max(x - below / 1000, 0), x + above / 1000)
    assume(found.promoted)
    assert found.calibrated >= Fraction(str(x)) * (1 + RULE.headroom) > Fraction(str(x))
    # What is to be stopped is, and what is noise is not.
    assert Fraction(str(x)) * (1 + RULE.noise) < found.calibrated < Fraction(str(x)) * (1 + RULE.shift)


def test_the_change_is_relative_to_what_stood_before():
    assert relative_change(100, 64) == Fraction(36, 100)
    assert relative_change(0, 0.5) == Fraction(5 * 10**8)  # of 1e-9 where nothing stood


def test_an_open_end_excludes_nothing():
    assert not excludes(Interval(2.0, None, 0.95), 10**9)
    assert not excludes(Interval(None, 2.0, 0.95), 0)
    assert excludes(Interval(2.0, None, 0.95), 1.9)
    assert not excludes(Interval(2.0, 3.0, 0.95), 2.0)


def test_every_reason_has_words():
    assert len(set(WORDS.values())) == len(WORDS)
