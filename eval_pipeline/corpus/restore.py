"""A pg_dump into a database, with Postgres' own tools: all of it, or nothing."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psycopg

from eval_pipeline.corpus.postgres import CONNECT_TIMEOUT_S, connectable, password_of, without_password
from eval_pipeline.errors import CorpusUnreachable, DatabaseNotEmpty, RestoreFailed

_RESET = "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC;"
_HEAD, _END, _MARGIN = b"PostgreSQL database dump", b"PostgreSQL database dump complete", 4096
_CUSTOM = b"PGDMP"  # the first bytes of pg_dump --format=custom


def restore(dump: Path, *, into: str, replace: bool, tools: Path | None) -> tuple[str, ...]:
    """The names of the tables that stand in the database after the dump was restored into it, in one transaction.

    Args:
        dump: what pg_dump wrote, as plain SQL or in its custom format.
        into: the DSN of the database.
        replace: drop what stands in the public schema first; without it a database that holds tables is refused.
        tools: the folder of psql and pg_restore; None looks for them on the PATH.

    Raises:
        CorpusUnreachable: the database does not answer.
        DatabaseNotEmpty: it holds tables, and `replace` was not asked for.
        RestoreFailed: no dump at that path, no tool to read it, or Postgres refused it.

    """
    try:
        with dump.open("rb") as file:
            custom = file.read(len(_CUSTOM)) == _CUSTOM
    except OSError as error:
        raise RestoreFailed(
            f"dump {str(dump)!r} cannot be read ({error.strerror}); give a file that pg_dump wrote"
        ) from None
    psql, pg_restore = _tool("psql", tools), _tool("pg_restore", tools) if custom else None
    tables = _tables(into)
    if tables and not replace:
        raise DatabaseNotEmpty(
            f"database ({without_password(into)}) already holds {len(tables)} tables ({', '.join(tables[:5])});"
            " name an empty database, or add --replace to drop them first"
        )
    script = _script(dump, pg_restore)
    # One psql session and one transaction for the drop and the load, so that a dump that fails leaves the old tables.
    command = [psql, "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1"]
    command += ["--dbname", connectable(into), *(["--command", _RESET] if tables else []), "--file", "-"]
    _run(command, script, dump, password=password_of(into))
    return _tables(into)


def _tool(name: str, folder: Path | None) -> str:
    path = shutil.which(name, path=str(folder) if folder else None)
    if path is None:
        where = f"in {str(folder)!r}" if folder else "on the PATH"
        raise RestoreFailed(
            f"{name} is not {where}; install the Postgres client tools, or name their folder with --tools"
        )
    return path


def _tables(dsn: str) -> tuple[str, ...]:
    try:
        with psycopg.connect(dsn.strip(), connect_timeout=CONNECT_TIMEOUT_S) as connection:
            rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
            return tuple(name for (name,) in rows)
    except psycopg.Error as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise CorpusUnreachable(
            f"database ({without_password(dsn)}) cannot be reached: {reason}; check that it runs"
        ) from None


def _script(dump: Path, pg_restore: str | None) -> bytes:
    """The dump as SQL, all of it: psql takes the end of a file that was cut off for the end of its last table.

    Who owned the tables is left out of a custom dump, since those roles may not exist here; a plain one is as it is.
    """
    if pg_restore:
        script = _run([pg_restore, "--no-owner", "--no-privileges", "--file", "-", str(dump)], b"", dump, password=None)
    else:
        script = dump.read_bytes()
    if not (_HEAD in script[:_MARGIN] and _END in script[-_MARGIN:]):
        raise RestoreFailed(
            f"dump {str(dump)!r} is not a whole pg_dump: it lacks the comment that pg_dump writes at its"
            f" {'end' if _HEAD in script[:_MARGIN] else 'head'}; dump again"
        )
    return script


def _run(command: Sequence[str], script: bytes, dump: Path, *, password: str | None) -> bytes:
    environment = os.environ | ({"PGPASSWORD": password} if password else {})  # arguments are seen by every user
    done = subprocess.run(command, input=script, capture_output=True, check=False, env=environment)
    if done.returncode:
        lines = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        reason = next((line for line in lines if "ERROR:" in line), lines[-1] if lines else "no message")
        raise RestoreFailed(f"dump {str(dump)!r} was not restored, and the database is as it was: {reason.strip()}")
    return done.stdout
