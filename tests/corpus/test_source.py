"""A corpus by its name: what cannot be read, what is half there and what is empty are told apart, and never raised."""

import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from eval_pipeline.corpus.folder import read_folder
from eval_pipeline.corpus.snapshot import Snapshot
from eval_pipeline.corpus.source import folder_of, pinned
from eval_pipeline.evidence import table_bytes
from eval_pipeline.records import Reason

Build = Callable[..., Any]

SAMPLE = Path(__file__).parents[2] / "data" / "sample"
ENTRY = {"lookup_key": "e1", "workspace": "w", "band": "triage", "content": "Long note."}
SIGNAL = {"lookup_key": "s1", "entry_id": "e1", "content": "Short."}


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port on loopback that is held and where nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])


def reason_of(snapshot: Snapshot) -> Reason | None:
    """Why it was not read; a snapshot that was not read holds nothing that could be taken for a corpus."""
    if snapshot.refusal is None:
        return None
    assert (snapshot.entries, snapshot.signals, snapshot.hash) == ((), (), None)
    assert re.search("; |, expected ", snapshot.refusal.detail), "a refusal says what to do, or what was expected"
    assert Snapshot.from_table(snapshot.to_table()) == snapshot
    return snapshot.refusal.reason


def test_the_sample_is_the_folder_that_comes_with_the_house():
    snapshot = pinned("sample")
    assert snapshot == replace(read_folder(SAMPLE), source="sample")
    assert len(snapshot.entries) > 0


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("sample", SAMPLE),
        ("exports/corpus", Path("exports/corpus")),
        ("/data/day=3", Path("/data/day=3")),
        ("postgresql://u@h/d", None),
        ("dbname=corpus", None),
    ],
)
def test_a_source_names_a_folder_or_a_database(source: str, folder: Path | None):
    assert folder_of(source) == folder


def test_a_folder_and_a_database_of_the_same_corpus_are_pinned_alike(corpus_folder: Build, corpus_database: Build):
    folder = pinned(str(corpus_folder([ENTRY], [SIGNAL])))
    database = pinned(corpus_database([ENTRY], [SIGNAL]))
    assert (database.entries, database.signals, database.hash) == (folder.entries, folder.signals, folder.hash)
    assert database.source != folder.source


def test_a_closed_port_is_unreachable(closed_port: int):
    assert reason_of(pinned(f"postgresql://u@127.0.0.1:{closed_port}/d")) is Reason.CORPUS_UNREACHABLE


def test_a_wrong_password_is_unreachable_and_is_not_shown(corpus_database: Build, postgres: Any, password: str):
    dsn = postgres.role_with_password(corpus_database([ENTRY], [SIGNAL]), "the right one")
    snapshot = pinned(make_conninfo(dsn, password=password))
    assert reason_of(snapshot) is Reason.CORPUS_UNREACHABLE
    assert password not in repr(snapshot)
    assert password.encode() not in table_bytes(snapshot.to_table())


def test_a_missing_database_is_unreachable_and_named(fresh_database: Build):
    snapshot = pinned(make_conninfo(fresh_database(), dbname="no_such_corpus"))
    assert reason_of(snapshot) is Reason.CORPUS_UNREACHABLE
    assert 'database "no_such_corpus" does not exist' in str(snapshot.refusal)


@pytest.mark.parametrize("dsn", ["host=h user", "postgresql://h/d?no_such_option=1", "port=no_number"])
def test_a_dsn_that_is_none_is_unreachable(dsn: str):
    assert reason_of(pinned(dsn)) is Reason.CORPUS_UNREACHABLE


def test_a_missing_folder_is_unreachable(tmp_path: Path):
    assert reason_of(pinned(str(tmp_path / "nowhere"))) is Reason.CORPUS_UNREACHABLE


@pytest.mark.parametrize("name", ["x" * 300, "a\x00b"], ids=["too_long", "with_a_null"])
def test_a_name_that_no_folder_can_have_is_unreachable(name: str):
    assert reason_of(pinned(name)) is Reason.CORPUS_UNREACHABLE


@pytest.mark.parametrize("half", ["entries.jsonl", "signals.jsonl"])
def test_one_file_is_incomplete(corpus_folder: Build, half: str):
    folder = corpus_folder([ENTRY], [SIGNAL])
    (folder / half).unlink()
    assert reason_of(pinned(str(folder))) is Reason.CORPUS_INCOMPLETE


@pytest.mark.parametrize(
    "change",
    ["DROP TABLE raw_sources", "DROP TABLE signals", "ALTER TABLE signals DROP COLUMN provenance"],
)
def test_half_a_database_is_incomplete(corpus_database: Build, change: str):
    dsn = corpus_database([ENTRY], [SIGNAL])
    with psycopg.connect(dsn) as connection:
        connection.execute(change.encode())
    assert reason_of(pinned(dsn)) is Reason.CORPUS_INCOMPLETE


def test_a_folder_with_a_faulty_line_is_malformed(corpus_folder: Build):
    assert reason_of(pinned(str(corpus_folder([ENTRY, ENTRY], [SIGNAL])))) is Reason.CORPUS_MALFORMED


def test_a_database_with_a_faulty_row_is_malformed(corpus_database: Build):
    assert reason_of(pinned(corpus_database([ENTRY, ENTRY], [SIGNAL], key=""))) is Reason.CORPUS_MALFORMED


def test_an_empty_corpus_was_read_and_is_not_unreachable(
    fresh_database: Build, create_tables: Build, corpus_folder: Build, tmp_path: Path
):
    """Without tables, with tables that hold no row, without files, with files that hold no line: one and the same."""
    without_tables, without_rows, bare = fresh_database(), fresh_database(), tmp_path / "bare"
    create_tables(without_rows)
    bare.mkdir()
    empties = [pinned(source) for source in (without_tables, without_rows, str(bare), str(corpus_folder([], [])))]
    assert [reason_of(empty) for empty in empties] == [None] * 4
    assert {(empty.entries, empty.signals) for empty in empties} == {((), ())}
    assert len({empty.hash for empty in empties}) == 1


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("postgresql+psycopg://u:{}@127.0.0.1:{port}/d", id="with_a_driver"),
        pytest.param("POSTGRESQL://u:{}@127.0.0.1:{port}/d", id="in_capitals"),
        pytest.param(" postgresql://u:{}@127.0.0.1:{port}/d", id="after_a_blank"),
        pytest.param("mysql://u:{}@127.0.0.1:{port}/d", id="of_another_database"),
    ],
)
def test_a_url_that_libpq_would_not_take_is_not_shown_with_its_password(source: str, password: str, closed_port: int):
    snapshot = pinned(source.format(password, port=closed_port))
    assert reason_of(snapshot) is Reason.CORPUS_UNREACHABLE
    assert password not in repr(snapshot)
    assert password.encode() not in table_bytes(snapshot.to_table())
