"""The first difference of two findings, as a person finds it."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.differences import first_difference
from eval_pipeline.evidence import table_bytes

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def bytes_of(value: object) -> bytes:
    return json.dumps(value, indent=1).encode()


@pytest.mark.parametrize(
    ("name", "recorded", "made", "place"),
    [
        ("a.json", b'{"a": {"b": [1, 2]}}', b'{"a": {"b": [1, 3]}}', "/a/b/1: found 2, expected 3"),
        ("a.json", b'{"a": 1}', b'{"a": 1, "b": 2}', "/b: nothing is there"),
        ("a.json", b'{"a": 1, "c": 2}', b'{"a": 1}', "/c: it should not be there"),
        ("a.json", b"[1]", b"[1, 2]", "/: found 1, expected 2 values"),
        ("a.json", b'{"a": 1}', b'{"a": 1.0}', "/a: found 1, expected 1.0"),
        ("a.json", b'{"a": true}', b'{"a": 1}', "/a: found True, expected 1"),
        (
            "a.json",
            b"[1,  2]",
            b"[1, 2]",
            "byte 4: found '[1,  2]', expected '[1, 2]', in how it is written",
        ),
        ("a.json", b'{"a": ', b'{"a": 1}', "line 1, its length: found 6, expected 8, which is no JSON any more"),
        ("a.jsonl", b'{"a": 1}\n{"a": 2}\n', b'{"a": 1}\n{"a": 3}\n', "line 2, /a: found 2, expected 3"),
        ("a.md", b"one\ntwo\n", b"one\ntow\n", "line 2, byte 1: found 'two', expected 'tow'"),
        ("a.md", b"one\n", b"one\ntwo\n", "line 2, its length: found 0, expected 3"),
        ("a.html", b"one", b"one\n", "its lines: found 1, expected 2"),
    ],
)
def test_the_first_place_that_differs_is_named_with_both(name: str, recorded: bytes, made: bytes, place: str) -> None:
    assert first_difference(name, recorded, made) == place


def test_a_table_is_compared_by_rows_and_columns() -> None:
    first, second = pa.table({"a": [1, 2], "b": ["x", "y"]}), pa.table({"a": [1, 2], "b": ["x", "z"]})
    found, wanted = table_bytes(first), table_bytes(second)
    assert first_difference("t.parquet", found, wanted) == "row 2, column b: found 'y', expected 'z'"
    shorter = table_bytes(first.slice(0, 1))
    assert first_difference("t.parquet", shorter, found) == "its rows: found 1, expected 2"
    other = table_bytes(first.rename_columns(["a", "c"]))
    assert first_difference("t.parquet", other, found) == "its columns: found 'a, c', expected 'a, b'"
    assert "and it is no table any more" in str(first_difference("t.parquet", found[:-4], found))
    noted = table_bytes(first.replace_schema_metadata({"of": "another"}))
    assert "in how it is written" in str(first_difference("t.parquet", noted, found))


@given(JSON, JSON)
def test_two_values_differ_if_and_only_if_a_place_is_named(one: object, other: object) -> None:
    found = first_difference("x.json", bytes_of(one), bytes_of(other))
    assert (found is None) == (bytes_of(one) == bytes_of(other))


@given(st.binary(max_size=40), st.binary(max_size=40), st.sampled_from(["x.md", "x.json", "x.jsonl"]))
def test_any_bytes_at_all_are_compared(recorded: bytes, made: bytes, name: str) -> None:
    made = b'{"made": 1}\n' + (made if name == "x.md" else b"")
    assert (first_difference(name, recorded, made) is None) == (recorded == made)
