"""Dagster's history of runs: where it cannot be kept, a sentence; and no run in it that is called running for ever."""

import contextlib
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from dagster import DagsterEventType, DagsterInstance, DagsterRunStatus, RunsFilter
from dagster._core.storage.runs import SqliteRunStorage
from sqlalchemy.exc import DBAPIError

from eval_pipeline.errors import OutputRefused

GONE = "its process is gone, killed or with the machine; what was judged is kept, and a new run goes on from there"
_COMPLAINT = "Exception while writing logger call to event log"
_ON = [DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]
_CLOCK_OFF_S = (
    10.0  # seconds by which a clock may be off between what a run wrote and what the system says of its process
)
_STARTED = 19  # the place of a process's start among the fields of its stat file that follow its name
logger = logging.getLogger("eval_pipeline")


@contextlib.contextmanager
def history_kept(home: Path) -> Iterator[None]:
    """A block that reads and writes the history.

    Raises: OutputRefused: the history cannot be read or written: the disk is full, the file is damaged or not ours.
    """
    complaints: list[str] = []
    try:
        with contextlib.redirect_stderr(_WithoutComplaints(sys.stderr, complaints)):
            yield
    except DBAPIError as error:
        complaints.clear()  # they say at length what the refusal says
        raise OutputRefused(
            f"Dagster's history in {str(home)!r} cannot be kept ({error.orig}); make room, or permit it, and run again:"
            " what was judged is kept"
        ) from None
    finally:
        sys.stderr.write("".join(complaints))


class _WithoutComplaints:
    """Stderr, but for Dagster's complaints about a history that it cannot write, which are collected."""

    def __init__(self, stream: TextIO, complaints: list[str]) -> None:
        self._stream = stream
        self._complaints = complaints

    def write(self, text: str) -> int:
        if text.startswith(_COMPLAINT):
            self._complaints.append(text)
            return len(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def end_dead_runs(instance: DagsterInstance) -> tuple[str, ...]:
    """The ids of those runs that were called running though their process is gone; they are failures from now on.

    Only where the history lies in files, which belong to one machine: its processes can be looked at. A run that has
    not said yet which process it is in is left alone.
    """
    if not isinstance(instance.run_storage, SqliteRunStorage):
        return ()
    dead = []
    for run in instance.get_runs(filters=RunsFilter(statuses=_ON)):
        said = instance.get_records_for_run(run.run_id, of_type=DagsterEventType.ENGINE_EVENT).records
        pids = [
            (int(str(metadata["pid"].value)), record.timestamp)
            for record in said
            if (event := record.event_log_entry.dagster_event)
            if "pid" in (metadata := event.engine_event_data.metadata)
        ]
        if pids and not any(_is_alive(pid, at) for pid, at in pids):
            instance.report_run_failed(run, f"the run has not ended, and {GONE}")
            logger.warning("run %s of %s was still called running: %s", run.run_id[:8], run.job_name, GONE)
            dead.append(run.run_id)
    return tuple(dead)


def _is_alive(pid: int, at: float) -> bool:
    """Whether the process that had this number at that time is still there, and not another one with its number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is another user's
    started = _started(pid)
    return started is None or started <= at + _CLOCK_OFF_S


def _started(pid: int) -> float | None:
    """When a process was started; None where the system does not say it in files."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
        booted = next(line for line in Path("/proc/stat").read_text("utf-8").splitlines() if line.startswith("btime"))
    except (OSError, StopIteration):
        return None
    ticks = int(stat.rpartition(")")[2].split()[_STARTED])
    return float(booted.split()[1]) + ticks / os.sysconf("SC_CLK_TCK")
