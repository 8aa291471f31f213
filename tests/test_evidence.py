"""Evidence has the same bytes for the same content, reads back as what it was, and is never half a file."""

import json
import os
import resource
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.errors import OutputRefused
from eval_pipeline.evidence import json_bytes, read_json, read_table, table_bytes, write_atomically
from eval_pipeline.records import Interval, Outcome, Verdict

LAW = settings(deadline=None, derandomize=True, max_examples=60)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("n", pa.int64()),
        pa.field("texts", pa.list_(pa.field("element", pa.string()))),
    ],
    metadata={"corpus": "e3b0c442"},
)
ROWS = [
    {"id": "é-1", "n": 2**53 + 1, "texts": ["a", "\U0001f600"]},
    {"id": "e-2", "n": None, "texts": []},
    {"id": "e-3", "n": -1, "texts": None},
]
TABLE = pa.Table.from_pylist(ROWS, schema=SCHEMA)
VERDICT = Verdict(
    claim="recall",
    outcome=Outcome.PASS,
    reason=None,
    detail="fünf",
    estimate=Fraction(1, 3),
    numerator=1,
    denominator=3,
    interval=Interval(Fraction(0), 0.1, 0.95),
    threshold=Fraction(4, 5),
    advisory=False,
)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def a_disk_that_takes_4096_bytes_of_a_file():
    """The kernel refuses what goes beyond, as it does on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_table_has_the_same_bytes_twice():
    again = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    assert table_bytes(TABLE) == table_bytes(again)


@pytest.mark.parametrize("rows", [10, 100_000])
def test_how_a_table_was_put_together_plays_no_part_in_its_bytes(rows):
    whole = pa.table({"n": list(range(rows)), "s": [None if i % 7 == 0 else f"text {i % 91}" for i in range(rows)]})
    parts = pa.concat_tables([whole.slice(0, rows // 3), whole.slice(rows // 3, 1), whole.slice(rows // 3 + 1)])
    assert parts["n"].num_chunks == 3
    assert table_bytes(parts) == table_bytes(whole)


def test_another_process_writes_the_same_table():
    program = (
        "import sys, pyarrow as pa\n"
        "from eval_pipeline.evidence import table_bytes\n"
        "sys.stdout.buffer.write(table_bytes(pa.table({'a': [1, None], 'b': ['x', 'y']})))"
    )
    written = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
    assert written == table_bytes(pa.table({"a": [1, None], "b": ["x", "y"]}))


def test_a_table_reads_back_with_its_types_and_metadata(tmp_path):
    path = tmp_path / "t.parquet"
    write_atomically(path, table_bytes(TABLE))
    read = read_table(path)
    assert read.equals(TABLE, check_metadata=True)
    assert read.to_pylist() == ROWS


def test_a_table_of_no_rows_keeps_its_columns(tmp_path):
    path = tmp_path / "t.parquet"
    write_atomically(path, table_bytes(SCHEMA.empty_table()))
    assert read_table(path).schema.equals(SCHEMA, check_metadata=True)


def test_other_metadata_makes_other_bytes():
    assert table_bytes(TABLE.replace_schema_metadata({"corpus": "other"})) != table_bytes(TABLE)


def test_duckdb_reads_the_same_rows(tmp_path):
    path = tmp_path / "t.parquet"
    write_atomically(path, table_bytes(TABLE))
    rows = duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    assert rows == [tuple(row.values()) for row in ROWS]


def test_findings_have_the_same_bytes_twice_and_end_in_a_line_end():
    data = json_bytes(VERDICT, Verdict)
    assert data == json_bytes(VERDICT, Verdict)
    assert data.endswith(b"}\n")
    assert json.loads(data)["detail"] == "fünf"
    assert "fünf".encode() in data


def test_fractions_are_kept_exactly_as_text():
    fields = json.loads(json_bytes(VERDICT, Verdict))
    assert (fields["estimate"], fields["threshold"]) == ("1/3", "4/5")
    assert fields["interval"] == {"low": "0", "high": 0.1, "level": 0.95}


def test_findings_read_back_as_what_they_were():
    read = read_json(json_bytes(VERDICT, Verdict), Verdict)
    assert read == VERDICT
    assert type(read.interval.low) is Fraction
    assert type(read.interval.high) is float


NUMBERS = st.none() | st.fractions() | st.floats(allow_nan=False, allow_infinity=False)


@LAW
@given(NUMBERS, NUMBERS)
def test_every_interval_reads_back_exactly_and_writes_the_same_again(low, high):
    interval = Interval(low, high, 0.95)
    data = json_bytes(interval, Interval)
    read = read_json(data, Interval)
    assert read == interval
    assert [type(read.low), type(read.high)] == [type(low), type(high)]
    assert json_bytes(read, Interval) == data


@pytest.mark.parametrize("end", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_is_refused_and_never_written_as_an_open_end(end):
    with pytest.raises(ValueError):  # noqa: PT011
        json_bytes(Interval(end, 1.0, 0.95), Interval)


def test_a_file_is_written_into_folders_that_are_made_for_it(tmp_path):
    path = tmp_path / "a" / "b" / "f.json"
    write_atomically(path, b"whole")
    assert path.read_bytes() == b"whole"
    assert names_in(path.parent) == ["f.json"]


def test_a_file_that_is_given_in_parts_is_their_whole_and_none_of_them_where_they_break_off(tmp_path):
    def parts(whole):
        yield from (b"one ", b"two")
        if not whole:
            raise RuntimeError("broke off")

    path = tmp_path / "f"
    write_atomically(path, parts(whole=True))
    assert path.read_bytes() == b"one two"
    with pytest.raises(RuntimeError, match="broke off"):
        write_atomically(path, parts(whole=False))
    assert (path.read_bytes(), [found.name for found in tmp_path.iterdir()]) == (b"one two", ["f"])


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = tmp_path / "f"
    write_atomically(path, b"a long first content")
    write_atomically(path, b"short")
    assert path.read_bytes() == b"short"
    assert names_in(tmp_path) == ["f"]


def test_others_may_read_what_was_written_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "f", b"x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o644


def test_a_folder_that_is_a_file_is_refused_and_left_as_it_is(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_bytes(b"old")
    for path in (blocked / "f", blocked / "deeper" / "f"):
        with pytest.raises(
            OutputRefused, match=r"cannot be written \(.+\); make room, or name another folder"
        ) as refusal:
            write_atomically(path, b"new")
        assert str(refusal.value).startswith(repr(str(path)))
    assert blocked.read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


def test_a_target_that_is_a_folder_is_refused_and_left_as_it_is(tmp_path):
    target = tmp_path / "target"
    target.mkdir()
    (target / "inside").write_bytes(b"old")
    with pytest.raises(OutputRefused, match="Is a directory"):
        write_atomically(target, b"new")
    assert names_in(tmp_path) == ["target"]
    assert (target / "inside").read_bytes() == b"old"


def test_a_disk_that_refuses_half_way_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "f"
    write_atomically(path, b"old")
    with a_disk_that_takes_4096_bytes_of_a_file(), pytest.raises(OutputRefused, match="File too large"):
        write_atomically(path, b"n" * 1_000_000)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["f"]


def test_a_disk_that_refuses_the_first_write_leaves_no_file_at_all(tmp_path):
    with a_disk_that_takes_4096_bytes_of_a_file(), pytest.raises(OutputRefused):
        write_atomically(tmp_path / "f", b"n" * 5_000)
    assert names_in(tmp_path) == []


def test_a_failure_that_is_not_the_disks_is_passed_on_and_leaves_nothing_behind(tmp_path):
    path = tmp_path / "f"
    write_atomically(path, b"old")
    with pytest.raises(TypeError):
        write_atomically(path, "text, not bytes")  # type: ignore[arg-type]
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["f"]


def test_a_reader_meanwhile_sees_one_whole_file_or_the_other(tmp_path):
    path = tmp_path / "f"
    contents = {bytes([letter]) * 200_000 for letter in b"ab"}
    write_atomically(path, min(contents))
    seen, done = set(), threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for _ in range(20):
            for content in sorted(contents):
                write_atomically(path, content)
    finally:
        done.set()
        reader.join()
    assert seen
    assert seen <= contents
