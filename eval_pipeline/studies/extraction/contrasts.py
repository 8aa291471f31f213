"""Contrasts of recalls over whole entries drawn again, as the plan orders it."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from eval_pipeline.stats.bootstrap import Bootstrap
from eval_pipeline.stats.pooled_ratio import ratio_contrast, ratio_range
from eval_pipeline.stats.tails import Tails
from eval_pipeline.studies.extraction.plan import ExtractionPlan


def contrast(
    hits: npt.NDArray[np.int64],
    judged: npt.NDArray[np.int64],
    weights: Sequence[Fraction | int],
    tails: Tails,
    plan: ExtractionPlan,
) -> Bootstrap[Fraction]:
    """The weighted sum of the columns' recalls with its interval; one row of `hits` and `judged` is an entry.

    Raises: TooFewClusters, RatioUndefined, ThinResamples: see `ratio_contrast`.
    """
    rule = plan.bootstrap
    return ratio_contrast(
        hits,
        judged,
        weights,
        level=rule.level if tails == "two" else rule.one_sided_level,
        tails=tails,
        method="percentile",
        resamples=rule.resamples,
        valid_at_least=rule.fewest_valid,
        ranks=rule.ranks,
        rng=np.random.default_rng(plan.seed),
    )


def spread(hits: npt.NDArray[np.int64], judged: npt.NDArray[np.int64], plan: ExtractionPlan) -> Bootstrap[Fraction]:
    """The highest less the lowest of the columns' recalls, with its upper bound.

    Raises: TooFewClusters, RatioUndefined, ThinResamples: see `ratio_range`.
    """
    rule = plan.bootstrap
    return ratio_range(
        hits,
        judged,
        level=rule.one_sided_level,
        resamples=rule.resamples,
        valid_at_least=rule.fewest_valid,
        ranks=rule.ranks,
        rng=np.random.default_rng(plan.seed),
    )
