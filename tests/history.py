"""A history of Dagster for commands whose history nobody looks at: their runs in memory, and no event of them."""

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
        patch.setattr(instance.event_log_storage, "store_event", lambda event: None)
        patch.setattr(instance, "dispose", lambda: None)  # a command ends, and the next goes on with it
        patch.setattr(run, "_instance", lambda home: instance)
        yield
    instance.dispose()
