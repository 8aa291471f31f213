"""A database that is killed while the corpus is read from it: one sentence, and never half a corpus."""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pyarrow.parquet as pq
import pytest
from psycopg.conninfo import make_conninfo

from tests.conftest import _HBA, _OPTIONS, _free_port, _wait_until_ready, _wheel
from tests.faults.conftest import Place, left_half_done, sentence

ROWS = 80_000
FILLED = f"""
    CREATE TABLE raw_sources (lookup_key text, content text, deleted_at timestamptz, source_metadata jsonb);
    CREATE TABLE signals (lookup_key text, entry_id text, content text, provenance jsonb, deleted_at timestamptz);
    INSERT INTO raw_sources SELECT 'note-' || n, repeat('Crew ' || n || ' replaced a valve. ', 20), NULL, '{{}}'
        FROM generate_series(1, {ROWS}) n;
    INSERT INTO signals SELECT 'signal-' || n, 'note-' || n, 'A valve was replaced.', '{{}}', NULL
        FROM generate_series(1, 10) n;
"""


@dataclass(frozen=True)
class Own:
    """A server for one test, with a corpus that takes seconds to read."""

    dsn: str
    process: "subprocess.Popen[bytes]"

    def kill(self) -> None:
        """Ends it and all its processes at once, as when the machine goes down."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(30)


@pytest.fixture
def server(postgres_tools: Path, tmp_path: Path) -> Iterator[Own]:
    port, log = _free_port(), tmp_path / "log"
    with tempfile.TemporaryDirectory(prefix="postgres_", ignore_cleanup_errors=True) as folder:
        made = _wheel().get_server(folder, start=False)
        made.ensure_pgdata_inited()
        (Path(folder) / "pg_hba.conf").write_text(_HBA)
        command = [postgres_tools / "postgres", "-D", folder, "-k", folder, "-h", "127.0.0.1", "-p", str(port)]
        command += [part for option in _OPTIONS for part in ("-c", option)]
        with (
            log.open("wb") as written,
            subprocess.Popen(
                command, stdout=written, stderr=written, user=made.system_user, start_new_session=True
            ) as process,
        ):
            own = Own(make_conninfo(host=folder, port=port, user="postgres", dbname="postgres"), process)
            try:
                _wait_until_ready(process, folder, port, log)
                with psycopg.connect(own.dsn) as connection:
                    connection.execute(FILLED)
                yield own
            finally:
                with contextlib.suppress(ProcessLookupError):
                    own.kill()


def wait_for_fetch(server: Own) -> None:
    """Returns while somebody else is reading rows of the entries."""
    with psycopg.connect(server.dsn, autocommit=True) as connection:
        deadline = time.monotonic() + 90
        reading = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND pid <> pg_backend_pid()"
        while not connection.execute(reading).fetchone()[0]:
            assert time.monotonic() < deadline, "nobody reads"
            time.sleep(0.005)


def test_a_server_that_is_killed_while_it_gives_its_rows_is_one_sentence_and_no_corpus(
    server: Own, place: Place, new_folder: Callable[[str], Path]
) -> None:
    home, out = new_folder("stopped"), new_folder("out")
    given = ["--corpus", server.dsn, "--propositions", place.corpus / "propositions.jsonl", "--out", out]
    run = place.begin("run", "extraction", *given, home=home, **place.history)
    wait_for_fetch(server)
    server.kill()
    said = sentence(run)
    assert said.startswith("database (")
    assert "cannot be read: " in said
    assert said.endswith("check that it runs and that the user may read")
    assert left_half_done(home, out) == []
    assert [pq.read_table(path).num_rows for path in (home / "evidence" / "corpus").glob("*.parquet")] == [0]
