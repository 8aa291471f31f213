"""What 90 entries can show: the numbers behind `sample_size` in data/plans/extraction.toml, by simulation.

Each entry has a recall of its own, beta-distributed about the recall of the quartile so that propositions of one entry
correlate by ICC. Prints the half-width of the interval of pooled recall, and how often uniformity passes, by true loss.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.records import Interval
from eval_pipeline.stats.bootstrap import Tails, ratio_contrast

STUDIES, ENTRIES, PER_QUARTILE, ICC = 400, 90, 3, 0.1


def study(rng: np.random.Generator, recalls: tuple[float, ...]) -> npt.NDArray[np.int64]:
    """The hits of a simulated study, shape (ENTRIES, 4): one effect an entry, on the scale of its quantile."""
    shape = (1 - ICC) / ICC
    quantile = rng.random(ENTRIES)
    own = np.column_stack([np.quantile(rng.beta(p * shape, (1 - p) * shape, 20000), quantile) for p in recalls])
    return rng.binomial(PER_QUARTILE, own).astype(np.int64)


def interval(
    hits: npt.NDArray[np.int64], trials: int, weights: tuple[int, ...], tails: Tails, *, seed: int
) -> Interval:
    """The interval as the plan orders it; each cell of `hits` had this many trials."""
    return ratio_contrast(
        hits,
        np.full(hits.shape, trials, dtype=np.int64),
        weights,
        level=Fraction(95, 100),
        tails=tails,
        resamples=1000,
        valid_at_least=500,
        ranks="symmetric",
        rng=np.random.default_rng(seed),
    ).interval


def main() -> None:
    """Prints the table."""
    rng = np.random.default_rng(4242)
    widths = []
    for place in range(STUDIES):
        hits = study(rng, (0.8,) * 4).sum(axis=1, keepdims=True)
        ends = interval(hits, 4 * PER_QUARTILE, (1,), "two", seed=place)
        assert ends.low is not None
        assert ends.high is not None
        widths.append(float(ends.high - ends.low) / 2)
    print(f"recall .80: median half-width of the 95 % interval {np.median(widths):.3f}")
    for loss in (0.0, 0.03, 0.05, 0.10, 0.18):
        recalls = tuple(0.85 - loss * place / 3 for place in range(4))
        passes = 0
        for place in range(STUDIES):
            high = interval(study(rng, recalls), PER_QUARTILE, (1, 0, 0, -1), "upper", seed=place).high
            assert high is not None
            passes += high <= Fraction(1, 10)
        print(f"true loss {loss:.2f}: uniformity passes in {passes / STUDIES:.3f} of {STUDIES} studies")


if __name__ == "__main__":
    main()
