"""Tables a part at a time: the same rows in the same order as at once."""

import pyarrow as pa

from eval_pipeline.evidence import table_bytes
from eval_pipeline.tables import PART, records, rows_where, rows_where_both, table_of

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string()), ("list", pa.list_(pa.string()))])
ROWS = [{"n": n, "text": None if n % 7 == 0 else f"t{n % 5}", "list": ["x"] * (n % 3)} for n in range(2 * PART + 1)]


def test_a_table_of_parts_has_the_bytes_of_a_table_made_at_once() -> None:
    for rows in (ROWS, ROWS[:3], []):
        assert table_bytes(table_of(iter(rows), SCHEMA)) == table_bytes(pa.Table.from_pylist(rows, schema=SCHEMA))


def test_the_metadata_of_the_schema_stays() -> None:
    assert table_of([], SCHEMA.with_metadata({"a": "b"})).schema.metadata == {b"a": b"b"}


def test_records_are_the_rows_in_their_order_of_all_columns_or_of_some() -> None:
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    assert list(records(table)) == ROWS
    assert list(records(table, ["n"])) == [{"n": row["n"]} for row in ROWS]


def test_rows_are_found_by_what_one_or_two_columns_hold() -> None:
    table = pa.Table.from_pylist(ROWS, schema=SCHEMA)
    found = rows_where(table, "text", ["t1", "t2"])
    assert found["n"].to_pylist() == [row["n"] for row in ROWS if row["text"] in ("t1", "t2")]
    both = rows_where_both(table, ("text", ["t1"]), ("n", range(20)), columns=["n"])
    assert both.to_pylist() == [{"n": n} for n in (1, 6, 11, 16)]
    assert rows_where(table, "text", []).num_rows == 0
