"""The command line in processes of its own that need not import it: each is forked where it was imported once."""

import ctypes
import json
import multiprocessing
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path

from eval_pipeline.cli.main import main

# What a run imports when it comes to it takes longer than the run of a small study.
_IMPORTED_LATE = """
    alembic.command assets.definitions duckdb matplotlib.backends.backend_svg matplotlib.figure pandas pyarrow.parquet
    rich.table eval_pipeline.report.figures dagster._core.execution.execute_in_process dagster._core.instance.factory
    dagster._core.remote_representation dagster._core.storage.event_log dagster._core.storage.legacy_storage
    dagster._core.storage.local_compute_log_manager dagster._core.storage.runs dagster._core.storage.schedules
"""
_CAPABILITIES_VERSION = 0x20080522
_PAST_PERMISSIONS = 0b110  # CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, *_IMPORTED_LATE.split()])


@dataclass(frozen=True)
class Begun:
    """A command that was begun; what it says goes to files of a folder."""

    process: BaseProcess
    folder: Path

    @property
    def status(self) -> int | None:
        """Its exit status, -9 if it was killed, or None while it runs."""
        return self.process.exitcode

    @property
    def said(self) -> tuple[str, str]:
        """What it said so far, on stdout and on stderr."""
        out, err = ((self.folder / name).read_text("utf-8") for name in ("stdout", "stderr"))
        return out, err

    def kill(self) -> None:
        """Ends it at once, as SIGKILL does."""
        self.process.kill()
        self.process.join(30)

    def wait(self) -> int | None:
        """Its exit status, once it has ended."""
        self.process.join(120)
        return self.status


def begin(
    *arguments: str | Path, folder: Path, cwd: Path, environment: Mapping[str, str], bound: bool = False
) -> Begun:
    """The command with this environment and no other; if `bound`, permissions bind it also where they bind no root."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("stdout", "stderr"):
        (folder / name).touch()
    asked = json.dumps([str(argument) for argument in arguments])
    process = _FORKS.Process(target=_run, args=(asked, str(folder), str(cwd), dict(environment), bound))
    process.start()
    return Begun(process, folder)


def be_bound_by_permissions() -> None:
    """Gives up what lets root read and write whatever it likes; an ordinary user has nothing of it to give up."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    held = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, of the lower 32 and then of the upper
    if libc.capget(header, held) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    for place in (0, 1, 2):
        held[place] &= ~_PAST_PERMISSIONS
    if libc.capset(header, held) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _run(asked: str, folder: str, cwd: str, environment: dict[str, str], bound: bool) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        with (Path(folder) / name).open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    if bound:
        be_bound_by_permissions()
    sys.argv = ["eval-pipeline", *json.loads(asked)]
    main()
