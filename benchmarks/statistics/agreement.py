"""Krippendorff's alpha with 1,000 resamples of units, on 20,000 units by 3 raters, beside the krippendorff package.

The package runs in a loop over ten resamples, and its time is scaled. The limit is what drawing the row numbers
of all resamples alone costs; equal units are drawn together, which escapes it.
"""

import krippendorff
import numpy as np
import numpy.typing as npt

from benchmarks.statistics.measure import cpu_s, once_cpu_s
from eval_pipeline.stats.agreement import agreement_interval
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.ratings import Scale

UNITS, RESAMPLES, SHOWN = 20_000, 1000, 10


def ratings() -> npt.NDArray[np.float64]:
    """Five levels, three raters who err by one now and then, one rating in twenty missing."""
    rng = np.random.default_rng(3)
    table = np.clip(rng.integers(0, 5, (UNITS, 1)) + rng.integers(-1, 2, (UNITS, 3)), 0, 4).astype(float)
    table[rng.random(table.shape) < 0.05] = np.nan
    return table


def ours(table: npt.NDArray[np.float64], scale: Scale) -> None:
    """Alpha and its interval by this project."""
    agreement_interval(
        krippendorff_alpha(table, scale=scale),
        np.arange(UNITS),
        level=0.95,
        resamples=RESAMPLES,
        valid_at_least=RESAMPLES // 2,
        ranks="symmetric",
        rng=np.random.default_rng(1),
    )


def theirs(table: npt.NDArray[np.float64], scale: Scale) -> None:
    """A few resamples by the package."""
    rng = np.random.default_rng(1)
    for _ in range(SHOWN):
        krippendorff.alpha(table[rng.integers(0, UNITS, UNITS)].T, level_of_measurement=scale)


def main() -> None:
    """Prints a line for each scale."""
    table = ratings()
    rng = np.random.default_rng(1)
    limit = cpu_s(lambda: rng.bit_generator.random_raw(UNITS * RESAMPLES // 2), repeats=3)
    scales: tuple[Scale, ...] = ("nominal", "ordinal", "interval", "ratio")
    for scale in scales:
        own = cpu_s(lambda s=scale: ours(table, s), repeats=5)
        peer = once_cpu_s(lambda s=scale: theirs(table, s)) * RESAMPLES / SHOWN
        print(
            f"{scale:>8}: ours {own:.4f} s, krippendorff {peer:.1f} s, drawing alone {limit:.4f};"
            f" krippendorff / ours {peer / own:.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
