"""What a piece of work adds to memory while it runs."""

import tracemalloc
from collections.abc import Callable


def added_megabytes(work: Callable[[], object]) -> float:
    """The most that was held at one time beyond what was there before, in MB."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
