"""A history of Dagster for commands whose history nobody looks at: in memory, and of its events those of checks."""

import contextlib
from collections.abc import Iterator

import dagster as dg
import pytest

from assets import run

ON_DISK = run._instance  # as the command line has it


@contextlib.contextmanager
def kept_in_memory() -> Iterator[None]:
    """Commands of this process share one history, which goes with the block; where it would stand is checked as ever.

    Writing the events to a table, and making the tables for each command, takes as long as a small study.
    """
    instance = dg.DagsterInstance.ephemeral()
    with pytest.MonkeyPatch.context() as patch:
        store = instance.event_log_storage.store_event
        patch.setattr(
            instance.event_log_storage, "store_event", lambda event: store(event) if _of_check(event) else None
        )
        patch.setattr(instance, "dispose", lambda: None)  # a command ends, and the next goes on with it
        patch.setattr(run, "_instance", lambda home: instance)
        yield
    instance.dispose()


def _of_check(event: dg.EventLogEntry) -> bool:
    """Whether an event says what a check found, which the command line reads where a check ends a run."""
    found = event.dagster_event
    return found is not None and found.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION
