"""What 90 entries can show: the numbers behind `sample_size` in data/plans/extraction.toml, by simulation.

Each entry has a recall of its own, beta-distributed about the recall of the quartile, so that propositions of one entry
correlate by ICC: one effect for all quarters of an entry, which a difference of quarters does not see, or one for each.
Prints the half-width of the interval of pooled recall, and how often uniformity passes, by true loss.
"""

from fractions import Fraction
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

from eval_pipeline.records import Interval
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from eval_pipeline.stats.tails import Tails

Effects = Literal["of the entry", "of each quarter"]
STUDIES, ENTRIES, PER_QUARTILE, ICC = 400, 90, 3, 0.1


def study(rng: np.random.Generator, recalls: tuple[float, ...], effects: Effects) -> npt.NDArray[np.int64]:
    """The hits of a simulated study, shape (ENTRIES, 4)."""
    shape = (1 - ICC) / ICC
    quantiles = rng.random((ENTRIES, 1 if effects == "of the entry" else 4))
    own = np.column_stack(
        [
            beta.ppf(quantiles[:, place % quantiles.shape[1]], p * shape, (1 - p) * shape)
            for place, p in enumerate(recalls)
        ]
    )
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
        method="percentile",
        resamples=1000,
        valid_at_least=500,
        ranks="symmetric",
        rng=np.random.default_rng(seed),
    ).interval


def pass_share(rng: np.random.Generator, loss: float, effects: Effects) -> float:
    """The share of studies in which the bound is .10 or less, if quarter 4 loses this much."""
    recalls = tuple(0.85 - loss * place / 3 for place in range(4))
    passes = 0
    for place in range(STUDIES):
        high = interval(study(rng, recalls, effects), PER_QUARTILE, (1, 0, 0, -1), "upper", seed=place).high
        assert high is not None
        passes += high <= Fraction(1, 10)
    return passes / STUDIES


def main() -> None:
    """Prints the table."""
    rng = np.random.default_rng(4242)
    widths = []
    for place in range(STUDIES):
        hits = study(rng, (0.8,) * 4, "of the entry").sum(axis=1, keepdims=True)
        ends = interval(hits, 4 * PER_QUARTILE, (1,), "two", seed=place)
        assert ends.low is not None
        assert ends.high is not None
        widths.append(float(ends.high - ends.low) / 2)
    print(f"recall .80: median half-width of the 95 % interval {np.median(widths):.3f}")
    print(f"recall .85 in quarter 1, {STUDIES} studies a cell; share in which uniformity passes, by the true loss:")
    for effects in get_args(Effects):
        shares = [f"{loss:.2f}: {pass_share(rng, loss, effects):.3f}" for loss in (0.0, 0.03, 0.05, 0.10, 0.18)]
        print(f"  effects {effects}: {', '.join(shares)}")


if __name__ == "__main__":
    main()
