"""What lies outside an interval stands at both ends or at the one that was asked for."""

from fractions import Fraction

import pytest

from eval_pipeline.errors import InputRefused
from eval_pipeline.records import Interval
from eval_pipeline.stats.tails import interval_of, tail_of


def test_two_tails_leave_half_at_either_end_and_one_leaves_all_of_it():
    assert tail_of(0.95, "two") == Fraction(1, 40)
    assert tail_of(0.95, "lower") == tail_of(0.95, "upper") == Fraction(1, 20)
    assert tail_of(Fraction(1, 3), "two") == Fraction(1, 3)


@pytest.mark.parametrize(
    ("tails", "interval"),
    [("two", Interval(1, 2, 0.9)), ("lower", Interval(1, None, 0.9)), ("upper", Interval(None, 2, 0.9))],
)
def test_an_interval_is_open_at_the_end_that_was_not_asked_for(tails, interval):
    assert interval_of(1, 2, Fraction(9, 10), tails) == interval


def test_exact_ends_stay_exact():
    assert interval_of(Fraction(1, 3), Fraction(2, 3), 0.9, "two").low == Fraction(1, 3)


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        tail_of(level, "two")


def test_another_word_for_the_tails_is_refused():
    with pytest.raises(InputRefused, match="tails: found 'both', expected one of 'two', 'lower', 'upper'"):
        tail_of(0.9, "both")
