"""Single numbers are taken as what they are, however they are stored, and refused by name if they are none."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.scalars import (
    as_printed,
    exact_level,
    exact_share,
    open_share,
    positive_number,
    real_number,
    two_sided_z,
    whole_number,
)


@pytest.mark.parametrize("value", [200, np.uint8(200), np.float32(200), 200.0, Fraction(200), pd.Series([200]).iloc[0]])
def test_a_whole_number_is_a_python_integer(value):
    number = whole_number(value, "n")
    assert type(number) is int
    assert number * 10 == 2000


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1.5, "n: found 1.5, expected whole numbers"),
        (None, "n: found a missing value"),
        (float("nan"), "n: found nan"),
        ("3", "n: found"),
        ([3], "n: found an array, expected one number"),
        (2**70, "n: found a number beyond 64 bits"),
    ],
)
def test_what_is_no_whole_number_is_refused(value, message):
    with pytest.raises(InputRefused, match=message):
        whole_number(value, "n")


def test_a_real_number_lies_within_its_bounds_ends_included():
    assert [real_number(value, "x", low=0, high=1) for value in (0, Fraction(1, 4), np.float32(0.5), 1)] == [
        0,
        0.25,
        0.5,
        1,
    ]
    with pytest.raises(InputRefused, match=r"x: found 1.1, expected a number in \[0, 1\]"):
        real_number(1.1, "x", low=0, high=1)
    with pytest.raises(InputRefused, match="x: found an array, expected one number"):
        real_number([0.5], "x")


@pytest.mark.parametrize("value", [0, 1, -0.1, 1.5])
def test_an_open_share_is_neither_0_nor_1(value):
    assert open_share(Fraction(1, 2), "power") == 0.5
    with pytest.raises(InputRefused, match=r"power: found .*, expected a number in \(0, 1\)"):
        open_share(value, "power")


@pytest.mark.parametrize("level", [0.95, np.float64(0.95), Fraction(19, 20), Decimal("0.95")])
def test_a_level_is_the_decimal_that_it_is_written_as(level):
    assert exact_level(level) == Fraction(19, 20)


def test_a_level_as_near_to_0_or_1_as_a_fraction_can_be_is_kept():
    assert exact_level(Fraction(1, 3)) == Fraction(1, 3)
    assert exact_level(1e-5) == Fraction(1, 100_000)
    assert exact_level(1 - Fraction(1, 10**30)) == 1 - Fraction(1, 10**30)


@pytest.mark.parametrize("level", [0, 1, -0.5, 2, 95, Fraction(0), Fraction(1), None, float("nan"), float("inf")])
def test_a_level_outside_0_and_1_is_refused(level):
    with pytest.raises(InputRefused, match="level: found"):
        exact_level(level)
    with pytest.raises(InputRefused, match="level: found"):
        two_sided_z(level)


def test_the_normal_quantile_leaves_as_much_on_either_side():
    assert two_sided_z(0.95) == pytest.approx(1.959964, abs=1e-6)
    for level in (1e-6, 0.5, 0.9, 1 - 1e-12):
        assert norm.cdf(two_sided_z(level)) - norm.cdf(-two_sided_z(level)) == pytest.approx(level, rel=1e-6)


@pytest.mark.parametrize(("at_least", "value"), [(1, 0), (0, -1), (1, -3)])
def test_a_whole_number_starts_where_it_is_told_to(at_least, value):
    assert whole_number(at_least, "n", at_least=at_least) == at_least
    assert whole_number(value, "n") == value
    with pytest.raises(InputRefused, match=f"n: found {value}, expected {at_least} or more"):
        whole_number(value, "n", at_least=at_least)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), None, [1]])
def test_a_positive_number_is_finite_and_above_0(value):
    assert positive_number(np.float32(0.5), "rho") == 0.5
    with pytest.raises(InputRefused, match="rho: found"):
        positive_number(value, "rho")


def test_an_exact_share_is_the_fraction_or_the_decimal_that_it_prints_as_ends_included():
    assert [exact_share(value, "p") for value in (0, 1, Fraction(1, 3))] == [0, 1, Fraction(1, 3)]
    assert exact_share(0.1, "p") == Fraction(1, 10)
    for value in (-0.1, 1.1, Fraction(4, 3), float("nan"), None, [0.5]):
        with pytest.raises(InputRefused, match="p: found"):
            exact_share(value, "p")


def test_a_float_is_the_decimal_that_it_prints_as_and_a_fraction_itself():
    assert as_printed(0.1, "x") == Fraction(1, 10)
    assert as_printed(-1e-5, "x") == Fraction(-1, 100_000)
    assert as_printed(Fraction(1, 3), "x") == Fraction(1, 3)
    for value in (float("nan"), float("inf"), None, [0.5]):
        with pytest.raises(InputRefused, match="x: found"):
            as_printed(value, "x")
