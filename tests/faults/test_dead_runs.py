"""Runs that were called running when their process was killed: the next command ends them, and leaves others alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterEvent, DagsterEventType, DagsterInstance, DagsterRunStatus
from dagster._core.events import EngineEventData

from assets.history import GONE, end_dead_runs


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DagsterInstance]:
    with dg.instance_for_test(temp_dir=str(tmp_path_factory.mktemp("history"))) as found:
        yield found


@dg.job
def nothing() -> None:
    """No steps."""


def started(instance: DagsterInstance, pid: int | None) -> str:
    run = instance.create_run_for_job(nothing, status=DagsterRunStatus.STARTED)
    if pid is not None:
        instance.report_engine_event("in a process", run, EngineEventData.in_process(pid))
    return run.run_id


def gone() -> int:
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_run_whose_process_is_gone_is_a_failure_with_a_sentence_and_all_others_stay_as_they_were(
    instance: DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    dead, alive, unknown = started(instance, gone()), started(instance, os.getpid()), started(instance, None)
    assert end_dead_runs(instance) == (dead,)
    found = {run.run_id: run.status for run in instance.get_runs()}
    assert (found[dead], found[alive], found[unknown]) == (
        DagsterRunStatus.FAILURE,
        DagsterRunStatus.STARTED,
        DagsterRunStatus.STARTED,
    )
    (failed,) = instance.get_records_for_run(dead, of_type=DagsterEventType.RUN_FAILURE).records
    event = failed.event_log_entry.dagster_event
    assert isinstance(event, DagsterEvent)
    assert event.message == f"the run has not ended, and {GONE}"
    assert GONE in caplog.text
    assert end_dead_runs(instance) == ()


def test_another_process_that_got_the_number_of_a_dead_one_is_not_taken_for_it(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was started long after the run said in which process it was."""
    run = started(instance, os.getpid())
    from assets import history

    monkeypatch.setattr(history, "_started", lambda pid: 4_000_000_000.0)
    assert run in end_dead_runs(instance)


def test_the_start_of_a_process_is_read_as_the_system_has_it() -> None:
    from assets.history import _started

    if not Path("/proc/stat").exists():
        pytest.skip("this system does not say it in files")
    first = _started(os.getpid())
    with subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE) as child:
        later = _started(child.pid)
        child.communicate()
    assert first is not None
    assert later is not None
    assert first <= later
    assert _started(gone()) is None
