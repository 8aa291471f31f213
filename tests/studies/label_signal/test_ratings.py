"""Ratings as a table: what goes through Parquet comes back, a hash tells any score, and parts of it are themselves."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.testing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.studies.label_signal.ratings import Ratings, means_by
from eval_pipeline.studies.label_signal.track import Track
from tests.stats.laws import LAW
from tests.studies.label_signal.conftest import ratings_of

NAN = float("nan")
ROWS: list[tuple[Any, ...]] = [
    ("q1", "old", "ann", 1, 2),
    ("q1", "old", "bo", 3, None),
    ("q2", "new", "bo", 2, 0),
    ("q2", "new", "cy", 2, 3),
    ("q3", "old", "ann", None, 1),
]


@pytest.fixture
def rated(small: Track) -> Ratings:
    return ratings_of(
        small,
        ROWS,
        batch=("b2", "b1", "b2", "b1", "b2"),
        duration_s=(60, None, 75.5, 80, 90),
        codes=(["T-02", "T-01"], [], ["T-01"], [], []),
    )


@pytest.fixture
def bare(small: Track) -> Ratings:
    return ratings_of(small, ROWS, source="simulated")


def through_parquet(ratings: Ratings) -> Ratings:
    sink = pa.BufferOutputStream()
    pq.write_table(ratings.to_table(), sink)
    return Ratings.from_table(pq.read_table(pa.BufferReader(sink.getvalue())))


def assert_same(found: Ratings, expected: Ratings) -> None:
    for name in Ratings.__dataclass_fields__:
        one, other = getattr(found, name), getattr(expected, name)
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype, name
            npt.assert_array_equal(one, other, err_msg=name)
        else:
            assert one == other, name


def test_ratings_by_hand(rated: Ratings) -> None:
    assert (len(rated), rated.replication) == (5, 1.5)  # 3 / (1/2 + 1/2 + 1)
    assert rated.units == (("q1", "old"), ("q2", "new"), ("q3", "old"))
    assert (rated.items, rated.systems, rated.raters) == (("q1", "q2", "q3"), ("old", "new"), ("ann", "bo", "cy"))
    assert rated.item_of_unit.tolist() == [0, 1, 2]
    assert (rated.unit.tolist(), rated.rater.tolist()) == ([0, 0, 1, 1, 2], [0, 1, 1, 2, 0])
    assert (rated.batches, rated.batch.tolist(), rated.has_batches) == (("b2", "b1"), [0, 1, 0, 1, 0], True)
    npt.assert_array_equal(rated.by_rater(rated.scores[:, 0]), [[1, 3, NAN], [NAN, 2, 2], [NAN, NAN, NAN]])
    npt.assert_array_equal(rated.by_rater(rated.scores[:, 1]), [[2, NAN, NAN], [NAN, 0, 3], [1, NAN, NAN]])
    assert rated.rows()[1] == {
        "item_id": "q1",
        "system_id": "old",
        "rater_id": "bo",
        "correct": 3.0,
        "tone": None,
        "batch": "b1",
        "duration_s": None,
        "failure_codes": [],
        "source": "people",
    }


def test_two_systems_of_an_item_are_two_units_of_one_item(small: Track) -> None:
    rows = [("q2", "old", "ann", 1, 1), ("q1", "old", "ann", 1, 1), ("q2", "new", "ann", 1, 1)]
    found = ratings_of(small, rows)
    assert (found.items, found.item_of_unit.tolist()) == (("q2", "q1"), [0, 1, 0])


def test_means_leave_out_what_is_missing_and_are_missing_where_nothing_is_left(rated: Ratings) -> None:
    # correct: (1 + 3) / 2, (2 + 2) / 2, none. tone: 2 alone, (0 + 3) / 2, 1.
    npt.assert_array_equal(rated.unit_means(rated.scores[:, 0]), [2, 2, NAN])
    npt.assert_array_equal(rated.unit_means(rated.scores[:, 1]), [2, 1.5, 1])
    groups = np.array([2, 0, 2], dtype=np.int64)
    npt.assert_array_equal(means_by(np.array([1.0, NAN, 4.0]), groups, 4), [NAN, NAN, 2.5, NAN])


@pytest.mark.parametrize("name", ["rated", "bare"])
def test_a_table_brings_back_what_was_written(request: pytest.FixtureRequest, name: str) -> None:
    ratings = replace(request.getfixturevalue(name), unread=("comment", "Tone"))
    assert_same(Ratings.from_table(ratings.to_table()), ratings)
    assert_same(through_parquet(ratings), ratings)
    assert through_parquet(ratings).hash == ratings.hash


def test_the_table_has_a_column_for_each_field_and_says_the_rest_beside(rated: Ratings, bare: Ratings) -> None:
    table = rated.to_table()
    assert table.column_names == [
        *("item_id", "system_id", "rater_id", "correct", "tone"),
        *("batch", "duration_s", "failure_codes", "source"),
    ]
    assert table.column("tone").to_pylist() == [2.0, None, 0.0, 3.0, 1.0]
    assert table.column("failure_codes").to_pylist() == [["T-01", "T-02"], [], ["T-01"], [], []]
    assert bare.to_table().column("failure_codes").null_count == 5
    assert bare.to_table().column("batch").null_count == 5
    assert bare.to_table().schema == table.schema


def test_a_batch_in_which_nothing_was_rated_is_kept(rated: Ratings) -> None:
    more = replace(rated, batches=(*rated.batches, "b3"))
    assert through_parquet(more).batches == ("b2", "b1", "b3")


def test_a_part_holds_its_rows_and_only_their_units_and_raters(rated: Ratings) -> None:
    part = rated.where(np.array([False, True, True, False, False]))
    assert part.rows() == rated.rows()[1:3]
    assert (part.units, part.raters) == ((("q1", "old"), ("q2", "new")), ("bo",))
    assert (part.unit.tolist(), part.rater.tolist()) == ([0, 1], [0, 0])
    assert (part.batches, part.batch.tolist()) == (("b2", "b1"), [1, 0])
    assert part.codes == (frozenset(), frozenset({"T-01"}))
    assert np.isnan(part.duration_s).tolist() == [True, False]
    assert part.unit_means(part.scores[:, 0]).tolist() == [3, 2]
    assert len(rated) == 5


def test_a_part_of_ratings_that_say_neither_when_nor_why(bare: Ratings) -> None:
    part = bare.where(np.arange(5) >= 3)
    assert (part.codes, part.has_batches, part.batch.tolist()) == (None, False, [])
    assert part.rows() == bare.rows()[3:]
    assert part.source == "simulated"
    assert through_parquet(part).rows() == part.rows()


@given(st.lists(st.booleans(), min_size=5, max_size=5).filter(any), st.lists(st.booleans(), min_size=5, max_size=5))
@LAW
def test_a_part_of_a_part_is_the_part_of_both(small: Track, one: list[bool], other: list[bool]) -> None:
    rated = ratings_of(small, ROWS, batch="aabba")
    first, second = np.array(one), np.array(other)
    assert_same(rated.where(first).where(second[first]), rated.where(first & second))
    assert_same(rated.where(np.ones(5, dtype=bool)), rated)


def test_the_hash_changes_with_any_score(rated: Ratings) -> None:
    hashes = {rated.hash}
    for row, place in np.ndindex(rated.scores.shape):
        for score in (NAN, 0.0, 1.0, 2.0, 3.0):
            scores = rated.scores.copy()
            before = scores[row, place]
            scores[row, place] = score
            same = score == before or (np.isnan(score) and np.isnan(before))
            assert (replace(rated, scores=scores).hash == rated.hash) is bool(same)
            hashes.add(replace(rated, scores=scores).hash)
    assert len(hashes) == 1 + 5 * 2 * 4


@pytest.mark.parametrize(
    "changed",
    [
        {"units": (("q1", "old"), ("q2", "new"), ("q4", "old"))},
        {"raters": ("ann", "bo", "dee")},
        {"rater": np.array([0, 1, 1, 2, 1])},
        {"batches": ("b2", "b3")},
        {"batches": ("b2", "b1", "b0")},
        {"batch": np.array([0, 1, 0, 1, 1])},
        {"duration_s": np.array([60, NAN, 75.5, 80, 91])},
        {"codes": None},
        {"codes": (frozenset(),) * 5},
        {"source": "simulated"},
        {"rubric_version": "small-rubric@r2+0"},
        {"dimensions": ("correct", "tune")},
    ],
    ids=str,
)
def test_the_hash_changes_with_all_that_was_rated(rated: Ratings, changed: dict[str, Any]) -> None:
    assert replace(rated, **changed).hash != rated.hash


def test_the_hash_does_not_change_with_what_was_not_read(rated: Ratings) -> None:
    assert replace(rated, unread=("comment",)).hash == rated.hash
