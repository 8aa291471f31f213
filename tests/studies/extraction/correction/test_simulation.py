"""Made-up studies whose judge is strict in quartile 1 and lax in quartile 4: it hides a loss, and a check finds it.

90 entries have 1 to 8 propositions in each quartile and a recall of their own; 22 of them were checked whole.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.stats.corrected_ratio import corrected_contrast
from eval_pipeline.stats.pooled_ratio import ratio_contrast
from eval_pipeline.stats.prediction_powered import prediction_powered_contrast
from tests.stats.simulate import coverage, judged

STUDIES, ENTRIES, CHECKED = 300, 90, 22
LOSS = (1, 0, 0, -1)
SENSITIVITY, SPECIFICITY = (0.80, 0.85, 0.90, 0.95), (0.95, 0.90, 0.85, 0.80)

# Recalls by quartile, the loss from the first to the last, and by how much the judge is off: it calls supported
# r SENSITIVITY + (1 - r) (1 - SPECIFICITY) where r are.
#   No loss: .7 x .80 + .3 x .05 = .575 in quartile 1, .7 x .95 + .3 x .20 = .725 in quartile 4, -.15 and not 0.
#   A loss: .8 x .80 + .2 x .05 = .65 in quartile 1, .725 in quartile 4, -.075 and not .1.
NO_LOSS = (0.7, 0.7, 0.7, 0.7), 0.0, -0.15
A_LOSS = (0.8, 0.77, 0.73, 0.7), 0.1, -0.175
cases = pytest.mark.parametrize(("recalls", "loss", "off_by"), [NO_LOSS, A_LOSS], ids=["no loss", "a loss"])


@cache
def studies(recalls):
    rng = np.random.default_rng(31)
    return judged(rng, STUDIES, ENTRIES, recalls, sensitivity=SENSITIVITY, specificity=SPECIFICITY, checked=CHECKED)


def resampled(number):
    """The arguments of an upper bound from the bootstrap, each study with a seed of its own."""
    return {
        "level": 0.95, "tails": "upper", "resamples": 299, "valid_at_least": 150, "ranks": "symmetric",
        "rng": np.random.default_rng(number),
    }  # fmt: skip


def as_judged(recalls):
    return [
        ratio_contrast(study.supported, study.judged, LOSS, method="percentile", **resampled(number))
        for number, study in enumerate(studies(recalls))
    ]


def by_ratio(recalls, errors):
    return [
        corrected_contrast(study, LOSS, errors=errors, **resampled(number))
        for number, study in enumerate(studies(recalls))
    ]


def by_difference(recalls):
    return [
        prediction_powered_contrast(study, LOSS, trust="tuned", level=0.95, tails="upper") for study in studies(recalls)
    ]


def assert_centred(found, expected):
    """The mean over the studies lies within four of its standard errors of what is expected."""
    estimates = np.array([float(one.estimate) for one in found])
    assert abs(estimates.mean() - expected) < 4 * estimates.std() / np.sqrt(len(found))


def assert_held(found, loss):
    """Not shown to be held less often than in 95 % of studies."""
    assert binomtest(coverage(found, loss)[0], STUDIES, 0.95, alternative="less").pvalue > 0.01


@cases
def test_as_judged_the_loss_is_off_by_the_known_amount_and_its_bound_lies_below_it(recalls, loss, off_by):
    """It holds the loss in fewer than one study of twenty, where it should in nineteen."""
    found = as_judged(recalls)
    assert_centred(found, loss + off_by)
    assert coverage(found, loss)[0] < STUDIES / 20


@cases
def test_the_difference_estimator_holds_the_loss_as_often_as_it_says(recalls, loss, off_by):
    found = by_difference(recalls)
    assert_centred(found, loss)
    assert_held(found, loss)


@cases
def test_the_ratio_estimator_holds_the_loss_if_the_errors_are_those_of_each_quartile(recalls, loss, off_by):
    found = by_ratio(recalls, "by_group")
    assert_centred(found, loss)
    assert_held(found, loss)


@cases
def test_errors_taken_for_the_same_in_all_quartiles_make_it_worse(recalls, loss, off_by):
    """Sensitivity and specificity are .875 on average: the loss as judged is divided by .75."""
    found = by_ratio(recalls, "pooled")
    held, mean = coverage(found, loss)
    assert mean == pytest.approx((loss + off_by) / 0.75, abs=0.01)
    assert held < STUDIES / 20


def test_a_loss_of_10_points_passes_for_less_as_judged_and_seldom_when_corrected():
    """The gate of the plan: the bound is .10 or less."""
    passes = [
        sum(one.interval.high <= 0.1 for one in found)
        for found in (as_judged(A_LOSS[0]), by_difference(A_LOSS[0]), by_ratio(A_LOSS[0], "by_group"))
    ]
    assert passes[0] > STUDIES * 19 / 20
    for corrected in passes[1:]:
        assert binomtest(corrected, STUDIES, 0.05, alternative="greater").pvalue > 0.01
