"""JSON Lines are read strictly: every fault of a file is named with its line and place, and no input brings it down."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.errors import MalformedCorpus, MalformedFixture
from eval_pipeline.jsonl import Line, found, parse_lines, read_lines

LAW = settings(deadline=None, derandomize=True, max_examples=60)
GOOD = b'{"a": 1}\n'
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
OBJECTS = st.dictionaries(TEXT, SCALARS | st.lists(SCALARS, max_size=3), max_size=4)
FAULT = re.compile(r"line \d+, (field '.*'|column \d+|byte \d+|(before|after) the \w+ field): found .+, expected .+")


def only_fault(row: bytes) -> str:
    """The one fault of a file whose second line is `row`, and whose other lines are read in spite of it."""
    read = parse_lines(GOOD + row + b"\n" + GOOD)
    assert [line.number for line in read.lines] == [1, 3]
    (fault,) = read.faults
    return fault


def test_lines_keep_their_numbers_and_blank_lines_are_passed_over():
    read = parse_lines(b'\n{"a": 1}\n   \n\t\n{"b": [null, "x"]}')
    assert read.lines == (Line(2, {"a": 1}), Line(5, {"b": [None, "x"]}))
    assert read.faults == ()


def test_an_empty_file_holds_nothing_and_has_no_fault():
    read = parse_lines(b"")
    assert (read.lines, read.faults) == ((), ())


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        pytest.param(b'{"a": }', "line 2, column 7: found invalid JSON (Expecting value)", id="invalid-json"),
        pytest.param(b'{"a": 1', "line 2, column 8: found invalid JSON", id="cut-off"),
        pytest.param(b'{"a": 1} {"a": 2}', "line 2, column 10: found invalid JSON (Extra data)", id="two-objects"),
        pytest.param(b"{'a': 1}", "line 2, column 2: found invalid JSON", id="single-quotes"),
        pytest.param(b'{"a": "x\ty"}', "line 2, column 9: found invalid JSON", id="raw-control-character"),
        pytest.param(b"[1, 2]", "line 2, column 1: found a list, expected an object", id="list"),
        pytest.param(b'"text"', 'line 2, column 1: found "text", expected an object', id="text"),
        pytest.param(b"7", "line 2, column 1: found 7, expected an object", id="number"),
        pytest.param(b"null", "line 2, column 1: found null, expected an object", id="null"),
        pytest.param(b"true", "line 2, column 1: found true, expected an object", id="true"),
        pytest.param(b'{"a": "\xff"}', "line 2, byte 8: found a byte that is not UTF-8", id="not-utf-8"),
        pytest.param(b'{"a": "\xc3"}', "line 2, byte 8: found a byte that is not UTF-8", id="utf-8-cut-off"),
        pytest.param(b'{"a": "\xed\xa0\x80"}', "line 2, byte 8: found a byte", id="surrogate-in-bytes"),
        pytest.param(b'{"a": 1, "a": 2}', "line 2, field 'a': found it twice, expected it once", id="repeated"),
        pytest.param(b'{"o": {"b": 1, "b": 1}}', "line 2, field 'b': found it twice", id="repeated-within"),
        pytest.param(b"\xef\xbb\xbf{}", "line 2, column 1: found invalid JSON", id="byte-order-mark-within"),
        pytest.param(b'{"a": "\\ud800"}', "line 2, field 'a': found a lone surrogate", id="lone-high-surrogate"),
        pytest.param(b'{"a": "\\udc00"}', "line 2, field 'a': found a lone surrogate", id="lone-low-surrogate"),
        pytest.param(b'{"a": ["", "\\udc00"]}', "line 2, field 'a[1]': found a lone", id="lone-surrogate-in-a-list"),
        pytest.param(b'{"a": {"b": "\\udc00"}}', "line 2, field 'a.b': found a lone", id="lone-surrogate-deeper"),
        pytest.param(b'{"\\udc00": 1}', r"line 2, field '\udc00': found a lone", id="lone-surrogate-in-a-name"),
    ],
)
def test_a_fault_is_named_with_its_line_and_place(row, fault):
    assert only_fault(row).startswith(fault)
    assert FAULT.fullmatch(only_fault(row))


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_in_json_is_refused(name):
    fault = only_fault(b'{"b": 1, "a": ' + name.encode() + b"}")
    assert f"found {name}, expected a number" in fault


def test_a_nan_is_named_with_the_place_it_stands_at():
    fault = only_fault(b'{"b": 1, "a": NaN}')
    assert "field 'a'" in fault or "column 15" in fault


def test_a_number_of_too_many_digits_is_a_fault_like_the_others():
    fault = only_fault(b'{"a": ' + b"7" * 5_000 + b"}")
    assert FAULT.fullmatch(fault), fault


def test_a_pair_of_surrogates_is_one_character():
    read = parse_lines(b'{"a": "\\ud83d\\ude00"}')
    assert read.faults == ()
    assert read.lines[0].fields == {"a": "\U0001f600"}


@pytest.mark.parametrize("depth", [*range(100, 1_200, 25), 5_000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"b":', b"}")], ids=["lists", "objects"])
def test_deep_nesting_is_read_or_refused_and_never_brings_the_reader_down(depth, opening, closing):
    inner = b"1" if opening != b"[" else b""
    read = parse_lines(GOOD + b'{"a":' + opening * depth + inner + closing * depth + b"}")
    assert len(read.lines) + len(read.faults) == 2
    assert all("line 2, column 1: found JSON nested too deep" in fault for fault in read.faults)


def test_a_byte_order_mark_is_refused_and_the_first_line_is_read_all_the_same():
    read = parse_lines(b"\xef\xbb\xbf" + GOOD)
    assert read.faults == (
        "line 1, before the first field: found a byte order mark, expected UTF-8 without one; save it so",
    )
    assert read.lines == (Line(1, {"a": 1}),)


def test_line_ends_of_windows_are_refused_once_with_the_first_line_and_their_number():
    read = parse_lines(b'{"a": 1}\n{"a": 2}\r\n\r\n{"a": 3}\r\n')
    (fault,) = read.faults
    assert fault.startswith("line 2, after the last field: found a line end of CR LF (on 3 lines), expected LF")
    assert [line.fields["a"] for line in read.lines] == [1, 2, 3]


def test_all_faults_of_a_file_are_found_in_the_order_of_their_lines():
    read = parse_lines(b'{"a": 1, "a": 1}\n[]\n{"a": 1}\n{"a": NaN}\n{')
    assert [fault.split(",")[0] for fault in read.faults] == ["line 1", "line 2", "line 4", "line 5"]
    assert [line.number for line in read.lines] == [3]


@LAW
@given(st.lists(OBJECTS, max_size=6))
def test_what_json_writes_is_read_back(objects):
    data = "".join(json.dumps(fields, ensure_ascii=False) + "\n" for fields in objects).encode()
    read = parse_lines(data)
    assert read.faults == ()
    assert read.lines == tuple(Line(number, fields) for number, fields in enumerate(objects, 1))


@LAW
@given(st.lists(st.binary(max_size=12) | st.sampled_from([b"{}", b'{"a":"\\ud8', b"\r", b"NaN"]), max_size=8))
def test_every_line_of_any_bytes_is_read_or_has_a_fault(pieces):
    data = b"\n".join(pieces)
    read = parse_lines(data)
    numbers = {line.number for line in read.lines}
    blank = {number for number, row in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1) if not row.strip()}
    faulty = {int(fault.split(",")[0].removeprefix("line ")) for fault in read.faults}
    assert numbers | faulty | blank == set(range(1, data.count(b"\n") + 2))
    assert not numbers & blank


def test_a_file_is_read_from_its_path(tmp_path):
    path = tmp_path / "p.jsonl"
    path.write_bytes(GOOD + b"{")
    read = read_lines(path, MalformedFixture, "propositions file")
    assert read == parse_lines(GOOD + b"{")
    assert len(read.faults) == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [pytest.param("none", "No such file or directory", id="missing"), pytest.param(".", "Is a directory", id="folder")],
)
def test_a_file_that_cannot_be_read_is_refused_by_the_name_it_was_given(tmp_path, name, why):
    with pytest.raises(MalformedCorpus, match=rf"^entries file has 1 fault: cannot be read \({why}\)"):
        read_lines(tmp_path / name, MalformedCorpus, "entries file")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1, "1"),
        (0.5, "0.5"),
        ("1", '"1"'),
        ("é\u200b", '"\\u00e9\\u200b"'),
        ([1, 2], "a list"),
        ({"a": 1}, "an object"),
        ("x" * 58, f'"{"x" * 58}"'),
        ("x" * 59, f'"{"x" * 56}...'),
    ],
    ids=str,
)
def test_a_value_is_shown_short_and_with_its_type(value, shown):
    assert found(value) == shown
