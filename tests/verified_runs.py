"""An option of pytest: every run that the tests make in this process is verified at its end."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assets import run
from assets.recorded import Recorded
from assets.resources import Home, evidence_store, home_folder
from assets.verification import verify
from eval_pipeline.provenance import PROVENANCE, read_provenance_of


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """What a run that is made anew says of its progress is not what the test's own run says."""
    logger = logging.getLogger("eval_pipeline")
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


@contextlib.contextmanager
def every_run_verified() -> Iterator[list[str]]:
    """While the block is on, a run that came to its end and does not verify fails the test that made it.

    Gives the studies of the runs that were verified.
    """
    executed, verified = run._executed, []

    @contextlib.contextmanager
    def and_verified(job: str, inputs: dict[str, Any], **more: Any) -> Iterator[Any]:
        with executed(job, inputs, **more) as result:
            yield result
        home = Home(path=str(home_folder()))
        out = Path(inputs["out"]) if inputs.get("out") else home.out(job.replace("_", "-"))
        if not (out / PROVENANCE).is_file():
            return
        with _silent():
            found = verify(Recorded(read_provenance_of(out), evidence_store(), home.ledger, home.locks, out))
        verified.append(found.study)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "_executed", and_verified)
        yield verified
