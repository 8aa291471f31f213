"""The same job in several processes, with its history in a real Postgres and its evidence on a real S3 server."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import psycopg
import pytest
import yaml
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from assets.executors import executor_of_the_environment
from eval_pipeline.errors import InputRefused
from eval_pipeline.store import store_at

PROJECT = Path(__file__).resolve().parents[2]
DEPLOY = PROJECT / "docs" / "deploy"


def variables_of(dsn: str) -> dict[str, str]:
    """A DSN as the variables that the deployed instance reads."""
    parts = conninfo_to_dict(dsn)
    names = {"host": "HOST", "port": "PORT", "dbname": "DB", "user": "USERNAME", "password": "PASSWORD"}
    return {f"DAGSTER_PG_{name}": str(parts[part]) for part, name in names.items()}


def owner_of(dsn: str, postgres: Any) -> str:
    """The DSN of the same database over TCP, as a role that may make tables in it."""
    reader = postgres.role_with_password(dsn, "a-password-of-the-tests")
    role = str(conninfo_to_dict(reader)["user"])
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("GRANT ALL ON SCHEMA public TO {}").format(sql.Identifier(role)))
    return make_conninfo(reader)


@pytest.fixture(scope="module")
def corpus(small_corpus: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_corpus(tmp_path_factory.mktemp("corpus"))


def execute(job: str, run_config: dict[str, Any], environment: dict[str, str], folder: Path) -> None:
    """Runs a job as the documentation says, in several processes and with the instance that docs/deploy has."""
    (folder / "dagster").mkdir()
    (folder / "dagster" / "dagster.yaml").write_bytes((DEPLOY / "dagster.yaml").read_bytes())
    (folder / "run.yaml").write_text(yaml.safe_dump(run_config))
    own = {"DAGSTER_HOME": str(folder / "dagster"), "EVAL_PIPELINE_HOME": str(folder / "home")}
    command = ["dagster", "job", "execute", "-m", "assets.definitions", "-j", job, "-c", str(folder / "run.yaml")]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", *command],
        cwd=PROJECT,
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_several_processes_with_postgres_and_s3_come_to_the_verdict_of_one_process_byte_for_byte(
    bench: Any, corpus: Path, postgres: Any, fresh_database: Callable[[], str], s3: Any, tmp_path: Path
) -> None:
    """And the history stands in Postgres: one successful run, whose every step ran in a process of its own."""
    bench.run({"corpus": str(corpus)})
    dsn, location = owner_of(fresh_database(), postgres), f"s3://{s3.bucket()}/evidence"
    inputs = {"corpus": str(corpus), "out": str(tmp_path / "out")}
    environment = variables_of(dsn) | {
        "EVAL_PIPELINE_EVIDENCE": location,
        "EVAL_PIPELINE_S3_ENDPOINT": s3.endpoint,
        "EVAL_PIPELINE_EXECUTOR": "multiprocess",
    }
    two = {"execution": {"config": {"max_concurrent": 2}}, "resources": {"inputs": {"config": inputs}}}
    execute("extraction", two, environment, tmp_path)

    store, one = store_at(location, endpoint=s3.endpoint), bench.evidence("extraction_verdict")
    name = store.read("extraction_verdict/latest").decode()
    assert (name, store.read(f"extraction_verdict/{name}")) == (one.name, one.read_bytes())
    with psycopg.connect(dsn) as connection:
        runs = connection.execute("SELECT pipeline_name, status FROM runs").fetchall()
        steps = connection.execute(_STEPS).fetchall()
    assert runs == [("extraction", "SUCCESS")]
    made = {step for step, _ in steps}
    assert made >= {"corpus", "frame", "nli_judgments", "extraction_verdict", "sealed_plan_seal_holds"}
    assert len({process for _, process in steps}) == len(made)


_STEPS = """
    SELECT step_key, event::json -> 'dagster_event' ->> 'pid' FROM event_logs
    WHERE dagster_event_type = 'STEP_SUCCESS'
"""


def test_steps_share_the_process_of_their_run_unless_the_environment_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("EVAL_PIPELINE_EXECUTOR", raising=False)
    assert executor_of_the_environment() is dg.in_process_executor
    for named in ("in_process", "multiprocess", "k8s_job"):
        monkeypatch.setenv("EVAL_PIPELINE_EXECUTOR", named)
        assert executor_of_the_environment().name == {"k8s_job": "k8s"}.get(named, named)


def test_an_executor_that_is_not_known_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVAL_PIPELINE_EXECUTOR", "celery")
    with pytest.raises(InputRefused) as refused:
        executor_of_the_environment()
    assert str(refused.value) == (
        "EVAL_PIPELINE_EXECUTOR is 'celery', expected in_process, multiprocess or k8s_job; set it again"
    )


def test_pods_without_the_package_that_makes_them_are_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """None in its place is how Python marks a module that cannot be imported."""
    monkeypatch.setenv("EVAL_PIPELINE_EXECUTOR", "k8s_job")
    monkeypatch.setitem(sys.modules, "dagster_k8s", None)
    with pytest.raises(InputRefused) as refused:
        executor_of_the_environment()
    assert str(refused.value) == (
        "EVAL_PIPELINE_EXECUTOR is 'k8s_job', which needs dagster-k8s; install eval-pipeline[cluster]"
    )
