"""A table of ratings is coded the same whatever holds it, and what has no place in it is refused."""

from enum import StrEnum

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.ratings import MISSING, category_counts, coded, patterns
from tests.stats.laws import LAW

SCALES = ["nominal", "ordinal", "interval", "ratio"]
SIZES = ["small", "middle", "large"]
TABLES = st.integers(1, 5).flatmap(
    lambda raters: st.lists(st.lists(st.integers(-1, 3), min_size=raters, max_size=raters), min_size=1, max_size=12)
)


class Label(StrEnum):
    YES = "yes"
    NO = "no"


def with_gaps(table):
    """None in the place of -1."""
    return [[None if code == MISSING else code for code in row] for row in table]


@pytest.mark.parametrize("scale", SCALES)
def test_codes_are_places_among_the_numbers_that_occur(scale):
    found = coded([[30, 10], [None, 30], [20, float("nan")]], scale=scale, categories=None)
    # 10, 20 and 30 occur; 30 is the third.
    assert found.codes.tolist() == [[2, 0], [-1, 2], [1, -1]]
    assert found.codes.dtype == np.int64
    assert list(found.values) == [10.0, 20.0, 30.0]
    assert coded([[0, 2]], scale=scale, categories=None).codes.tolist() == [[0, 1]]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    "table",
    [
        *(
            np.array([[3, 1], [2, 3]], dtype=name)
            for name in ["int8", "uint8", "int64", "uint64", "float16", "float32"]
        ),
        np.array([[3, 1], [2, 3]], dtype=object),
        [[3, 1.0], [2, np.int8(3)]],
        pd.DataFrame([[3, 1], [2, 3]], dtype="Int64"),
        pd.DataFrame({"a": pd.Categorical([3, 2]), "b": np.array([1.0, 3.0])}),
        np.ma.array([[3, 1], [2, 3]]),
    ],
    ids=lambda table: str(getattr(table, "dtype", type(table).__name__)),
)
def test_numbers_are_coded_the_same_whatever_holds_them(table, scale):
    for categories in (None, (1, 2, 3), np.array([1, 2, 3], dtype=np.int32), [1.0, 2.0, 3.0]):
        assert coded(table, scale=scale, categories=categories).codes.tolist() == [[2, 0], [1, 2]]


@pytest.mark.parametrize(
    "table",
    [
        [["b", None], ["a", "b"]],
        [["b", float("nan")], ["a", "b"]],
        [("b", pd.NA), ("a", "b")],
        np.array([["b", None], ["a", "b"]], dtype=object),
        np.ma.array([["b", "z"], ["a", "b"]], mask=[[False, True], [False, False]]),
        pd.DataFrame([["b", None], ["a", "b"]], dtype="string"),
        pd.DataFrame({"x": pd.Categorical(["b", "a"]), "y": pd.Categorical([None, "b"])}),
    ],
    ids=range(7),
)
def test_texts_are_coded_the_same_whatever_holds_them(table):
    found = coded(table, scale="nominal", categories=None)
    assert found.codes.tolist() == [[1, -1], [0, 1]]
    assert list(found.values) == [0.0, 1.0]


def test_masked_numbers_are_missing():
    table = np.ma.array([[7, 99], [8, 7]], mask=[[False, True], [False, False]])
    assert coded(table, scale="interval", categories=None).codes.tolist() == [[0, -1], [1, 0]]
    assert coded(table, scale="interval", categories=(7, 8)).codes.tolist() == [[0, -1], [1, 0]]
    floats = np.ma.array([[7.0, 99.0], [np.nan, 7.0]], mask=[[False, True], [False, False]])
    assert coded(floats, scale="interval", categories=None).codes.tolist() == [[0, -1], [-1, 0]]


def test_the_word_nan_is_a_category_and_a_missing_text_is_not():
    found = coded([["nan", "a"], [float("nan"), "nan"]], scale="nominal", categories=None)
    assert found.codes.tolist() == [[1, 0], [-1, 1]]


def test_bools_are_two_categories():
    assert coded([[True, None], [False, True]], scale="nominal", categories=None).codes.tolist() == [[1, -1], [0, 1]]
    assert coded([[True], [False]], scale="nominal", categories=(False, True)).codes.tolist() == [[1], [0]]


def test_labels_of_an_enum_are_texts():
    assert coded([[Label.YES, Label.NO]], scale="nominal", categories=None).codes.tolist() == [[1, 0]]
    assert coded([[Label.YES, "no"]], scale="ordinal", categories=tuple(Label)).codes.tolist() == [[0, 1]]


@pytest.mark.parametrize("scale", ["nominal", "ordinal"])
def test_declared_texts_have_the_places_that_were_declared(scale):
    found = coded([["large", "small"], [None, "middle"]], scale=scale, categories=[*SIZES, "never"])
    assert found.codes.tolist() == [[2, 0], [-1, 1]]
    assert list(found.values) == [0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("scale", ["interval", "ratio"])
def test_declared_numbers_keep_their_values(scale):
    found = coded([[5, 2]], scale=scale, categories=(2, 5, 11))
    assert (found.codes.tolist(), list(found.values)) == ([[1, 0]], [2.0, 5.0, 11.0])


@pytest.mark.parametrize(
    ("table", "scale", "categories", "found"),
    [
        ([1, 2], "nominal", None, "found 1 dimensions, expected a table"),
        ([[[1]]], "nominal", None, "found 3 dimensions, expected a table"),
        ([[1, 2], [3]], "nominal", None, "found rows of unequal lengths"),
        ([["a", 1]], "nominal", None, "found texts and numbers, expected all of one kind"),
        ([["a", None], [1.5, "b"]], "nominal", None, "found texts and numbers, expected all of one kind"),
        ([["a", "b"]], "ordinal", None, "found texts on an ordinal scale"),
        ([["1", "2"]], "interval", None, "found texts on an interval scale"),
        (np.array([["1", "2"]]), "ratio", None, "found texts on an ratio scale"),
        (pd.DataFrame([["a", None]], dtype="string"), "ordinal", None, "found texts on an ordinal scale"),
        (np.array([["2020"]], dtype="datetime64[D]"), "nominal", None, "found values of type datetime64"),
        ([[1, float("inf")]], "ordinal", None, "found inf, expected finite numbers"),
        ([[-0.5, 1]], "ratio", None, "found -0.5 on a ratio scale"),
        ([[2**53, 2**53 + 1]], "nominal", None, "found a whole number beyond 2^53"),
        ([[-(2**53) - 1, 1]], "ordinal", None, "found a whole number beyond 2^53"),
        ([["a", "c"]], "nominal", ("a", "b"), "found 'c', expected one of ['a', 'b']"),
        ([["1", "2"]], "nominal", (1, 2), "found '1', expected one of [1, 2]"),
        ([[1, 2.5]], "ordinal", (1, 2), "found 2.5, expected one of [1, 2]"),
    ],
)
def test_ratings_that_have_no_place_are_refused(table, scale, categories, found):
    with pytest.raises(InputRefused, match=r"^ratings: ") as refusal:
        coded(table, scale=scale, categories=categories)
    assert found in str(refusal.value)


@pytest.mark.parametrize("twice", [("a", "b", "a"), (1, 1.0), (True, 1), (np.int8(2), 2)])
def test_a_category_that_is_declared_twice_is_refused(twice):
    with pytest.raises(InputRefused, match="categories: found one of them twice"):
        coded([[None, None]], scale="nominal", categories=twice)


@pytest.mark.parametrize(
    ("scale", "categories", "found"),
    [
        ("ratio", (0, -1), r"found -1, expected numbers in \[0, inf\]"),
        ("interval", ("a", "b"), "found text, expected numbers|found values of type <U1"),
        ("interval", (1, float("nan")), "found nan, expected finite numbers"),
    ],
)
def test_declared_categories_that_are_not_of_the_scale_are_refused(scale, categories, found):
    with pytest.raises(InputRefused, match=f"categories: (?:{found})"):
        coded([[None, None]], scale=scale, categories=categories)


def test_large_categories_can_be_declared():
    table = [[2**53, 2**53 + 1], [2**53 + 1, 2**53 + 1]]
    assert coded(table, scale="nominal", categories=(2**53, 2**53 + 1)).codes.tolist() == [[0, 1], [1, 1]]


def test_patterns_are_what_was_said_whoever_said_it():
    found = patterns(
        coded([[1, 2, None], [2, None, 1], [1, 1, 2], [None, None, None]], scale="nominal", categories=None)
    )
    assert sorted(found.rows.tolist()) == [[-1, -1, -1], [-1, 0, 1], [0, 0, 1]]
    assert found.rows[found.of_unit].tolist() == [[-1, 0, 1], [-1, 0, 1], [0, 0, 1], [-1, -1, -1]]
    assert found.rated[found.of_unit].tolist() == [2, 2, 3, 0]


@given(table=TABLES, wide=st.sampled_from([0, 40]))
@LAW
def test_each_unit_has_the_pattern_of_its_own_ratings(table, wide):
    """With 40 raters more, who rate nothing, a pattern no longer fits the 62 bits of a number."""
    found = patterns(coded([[*row, *[None] * wide] for row in with_gaps(table)], scale="nominal", categories=range(4)))
    assert found.rows[found.of_unit].tolist() == [sorted([MISSING] * wide + row) for row in table]
    assert len({tuple(row) for row in found.rows.tolist()}) == len(found.rows)
    assert sorted(set(found.of_unit.tolist())) == list(range(len(found.rows)))


@pytest.mark.parametrize("raters", [30, 31, 32, 40])
def test_patterns_at_the_edge_of_62_bits_are_told_apart(raters):
    """Three categories and MISSING are 2 bits a rater: 60, 62, 64 and 80."""
    rows = np.zeros((3 * raters, raters), dtype=int)
    rows[np.arange(3 * raters), np.arange(3 * raters) % raters] = np.arange(3 * raters) // raters
    rows.sort(axis=1)
    ascending = np.array([[0] * (raters - k) + [2] * k for k in range(raters + 1)])
    table = np.concatenate([rows, ascending])
    found = patterns(coded(table, scale="nominal", categories=range(3)))
    assert found.rows[found.of_unit].tolist() == table.tolist()
    assert len(found.rows) == len(np.unique(table, axis=0))


@given(TABLES)
@LAW
def test_categories_are_counted_and_the_missing_are_not(table):
    found = category_counts(np.array(table), 4)
    assert found.toarray().tolist() == [[row.count(category) for category in range(4)] for row in table]
