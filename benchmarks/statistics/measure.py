"""How the scripts of this folder measure: CPU seconds, the peers and the limit in the same run."""

import time
import tracemalloc
from collections.abc import Callable


def cpu_s(work: Callable[[], object], *, repeats: int) -> float:
    """The median CPU time of a call, after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return sorted(times)[len(times) // 2]


def once_cpu_s(work: Callable[[], object]) -> float:
    """The CPU time of one call, for what takes many seconds."""
    started = time.process_time()
    work()
    return time.process_time() - started


def added_mb(work: Callable[[], object]) -> float:
    """The most memory that a call held at once, beyond what there was."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (peak - before) / 1e6
