"""Estimators take the numbers that an array holds without doubt, whatever its type, and refuse every other by name."""

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.stats.arrays import (
    counts,
    flags,
    groups,
    in_a_row,
    is_missing,
    labels,
    reals,
    require_equal_lengths,
    sample,
    whole_numbers,
)
from tests.stats.laws import LAW

NARROW = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]
MASKED = np.ma.array([1, 2, 3], mask=[False, True, False])


def as_every_type(values: Sequence[int]) -> dict:
    """The same whole numbers from 0 to 100 in every type that may hold them."""
    return {
        **{name: np.array(values, dtype=name) for name in NARROW},
        "longdouble": np.array(values, dtype=np.longdouble),
        "big-endian": np.array(values, dtype=">i2"),
        "list": list(values),
        "tuple": tuple(values),
        "objects": np.array(values, dtype=object),
        "ints and floats": [float(value) if place % 2 else value for place, value in enumerate(values)],
        "Fraction": [Fraction(value) for value in values],
        "Decimal": [Decimal(value) for value in values],
        "numpy scalars": np.array([np.uint8(value) for value in values], dtype=object),
        "Series": pd.Series(values),
        "Int64": pd.array(values, dtype="Int64"),
        "UInt8": pd.Series(values, dtype="UInt8"),
        "Float64": pd.array(values, dtype="Float64"),
        "categorical": pd.Series(pd.Categorical(values)),
        "unmasked": np.ma.array(values),
        "every second": np.repeat(values, 2)[::2],
        "read-only": np.frombuffer(bytes(values), dtype=np.uint8),
    }


TYPES = list(as_every_type([0]))


@pytest.mark.parametrize("kind", TYPES)
def test_whole_numbers_of_every_type_are_the_same_int64(kind):
    values = [0, 3, 100, 7]
    for found in (counts(as_every_type(values)[kind], "hits"), whole_numbers(as_every_type(values)[kind], "hits")):
        assert found.dtype == np.int64
        assert found.tolist() == values


@pytest.mark.parametrize("kind", TYPES)
def test_reals_of_every_type_are_the_same_float64(kind):
    found = reals(as_every_type([0, 3, 100, 7])[kind], "scores")
    assert found.dtype == np.float64
    assert found.tolist() == [0.0, 3.0, 100.0, 7.0]


@pytest.mark.parametrize("kind", TYPES)
def test_flags_of_every_type_are_the_same_int64(kind):
    found = flags(as_every_type([0, 1, 1, 0])[kind], "events")
    assert found.dtype == np.int64
    assert found.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize(
    "yes_and_no",
    [
        [True, False],
        np.array([True, False]),
        np.array([True, False], dtype=object),
        np.array([np.True_, False], dtype=object),
        pd.array([True, False], dtype="boolean"),
        pd.Series([True, False]),
        [1.0, 0.0],
    ],
)
def test_bools_are_1_and_0(yes_and_no):
    for read in (flags, counts, whole_numbers):
        assert read(yes_and_no, "events").tolist() == [1, 0]
        assert read(yes_and_no, "events").dtype == np.int64
    assert reals(yes_and_no, "events").tolist() == [1.0, 0.0]


def test_sums_of_narrow_counts_do_not_wrap_around():
    hundreds = np.full(10, 200, dtype=np.uint8)
    assert counts(hundreds, "hits").sum() == 2000
    assert (counts(hundreds, "hits") - 201).tolist() == [-1] * 10
    assert counts(hundreds.reshape(2, 5), "hits").shape == (2, 5)


def test_nothing_is_an_array_of_nothing():
    assert counts([], "hits").dtype == np.int64
    assert counts([], "hits").shape == reals([], "scores").shape == groups([], "clusters").shape == (0,)
    assert reals(np.empty((0, 3), dtype=object), "scores").shape == (0, 3)
    assert flags(np.array([], dtype=str), "events").dtype == np.int64


def test_whole_numbers_are_exact_up_to_the_ends_of_int64():
    ends = [-(2**63), 2**63 - 1]
    assert whole_numbers(ends, "ids").tolist() == ends
    assert whole_numbers(np.array(ends, dtype=object), "ids").tolist() == ends
    assert whole_numbers(np.array([np.int64(end) for end in ends], dtype=object), "ids").tolist() == ends
    assert counts(np.array([2**63 - 1], dtype=np.uint64), "ids").tolist() == [2**63 - 1]
    assert counts([2.0**53 - 1], "ids").tolist() == [2**53 - 1]


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([1, None], "a missing value"),
        ([1, pd.NA], "a missing value"),
        (pd.array([1, None], dtype="Int64"), "found nan, expected finite numbers"),
        (pd.array([True, None], dtype="boolean"), "a missing value"),
        (np.array([1, float("nan")], dtype=object), "a missing value"),
        (np.array([1, pd.NaT], dtype=object), "a missing value"),
        ([Decimal(1), Decimal("nan")], "a missing value"),
        ([1, float("nan")], "found nan, expected finite numbers"),
        ([1, float("inf")], "found inf, expected finite numbers"),
        (np.array([1, -np.inf], dtype=np.float32), "found -inf, expected finite numbers"),
        (np.array([1, float("inf")], dtype=object), "found inf, expected finite numbers"),
        (MASKED, "a masked value"),
        (["1", "2"], "found text"),
        ([1, "2"], "found text"),
        ([1, None, "2"], "a missing value"),
        (np.array(["1", "2"]), "values of type <U1"),
        (np.array([b"1"]), "values of type |S1"),
        (np.array([b"1", 2], dtype=object), "found text"),
        (pd.Series(["1", "2"], dtype="string"), "found text"),
        (pd.Series(pd.Categorical(["a", "b"])), "found text"),
        (np.array([1 + 2j]), "values of type complex128"),
        ([Fraction(1), 1 + 2j], "found what is no number"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "values of type datetime64"),
        (np.array([1], dtype="timedelta64[s]"), "values of type timedelta64"),
        ([datetime(2020, 1, 1, tzinfo=UTC)], "found what is no number"),
        (np.zeros(2, dtype=[("a", np.int64)]), "values of type"),
        ([{1}, {2}], "found what is no number"),
        ({1: 2}.values(), "found what is no number"),
        ([[1, 2], [3]], "rows of unequal lengths"),
        ([2**64, 1], "a number beyond 64 bits"),
    ],
)
def test_what_is_no_number_everywhere_is_refused_by_name(values, found):
    for read in (whole_numbers, counts, reals, flags):
        with pytest.raises(InputRefused, match=r"^hits: ") as refusal:
            read(values, "hits")
        assert found in str(refusal.value)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([0.5], "found 0.5, expected whole numbers"),
        (np.array([2.25], dtype=np.float32), "found 2.25, expected whole numbers"),
        ([Fraction(1, 2)], "found 0.5, expected whole numbers"),
        ([1, Decimal("1.5")], "found 1.5, expected whole numbers"),
        ([2.0**53], r"found 9.0072e\+15, expected whole numbers"),
        ([-(2.0**53)], r"found -9.0072e\+15, expected whole numbers"),
        ([-1, 2**63], r"found 9.22337e\+18, expected whole numbers"),
        (np.array([2**63], dtype=np.uint64), r"found 9223372036854775808, expected at most 2\^63 - 1"),
        ([2**63], r"found 9223372036854775808, expected at most 2\^63 - 1"),
    ],
)
def test_what_is_not_surely_whole_is_refused(values, found):
    for read in (whole_numbers, counts, flags):
        with pytest.raises(InputRefused, match=f"^hits: {found}$"):
            read(values, "hits")


def test_counts_start_at_0_and_whole_numbers_where_they_are_told_to():
    assert counts([0, 1], "hits").tolist() == [0, 1]
    with pytest.raises(InputRefused, match="hits: found -1, expected 0 or more"):
        counts([0, -1], "hits")
    assert whole_numbers([-2, 5], "steps").tolist() == [-2, 5]
    assert whole_numbers([1, 2], "steps", at_least=1).tolist() == [1, 2]
    with pytest.raises(InputRefused, match="steps: found 0, expected 1 or more"):
        whole_numbers([1, 0], "steps", at_least=1)


def test_reals_may_lie_on_the_bounds_and_not_beyond():
    assert reals([0, 1], "scores", low=0.0, high=1.0).tolist() == [0.0, 1.0]
    with pytest.raises(InputRefused, match=r"scores: found -1e-09, expected numbers in \[0, 1\]"):
        reals([0.5, -1e-9], "scores", low=0.0, high=1.0)
    with pytest.raises(InputRefused, match=r"scores: found 1.5, expected numbers in \[0, 1\]"):
        reals([1.5, 0.5], "scores", low=0.0, high=1.0)


def test_a_sample_is_a_row_of_one_number_or_more():
    assert sample([True, 2, 0.5], "scores").tolist() == [1.0, 2.0, 0.5]
    assert in_a_row(np.array(["a", "b"]), "arms").tolist() == ["a", "b"]
    with pytest.raises(TooFewObservations, match="scores: found no value, expected at least 1"):
        sample([], "scores")
    with pytest.raises(InputRefused, match="scores: found 2 dimensions, expected 1"):
        sample([[1.0, 2.0]], "scores")
    with pytest.raises(InputRefused, match="scores: found 0 dimensions, expected 1"):
        sample(1.0, "scores")
    with pytest.raises(InputRefused, match="scores: found nan, expected finite numbers"):
        sample([1.0, float("nan")], "scores")


@pytest.mark.parametrize("odd", [2, -1])
def test_a_flag_is_0_or_1(odd):
    with pytest.raises(InputRefused, match=f"events: found {odd}, expected 0 or 1"):
        flags([0, odd, 1], "events")


@pytest.mark.parametrize(
    ("names", "numbers"),
    [
        ([30, 10, 20, 10], [2, 0, 1, 0]),
        (np.array([200, 5, 200], dtype=np.uint8), [1, 0, 1]),
        (["b", "a", "b"], [1, 0, 1]),
        (np.array(["b", "a"]), [1, 0]),
        (np.array(["b", "a"], dtype=object), [1, 0]),
        (pd.Series(["y", "x"], dtype="string"), [1, 0]),
        (pd.Series(pd.Categorical(["y", "x", "y"])), [1, 0, 1]),
        (pd.array([7, 3], dtype="Int64"), [1, 0]),
        ([1, 2.0, 1.0], [0, 1, 0]),
        ([2.5, 0.5], [1, 0]),
        ([True, False], [1, 0]),
        (["nan", "a"], [1, 0]),
        (["10", "9"], [0, 1]),
        ([2**62 + 1, 2**62], [1, 0]),
        (np.array(["2021", "2020"], dtype="datetime64[D]"), [1, 0]),
        (np.ma.array([5, 4]), [1, 0]),
    ],
)
def test_groups_of_any_name_are_numbered_without_gaps_in_the_order_of_the_names(names, numbers):
    assert groups(names, "clusters").tolist() == numbers
    assert groups(names, "clusters").dtype == np.int64


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30))
@LAW
def test_groups_part_what_differs_and_only_that(names):
    found = groups(np.array(names, dtype=np.int64), "clusters")
    assert [sorted(set(names))[number] for number in found] == names


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["a", 1], "values of different kinds"),
        ([1, "1"], "values of different kinds"),
        (np.array(["a", 1.5], dtype=object), "values of different kinds"),
        (["a", None], "a missing value"),
        (["a", float("nan")], "a missing value"),
        (["a", pd.NA], "a missing value"),
        (pd.Series(["a", None], dtype="string"), "a missing value"),
        (pd.Series(pd.Categorical(["a", None])), "a missing value"),
        (pd.array([1, None], dtype="Int64"), "a missing value"),
        ([1.0, float("nan")], "a missing value"),
        (np.array(["2020", "NaT"], dtype="datetime64[D]"), "a missing value"),
        (MASKED, "a missing value"),
        (np.ma.array(["a", "b"], mask=[True, False]), "a missing value"),
        ([[1, 2], [3, 4]], "found 2 dimensions, expected 1"),
        (7, "found 0 dimensions, expected 1"),
        ([[1, 2], [3]], "rows of unequal lengths"),
    ],
)
def test_what_does_not_say_a_group_for_each_is_refused(names, found):
    with pytest.raises(InputRefused, match=r"^clusters: ") as refusal:
        groups(names, "clusters")
    assert found in str(refusal.value)


def test_a_missing_value_among_texts_stays_missing():
    assert is_missing(labels(["a", float("nan"), None, "nan"], "ratings")).tolist() == [False, True, True, False]
    assert is_missing(labels([["a", float("nan")], ["nan", "b"]], "ratings")).tolist() == [[False, True], [False] * 2]
    assert labels([1, 2], "ratings").dtype.kind == "i"


@pytest.mark.parametrize(
    ("array", "missing"),
    [
        (np.array([1.0, np.nan]), [False, True]),
        (np.array([1j, complex("nan")]), [False, True]),
        (np.array(["NaT", "2020"], dtype="datetime64[D]"), [True, False]),
        (np.array(["NaT", 1], dtype="timedelta64[D]"), [True, False]),
        (np.array([None, 0, "", pd.NA, pd.NaT, np.nan, Decimal("nan"), "nan"], dtype=object), [1, 0, 0, 1, 1, 1, 1, 0]),
        (np.array([0, 1]), [False, False]),
        (np.array([True, False]), [False, False]),
        (np.array(["nan", ""]), [False, False]),
        (np.array([[None, 1], [2, None]], dtype=object), [[True, False], [False, True]]),
    ],
)
def test_none_nan_nat_and_na_are_missing_and_nothing_else_is(array, missing):
    assert is_missing(array).dtype == np.bool_
    assert is_missing(array).tolist() == np.array(missing, dtype=bool).tolist()


def test_arrays_of_unequal_lengths_are_refused_by_name():
    require_equal_lengths(times=np.zeros(2), events=np.zeros((2, 3)))
    with pytest.raises(InputRefused, match="found 2 times, 2 arms, 3 events; expected one of each"):
        require_equal_lengths(times=np.zeros(2), arms=np.zeros(2), events=np.zeros(3))


@pytest.mark.parametrize(
    "value",
    [np.datetime64("2020-01-01"), np.timedelta64(3, "D"), np.complex128(1 + 2j), np.array([1, 2]), {1}, object()],
    ids=lambda value: type(value).__name__,
)
def test_an_object_that_is_no_real_number_is_refused_though_numpy_would_make_one_of_it(value):
    table = np.empty(2, dtype=object)
    table[:] = [1, value]
    with pytest.raises(InputRefused, match="x: found what is no number"):
        reals(table, "x")


def test_a_signalling_nan_is_missing():
    with pytest.raises(InputRefused, match="x: found a missing value"):
        reals([Decimal("sNaN")], "x")


def test_whole_numbers_that_a_float_would_merge_are_refused():
    assert reals([2**53, -(2**53)], "x").tolist() == [2.0**53, -(2.0**53)]
    with pytest.raises(InputRefused, match="x: found a whole number beyond 2\\^53"):
        reals([2**53 + 1], "x")


def test_names_that_a_float_would_merge_are_refused():
    """[2^53, 2^53 + 1, .5] would become two groups."""
    with pytest.raises(InputRefused, match="g: found a name beyond 2\\^53"):
        groups([2**53 + 2, 2**53 + 3, 0.5], "g")


def test_a_number_beyond_a_float_is_refused():
    with pytest.raises(InputRefused, match="x: found a number beyond"):
        reals([10**400, 0.5], "x")
