"""Progress of a long step, in the log of the run and on the command line."""

import logging
import time
from collections.abc import Callable

EVERY_S = 2.0
logger = logging.getLogger("eval_pipeline")


def log_progress(what: str) -> Callable[[int, int], None]:
    """A function that is told how much is done, of how much, and says so every two seconds and at the end."""
    last = time.monotonic()

    def tell(done: int, total: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            logger.info("%s: %d of %d", what, done, total)

    return tell
