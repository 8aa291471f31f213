"""The cluster bootstrap of a difference of two pooled ratios, 1,000 resamples, beside SciPy, arch and a NumPy loop.

All draw whole clusters of the same tables. SciPy's batch is set by hand, since its default needs memory for all
resamples at once. The limit is what drawing the row numbers alone costs, as 16-bit numbers from the raw stream;
grouping identical rows escapes it. At a million rows the peers run once.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt
from arch.bootstrap import IIDBootstrap
from scipy.stats import bootstrap

from benchmarks.statistics.measure import added_mb, cpu_s, once_cpu_s
from eval_pipeline.stats.pooled_ratio import ratio_contrast

RESAMPLES = 1000
Table = npt.NDArray[np.int64]


def repeating(clusters: int) -> Table:
    """Hits and trials of two columns, h1, h2, t1, t2, few of which differ."""
    rng = np.random.default_rng(clusters)
    trials = rng.integers(1, 5, size=(clusters, 2))
    return np.column_stack([rng.binomial(trials, 0.8), trials])


def distinct(clusters: int) -> Table:
    """The same with so many trials that hardly two rows are alike."""
    rng = np.random.default_rng(clusters)
    trials = rng.integers(50, 1000, size=(clusters, 2))
    return np.column_stack([rng.binomial(trials, 0.8), trials])


def ours(table: Table) -> None:
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


def scipys(table: Table) -> None:
    """The interval by scipy.stats.bootstrap."""

    def statistic(*columns: Table, axis: int) -> npt.NDArray[np.float64]:
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


def difference(table: Table) -> float:
    """The statistic of one table."""
    h1, h2, t1, t2 = table.sum(axis=0)
    return float(h1 / t1 - h2 / t2)


def archs(table: Table) -> None:
    """The interval by arch."""
    IIDBootstrap(table, seed=1).conf_int(difference, RESAMPLES, method="percentile")


def loop(table: Table) -> None:
    """The interval by a plain loop over resamples."""
    rng = np.random.default_rng(1)
    draws = [difference(table[rng.integers(0, len(table), len(table))]) for _ in range(RESAMPLES)]
    np.percentile(draws, [2.5, 97.5])


def drawing(clusters: int) -> None:
    """All row numbers, in 16 bits each, and nothing more."""
    rng = np.random.default_rng(1)
    for _ in range(RESAMPLES):
        rng.bit_generator.random_raw((clusters + 3) // 4)


def main() -> None:
    """Prints a line for each size."""
    for clusters, table, kind in (
        (90, repeating(90), "rows repeat"),
        (10_000, repeating(10_000), "rows repeat"),
        (1_000_000, repeating(1_000_000), "rows repeat"),
        (1_000_000, distinct(1_000_000), "rows differ"),
    ):
        many = 15 if clusters < 1_000 else 3
        own, limit = cpu_s(lambda t=table: ours(t), repeats=many), cpu_s(lambda n=clusters: drawing(n), repeats=3)
        peers = {
            name: cpu_s(lambda p=peer, t=table: p(t), repeats=many)
            if clusters < 1_000_000
            else once_cpu_s(lambda p=peer, t=table: p(t))
            for name, peer in (("scipy", scipys), ("arch", archs), ("loop", loop))
        }
        shown = ", ".join(f"{name} {seconds:.4f}" for name, seconds in peers.items())
        print(
            f"{clusters:>7} clusters, {kind}: ours {own:.4f} s ({added_mb(lambda t=table: ours(t)):.0f} MB), {shown},"
            f" drawing alone {limit:.4f}; fastest peer / ours {min(peers.values()) / own:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
