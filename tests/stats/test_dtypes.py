"""Every function that takes an array gives one answer for one set of numbers, however they are stored, or refuses."""

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from eval_pipeline import stats
from eval_pipeline.errors import InputRefused
from eval_pipeline.stats import arrays
from eval_pipeline.stats.agreement import agreement_interval
from eval_pipeline.stats.alpha import krippendorff_alpha
from eval_pipeline.stats.attenuation import paired_gap
from eval_pipeline.stats.beta_binomial import Beta
from eval_pipeline.stats.bounded_mean import bounded_difference, bounded_mean
from eval_pipeline.stats.cluster_mean import cluster_mean
from eval_pipeline.stats.cluster_share import share_difference, share_interval
from eval_pipeline.stats.common_errors import common_errors
from eval_pipeline.stats.confidence_sequence import normal_mixture_boundary
from eval_pipeline.stats.control_charts import p_chart, p_chart_centre, runs_of_8, special_causes, xmr_limits
from eval_pipeline.stats.corrected_ratio import Screened, corrected_contrast
from eval_pipeline.stats.corrected_share import corrected_difference
from eval_pipeline.stats.drift import drift
from eval_pipeline.stats.effects import cliffs_delta, leave_one_out_correlations, spearman
from eval_pipeline.stats.hazards import hazards
from eval_pipeline.stats.judged_clusters import JudgedClusters, tabulated
from eval_pipeline.stats.kappa import cohen_kappa, fleiss_kappa, gwet_ac1, paradox, raw_agreement
from eval_pipeline.stats.log_rank import clustered_log_rank, log_rank
from eval_pipeline.stats.mean_difference import clustered_difference
from eval_pipeline.stats.multiplicity import benjamini_hochberg, bonferroni, holm
from eval_pipeline.stats.paired_bootstrap import paired_difference, shift_test
from eval_pipeline.stats.percentile import percentile
from eval_pipeline.stats.permutation import paired_permutation, two_sample_permutation
from eval_pipeline.stats.pooled_rates import pooled_rates
from eval_pipeline.stats.pooled_ratio import ratio_contrast, ratio_range
from eval_pipeline.stats.positions import lasting_positions
from eval_pipeline.stats.post_stratified import post_stratified_difference, post_stratified_share
from eval_pipeline.stats.prediction_powered import prediction_powered_contrast, prediction_powered_mean
from eval_pipeline.stats.ratings import coded
from eval_pipeline.stats.reliability import composite_reliability, mean_correlation
from eval_pipeline.stats.survival import kaplan_meier, risk_table
from eval_pipeline.stats.tail_shares import tail_share_bootstrap

Convert = Callable[[np.ndarray], Any]
RNG = np.random.default_rng(77)
ROWS = 40  # sums of these columns exceed 127 and 255 many times over
TRIALS = RNG.integers(60, 120, (ROWS, 2))
HITS = RNG.binomial(TRIALS, 0.7)
VALUES, OTHERS = RNG.integers(0, 120, ROWS), RNG.integers(0, 120, ROWS)
FLAGS, ALSO = RNG.integers(0, 2, ROWS), RNG.integers(0, 2, ROWS)
TIMES = RNG.integers(1, 9, ROWS)
CLUSTERS = np.repeat(np.arange(ROWS // 2), 2)
BATCHES = np.tile(np.arange(4), ROWS // 4)
RATINGS = RNG.integers(0, 5, (ROWS, 3)) * 25
BINARY = np.column_stack([FLAGS, np.where(RNG.random(ROWS) < 0.8, FLAGS, ALSO)])


def rng() -> np.random.Generator:
    return np.random.default_rng(1)


BOOT: dict[str, Any] = {"level": Fraction(9, 10), "resamples": 99, "ranks": "symmetric"}
SHARES: dict[str, Any] = {"level": Fraction(9, 10), "tails": "two"}
PERMUTED: dict[str, Any] = {"alternative": "absolute", "resamples": 99}


def judged(to: Convert) -> JudgedClusters:
    """A study of which half was checked."""
    seen = (np.arange(ROWS) % 2)[:, None]
    return JudgedClusters(to(HITS), to(TRIALS), *(to(seen * (HITS // by)) for by in (3, 9, 9, 9)))


def screened(to: Convert) -> Screened:
    """Its screen."""
    away = (TRIALS - HITS) // 2
    return Screened(to(away), to(away // 2), to(away // 4))


CALLS: dict[Callable[..., Any], Callable[[Convert], Any]] = {
    ratio_contrast: lambda to: ratio_contrast(
        to(HITS), to(TRIALS), (1, -1), tails="two", method="bca", valid_at_least=9, rng=rng(), **BOOT
    ),
    lasting_positions: lambda to: lasting_positions(to(VALUES), to(CLUSTERS), to(BATCHES), resamples=99, rng=rng()),
    common_errors: lambda to: common_errors(to(FLAGS), to(ALSO), to(BATCHES)),
    tail_share_bootstrap: lambda to: tail_share_bootstrap(to(FLAGS), level=0.9, resamples=1000, seed=7),
    pooled_rates: lambda to: pooled_rates(
        to(HITS[:, 0]), to(TRIALS[:, 0]), centre=Beta(7, 3), nodes=20, level=Fraction(9, 10)
    ),
    clustered_difference: lambda to: clustered_difference(
        to(VALUES), to(CLUSTERS), to(OTHERS), to(CLUSTERS), level=Fraction(9, 10)
    ),
    ratio_range: lambda to: ratio_range(to(HITS), to(TRIALS), valid_at_least=9, rng=rng(), **BOOT),
    cluster_mean: lambda to: cluster_mean(
        to(VALUES), to(CLUSTERS), tails="two", method="percentile", rng=rng(), **BOOT
    ),
    paired_difference: lambda to: paired_difference(
        to(FLAGS), to(ALSO), to(CLUSTERS), alternative="two-sided", method="percentile", rng=rng(), **BOOT
    ),
    shift_test: lambda to: shift_test(to(VALUES), 60, alternative="two-sided", resamples=99, rng=rng()),
    bounded_mean: lambda to: bounded_mean(to(FLAGS), **SHARES),
    bounded_difference: lambda to: bounded_difference(to(FLAGS), to(ALSO), **SHARES),
    share_interval: lambda to: share_interval(to(HITS[:, 0]), to(TRIALS[:, 0]), **SHARES),
    share_difference: lambda to: share_difference(to(HITS), to(TRIALS), **SHARES),
    tabulated: lambda to: tabulated(to(FLAGS), to(ALSO), to(CLUSTERS), to(TIMES % 2)),
    prediction_powered_mean: lambda to: prediction_powered_mean(
        to(VALUES), to(OTHERS), to(OTHERS), trust="tuned", level=0.9
    ),
    coded: lambda to: coded(to(RATINGS), scale="interval", categories=None),
    krippendorff_alpha: lambda to: [
        krippendorff_alpha(to(RATINGS), scale=scale) for scale in ("nominal", "ordinal", "interval", "ratio")
    ],
    agreement_interval: lambda to: agreement_interval(
        krippendorff_alpha(to(RATINGS), scale="ordinal"), to(CLUSTERS), valid_at_least=9, rng=rng(), **BOOT
    ),
    raw_agreement: lambda to: raw_agreement(to(RATINGS)),
    fleiss_kappa: lambda to: fleiss_kappa(to(RATINGS)),
    gwet_ac1: lambda to: gwet_ac1(to(RATINGS)),
    cohen_kappa: lambda to: cohen_kappa(to(RATINGS[:, :2]), weights="quadratic"),
    paradox: lambda to: paradox(to(BINARY)),
    composite_reliability: lambda to: composite_reliability(to(RATINGS)),
    mean_correlation: lambda to: mean_correlation(to(RATINGS)),
    risk_table: lambda to: risk_table(to(TIMES), to(FLAGS), to(ALSO)),
    kaplan_meier: lambda to: kaplan_meier(to(TIMES), to(FLAGS), level=0.9, transform="log-log"),
    log_rank: lambda to: log_rank(to(TIMES), to(FLAGS), to(ALSO)),
    clustered_log_rank: lambda to: clustered_log_rank(to(TIMES), to(FLAGS), to(ALSO), to(CLUSTERS)),
    hazards: lambda to: hazards(to(TIMES), to(FLAGS), level=0.9),
    xmr_limits: lambda to: xmr_limits(to(VALUES)),
    special_causes: lambda to: special_causes(to(VALUES), limits=xmr_limits(VALUES[:4])),
    runs_of_8: lambda to: runs_of_8(to(np.sort(VALUES)), centre=60),
    p_chart_centre: lambda to: p_chart_centre(to(HITS[:, 0]), to(TRIALS[:, 0])),
    p_chart: lambda to: p_chart(to(HITS[:, 0]), to(TRIALS[:, 0]), centre=Fraction(7, 10)),
    percentile: lambda to: percentile(to(VALUES), share=0.9, level=0.9),
    normal_mixture_boundary: lambda to: normal_mixture_boundary(to(VALUES), rho=5.0, level=0.9),
    two_sample_permutation: lambda to: two_sample_permutation(to(VALUES), to(OTHERS), rng=rng(), **PERMUTED),
    paired_permutation: lambda to: paired_permutation(to(VALUES), to(OTHERS), rng=rng(), **PERMUTED),
    drift: lambda to: drift(to(VALUES), to(BATCHES), to(CLUSTERS), exchange="clusters", resamples=99, rng=rng()),
    cliffs_delta: lambda to: cliffs_delta(to(VALUES), to(OTHERS), level=0.9),
    spearman: lambda to: spearman(to(VALUES), to(OTHERS), level=0.9),
    leave_one_out_correlations: lambda to: leave_one_out_correlations(to(RATINGS)),
    paired_gap: lambda to: paired_gap(to(FLAGS), to(ALSO)),
    bonferroni: lambda to: bonferroni(to(FLAGS), alpha=0.05),
    holm: lambda to: holm(to(FLAGS), alpha=0.05),
    benjamini_hochberg: lambda to: benjamini_hochberg(to(FLAGS), alpha=0.05),
    JudgedClusters: judged,
    Screened: screened,
    corrected_contrast: lambda to: corrected_contrast(
        judged(to), (1, -1), errors="pooled", screened=screened(to), tails="two", valid_at_least=9, rng=rng(), **BOOT
    ),
    corrected_difference: lambda to: corrected_difference(judged(to), errors="pooled", **SHARES),
    post_stratified_share: lambda to: post_stratified_share(judged(to), group=1, **SHARES),
    post_stratified_difference: lambda to: post_stratified_difference(judged(to), **SHARES),
    prediction_powered_contrast: lambda to: prediction_powered_contrast(judged(to), (1, -1), trust=0.5, **SHARES),
}
STORED: dict[str, Convert] = {
    "uint8": lambda array: array.astype(np.uint8),
    "int8": lambda array: array.astype(np.int8),
    "uint64": lambda array: array.astype(np.uint64),
    "float32": lambda array: array.astype(np.float32),
    "object": lambda array: array.astype(object),
    "fortran": np.asfortranarray,
    "every-other": lambda array: np.repeat(array, 2, axis=0)[::2],
    "pandas": lambda array: (
        pd.Series(array, index=np.arange(len(array))[::-1]) if array.ndim == 1 else pd.DataFrame(array)
    ),
    "pandas-nullable": lambda array: (
        pd.Series(array, dtype="Int64") if array.ndim == 1 else pd.DataFrame(array, dtype="Int64")
    ),
    "lists": lambda array: array.tolist(),
}
WITH_A_GAP = {
    "object-none": lambda array: np.where(np.arange(array.size).reshape(array.shape) == 3, None, array.astype(object)),
    "float-nan": lambda array: np.where(np.arange(array.size).reshape(array.shape) == 3, np.nan, array.astype(float)),
}
TAKE_GAPS = {coded, krippendorff_alpha, agreement_interval, raw_agreement, fleiss_kappa, gwet_ac1, cohen_kappa, paradox}
TAKE_GAPS |= {composite_reliability}


def plain(value: Any) -> Any:
    """A result as nested lists, without its functions."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, sparse.sparray):
        return value.toarray().tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return None if callable(value) else value


def array_takers() -> set[Callable[..., Any]]:
    """The public functions and records of the package that take an array of any kind."""
    found = set()
    for module in pkgutil.iter_modules(stats.__path__):
        for item in vars(importlib.import_module(f"{stats.__name__}.{module.name}")).values():
            if not inspect.isfunction(item) or item.__name__.startswith("_") or item.__module__ == arrays.__name__:
                continue
            if any(hint is arrays.ArrayLike for hint in inspect.get_annotations(item).values()):
                found.add(item)
    return found


def test_no_function_that_takes_an_array_is_left_out():
    assert len(array_takers()) > 30
    assert array_takers() <= set(CALLS)


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize("call", CALLS.values(), ids=[function.__name__ for function in CALLS])
def test_the_answer_does_not_depend_on_how_the_numbers_are_stored(call, stored):
    assert plain(call(STORED[stored])) == plain(call(np.asarray))


@pytest.mark.parametrize("gap", WITH_A_GAP)
@pytest.mark.parametrize("function", [f for f in CALLS if f not in TAKE_GAPS], ids=lambda function: function.__name__)
def test_a_missing_number_is_refused_and_not_counted_as_something(function, gap):
    with pytest.raises(InputRefused):
        CALLS[function](WITH_A_GAP[gap])
