"""A corpus from Postgres: both tables in one read-only transaction, so that the snapshot is of one moment."""

from collections.abc import Iterator
from typing import Any, LiteralString
from urllib.parse import unquote, urlsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from eval_pipeline.corpus.rows import EntryRow, SignalRow, live_rows, signal_of
from eval_pipeline.corpus.snapshot import Snapshot, snapshot_of
from eval_pipeline.errors import CorpusIncomplete, CorpusUnreachable, MalformedCorpus
from eval_pipeline.jsonl import found
from eval_pipeline.records import Entry

CONNECT_TIMEOUT_S = 10
_ROWS_AT_ONCE = 2000
_TABLES = ("raw_sources", "signals")

# Workspace and band stand in source_metadata, at the top or under "capture".
_ENTRIES: LiteralString = """
    SELECT lookup_key, content, deleted_at IS NOT NULL,
           coalesce(source_metadata #>> %(workspace)s, source_metadata #>> %(capture_workspace)s),
           coalesce(source_metadata #>> %(band)s, source_metadata #>> %(capture_band)s)
    FROM raw_sources
"""
_ENTRY_PATHS = {
    "workspace": ["workspace"],
    "capture_workspace": ["capture", "workspace"],
    "band": ["band"],
    "capture_band": ["capture", "band"],
}
_SIGNALS: LiteralString = "SELECT lookup_key, entry_id, content, provenance, deleted_at IS NOT NULL FROM signals"


def is_dsn(source: str) -> bool:
    """Whether a corpus was named as a database: a postgres URL, or key=value pairs as libpq takes them."""
    return source.startswith(("postgresql://", "postgres://")) or ("=" in source and "/" not in source.split("=", 1)[0])


def without_password(dsn: str) -> str:
    """The DSN as it may be shown and recorded; what is not a DSN is shown by its host alone, or not at all."""
    try:
        parts = {key: value for key, value in conninfo_to_dict(dsn).items() if key not in ("password", "sslpassword")}
        return make_conninfo(**{key: str(value) for key, value in parts.items()})
    except psycopg.Error:
        return "a DSN that cannot be parsed"


def password_of(dsn: str) -> str | None:
    """The password within a DSN, or None."""
    try:
        password = conninfo_to_dict(dsn).get("password")
    except psycopg.Error:
        password = urlsplit(dsn).password if "://" in dsn else None
        return unquote(password) if password else None
    return str(password) if password else None


def read_database(dsn: str) -> Snapshot:
    """The snapshot of a database; one without either table is an empty corpus.

    Raises:
        CorpusUnreachable: the database does not answer, refuses, or ends the transaction half way.
        CorpusIncomplete: one of the two tables is missing, or lacks a column.
        MalformedCorpus: a row without key or text, or two rows of one table with the same key.

    """
    shown = without_password(dsn)
    try:
        with psycopg.connect(dsn, connect_timeout=CONNECT_TIMEOUT_S) as connection:
            connection.read_only = True
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            present = _tables(connection)
            if len(present) == 1:
                missing = next(name for name in _TABLES if name not in present)
                raise CorpusIncomplete(
                    f"database ({shown}) holds table {present[0]} and no table {missing}; restore the whole corpus"
                )
            if not present:
                return snapshot_of(live_rows([], []), source=shown)
            rows = live_rows(_entries(connection), _signals(connection))
    except psycopg.errors.UndefinedColumn as error:
        raise CorpusIncomplete(
            f"database ({shown}) lacks a column: {_first_line(error)}; expected the columns that the README names"
        ) from None
    except psycopg.Error as error:
        raise CorpusUnreachable(
            f"database ({shown}) cannot be read: {_first_line(error)}; check that it runs and that the user may read"
        ) from None
    return snapshot_of(rows, source=shown)


def _first_line(error: psycopg.Error) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    found_names = connection.execute(
        "SELECT name FROM unnest(%s::text[]) AS name WHERE to_regclass(name) IS NOT NULL", [list(_TABLES)]
    )
    return [name for (name,) in found_names]


def _rows(
    connection: psycopg.Connection[Any], table: str, query: LiteralString, paths: dict[str, list[str]]
) -> Iterator[tuple[Any, ...]]:
    seen: set[str] = set()
    with connection.cursor(name=f"eval_pipeline_{table}") as cursor:
        cursor.itersize = _ROWS_AT_ONCE
        for row in cursor.execute(query, paths):
            required = row[:2] if table == "raw_sources" else row[:3]
            if None in required or "" in required[:1]:
                raise MalformedCorpus(
                    f"table {table}", [f"row {found(row[0])}: found a null, expected a value in each of key and text"]
                )
            if row[0] in seen:
                raise MalformedCorpus(
                    f"table {table}", [f"field 'lookup_key': found {found(row[0])} twice, expected it once"]
                )
            seen.add(row[0])
            yield row


def _entries(connection: psycopg.Connection[Any]) -> Iterator[EntryRow]:
    for key, content, deleted, workspace, band in _rows(connection, "raw_sources", _ENTRIES, _ENTRY_PATHS):
        yield EntryRow(Entry(key, workspace, band, content), deleted)


def _signals(connection: psycopg.Connection[Any]) -> Iterator[SignalRow]:
    for key, entry_id, content, provenance, deleted in _rows(connection, "signals", _SIGNALS, {}):
        yield SignalRow(signal_of(key, entry_id, content, provenance), deleted)
