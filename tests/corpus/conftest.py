"""The same corpus as a folder and as a database, from the lines of the two files."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.types.json import Json

SAMPLE = Path(__file__).parents[2] / "data" / "sample"

Row = dict[str, Any]

_TABLES = """
    CREATE TABLE raw_sources (
        lookup_key text {key}, title text, content text, source_metadata {json}, deleted_at timestamptz
    );
    CREATE TABLE signals (
        lookup_key text {key}, entry_id text, content text, provenance {json}, deleted_at timestamptz,
        created_at timestamptz DEFAULT now()
    );
"""


def _at_the_top(row: Row) -> Row:
    return {"workspace": row.get("workspace"), "band": row.get("band"), "tool": "notes"}


@pytest.fixture(scope="session")
def create_tables() -> Callable[..., None]:
    """Creates both empty tables; `key` is what stands after the key's type, `json` the type of the JSON columns."""

    def create(dsn: str, *, key: str = "PRIMARY KEY", json: str = "jsonb") -> None:
        with psycopg.connect(dsn) as connection:
            connection.execute(_TABLES.format(key=key, json=json))

    return create


@pytest.fixture(scope="session")
def fill_tables() -> Callable[..., None]:
    """Writes lines of the two files into the tables; `metadata` says where workspace and band go."""

    def fill(
        dsn: str, entries: Iterable[Row], signals: Iterable[Row], *, metadata: Callable[[Row], Any] = _at_the_top
    ) -> None:
        with psycopg.connect(dsn) as connection, connection.cursor() as cursor:
            with cursor.copy("COPY raw_sources (lookup_key, content, source_metadata, deleted_at) FROM STDIN") as copy:
                for row in entries:
                    copy.write_row((row["lookup_key"], row["content"], Json(metadata(row)), row.get("deleted_at")))
            with cursor.copy("COPY signals (lookup_key, entry_id, content, provenance, deleted_at) FROM STDIN") as copy:
                for row in signals:
                    provenance = None if row.get("provenance") is None else Json(row["provenance"])
                    copy.write_row(
                        (row["lookup_key"], row["entry_id"], row["content"], provenance, row.get("deleted_at"))
                    )

    return fill


@pytest.fixture
def corpus_database(
    fresh_database: Callable[[], str], create_tables: Callable[..., None], fill_tables: Callable[..., None]
) -> Callable[..., str]:
    """The DSN of a fresh database that holds the lines; further arguments go to the two fixtures above."""

    def build(entries: Iterable[Row], signals: Iterable[Row], *, metadata: Any = _at_the_top, **types: str) -> str:
        dsn = fresh_database()
        create_tables(dsn, **types)
        fill_tables(dsn, entries, signals, metadata=metadata)
        return dsn

    return build


@pytest.fixture
def corpus_folder(tmp_path: Path) -> Callable[[Iterable[Row], Iterable[Row]], Path]:
    """A folder that holds the lines."""

    def build(entries: Iterable[Row], signals: Iterable[Row]) -> Path:
        for name, rows in (("entries.jsonl", entries), ("signals.jsonl", signals)):
            lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
            (tmp_path / name).write_text("".join(lines), encoding="utf-8", newline="\n")
        return tmp_path

    return build


@pytest.fixture(scope="session")
def sample() -> tuple[list[Row], list[Row]]:
    """The lines of the bundled sample: entries and signals."""
    entries, signals = (
        [json.loads(line) for line in (SAMPLE / name).read_text(encoding="utf-8").splitlines()]
        for name in ("entries.jsonl", "signals.jsonl")
    )
    return entries, signals
