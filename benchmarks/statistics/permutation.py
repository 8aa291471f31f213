"""A permutation test of two groups of 1,000 yes-or-no items beside scipy.stats.permutation_test with 10,000 resamples.

Ours is exact, by the hypergeometric law. The limit is what drawing the random numbers of 10,000 permutations costs.
"""

import numpy as np
from scipy.stats import permutation_test

from benchmarks.statistics.measure import cpu_s
from eval_pipeline.stats.permutation import two_sample_permutation

ITEMS, RESAMPLES = 1_000, 10_000


def main() -> None:
    """Prints one line."""
    rng = np.random.default_rng(2)
    first, second = (rng.random(ITEMS) < 0.80).astype(np.int64), (rng.random(ITEMS) < 0.76).astype(np.int64)

    def ours() -> float:
        return two_sample_permutation(
            first, second, alternative="absolute", resamples=RESAMPLES, rng=np.random.default_rng(1)
        ).p_value

    def scipys() -> float:
        found = permutation_test(
            (first, second),
            lambda x, y, axis: x.mean(axis=axis) - y.mean(axis=axis),
            vectorized=True,
            n_resamples=RESAMPLES,
            batch=1_000,
            rng=np.random.default_rng(1),
        )
        return float(found.pvalue)

    own, peer = cpu_s(ours, repeats=25), cpu_s(scipys, repeats=3)
    limit = cpu_s(lambda: np.random.default_rng(1).bit_generator.random_raw(ITEMS * RESAMPLES), repeats=3)
    print(
        f"{ITEMS} v {ITEMS}: ours {own:.5f} s (p {ours():.4f}, exact), scipy {peer:.3f} s (p {scipys():.4f}),"
        f" drawing alone {limit:.4f}; scipy / ours {peer / own:.0f}"
    )


if __name__ == "__main__":
    main()
