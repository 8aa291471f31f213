"""Tables a part at a time: of a table of a million rows there need never be a million records."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

PART = 8192  # rows that are records at the same time


def records(table: pa.Table, columns: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """The rows as records in their order, of some columns or of all."""
    for batch in table.select(columns or table.column_names).to_batches(max_chunksize=PART):
        yield from batch.to_pylist()


def rows_where(table: pa.Table, column: str, values: Iterable[Any]) -> pa.Table:
    """The rows whose column holds one of these values, in their order."""
    return table.filter(_holds(table, column, values))


def rows_where_both(
    table: pa.Table, first: tuple[str, Iterable[Any]], second: tuple[str, Iterable[Any]], *, columns: Sequence[str]
) -> pa.Table:
    """Some columns of the rows that two columns of them hold one of their values in, in their order."""
    return table.select(columns).filter(pc.and_(_holds(table, *first), _holds(table, *second)))


def _holds(table: pa.Table, column: str, values: Iterable[Any]) -> Any:
    wanted = pa.array(list(values), type=table.schema.field(column).type)
    return pc.is_in(table[column], value_set=wanted)


def table_of(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The table of these records; each column is one piece of memory, as the file that is made of it supposes."""
    rest = iter(rows)
    parts = []
    while part := list(islice(rest, PART)):
        parts.append(pa.RecordBatch.from_pylist(part, schema=schema))
    return pa.Table.from_batches(parts, schema).combine_chunks()
