"""A dump is restored whole or not at all, over nothing unless that was asked for."""

import socket
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from eval_pipeline.corpus.postgres import read_database
from eval_pipeline.corpus.restore import restore
from eval_pipeline.errors import CorpusUnreachable, DatabaseNotEmpty, RestoreFailed

Build = Callable[..., Any]

ENTRIES = [
    {
        "lookup_key": "e1",
        "workspace": "w",
        "band": "triage",
        "content": "'; DROP TABLE signals; --\n\\.\n\\N 👩\u200d🔬",
    },
    {"lookup_key": "e2", "workspace": "w", "band": "confident", "content": "Second note."},
]
SIGNALS = [
    {"lookup_key": f"s{n}", "entry_id": "e2", "content": f"Text {n}.", "provenance": {"span": {"start": 0, "end": n}}}
    for n in range(1, 6)
]
OLD = {"lookup_key": "old", "workspace": "w", "band": "triage", "content": "Stood there before."}
TABLES = ("raw_sources", "signals")
FORMATS = pytest.mark.parametrize("format_", ["plain", "custom"])

# pg_dump loads tables in the order of their names, so half_way finds no signal yet when its own row comes.
FAILS_HALF_WAY = """
    CREATE FUNCTION signals_are_there() RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN RETURN EXISTS (SELECT FROM public.signals); END $$;
    CREATE TABLE half_way (n int CHECK (public.signals_are_there()));
    INSERT INTO half_way VALUES (1);
    ALTER TABLE raw_sources RENAME TO earlier;
"""


def execute(dsn: str, statements: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute(statements.encode())


def tables_of(dsn: str) -> tuple[str, ...]:
    with psycopg.connect(dsn) as connection:
        return tuple(
            name for (name,) in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        )


@dataclass(frozen=True)
class Dumps:
    """What the wheel's pg_dump wrote of one corpus, in each format, and the hash of that corpus."""

    plain: Path
    custom: Path
    hash: str | None

    def of(self, format_: str) -> Path:
        return {"plain": self.plain, "custom": self.custom}[format_]


@pytest.fixture(scope="module")
def dump(postgres_tools: Path) -> Callable[[str, str, Path], Path]:
    """Writes a dump of a database with the wheel's pg_dump."""

    def write(dsn: str, format_: str, path: Path) -> Path:
        command = [postgres_tools / "pg_dump", "--dbname", dsn, f"--format={format_}", "--file", path]
        subprocess.run(command, check=True, capture_output=True)
        return path

    return write


@pytest.fixture(scope="module")
def dumps(
    postgres: Any, create_tables: Build, fill_tables: Build, dump: Build, tmp_path_factory: pytest.TempPathFactory
) -> Dumps:
    dsn, folder = postgres.database(), tmp_path_factory.mktemp("dumps")
    create_tables(dsn)
    fill_tables(dsn, ENTRIES, SIGNALS)
    plain, custom = (dump(dsn, format_, folder / format_) for format_ in ("plain", "custom"))
    return Dumps(plain, custom, read_database(dsn).hash)


@pytest.fixture
def old(corpus_database: Build) -> str:
    """A database with another corpus, and with a table that no dump brings."""
    dsn = str(corpus_database([OLD], []))
    execute(dsn, "CREATE TABLE notes_of_mine AS SELECT 1 AS n")
    return dsn


def stands_as_it_did(dsn: str) -> bool:
    snapshot = read_database(dsn)
    found = [entry.content for entry in snapshot.entries], snapshot.signals, set(tables_of(dsn))
    return found == ([OLD["content"]], (), {*TABLES, "notes_of_mine"})


@FORMATS
def test_a_dump_is_restored_into_an_empty_database(
    format_: str, dumps: Dumps, fresh_database: Build, postgres_tools: Path
):
    into = fresh_database()
    assert restore(dumps.of(format_), into=into, replace=False, tools=postgres_tools) == TABLES
    assert read_database(into).hash == dumps.hash


@FORMATS
def test_the_tools_are_looked_for_on_the_path(
    format_: str, dumps: Dumps, fresh_database: Build, postgres_tools: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(postgres_tools))
    into = fresh_database()
    assert restore(dumps.of(format_), into=into, replace=False, tools=None) == TABLES


@FORMATS
def test_a_database_that_holds_tables_is_refused_and_stays_as_it_is(
    format_: str, dumps: Dumps, old: str, postgres_tools: Path
):
    with pytest.raises(
        DatabaseNotEmpty, match=r"already holds 3 tables \(notes_of_mine, raw_sources, signals\).+--replace"
    ):
        restore(dumps.of(format_), into=old, replace=False, tools=postgres_tools)
    assert stands_as_it_did(old)


@FORMATS
def test_replace_drops_what_stood_there_first(format_: str, dumps: Dumps, old: str, postgres_tools: Path):
    assert restore(dumps.of(format_), into=old, replace=True, tools=postgres_tools) == TABLES
    assert read_database(old).hash == dumps.hash


def test_replace_of_an_empty_database_is_a_restore(dumps: Dumps, fresh_database: Build, postgres_tools: Path):
    into = fresh_database()
    assert restore(dumps.plain, into=into, replace=True, tools=postgres_tools) == TABLES
    assert read_database(into).hash == dumps.hash


@FORMATS
def test_a_dump_can_be_restored_over_itself(format_: str, dumps: Dumps, fresh_database: Build, postgres_tools: Path):
    into = fresh_database()
    for _ in range(2):
        restore(dumps.of(format_), into=into, replace=True, tools=postgres_tools)
    assert read_database(into).hash == dumps.hash


def test_another_role_can_read_after_a_replace_as_it_could_before(
    dumps: Dumps, old: str, postgres: Any, postgres_tools: Path, password: str
):
    assert [entry.id for entry in read_database(postgres.role_with_password(old, password)).entries] == ["old"]
    restore(dumps.plain, into=old, replace=True, tools=postgres_tools)
    assert read_database(postgres.role_with_password(old, password)).hash == dumps.hash


@FORMATS
def test_a_dump_that_fails_half_way_leaves_the_old_tables_as_they_were(
    format_: str, old: str, corpus_database: Build, dump: Build, postgres_tools: Path, tmp_path: Path
):
    source = corpus_database(ENTRIES, SIGNALS)
    execute(source, FAILS_HALF_WAY)
    broken = dump(source, format_, tmp_path / "dump")
    with pytest.raises(
        RestoreFailed, match=r"not restored, and the database is as it was: .*violates check constraint"
    ):
        restore(broken, into=old, replace=True, tools=postgres_tools)
    assert stands_as_it_did(old)


@FORMATS
def test_a_dump_that_fails_half_way_leaves_an_empty_database_empty(
    format_: str, fresh_database: Build, corpus_database: Build, dump: Build, postgres_tools: Path, tmp_path: Path
):
    source, into = corpus_database(ENTRIES, SIGNALS), fresh_database()
    execute(source, FAILS_HALF_WAY)
    broken = dump(source, format_, tmp_path / "dump")
    with pytest.raises(RestoreFailed, match="violates check constraint"):
        restore(broken, into=into, replace=False, tools=postgres_tools)
    assert tables_of(into) == ()


def cut_in_a_row(dump: bytes) -> bytes:
    return dump[: dump.index(b"Text 3")]


def cut_after_a_row(dump: bytes) -> bytes:
    """psql takes the end of the file for the end of the rows, so this one would load without an error."""
    return dump[: dump.index(b"\n", dump.index(b"Text 3")) + 1]


def cut_after_the_first_table(dump: bytes) -> bytes:
    return dump[: dump.index(b"\\.\n") + 3]


@pytest.mark.parametrize("cut", [cut_in_a_row, cut_after_a_row, cut_after_the_first_table])
def test_a_plain_dump_that_was_cut_off_is_not_restored(
    cut: Callable[[bytes], bytes], dumps: Dumps, old: str, postgres_tools: Path, tmp_path: Path
):
    (tmp_path / "dump").write_bytes(cut(dumps.plain.read_bytes()))
    with pytest.raises(RestoreFailed):
        restore(tmp_path / "dump", into=old, replace=True, tools=postgres_tools)
    assert stands_as_it_did(old)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 0.99])
def test_a_custom_dump_that_was_cut_off_is_not_restored(
    share: float, dumps: Dumps, old: str, postgres_tools: Path, tmp_path: Path
):
    whole = dumps.custom.read_bytes()
    (tmp_path / "dump").write_bytes(whole[: max(5, int(len(whole) * share))])
    with pytest.raises(RestoreFailed, match="not restored, and the database is as it was"):
        restore(tmp_path / "dump", into=old, replace=True, tools=postgres_tools)
    assert stands_as_it_did(old)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"\x89PNG\r\n\x1a\n\x00\x00\x00", id="picture"),
        pytest.param(b'{"lookup_key": "e1"}\n', id="json_lines"),
        pytest.param(b"Dear all,\n", id="letter"),
        pytest.param(b"PGDMP and then nothing of it", id="mark_alone"),
        pytest.param(b"", id="no_bytes"),
        pytest.param(b"\n\n", id="blank_lines"),
        pytest.param(b"-- to do: write the dump\n", id="comment"),
    ],
)
@pytest.mark.parametrize("replace", [True, False], ids=["replace", "into_empty"])
def test_a_file_that_is_no_dump_is_refused(
    content: bytes, replace: bool, old: str, fresh_database: Build, postgres_tools: Path, tmp_path: Path
):
    (tmp_path / "dump").write_bytes(content)
    into = old if replace else fresh_database()
    with pytest.raises(RestoreFailed, match=r"dump '.+dump'"):
        restore(tmp_path / "dump", into=into, replace=replace, tools=postgres_tools)
    if replace:
        assert stands_as_it_did(old)


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_a_dump_that_cannot_be_opened_is_refused(kind: str, old: str, postgres_tools: Path, tmp_path: Path):
    path = {"missing": tmp_path / "nowhere", "folder": tmp_path}[kind]
    with pytest.raises(RestoreFailed, match=r"cannot be read \(.+\); give a file that pg_dump wrote"):
        restore(path, into=old, replace=True, tools=postgres_tools)
    assert stands_as_it_did(old)


@pytest.mark.parametrize(
    ("format_", "tool", "others"), [("plain", "psql", ["pg_restore"]), ("custom", "pg_restore", ["psql"])]
)
def test_a_tool_that_is_missing_from_its_folder_is_named(
    format_: str, tool: str, others: list[str], dumps: Dumps, old: str, postgres_tools: Path, tmp_path: Path
):
    for name in others:
        (tmp_path / name).symlink_to(postgres_tools / name)
    with pytest.raises(RestoreFailed, match=f"{tool} is not in '{tmp_path}'; install the Postgres client tools"):
        restore(dumps.of(format_), into=old, replace=True, tools=tmp_path)
    assert stands_as_it_did(old)


def test_a_tool_that_is_missing_from_the_path_is_named(
    dumps: Dumps, fresh_database: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RestoreFailed, match=r"psql is not on the PATH; install .+, or name their folder with --tools"):
        restore(dumps.plain, into=fresh_database(), replace=False, tools=None)


def test_a_plain_dump_needs_no_pg_restore(dumps: Dumps, fresh_database: Build, postgres_tools: Path, tmp_path: Path):
    (tmp_path / "psql").symlink_to(postgres_tools / "psql")
    assert restore(dumps.plain, into=fresh_database(), replace=False, tools=tmp_path) == TABLES


def test_what_a_users_own_psqlrc_says_has_no_part_in_a_restore(
    dumps: Dumps, fresh_database: Build, postgres_tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "psqlrc").write_text("CREATE TABLE of_the_psqlrc (n int);\n")
    monkeypatch.setenv("PSQLRC", str(tmp_path / "psqlrc"))
    assert restore(dumps.plain, into=fresh_database(), replace=False, tools=postgres_tools) == TABLES


@pytest.fixture
def dump_of_a_role_that_is_gone(corpus_database: Build, dump: Build, tmp_path: Path) -> Callable[[str], Path]:
    """A dump of tables that belonged to a role, and could be read by it, that exists no more."""

    def write(format_: str) -> Path:
        source = corpus_database(ENTRIES, SIGNALS)
        execute(source, "CREATE ROLE gone; ALTER TABLE raw_sources OWNER TO gone; GRANT SELECT ON signals TO gone")
        path = Path(dump(source, format_, tmp_path / "dump"))
        execute(source, "REASSIGN OWNED BY gone TO postgres; DROP OWNED BY gone; DROP ROLE gone")
        return path

    return write


def test_a_custom_dump_is_restored_though_its_owner_does_not_exist_here(
    dump_of_a_role_that_is_gone: Build, dumps: Dumps, old: str, postgres_tools: Path
):
    assert restore(dump_of_a_role_that_is_gone("custom"), into=old, replace=True, tools=postgres_tools) == TABLES
    assert read_database(old).hash == dumps.hash


def test_a_plain_dump_whose_owner_does_not_exist_here_is_refused_whole_and_names_the_role(
    dump_of_a_role_that_is_gone: Build, old: str, postgres_tools: Path
):
    with pytest.raises(RestoreFailed, match='role "gone" does not exist'):
        restore(dump_of_a_role_that_is_gone("plain"), into=old, replace=True, tools=postgres_tools)
    assert stands_as_it_did(old)


def test_a_database_that_does_not_answer_is_unreachable(dumps: Dumps, postgres_tools: Path, password: str):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        into = f"postgresql://u:{password}@127.0.0.1:{held.getsockname()[1]}/d"
        with pytest.raises(CorpusUnreachable, match=r"cannot be reached: .+; check that it runs") as refused:
            restore(dumps.plain, into=into, replace=False, tools=postgres_tools)
    assert password not in str(refused.value)


def test_a_missing_database_is_unreachable(dumps: Dumps, fresh_database: Build, postgres_tools: Path):
    into = make_conninfo(fresh_database(), dbname="no_such_corpus")
    with pytest.raises(CorpusUnreachable, match='database "no_such_corpus" does not exist'):
        restore(dumps.plain, into=into, replace=False, tools=postgres_tools)


def test_a_wrong_password_is_unreachable_and_is_not_shown(
    dumps: Dumps, fresh_database: Build, postgres: Any, postgres_tools: Path, password: str
):
    into = make_conninfo(postgres.role_with_password(fresh_database(), "the right one"), password=password)
    with pytest.raises(CorpusUnreachable, match="password authentication failed") as refused:
        restore(dumps.plain, into=into, replace=False, tools=postgres_tools)
    assert password not in str(refused.value)


def test_refusals_of_a_database_do_not_show_its_password(
    dumps: Dumps, old: str, postgres: Any, postgres_tools: Path, password: str
):
    """The role may neither drop nor create here."""
    into = postgres.role_with_password(old, password)
    refusals = []
    for replace, refusal in ((False, DatabaseNotEmpty), (True, RestoreFailed)):
        with pytest.raises(refusal) as refused:
            restore(dumps.plain, into=into, replace=replace, tools=postgres_tools)
        refusals.append(str(refused.value))
    assert "must be owner of schema public" in refusals[1]
    assert not [refusal for refusal in refusals if password in refusal]
    assert stands_as_it_did(old)


@pytest.fixture
def writer(fresh_database: Build, postgres: Any, password: str) -> str:
    """An empty database, as a role with a password that may create tables in it."""
    empty = fresh_database()
    into = str(postgres.role_with_password(empty, password))
    execute(empty, f"GRANT CREATE ON SCHEMA public TO {conninfo_to_dict(into)['user']}")
    return into


def test_a_role_with_a_password_can_restore_what_another_owned(dumps: Dumps, writer: str, postgres_tools: Path):
    assert restore(dumps.custom, into=writer, replace=False, tools=postgres_tools) == TABLES
    assert read_database(writer).hash == dumps.hash


def test_the_password_is_not_among_the_arguments_of_a_tool(
    dumps: Dumps, writer: str, postgres_tools: Path, password: str, tmp_path: Path
):
    """Whoever is on the machine can list the arguments of a process that runs."""
    seen = tmp_path / "arguments"
    for name in ("psql", "pg_restore"):
        tool = tmp_path / name
        tool.write_text(f'#!/bin/sh\nprintf "%s\\n" "$0" "$@" >> "{seen}"\nexec "{postgres_tools / name}" "$@"\n')
        tool.chmod(0o755)
    assert restore(dumps.custom, into=writer, replace=False, tools=tmp_path) == TABLES
    arguments = seen.read_text()
    assert {str(tmp_path / "psql"), str(tmp_path / "pg_restore")} <= set(arguments.splitlines())
    assert password not in arguments
