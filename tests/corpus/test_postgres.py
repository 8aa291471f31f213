"""A database is read in one read-only moment, to the same snapshot as a folder, and its password is never shown."""

import random
import re
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Json

from eval_pipeline.corpus import postgres as reading
from eval_pipeline.corpus.folder import read_folder
from eval_pipeline.corpus.postgres import connectable, is_dsn, password_of, read_database, without_password
from eval_pipeline.corpus.rows import LeftOut
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.corpus.source import pinned
from eval_pipeline.errors import CorpusIncomplete, CorpusUnreachable, MalformedCorpus
from eval_pipeline.evidence import read_table, table_bytes, write_atomically
from eval_pipeline.records import Entry, Signal

Build = Callable[..., Any]
Row = dict[str, Any]

ENTRY = {"lookup_key": "e1", "workspace": "w", "band": "triage", "content": "Long note."}
SIGNAL = {"lookup_key": "s1", "entry_id": "e1", "content": "Short.", "provenance": {"span": {"start": 0, "end": 4}}}


def execute(dsn: str, statement: str, values: tuple[Any, ...] | None = None) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(statement.encode(), values)


def url_of(dsn: str) -> str:
    part = conninfo_to_dict(dsn)
    return f"postgresql://{part['user']}:{part['password']}@{part['host']}:{part['port']}/{part['dbname']}"


def under_capture(row: Row) -> Row:
    return {"capture": {"workspace": row["workspace"], "band": row["band"], "at": "desk"}, "band": None}


def top_and_capture(row: Row) -> Row:
    return {"capture": {"band": row["band"]}, "workspace": row["workspace"]}


def scrambled(rows: list[Row]) -> list[Row]:
    """The rows in another order, and the keys of each object too, within it as well."""
    shuffled = random.Random(11)

    def turned(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: turned(value[name]) for name in shuffled.sample(sorted(value), k=len(value))}

    return [turned(row) for row in shuffled.sample(rows, k=len(rows))]


@pytest.mark.parametrize("types", [{"json": "jsonb"}, {"json": "json", "key": ""}], ids=["jsonb", "json"])
@pytest.mark.parametrize(
    "metadata",
    [lambda row: {"workspace": row["workspace"], "band": row["band"]}, under_capture, top_and_capture],
    ids=["at_the_top", "under_capture", "one_in_each_place"],
)
def test_the_sample_gives_one_hash_from_its_folder_and_from_postgres(
    corpus_folder: Build, corpus_database: Build, sample: tuple[list[Row], list[Row]], metadata: Any, types: Any
):
    folder = read_folder(corpus_folder(*sample))
    database = read_database(corpus_database(*map(scrambled, sample), metadata=metadata, **types))
    assert database.hash == folder.hash
    assert database.left_out == folder.left_out
    assert database.left_out.deleted_signals > 0


def test_spans_that_are_none_give_one_hash_whatever_the_order_of_keys(corpus_folder: Build, corpus_database: Build):
    spans = [{"start": "1", "end": 2}, {"start": 1.5, "end": 2}, {"start": True, "end": 2}, {"start": 1}, [1, 2], "1-2"]
    signals = [SIGNAL | {"lookup_key": f"s{n}", "provenance": {"span": span}} for n, span in enumerate(spans)]
    folder = read_folder(corpus_folder([ENTRY], signals))
    faults = [signal.span_fault for signal in folder.signals]
    assert faults == [
        'recorded as {"end":2,"start":"1"}',
        'recorded as {"end":2,"start":1.5}',
        'recorded as {"end":2,"start":true}',
        'recorded as {"start":1}',
        "recorded as [1,2]",
        'recorded as "1-2"',
    ]
    for types in ({"json": "jsonb"}, {"json": "json"}):
        assert read_database(corpus_database([ENTRY], scrambled(signals), **types)).hash == folder.hash


@pytest.mark.parametrize(
    ("metadata", "workspace", "band"),
    [
        pytest.param({"workspace": "w", "band": "triage"}, "w", "triage", id="at_the_top"),
        pytest.param({"capture": {"workspace": "w", "band": "triage"}}, "w", "triage", id="under_capture"),
        pytest.param({"band": None, "capture": {"band": "triage"}}, None, "triage", id="null_at_the_top"),
        pytest.param({"capture": "desk"}, None, None, id="capture_is_a_text"),
        pytest.param({"capture": None, "Band": "triage"}, None, None, id="neither"),
        pytest.param({}, None, None, id="empty"),
        pytest.param([], None, None, id="list"),
        pytest.param(None, None, None, id="json_null"),
    ],
)
def test_workspace_and_band_stand_at_the_top_or_under_capture(
    corpus_database: Build, metadata: Any, workspace: str | None, band: str | None
):
    dsn = corpus_database([ENTRY], [SIGNAL], metadata=lambda _: metadata)
    assert read_database(dsn).entries == (Entry("e1", workspace, band, "Long note."),)


def test_an_entry_without_metadata_has_neither_workspace_nor_band(corpus_database: Build):
    dsn = corpus_database([ENTRY], [])
    execute(dsn, "UPDATE raw_sources SET source_metadata = NULL")
    assert read_database(dsn).entries == (Entry("e1", None, None, "Long note."),)


def test_a_signal_is_read_with_the_span_of_its_provenance(corpus_database: Build):
    signals = [SIGNAL, SIGNAL | {"lookup_key": "s2", "provenance": None}]
    assert read_database(corpus_database([ENTRY], signals)).signals == (
        Signal("s1", "e1", "Short.", 0, 4, None),
        Signal("s2", "e1", "Short.", None, None, None),
    )


@pytest.mark.parametrize(
    "provenance",
    ['{"span": {"start": 0, "end": 4}}', [{"span": {"start": 0, "end": 4}}]],
    ids=["json_within_a_text", "list"],
)
def test_provenance_that_is_no_object_is_a_fault_as_it_is_in_a_folder(corpus_database: Build, provenance: Any):
    """A client that encodes JSON twice would otherwise lose every span without a word."""
    dsn = corpus_database([ENTRY], [SIGNAL | {"provenance": provenance}])
    try:
        faults = [signal.span_fault or "none" for signal in read_database(dsn).signals]
    except MalformedCorpus as refused:
        faults = list(refused.faults)
    assert [fault for fault in faults if "provenance" in fault or fault.startswith("recorded as ")] == faults != []


@pytest.mark.parametrize("end", ["9223372036854775808", "1e400", "1e5000"])
def test_a_span_past_what_a_table_can_hold_does_not_end_the_reading(corpus_database: Build, end: str):
    dsn = corpus_database([ENTRY], [SIGNAL])
    execute(dsn, f'UPDATE signals SET provenance = \'{{"span": {{"start": 0, "end": {end}}}}}\'')
    try:
        snapshot = read_database(dsn)
    except MalformedCorpus:
        return
    assert [signal.span_fault is not None for signal in snapshot.signals] == [True]
    assert snapshot.to_table().num_rows == 2


def test_deleted_orphaned_and_blank_rows_are_left_out_and_counted(corpus_database: Build):
    gone = {"deleted_at": "2024-05-01T10:00:00Z"}
    dsn = corpus_database(
        [ENTRY, ENTRY | {"lookup_key": "e2"} | gone, ENTRY | {"lookup_key": "e3"} | gone],
        [
            SIGNAL,
            SIGNAL | {"lookup_key": "s2"} | gone,
            SIGNAL | {"lookup_key": "s3", "entry_id": "e2"},
            SIGNAL | {"lookup_key": "s4", "entry_id": "e9"},
            SIGNAL | {"lookup_key": "s5", "content": " \n"},
        ],
    )
    snapshot = read_database(dsn)
    assert [entry.id for entry in snapshot.entries] == ["e1"]
    assert [signal.id for signal in snapshot.signals] == ["s1"]
    assert snapshot.left_out == LeftOut(deleted_entries=2, deleted_signals=1, orphan_signals=2, blank_signals=1)


HOSTILE = (
    "'; DROP TABLE raw_sources; --",
    "\"quoted\" 'twice' $$dollar$$ E'\\\\' \\N \\. \\",
    "%s %(band)s %% {} {0} $1 :name ?",
    "tab\tline\nreturn\r\nend \x01\x1b[31m\x7f",
    "\u202eright to left\u202c \u200bno width\ufeff e\u0301 \uffff",
    "👩\u200d🔬🇳🇴 \U0010ffff",
    "NULL",
    " lead and trail ",
)


def test_hostile_keys_and_texts_survive_the_way_to_parquet_and_back(corpus_database: Build, tmp_path: Path):
    long = "Ø'\"\\" * 250_000  # 1,000,000 characters
    texts = [*HOSTILE, long]
    entries = [
        {"lookup_key": text[:100], "workspace": text[:100], "band": text[:100], "content": text} for text in texts
    ]
    signals = [{"lookup_key": text[:100], "entry_id": text[:100], "content": text} for text in texts]
    dsn = corpus_database(entries, signals)
    snapshot = read_database(dsn)
    write_atomically(tmp_path / "corpus.parquet", table_bytes(snapshot.to_table()))
    again = Snapshot.from_table(read_table(tmp_path / "corpus.parquet"))
    assert again == snapshot == read_database(dsn)
    assert set(again.entries) == {Entry(text[:100], text[:100], text[:100], text) for text in texts}
    assert set(again.signals) == {Signal(text[:100], text[:100], text, None, None, None) for text in texts}


@pytest.mark.parametrize("table", ["raw_sources", "signals"])
def test_a_key_that_stands_twice_in_a_table_without_a_primary_key_is_refused(corpus_database: Build, table: str):
    dsn = corpus_database([ENTRY], [SIGNAL], key="")
    execute(dsn, f"INSERT INTO {table} SELECT * FROM {table}")
    with pytest.raises(MalformedCorpus, match=rf"table {table} has 1 fault: field 'lookup_key': found \".1\" twice"):
        read_database(dsn)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("raw_sources", "lookup_key", None),
        ("raw_sources", "lookup_key", ""),
        ("raw_sources", "content", None),
        ("signals", "lookup_key", None),
        ("signals", "lookup_key", ""),
        ("signals", "entry_id", None),
        ("signals", "content", None),
    ],
)
def test_a_row_without_key_or_text_is_refused_with_its_table(
    corpus_database: Build, table: str, column: str, value: str | None
):
    dsn = corpus_database([ENTRY], [SIGNAL], key="")
    execute(dsn, f"UPDATE {table} SET {column} = %s", (value,))
    with pytest.raises(MalformedCorpus, match=rf"table {table} has 1 fault: row .+ expected a value in each of key"):
        read_database(dsn)


@pytest.mark.parametrize("type_", ["bigint", "uuid"])
def test_keys_of_another_type_are_refused_or_read_as_text(fresh_database: Build, create_tables: Build, type_: str):
    """Whatever is decided of them, a snapshot that was read can be hashed and written."""
    dsn = fresh_database()
    create_tables(dsn, key="")
    key = {"bigint": "7", "uuid": "6f1c1f0e-0b6e-4a8c-9a53-6a0f2d1d8b11"}[type_]
    for table, column in (("raw_sources", "lookup_key"), ("signals", "lookup_key"), ("signals", "entry_id")):
        execute(dsn, f"ALTER TABLE {table} ALTER {column} TYPE {type_} USING {column}::{type_}")
    execute(dsn, f"INSERT INTO raw_sources (lookup_key, content) VALUES ('{key}', 'Long note.')")
    execute(dsn, f"INSERT INTO signals (lookup_key, entry_id, content) VALUES ('{key}', '{key}', 'Short.')")
    try:
        snapshot = read_database(dsn)
    except (CorpusIncomplete, MalformedCorpus):
        return
    assert snapshot.entries == (Entry(key, None, None, "Long note."),)
    assert Snapshot.from_table(snapshot.to_table()).hash == snapshot.hash


def test_both_tables_without_rows_are_an_empty_corpus(fresh_database: Build, create_tables: Build):
    dsn = fresh_database()
    create_tables(dsn)
    snapshot = read_database(dsn)
    assert (snapshot.entries, snapshot.signals, snapshot.refusal) == ((), (), None)


def test_a_database_without_either_table_is_an_empty_corpus(fresh_database: Build):
    snapshot = read_database(fresh_database())
    assert (snapshot.entries, snapshot.signals, snapshot.refusal) == ((), (), None)


@pytest.mark.parametrize(("present", "missing"), [("raw_sources", "signals"), ("signals", "raw_sources")])
def test_one_table_alone_is_half_a_corpus(corpus_database: Build, present: str, missing: str):
    dsn = corpus_database([ENTRY], [SIGNAL])
    execute(dsn, f"DROP TABLE {missing}")
    with pytest.raises(CorpusIncomplete, match=f"holds table {present} and no table {missing}; restore the whole"):
        read_database(dsn)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        ("raw_sources", "lookup_key"),
        ("raw_sources", "content"),
        ("raw_sources", "deleted_at"),
        ("raw_sources", "source_metadata"),
        ("signals", "lookup_key"),
        ("signals", "entry_id"),
        ("signals", "content"),
        ("signals", "provenance"),
        ("signals", "deleted_at"),
    ],
)
def test_a_missing_column_is_half_a_corpus_and_is_named(corpus_database: Build, table: str, column: str):
    dsn = corpus_database([ENTRY], [SIGNAL])
    execute(dsn, f"ALTER TABLE {table} DROP COLUMN {column}")
    with pytest.raises(CorpusIncomplete, match=f'lacks a column: column "{column}" does not exist'):
        read_database(dsn)


def test_a_role_that_may_not_read_is_told_so(corpus_database: Build, postgres: Any, password: str):
    dsn = corpus_database([ENTRY], [SIGNAL])
    reader = postgres.role_with_password(dsn, password)
    execute(dsn, f"REVOKE ALL ON signals FROM {conninfo_to_dict(reader)['user']}")
    with pytest.raises(
        CorpusUnreachable, match=r"permission denied for table signals; check .+ that the user may read"
    ):
        read_database(reader)


def test_a_schema_that_a_role_may_not_look_into_is_unreachable_and_not_empty(
    corpus_database: Build, postgres: Any, password: str
):
    dsn = corpus_database([ENTRY], [SIGNAL])
    reader = postgres.role_with_password(dsn, password)
    execute(dsn, "REVOKE USAGE ON SCHEMA public FROM PUBLIC")
    with pytest.raises(CorpusUnreachable, match="schema 'public', which this user may not use"):
        read_database(reader)


RAISES_OUTSIDE_A_READ_ONLY_MOMENT = """
    CREATE FUNCTION the_moment() RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
        IF current_setting('transaction_isolation') <> 'repeatable read'
           OR current_setting('transaction_read_only') <> 'on' THEN
            RAISE EXCEPTION 'read outside a read-only moment';
        END IF;
        RETURN true;
    END $$;
"""


def test_both_tables_are_read_read_only_and_at_repeatable_read(corpus_database: Build):
    """Each table is a view over a function that raises in any other transaction."""
    dsn = corpus_database([ENTRY], [SIGNAL])
    expected = read_database(dsn)
    execute(dsn, RAISES_OUTSIDE_A_READ_ONLY_MOMENT)
    for table in ("raw_sources", "signals"):
        execute(dsn, f"ALTER TABLE {table} RENAME TO kept_{table}")
        execute(dsn, f"CREATE VIEW {table} AS SELECT * FROM kept_{table} WHERE the_moment()")
        with pytest.raises(psycopg.errors.RaiseException, match="outside a read-only moment"):
            execute(dsn, f"SELECT * FROM {table}")
    assert read_database(dsn) == expected


@pytest.fixture
def statements_while(postgres: Any) -> Callable[..., list[str]]:
    """Does something, and gives the statements that the server was given meanwhile for a database."""

    def listen(dsn: str, act: Callable[[], Any]) -> list[str]:
        name = str(conninfo_to_dict(dsn)["dbname"])
        with psycopg.connect(dsn) as connection:
            connection.execute(sql.SQL("ALTER DATABASE {} SET log_statement = 'all'").format(sql.Identifier(name)))
        heard = len(postgres.log.read_text(errors="replace"))
        act()
        lines = postgres.log.read_text(errors="replace")[heard:].splitlines()
        start = f"{name} LOG:"
        return [line.removeprefix(start).split(":", 1)[1].strip() for line in lines if line.startswith(start)]

    return listen


def test_the_whole_reading_is_one_transaction(corpus_database: Build, statements_while: Build):
    dsn = corpus_database([ENTRY], [SIGNAL])
    first, *others = statements_while(dsn, lambda: read_database(dsn))
    assert first == "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    assert [line for line in others if line.startswith(("BEGIN", "START", "COMMIT", "ROLLBACK"))] == ["COMMIT"]
    assert others[-1] == "COMMIT"


def interrupted_by(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], None]) -> None:
    """Lets something happen once raw_sources was read to its end and before signals is read."""
    signals = reading._signals

    def after(connection: psycopg.Connection[Any]) -> Iterator[Any]:
        meanwhile()
        yield from signals(connection)

    monkeypatch.setattr(reading, "_signals", after)


def test_what_is_committed_between_the_two_tables_is_of_another_moment(
    corpus_database: Build, monkeypatch: pytest.MonkeyPatch
):
    dsn = corpus_database([ENTRY], [SIGNAL])
    before = read_database(dsn)
    with monkeypatch.context() as patched:
        interrupted_by(
            patched,
            lambda: execute(
                dsn,
                "INSERT INTO signals (lookup_key, entry_id, content) VALUES ('s2', 'e1', 'New.');"
                "UPDATE signals SET content = 'Changed.', deleted_at = now() WHERE lookup_key = 's1';"
                "DELETE FROM raw_sources",
            ),
        )
        assert read_database(dsn) == before
    assert read_database(dsn).hash != before.hash


def test_what_is_committed_once_the_tables_were_found_is_of_another_moment(
    corpus_database: Build, monkeypatch: pytest.MonkeyPatch
):
    dsn = corpus_database([ENTRY], [SIGNAL])
    before, tables = read_database(dsn), reading._tables

    def then_emptied(connection: psycopg.Connection[Any]) -> list[str]:
        present = tables(connection)
        execute(dsn, "DELETE FROM raw_sources; DELETE FROM signals")
        return present

    monkeypatch.setattr(reading, "_tables", then_emptied)
    assert read_database(dsn) == before


def test_a_connection_that_is_ended_half_way_is_a_refusal_and_not_half_a_corpus(
    corpus_database: Build, monkeypatch: pytest.MonkeyPatch
):
    dsn = corpus_database([ENTRY], [SIGNAL])
    end = (
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    interrupted_by(monkeypatch, lambda: execute(dsn, end))
    with pytest.raises(CorpusUnreachable, match=r"cannot be read: .+; check that it runs"):
        read_database(dsn)


def test_five_thousand_rows_of_each_table_come_through_a_cursor_in_several_fetches(
    corpus_database: Build, statements_while: Build
):
    entries = [{"lookup_key": f"e{n:04}", "workspace": "w", "band": "triage", "content": "x"} for n in range(5000)]
    signals = [{"lookup_key": f"s{n:04}", "entry_id": f"e{n:04}", "content": f"text {n}"} for n in range(5000)]
    dsn = corpus_database(entries, signals)
    read: list[Snapshot] = []
    statements = statements_while(dsn, lambda: read.append(read_database(dsn)))
    assert [entry.id for entry in read[0].entries] == [entry["lookup_key"] for entry in entries]
    assert [(signal.entry_id, signal.content) for signal in read[0].signals] == [
        (signal["entry_id"], signal["content"]) for signal in signals
    ]
    fetches = [re.fullmatch(r'FETCH FORWARD (\d+) FROM "?eval_pipeline_(\w+?)"?', line) for line in statements]
    for table in ("raw_sources", "signals"):
        sizes = [int(fetch[1]) for fetch in fetches if fetch and fetch[2] == table]
        assert len(sizes) >= 3
        assert max(sizes) < 5000


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("postgresql://u@h/d", True),
        ("postgres://u@h/d", True),
        ("dbname=corpus", True),
        ("host=/run/postgresql dbname=corpus", True),
        ("sample", False),
        ("exports/corpus", False),
        ("/data/day=3", False),
        ("./day=3", False),
    ],
)
def test_a_source_is_a_database_if_it_is_a_url_or_pairs_as_libpq_takes_them(source: str, expected: bool):
    assert is_dsn(source) is expected


@pytest.mark.parametrize(
    ("dsn", "password"),
    [
        ("postgresql://u:pa%2Fss@h/d", "pa/ss"),
        ("postgresql://u@h/d?password=pass", "pass"),
        ("host=h password='pa ss' user=u", "pa ss"),
        ("postgresql://u@h/d", None),
        ("host=h user=u", None),
    ],
)
def test_the_password_within_a_dsn_is_found(dsn: str, password: str | None):
    assert password_of(dsn) == password


def test_a_dsn_without_its_password_still_names_the_same_database(
    corpus_database: Build, postgres: Any, password: str, monkeypatch: pytest.MonkeyPatch
):
    reader = postgres.role_with_password(corpus_database([ENTRY], [SIGNAL]), password)
    expected = read_database(reader)
    monkeypatch.setenv("PGPASSWORD", password)
    assert read_database(without_password(reader)) == expected


@pytest.mark.parametrize("take", [without_password, password_of])
@pytest.mark.parametrize("dsn", ["host=h password=pa ss", "host=h user", "postgresql://u:p@ss@h/d"])
def test_a_dsn_that_cannot_be_taken_apart_is_refused_and_not_quoted(take: Callable[[str], Any], dsn: str):
    with pytest.raises(CorpusUnreachable, match="cannot be taken apart") as refused:
        take(dsn)
    assert dsn not in str(refused.value)


@pytest.mark.parametrize("named", [str, url_of], ids=["pairs", "url"])
def test_a_password_that_opens_the_database_stands_nowhere_in_the_snapshot(
    corpus_database: Build, postgres: Any, password: str, named: Callable[[str], str]
):
    dsn = named(postgres.role_with_password(corpus_database([ENTRY], [SIGNAL]), password))
    snapshot = read_database(dsn)
    parts = conninfo_to_dict(dsn)
    assert conninfo_to_dict(snapshot.source) == {name: parts[name] for name in parts if name != "password"}
    assert password not in repr(snapshot)
    assert password.encode() not in table_bytes(snapshot.to_table())


def test_a_wrong_password_is_a_refusal_that_does_not_show_it(corpus_database: Build, postgres: Any, password: str):
    dsn = postgres.role_with_password(corpus_database([ENTRY], [SIGNAL]), "the right one")
    wrong = url_of(dsn).replace("the right one", password)
    with pytest.raises(CorpusUnreachable, match="password authentication failed") as refused:
        read_database(wrong)
    assert password not in str(refused.value)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on loopback that is held and where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


@pytest.mark.parametrize(
    "dsn",
    [
        pytest.param("postgresql://u:{}@127.0.0.1:{port}/d", id="url"),
        pytest.param("postgres://u@127.0.0.1:{port}/d?password={}", id="query"),
        pytest.param("host=127.0.0.1 port={port} user=u password={}", id="pairs"),
        pytest.param("host=127.0.0.1 port={port} user=u password='{} more'", id="quoted_pair"),
        pytest.param("host=127.0.0.1 port={port} user=u sslpassword={}", id="password_of_a_key"),
        pytest.param("postgresql://u@127.0.0.1:{port}/d?oauth_client_secret={}", id="client_secret"),
        pytest.param("postgresql://u:{}@127.0.0.1:{port}/d?no_such_option=1", id="unknown_option"),
        pytest.param("postgresql://u:{}@127.0.0.1:no_number/d", id="port_is_no_number"),
        pytest.param("postgresql://u:50%{}@127.0.0.1:{port}/d", id="percent_sign"),
        pytest.param("postgresql://u:p/{}@127.0.0.1:{port}/d", id="slash"),
        pytest.param("postgresql://u:p@{}@127.0.0.1:{port}/d", id="at_sign"),
        pytest.param("host=127.0.0.1 port={port} user=u password=p {}", id="blank"),
    ],
)
def test_no_part_of_a_password_stands_in_a_refusal_or_in_the_source(
    dsn: str, password: str, closed_port: int, monkeypatch: pytest.MonkeyPatch
):
    """Also where the DSN is mistyped: a password with a sign that a URL would have to escape is the common slip."""

    def knows_no_name(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", knows_no_name)  # a slip may make a host of a password
    written = dsn.format(password, port=closed_port)
    with pytest.raises(CorpusUnreachable) as refused:
        read_database(written)
    assert password not in str(refused.value)
    assert password not in pinned(written).source


def test_a_reading_leaves_the_database_as_it_was(corpus_database: Build):
    dsn = corpus_database([ENTRY], [SIGNAL])
    execute(
        dsn, "INSERT INTO signals (lookup_key, entry_id, content, provenance) VALUES ('s2', 'e1', 'x', %s)", (Json({}),)
    )
    with psycopg.connect(dsn) as connection:
        before = connection.execute("SELECT xmin, xmax, * FROM signals ORDER BY lookup_key").fetchall()
        connection.commit()
        read_database(dsn)
        assert connection.execute("SELECT xmin, xmax, * FROM signals ORDER BY lookup_key").fetchall() == before


@pytest.mark.parametrize("start", ["1e1", "10.0", "10", "0e0", "123456789012345678901"])
def test_one_number_gives_one_hash_in_whatever_form_json_writes_it(
    corpus_folder: Build, corpus_database: Build, start: str
):
    """jsonb keeps the value of a number and not its form, so the folder must read it by its value too."""
    folder = corpus_folder([ENTRY], [SIGNAL | {"provenance": {"span": {"start": 7, "end": 12}}}])
    signals = folder / "signals.jsonl"
    signals.write_text(signals.read_text().replace("7", start, 1))
    dsn = corpus_database([ENTRY], [SIGNAL])
    execute(dsn, "UPDATE signals SET provenance = %s::jsonb", ('{"span": {"start": ' + start + ', "end": 12}}',))
    assert read_database(dsn).hash == read_folder(folder).hash


def test_what_connects_keeps_every_option_but_the_secret_ones():
    dsn = "postgresql://u:p@h:5/d?options=-c%20search_path%3Dtenant1&sslrootcert=/ca.pem&target_session_attrs=any"
    kept = connectable(dsn)
    assert {"options='-c search_path=tenant1'", "sslrootcert=/ca.pem", "user=u", "host=h", "port=5"} <= set(
        re.findall(r"\w+=(?:'[^']*'|\S+)", kept)
    )
    assert "password" not in kept
