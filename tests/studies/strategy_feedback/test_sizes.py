"""The numbers of the plan are what our power functions give, and the split of the arms costs nothing in certainty."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from statsmodels.stats.power import NormalIndPower

from eval_pipeline.arms import Arm
from eval_pipeline.stats.mean_difference import effective_size
from eval_pipeline.studies.strategy_feedback.sizes import power_to_ship, size_for, sizes, split
from tests.stats.laws import LAW
from tests.studies.strategy_feedback.made_up import changed


def test_the_planned_number_is_the_one_that_comes_out(plan):
    found = sizes(plan)
    assert (found.per_cell, found.planned, found.runs_of_equal_arms) == (393, 393, 3144)
    assert (found.control, found.treatment) == (1130, 4520)


def test_the_size_is_that_of_statsmodels(plan):
    """NormalIndPower().solve_power(effect_size, alpha=, power=), statsmodels 0.14: 392.4 for a fifth of an sd."""
    for effect in (0.1, 0.05, 0.03):
        n = NormalIndPower().solve_power(effect / 0.5, alpha=0.05, power=0.8)
        assert size_for(effect, plan) - 1 < n <= size_for(effect, plan)


@LAW
@given(st.integers(2, 5000), st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20))
def test_arms_of_any_share_are_worth_the_equal_ones_and_one_fewer_is_not(n, share):
    arms = split(n, share)
    assert effective_size(arms[Arm.CONTROL], arms[Arm.TREATMENT]) >= n
    fewer = (arms[Arm.CONTROL] - 1, arms[Arm.TREATMENT] - 1)
    assert effective_size(*fewer) < n


def test_equal_arms_are_split_as_they_are():
    assert split(393, Fraction(1, 2)) == {Arm.CONTROL: 393, Arm.TREATMENT: 393}


def test_the_power_to_ship_by_hand(plan):
    # The error of a difference of 1,572 executions in each arm is .5 sqrt(2 / 1572) = .01783, and .02 above the bar
    # 1.121 of them. With 393 alone it would be .561, and the power .7126: enough to leave 0 out, not to reach the bar.
    assert power_to_ship(Fraction(12, 100), plan) == pytest.approx(norm.cdf(0.02 / (0.5 * (2 / 1572) ** 0.5)))
    assert power_to_ship(Fraction(12, 100), plan) == pytest.approx(0.869, abs=5e-4)
    one = plan.design.model_copy(update={"strategies": ("reflexion",)})
    alone = plan.model_copy(update={"design": one})
    assert power_to_ship(Fraction(12, 100), alone) == pytest.approx(0.7126, abs=5e-4)
    assert power_to_ship(Fraction(10, 100), plan) == pytest.approx(0.5)


def test_where_0_is_the_higher_bar_it_decides(plan):
    """With 5 executions of a cell the error is .158, and the interval leaves 0 out from .310 on."""
    few = changed(plan, power={"n": 5})
    error = 0.5 * (2 / 20) ** 0.5
    assert power_to_ship(Fraction(1, 2), few) == pytest.approx(norm.cdf((0.5 - 1.959964 * error) / error), abs=1e-6)
