"""People's ratings come from many hands: every layout is read alike, every fault is told, and no row is ever lost."""

import contextlib
import csv
import io
import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedRatings
from eval_pipeline.studies.label_signal.ratings import Ratings
from eval_pipeline.studies.label_signal.ratings_file import read_ratings
from eval_pipeline.studies.label_signal.track import Track, read_track
from tests.stats.laws import LAW
from tests.studies.label_signal.conftest import jsonl, ratings_of, write_track

WHO: dict[str, Any] = {"item_id": "q1", "system_id": "old", "rater_id": "ann"}
WIDE: list[dict[str, Any]] = [
    WHO | {"correct": 1, "tone": 2},
    WHO | {"rater_id": "bo", "correct": 3, "tone": 0},
    WHO | {"item_id": "q2", "correct": 2},
]
LONG: list[dict[str, Any]] = [
    {name: row[name] for name in WHO} | {"dimension": key, "value": row[key]}
    for row in WIDE
    for key in ("correct", "tone")
    if key in row
]


def separated(rows: Sequence[dict[str, Any]], separator: str = ",", *, end: str = "\n") -> str:
    """Rows as a table; what a row does not hold is an empty cell."""
    sink = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(sink, names, delimiter=separator, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    return sink.getvalue()


def read(folder: Path, name: str, content: str | bytes, track: Track) -> Ratings:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_ratings(path, track)


def faults_of(folder: Path, name: str, content: str | bytes, track: Track) -> tuple[str, ...]:
    with pytest.raises(MalformedRatings, match=f"^ratings file '{folder / name}' has [0-9]+ faults?: ") as refusal:
        read(folder, name, content, track)
    return refusal.value.faults


@pytest.fixture
def expected(small: Track) -> Ratings:
    return ratings_of(small, [("q1", "old", "ann", 1, 2), ("q1", "old", "bo", 3, 0), ("q2", "old", "ann", 2, None)])


@pytest.mark.parametrize("rows", [WIDE, LONG], ids=["wide", "long"])
@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("r.jsonl", jsonl),
        ("r", jsonl),
        ("r.json", jsonl),
        ("r.csv", separated),
        ("R.CSV", separated),
        ("r.tsv", lambda rows: separated(rows, "\t")),
        ("tabs.csv", lambda rows: separated(rows, "\t")),
        ("semicolons.csv", lambda rows: separated(rows, ";")),
        ("crlf.csv", lambda rows: separated(rows, end="\r\n")),
        ("bom.csv", lambda rows: "\ufeff" + separated(rows)),
        ("no-last-end.csv", lambda rows: separated(rows).rstrip("\n")),
        ("blank-rows.csv", lambda rows: separated(rows).replace("\n", "\n,,,,\n\n") + " ,,,,\n"),
        ("spaced.csv", lambda rows: separated(rows).replace("item_id,system_id", "item_id, system_id ")),
    ],
)
def test_every_layout_holds_the_same_ratings(
    tmp_path: Path, small: Track, expected: Ratings, rows: list[dict[str, Any]], name: str, of: Any
) -> None:
    found = read(tmp_path, name, of(rows), small)
    assert found.rows() == expected.rows()
    assert found.hash == expected.hash
    assert (found.dimensions, found.unread, found.source) == (("correct", "tone"), (), "people")
    assert (found.has_batches, found.codes) == (False, None)
    assert np.isnan(found.duration_s).all()


def test_rows_are_put_in_the_order_of_the_answers_and_raters(tmp_path: Path, small: Track, expected: Ratings) -> None:
    assert read(tmp_path, "r.jsonl", jsonl(WIDE[::-1]), small).hash == expected.hash
    assert read(tmp_path, "r.jsonl", jsonl(LONG[::-1]), small).units == (("q1", "old"), ("q2", "old"))


def test_a_track_without_answers_takes_those_that_were_rated(tmp_path: Path, small: Track) -> None:
    bare = read_track(write_track(tmp_path / "bare", items=None, responses=None))
    rows = [WHO | {"item_id": item, "tone": 1} for item in ("z", "a", 7)]
    assert read(tmp_path, "r.jsonl", jsonl(rows), bare).units == (("7", "old"), ("a", "old"), ("z", "old"))


def test_what_stands_beside_the_scores_is_read(tmp_path: Path, small: Track) -> None:
    version = small.rubric.version
    rows = [
        WHO | {"tone": 1, "batch": "10", "duration_s": 61.5, "failure_codes": ["T-02", "T-01"], "extra": 1},
        WHO | {"rater_id": "bo", "tone": 2, "batch": 9, "failure_codes": [], "rubric_version": version},
        WHO | {"rater_id": "cy", "tone": 3, "batch": "late", "duration_s": "70", "failure_codes": "T-01; T-02"},
    ]
    found = read(tmp_path, "r.jsonl", jsonl(rows), small)
    assert found.batches == ("9", "10", "late")  # numbers in their order, before names
    assert found.batch.tolist() == [1, 0, 2]
    assert found.codes == (frozenset({"T-01", "T-02"}), frozenset(), frozenset({"T-01", "T-02"}))
    assert found.duration_s[[0, 2]].tolist() == [61.5, 70.0]
    assert np.isnan(found.duration_s[1])
    assert found.unread == ("extra",)


def test_an_empty_cell_of_codes_says_that_none_was_seen(tmp_path: Path, small: Track) -> None:
    rows = [WHO | {"tone": 1, "failure_codes": "T-01;T-02"}, WHO | {"rater_id": "bo", "tone": 1}]
    assert read(tmp_path, "r.csv", separated(rows), small).codes == (frozenset({"T-01", "T-02"}), frozenset())
    nobody_was_asked = [{name: cell for name, cell in row.items() if name != "failure_codes"} for row in rows]
    assert read(tmp_path, "r.csv", separated(nobody_was_asked), small).codes is None
    (said,) = faults_of(tmp_path, "r.jsonl", jsonl(rows), small)
    assert said.startswith("item 'q1' of system 'old' by rater 'bo', field 'failure_codes': found nothing, and a value")


def test_in_a_long_file_an_answer_has_the_codes_of_all_its_rows(tmp_path: Path, small: Track) -> None:
    rows = [row | {"failure_codes": code} for row, code in zip(LONG, ("T-01", "", "T-02", "T-01", ""), strict=True)]
    expected = (frozenset({"T-01"}), frozenset({"T-01", "T-02"}), frozenset[str]())
    assert read(tmp_path, "r.csv", separated(rows), small).codes == expected
    assert read(tmp_path, "r.jsonl", jsonl(rows), small).codes == expected


@pytest.mark.parametrize(
    ("numbers", "batches"),
    [
        ((20240116, 20240115), ("20240115", "20240116")),
        ((1_700_000_000_001, 1_700_000_000_000), ("1700000000000", "1700000000001")),
        ((2.0, 10), ("2", "10")),
        ((0.25, -1), ("-1", "0.25")),
    ],
)
def test_numbers_tell_batches_apart_however_long_they_are(
    tmp_path: Path, small: Track, numbers: tuple[float, float], batches: tuple[str, ...]
) -> None:
    rows = [WHO | {"tone": 1, "when": number, "rater_id": f"r{number}"} for number in numbers]
    for name in ("batch", "order"):
        text = jsonl(rows).replace("when", name)
        assert read(tmp_path, "r.jsonl", text, small).batches == batches
    assert read(tmp_path, "r.csv", separated(rows).replace("when", "order"), small).batches == batches


def test_order_tells_when_only_where_no_batch_does(tmp_path: Path, small: Track) -> None:
    rows = [WHO | {"tone": 1, "order": place, "rater_id": f"r{place}"} for place in (12, 2)]
    found = read(tmp_path, "r.jsonl", jsonl(rows), small)
    assert (found.batches, found.unread) == (("2", "12"), ())
    both = [row | {"batch": "b"} for row in rows]
    found = read(tmp_path, "r.jsonl", jsonl(both), small)
    assert (found.batches, found.unread) == (("b",), ("order",))


def test_columns_that_nothing_reads_are_named(tmp_path: Path, small: Track) -> None:
    rows = [row | {"comment": "?", "Tone": 3} for row in WIDE]
    assert read(tmp_path, "r.csv", separated(rows), small).unread == ("Tone", "comment")
    assert read(tmp_path, "r.jsonl", jsonl([row | {"tone": 3} for row in LONG]), small).unread == ("tone",)
    assert read(tmp_path, "r.jsonl", jsonl([row | {"system": "new"} for row in WIDE]), small).unread == ("system",)


def test_system_will_do_for_system_id(tmp_path: Path, small: Track, expected: Ratings) -> None:
    assert read(tmp_path, "r.csv", separated(WIDE).replace("system_id", "system"), small).hash == expected.hash


def test_simulated_ratings_say_so(tmp_path: Path, small: Track) -> None:
    assert (
        read(tmp_path, "r.jsonl", jsonl([row | {"source": "simulated"} for row in WIDE]), small).source == "simulated"
    )
    assert read(tmp_path, "r.jsonl", jsonl([row | {"source": "people"} for row in WIDE]), small).source == "people"
    for rest in ({}, {"source": "people"}):
        mixed = [WIDE[0] | {"source": "simulated"}, *(row | rest for row in WIDE[1:])]
        (said,) = faults_of(tmp_path, "r.jsonl", jsonl(mixed), small)
        assert said == ("field 'source': found people's and simulated ratings in one file, expected one kind; split it")


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"tone": 4}, "field 'tone': found 4 for dimension 'tone', expected one of 0, 1, 2, 3"),
        ({"tone": 1.5}, "field 'tone': found 1.5 for dimension 'tone', expected one of 0, 1, 2, 3"),
        ({"tone": -1}, "field 'tone': found -1 for"),
        ({"tone": True}, "field 'tone': found true for"),
        ({"tone": False}, "field 'tone': found false for"),
        ({"tone": "good"}, "field 'tone': found \"good\" for"),
        ({"tone": ""}, "field 'tone': found \"\" for"),
        ({"tone": "nan"}, "field 'tone': found \"nan\" for"),
        ({"tone": [1]}, "field 'tone': found a list for"),
        ({"tone": {}}, "field 'tone': found an object for"),
        ({"correct": None, "tone": None}, "field 'correct': found nothing, nor a score of another dimension"),
        ({"item_id": "q9"}, 'field \'item_id\': found "q9" of system "old", which the track does not hold'),
        ({"item_id": 1}, 'field \'item_id\': found "1" of system "old", which the track does not hold'),
        ({"item_id": None}, "field 'item_id': found nothing, expected a name"),
        ({"item_id": ""}, "field 'item_id': found \"\", expected a name"),
        ({"item_id": ["q1"]}, "field 'item_id': found a list, expected a name"),
        ({"system_id": "newest"}, "field 'system_id': found \"newest\", expected one of old, new"),
        ({"system_id": {}}, "field 'system_id': found an object, expected a name"),
        ({"rater_id": True}, "field 'rater_id': found true, expected a name"),
        ({"rater_id": 1.5}, "field 'rater_id': found 1.5, expected a name"),
        ({"rater_id": None}, "field 'rater_id': found nothing, expected a name"),
        ({"failure_codes": ["T-09"]}, "field 'failure_codes': found a list, expected codes of the track, as a list or"),
        ({"failure_codes": "T-01, T-02"}, "field 'failure_codes': found \"T-01, T-02\", expected codes of the track"),
        ({"failure_codes": [["T-01"]]}, "field 'failure_codes': found a list, expected codes"),
        ({"failure_codes": [None]}, "field 'failure_codes': found a list, expected codes"),
        ({"failure_codes": {"T-01": True}}, "field 'failure_codes': found an object, expected codes"),
        ({"failure_codes": 3}, "field 'failure_codes': found 3, expected codes"),
        ({"duration_s": -1}, "field 'duration_s': found -1, expected seconds, 0 or more"),
        ({"duration_s": "1 min"}, "field 'duration_s': found \"1 min\", expected seconds, 0 or more"),
        ({"duration_s": True}, "field 'duration_s': found true, expected seconds"),
        ({"duration_s": "inf"}, "field 'duration_s': found \"inf\", expected seconds"),
        ({"batch": [1]}, "field 'batch': found a list, expected a name or a number"),
        ({"batch": ""}, "field 'batch': found \"\", expected a name or a number"),
        ({"batch": False}, "field 'batch': found false, expected a name or a number"),
        ({"order": "first"}, "field 'order': found \"first\", expected a number"),
        ({"source": "llm_judge"}, "field 'source': found \"llm_judge\", expected 'people' or 'simulated'"),
        ({"source": []}, "field 'source': found a list, expected 'people' or 'simulated'"),
        ({"rubric_version": "small-rubric@r2+0123"}, "ratings of two versions are not pooled"),
        ({"rubric_version": 1}, "field 'rubric_version': found 1, expected 'small-rubric@r1+"),
    ],
    ids=str,
)
def test_each_fault_of_a_row_is_named_by_line_and_field(
    tmp_path: Path, small: Track, changed: dict[str, Any], fault: str
) -> None:
    others = [WHO | {"rater_id": "bo", "correct": 3, "tone": 0} | {name: 1 for name in changed if name == "order"}]
    row = WHO | {"correct": 1, "tone": 2} | changed
    faults = faults_of(tmp_path, "r.jsonl", jsonl([*others, row]), small)
    assert len(faults) == 1
    assert faults[0].startswith("line 2, ")
    assert fault in faults[0]


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"dimension": "tune"}, "line 2, field 'dimension': found \"tune\", expected one of correct, tone"),
        ({"dimension": None}, "line 2, field 'dimension': found null, expected one of correct, tone"),
        ({"dimension": ["tone"]}, "line 2, field 'dimension': found a list, expected one of correct, tone"),
        ({"dimension": {}}, "line 2, field 'dimension': found an object, expected one of correct, tone"),
        ({"value": None}, "line 2, field 'value': found nothing, expected a score; leave the row out if there is none"),
        ({"value": 9}, "line 2, field 'value': found 9 for dimension 'tone', expected one of 0, 1, 2, 3"),
        (
            {"dimension": "correct"},
            "line 2, field 'value': found a second score of rater 'ann' for item 'q1' of system 'old' on 'correct',"
            " expected one; remove either",
        ),
    ],
    ids=str,
)
def test_each_fault_of_a_long_row_is_named(tmp_path: Path, small: Track, changed: dict[str, Any], fault: str) -> None:
    rows = [LONG[0], LONG[1] | changed]
    assert faults_of(tmp_path, "r.jsonl", jsonl(rows), small) == (fault,)


def test_a_score_that_was_given_twice_is_refused_even_if_it_is_the_same(tmp_path: Path, small: Track) -> None:
    (said,) = faults_of(tmp_path, "r.csv", separated([*WIDE, WHO | {"tone": 2}]), small)
    assert said == (
        "line 5, field 'tone': found a second score of rater 'ann' for item 'q1' of system 'old' on 'tone',"
        " expected one; remove either"
    )


def test_two_wide_rows_may_hold_different_dimensions_of_one_answer(
    tmp_path: Path, small: Track, expected: Ratings
) -> None:
    split = [WHO | {"correct": 1}, WHO | {"tone": 2}, *WIDE[1:]]
    assert read(tmp_path, "r.jsonl", jsonl(split), small).hash == expected.hash


def test_rows_of_one_answer_that_contradict_each_other_are_refused(tmp_path: Path, small: Track) -> None:
    for name, one, other in (("duration_s", 60, 61), ("batch", "1", "2"), ("order", 1, 2)):
        rows = [LONG[0] | {name: one}, LONG[1] | {name: other}]
        (said,) = faults_of(tmp_path, "r.jsonl", jsonl(rows), small)
        assert said.startswith(f"line 2, field '{name}': found {json.dumps(other)}, and ")
        assert said.endswith("on another row of the same answer and rater, expected one")
    rows = [LONG[0] | {"batch": "1"}, LONG[1]]  # said once is said of the answer
    assert read(tmp_path, "r.jsonl", jsonl(rows), small).batches == ("1",)


@pytest.mark.parametrize(("name", "value"), [("batch", "1"), ("order", 3)])
def test_when_a_rating_was_given_is_said_of_all_or_of_none(tmp_path: Path, small: Track, name: str, value: Any) -> None:
    rows = [WIDE[0] | {name: value}, *WIDE[1:]]
    faults = faults_of(tmp_path, "r.jsonl", jsonl(rows), small)
    assert faults == tuple(
        f"item {item!r} of system 'old' by rater {rater!r}, field {name!r}: found nothing, and a value on other rows;"
        " give it on all or on none"
        for item, rater in (("q1", "bo"), ("q2", "ann"))
    )
    assert faults_of(tmp_path, "r.csv", separated(rows), small) == faults


@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([{"item_id": "q1"}], "'system_id', and no 'rater_id', and no 'dimension' and 'value', or a column for each"),
        ([{"rater_id": "ann", "tone": 1}], "'item_id', and no 'system_id'; add it to every row"),
        ([WHO | {"Tone": 1}], "'dimension' and 'value', or a column for each dimension such as 'correct'; add it"),
        ([WHO | {"dimension": "tone", "score": 1}], "'dimension' and 'value', or a column for each dimension"),
        ([{"item_id": "q1", "system": "old", "tone": 1}], "'rater_id'; add it to every row"),
    ],
)
def test_a_missing_column_is_named(tmp_path: Path, small: Track, rows: list[dict[str, Any]], missing: str) -> None:
    for name, content in (("r.jsonl", jsonl(rows)), ("r.csv", separated(rows))):
        (said,) = faults_of(tmp_path, name, content, small)
        assert said.startswith("columns: found no ")
        assert missing in said


HEAD = "item_id,system_id,rater_id,correct,tone,comment\n"


@pytest.mark.parametrize(
    ("name", "content", "faults"),
    [
        ("r.csv", "", ["found no ratings in it, expected a row for each"]),
        ("r.csv", HEAD, ["found no ratings in it, expected a row for each"]),
        ("r.tsv", "\n\n", ["found no ratings in it, expected a row for each"]),
        ("r.jsonl", "", ["found no ratings in it, expected a row for each"]),
        ("r.jsonl", "\n \n", ["found no ratings in it, expected a row for each"]),
        (
            "r.csv",
            f"{HEAD}q1,old,ann,1,2\nq2,old,ann,1,2,,,\nq3,old,ann,1,2,\n",
            ["line 2: found 5 cells, expected 6 as in the first line", "line 3: found 8 cells, expected 6 as in the"],
        ),
        ("r.csv", f"{HEAD[:-1]},tone\nq1,old,ann,1,2,,3\n", ["line 1: found column 'tone' twice, expected it once"]),
        ("r.csv", f"{HEAD}q1,old,ann,1,2,caf\xe9\n".encode("latin-1"), ["byte 67: found a byte that is not UTF-8"]),
        ("r.csv", f'{HEAD}q1,old,ann,1,2,"good\nq2,old,ann,1,2,\n', ["line 2: found no CSV (unexpected end of data)"]),
        ("r.csv", f'{HEAD}q1,old,ann,1,2,"so" so\nq2,old,ann,1,2,\n', ["line 2: found no CSV (',' expected after"]),
        ("r.jsonl", "[1]\n", ["line 1, column 1: found a list, expected an object"]),
        (
            "r.jsonl",
            jsonl(WIDE).replace('"tone": 2', '"tone": NaN'),
            ["line 1, field 'tone': found NaN, expected a num"],
        ),
        ("r.jsonl", '{"tone": 1, "tone": 2}\n', ["line 1, field 'tone': found it twice, expected it once"]),
        ("r.jsonl", jsonl(WIDE).replace("\n", "\r\n"), ["line 1, after the last field: found a line end of CR LF"]),
        ("r.jsonl", "\ufeff" + jsonl(WIDE), ["line 1, before the first field: found a byte order mark"]),
        ("r.jsonl", separated(WIDE), [f"line {line}, column 1: found invalid JSON" for line in (1, 2, 3, 4)]),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_each_fault(
    tmp_path: Path, small: Track, name: str, content: str | bytes, faults: list[str]
) -> None:
    found = faults_of(tmp_path, name, content, small)
    assert len(found) == len(faults)
    for said, expected in zip(found, faults, strict=True):
        assert said.startswith(expected)


@pytest.mark.parametrize("name", ["nowhere.jsonl", "nowhere.csv", "folder.csv", "folder.jsonl"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, small: Track, name: str) -> None:
    if name.startswith("folder"):
        (tmp_path / name).mkdir()
    with pytest.raises(MalformedRatings, match="cannot be read"):
        read_ratings(tmp_path / name, small)


def test_texts_may_hold_what_separates_and_be_as_long_as_they_are(tmp_path: Path, small: Track) -> None:
    rows = [row | {"comment": text} for row, text in zip(WIDE, ('a,"b"\nc', "x" * 200_000, "d\re"), strict=True)]
    found = read(tmp_path, "r.csv", separated(rows, end="\r\n"), small)
    assert len(found) == 3
    assert found.unread == ("comment",)


def test_all_faults_of_the_rows_are_told_at_once(tmp_path: Path, small: Track) -> None:
    rows = [WHO | {"rater_id": f"r{place}", "correct": 7, "tone": 8} for place in range(30)]
    assert len(faults_of(tmp_path, "r.csv", separated(rows), small)) == 60
    with pytest.raises(MalformedRatings, match=r"has 60 faults: .*; and 40 more$"):
        read(tmp_path, "r.csv", separated(rows), small)


SCORES = st.sampled_from([None, 0, 1, 2, 3])
ONE = st.tuples(st.sampled_from(["q1", "q2", "q3", "q4"]), st.sampled_from(["old", "new"]), st.sampled_from("abc"))
TABLES = st.dictionaries(ONE, st.tuples(SCORES, SCORES).filter(any), min_size=1, max_size=12)


@given(TABLES, st.randoms(use_true_random=False))
@LAW
def test_wide_and_long_hold_the_same_in_whatever_order(
    tmp_path_factory: pytest.TempPathFactory, small: Track, table: dict[Any, Any], random: Any
) -> None:
    folder = tmp_path_factory.getbasetemp()
    names = ("item_id", "system_id", "rater_id")
    wide = [
        dict(zip(names, who, strict=True))
        | {key: score for key, score in zip(("correct", "tone"), scores, strict=True) if score is not None}
        for who, scores in table.items()
    ]
    long = [
        {name: row[name] for name in names} | {"dimension": key, "value": row[key]}
        for row in wide
        for key in ("correct", "tone")
        if key in row
    ]
    random.shuffle(long)
    found = [
        read(folder, name, content, small)
        for rows in (wide, long)
        for name, content in (("r.jsonl", jsonl(rows)), ("r.csv", separated(rows)), ("r.tsv", separated(rows, "\t")))
    ]
    assert len({one.hash for one in found}) == 1
    kept = {
        (row["item_id"], row["system_id"], row["rater_id"]): (row["correct"], row["tone"]) for row in found[0].rows()
    }
    assert kept == table


NAMES = st.sampled_from([*WHO, "correct", "tone", "dimension", "value", "batch", "order", "duration_s", "system"])
MORE_NAMES = st.sampled_from(["failure_codes", "source", "rubric_version", "comment"])
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 5),
        st.floats(),
        st.sampled_from(["q1", "old", "ann", "tone", "T-01", "T-01;T-02", "people", "", "1"]),
        st.text(max_size=3),
    ),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(NAMES | MORE_NAMES, JSON, max_size=8)
GOOD: dict[str, Any] = {"item_id": "q1", "system_id": "old", "rater_id": "ann", "tone": 1}


def rated_or_refused(folder: Path, name: str, content: bytes, track: Track) -> None:
    with contextlib.suppress(MalformedRatings):
        found = read(folder, name, content, track)
        assert len(found) >= 1
        assert len(found.hash) == 64
        assert not np.isnan(found.scores).all(axis=1).any()


@given(st.lists(OBJECTS.map(lambda row: GOOD | row) | OBJECTS, min_size=1, max_size=3))
@LAW
def test_whatever_the_fields_hold_the_file_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, small: Track, rows: list[dict[str, Any]]
) -> None:
    rated_or_refused(tmp_path_factory.getbasetemp(), "any.jsonl", jsonl(rows).encode(), small)


CELLS = st.sampled_from(["q1", "old", "ann", "1", "", "tone", '"', '"a', "\t", ";", "\r", "\n", "\x00", "é", "9"])
TEXT = st.lists(st.lists(CELLS, max_size=6).map(",".join), max_size=4).map("\n".join)
HEADS = st.sampled_from(
    [
        "",
        HEAD,
        HEAD.replace(",", "\t"),
        "item_id,system,rater_id,dimension,value\n",
        "tone,tone\n",
        '"',
        "\ufeff" + HEAD,
    ]
)


@given(HEADS, TEXT, st.sampled_from(["any.csv", "any.tsv"]))
@LAW
def test_whatever_the_cells_hold_the_table_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, small: Track, head: str, text: str, name: str
) -> None:
    rated_or_refused(tmp_path_factory.getbasetemp(), name, (head + text).encode(), small)


@given(st.binary(max_size=120), st.sampled_from(["any.jsonl", "any.csv", "any.tsv"]))
@LAW
def test_whatever_bytes_come_in_they_are_refused(
    tmp_path_factory: pytest.TempPathFactory, small: Track, content: bytes, name: str
) -> None:
    with pytest.raises(MalformedRatings):
        read(tmp_path_factory.getbasetemp(), name, content, small)


@given(st.lists(st.text(string.printable, max_size=8), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
@LAW
def test_a_table_loses_no_row_whatever_its_comments_hold(
    tmp_path_factory: pytest.TempPathFactory, small: Track, comments: list[str], end: str
) -> None:
    rows = [GOOD | {"rater_id": f"r{place}", "comment": text} for place, text in enumerate(comments)]
    for name, separator in (("any.csv", ","), ("any.csv", ";"), ("any.tsv", "\t")):
        content = separated(rows, separator, end="\r\n" if any("\r" in text for text in comments) else end)
        found = read(tmp_path_factory.getbasetemp(), name, content, small)
        assert found.raters == tuple(f"r{place}" for place in range(len(rows)))
