"""A corpus from Postgres: both tables in one read-only transaction, so that the snapshot is of one moment."""

import json
from collections.abc import Iterator
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import set_json_loads

from eval_pipeline.corpus.rows import EntryRow, SignalRow, live_rows, signal_of
from eval_pipeline.corpus.snapshot import Snapshot, snapshot_of
from eval_pipeline.errors import CorpusIncomplete, CorpusUnreachable, MalformedCorpus
from eval_pipeline.jsonl import found
from eval_pipeline.records import Entry

CONNECT_TIMEOUT_S = 10
_ROWS_AT_ONCE = 2000
_TABLES = ("raw_sources", "signals")
_SHOWN = frozenset({"host", "hostaddr", "port", "dbname", "user", "service", "sslmode"})
_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})
_LONGEST_INTEGER = 100  # digits; a longer number is no offset, and some are longer than Python reads

# Workspace and band stand in source_metadata, at the top or under "capture".
_ENTRIES: LiteralString = """
    SELECT lookup_key::text, content, deleted_at IS NOT NULL,
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
_SIGNALS: LiteralString = (
    "SELECT lookup_key::text, entry_id::text, content, provenance, deleted_at IS NOT NULL FROM signals"
)


def is_dsn(source: str) -> bool:
    """Whether a corpus was named as a database: by a URL, or by key=value pairs as libpq takes them."""
    return "://" in source or ("=" in source and "/" not in source.split("=", 1)[0])


def without_password(dsn: str) -> str:
    """The DSN as it may be shown and recorded: what says where the database is, and nothing of how one gets in.

    Raises: CorpusUnreachable: see `parsed`.
    """
    return make_conninfo(**{name: str(value) for name, value in parsed(dsn).items() if name in _SHOWN})


def connectable(dsn: str) -> str:
    """The DSN with every option but the secret ones: it names the same database, and may be recorded.

    Raises: CorpusUnreachable: see `parsed`.
    """
    return make_conninfo(**{name: str(value) for name, value in parsed(dsn).items() if name not in _SECRETS})


def password_of(dsn: str) -> str | None:
    """The password within a DSN, or None.

    Raises: CorpusUnreachable: see `parsed`.
    """
    password = parsed(dsn).get("password")
    return str(password) if password else None


def parsed(dsn: str) -> dict[str, Any]:
    """The parts of a DSN.

    Raises: CorpusUnreachable: it cannot be taken apart, or a mark of the password has ended up in another part; neither
        is quoted, since nobody could say where in it the password stands.
    """
    try:
        parts = conninfo_to_dict(dsn.strip())
        if not any("@" in str(value) for name, value in parts.items() if name not in ("user", "password")):
            return dict(parts)
    except psycopg.Error:
        pass
    raise CorpusUnreachable(
        "the corpus DSN cannot be taken apart; write postgresql://user@host:port/database, with every special character"
        " of a name or password percent-encoded"
    )


def read_database(dsn: str) -> Snapshot:
    """The snapshot of a database; one without either table is an empty corpus.

    Raises:
        CorpusUnreachable: the database does not answer, refuses, or ends the transaction half way.
        CorpusIncomplete: one of the two tables is missing, or lacks a column.
        MalformedCorpus: a row without key or text, or two rows of one table with the same key.

    """
    shown = without_password(dsn)
    try:
        with psycopg.connect(dsn.strip(), connect_timeout=CONNECT_TIMEOUT_S) as connection:
            set_json_loads(_json, connection)
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


def _json(data: bytes | str) -> Any:
    return json.loads(data, parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_INTEGER else float(digits))


def _tables(connection: psycopg.Connection[Any]) -> list[str]:
    """Those of the two tables that this user can see.

    Raises: CorpusUnreachable: one exists that this user may not see, which is not the same as there being none.
    """
    names = connection.execute(
        """SELECT name, to_regclass(name) IS NOT NULL, (
               SELECT min(relnamespace::regnamespace::text) FROM pg_class
               WHERE relname = name AND relkind IN ('r', 'p', 'v', 'm', 'f'))
           FROM unnest(%s::text[]) AS name""",
        [list(_TABLES)],
    ).fetchall()
    for name, visible, schema in names:
        if schema and not visible:
            raise CorpusUnreachable(
                f"table {name} stands in schema {schema!r}, which this user may not use or search; grant USAGE on it,"
                " or set search_path"
            )
    return [name for name, visible, _ in names if visible]


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
