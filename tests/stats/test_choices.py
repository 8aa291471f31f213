"""A word that no estimator knows is refused; none falls through to the rule that happens to come last."""

import numpy as np
import pytest

from eval_pipeline.errors import InputRefused
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.bootstrap import percentile_rank
from eval_pipeline.stats.cluster_mean import cluster_mean
from eval_pipeline.stats.cluster_share import share_interval
from eval_pipeline.stats.corrected_share import corrected_share
from eval_pipeline.stats.correction import known_errors_interval
from eval_pipeline.stats.drift import drift
from eval_pipeline.stats.judged_clusters import tabulated
from eval_pipeline.stats.kappa import cohen_kappa
from eval_pipeline.stats.paired_bootstrap import paired_difference, shift_test
from eval_pipeline.stats.permutation import paired_permutation, two_sample_permutation
from eval_pipeline.stats.post_stratified import post_stratified_share
from eval_pipeline.stats.power import (
    mean_power,
    mean_size,
    minimum_detectable_effect,
    one_proportion_size,
    two_proportion_size,
)
from eval_pipeline.stats.survival import kaplan_meier

RNG = np.random.default_rng(1)
BOOT = {"level": 0.9, "resamples": 50, "rng": RNG}
MEANS = {"alpha": 0.05, "design": "paired", "distribution": "t"}
JUDGED = tabulated([1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 2, 3], [0] * 4)
WORDS = {
    "scale": lambda: krippendorff_alpha([[1, 2], [1, 1]], scale="Nominal"),
    "ranks": lambda: percentile_rank(100, 0.5, "ceiling"),
    "tails": lambda: cluster_mean([1, 2], [0, 1], tails="both", method="percentile", ranks="floor", **BOOT),
    "method": lambda: cluster_mean([1, 2], [0, 1], tails="two", method="BCa", ranks="floor", **BOOT),
    "tails of a share": lambda: share_interval([1, 2], [3, 3], level=0.9, tails="both"),
    "tails of strata": lambda: post_stratified_share(JUDGED, group=0, level=0.9, tails="both"),
    "errors": lambda: corrected_share(JUDGED, errors="all", group=0, level=0.9, tails="two"),
    "method of a share": lambda: known_errors_interval(1, 2, sensitivity=1, specificity=1, level=0.9, method="exact"),
    "exchange": lambda: drift([1, 2, 3, 4], [0, 1, 0, 1], [0, 0, 1, 1], exchange="units", resamples=9, rng=RNG),
    "weights": lambda: cohen_kappa([[1, 2], [1, 1]], weights="square"),
    "alternative of a pair": lambda: paired_difference(
        [1, 0], [0, 0], [0, 1], alternative="both", method="percentile", ranks="floor", **BOOT
    ),
    "alternative of a mean": lambda: shift_test([1, 2, 4], 0, alternative="both", resamples=9, rng=RNG),
    "alternative": lambda: two_sample_permutation([1, 2], [3], alternative="two-sided", resamples=9, rng=RNG),
    "alternative of flips": lambda: paired_permutation([1, 2], [3, 3], alternative="two-sided", resamples=9, rng=RNG),
    "design": lambda: minimum_detectable_effect(1, 9, power=0.8, **(MEANS | {"design": "crossed"})),
    "distribution": lambda: minimum_detectable_effect(1, 9, power=0.8, **(MEANS | {"distribution": "z"})),
    "distribution of a power": lambda: mean_power(1, 9, effect=1, **(MEANS | {"distribution": "z"})),
    "distribution of a size": lambda: mean_size(1, effect=1, power=0.8, **(MEANS | {"distribution": "z"})),
    "method of a proportion": lambda: one_proportion_size(0.5, 0.6, alpha=0.05, power=0.8, method="wald"),
    "convention": lambda: two_proportion_size(0.5, 0.6, alpha=0.05, power=0.8, convention="fleiss"),
    "transform": lambda: kaplan_meier([1, 2], [1, 1], level=0.9, transform="logit"),
}


@pytest.mark.parametrize("word", WORDS)
def test_an_unknown_word_is_refused_with_those_that_there_are(word):
    with pytest.raises(InputRefused, match=rf"^{word.split()[0]}: found '.*', expected one of '.*', '.*'"):
        WORDS[word]()
