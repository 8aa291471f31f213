"""The cluster bootstrap beside SciPy's on the same counts, in one run: CPU seconds for 1,000 resamples.

Both draw whole clusters and take the difference of two pooled ratios. SciPy's batch is set by hand, since its default
needs memory for all resamples at once.
"""

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.stats import bootstrap

from eval_pipeline.stats.pooled_ratio import ratio_contrast

RESAMPLES, REPEATS = 1000, 5


def counts(clusters: int) -> npt.NDArray[np.int64]:
    """Hits and trials of two columns, shape (clusters, 4): h1, h2, t1, t2."""
    rng = np.random.default_rng(clusters)
    trials = rng.integers(1, 5, size=(clusters, 2))
    return np.column_stack([rng.binomial(trials, 0.8), trials])


def ours(table: npt.NDArray[np.int64]) -> None:
    """The interval by this project."""
    ratio_contrast(
        table[:, :2],
        table[:, 2:],
        (1, -1),
        level=Fraction(95, 100),
        tails="two",
        method="percentile",
        resamples=RESAMPLES,
        valid_at_least=RESAMPLES // 2,
        ranks="symmetric",
        rng=np.random.default_rng(1),
    )


def scipys(table: npt.NDArray[np.int64]) -> None:
    """The interval by scipy.stats.bootstrap."""

    def statistic(*columns: npt.NDArray[np.int64], axis: int) -> npt.NDArray[np.float64]:
        h1, h2, t1, t2 = (column.sum(axis=axis) for column in columns)
        return h1 / t1 - h2 / t2

    bootstrap(
        tuple(table.T),
        statistic,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, 2_000_000 // len(table)),
        method="percentile",
        rng=np.random.default_rng(1),
    )


def cpu_s(work: Callable[[npt.NDArray[np.int64]], None], table: npt.NDArray[np.int64]) -> float:
    """The median CPU time of a call."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        work(table)
        times.append(time.process_time() - started)
    return float(np.median(times))


def main() -> None:
    """Prints a line for each size."""
    for clusters in (90, 1_000, 10_000):
        table = counts(clusters)
        own, peer = cpu_s(ours, table), cpu_s(scipys, table)
        print(f"{clusters:>6} clusters: ours {own:.4f} s, scipy {peer:.4f} s, ratio {peer / own:.1f}")


if __name__ == "__main__":
    main()
