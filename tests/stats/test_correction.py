"""The Rogan-Gladen correction: by hand, as a system of equations, by its laws, by simulation, and its refusals."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.errors import JudgeTooPoor
from eval_pipeline.stats.correction import rogan_gladen

SHARES = st.fractions(0, 1, max_denominator=1000)


def test_by_hand():
    """(.8 + .95 - 1) / (.9 + .95 - 1) = .75 / .85 = 15/17; (.05 + .95 - 1) = 0."""
    judge = {"sensitivity": Fraction(9, 10), "specificity": Fraction(19, 20)}
    assert rogan_gladen(Fraction(4, 5), **judge) == Fraction(15, 17)
    assert rogan_gladen(Fraction(1, 20), **judge) == 0


@pytest.mark.parametrize(("se", "sp", "observed"), [(0.9, 0.95, 0.8), (0.7, 0.8, 0.4), (0.6, 0.55, 0.5)])
def test_a_linear_system_solved_by_numpy_agrees(se, sp, observed):
    """Supported and unsupported by the judge are a linear map of supported and unsupported in truth."""
    truth = np.linalg.solve([[se, 1 - sp], [1 - se, sp]], [observed, 1 - observed])
    assert float(rogan_gladen(observed, sensitivity=se, specificity=sp)) == pytest.approx(truth[0], abs=1e-12)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(SHARES, SHARES, SHARES)
def test_it_takes_back_what_the_judge_did(true, se, sp):
    if se + sp > 1:
        observed = true * se + (1 - true) * (1 - sp)
        assert rogan_gladen(observed, sensitivity=se, specificity=sp) == true


@settings(deadline=None, derandomize=True, max_examples=60)
@given(SHARES, SHARES)
def test_it_rises_with_what_was_observed_and_stays_within_0_and_1(one, other):
    low, high = (
        rogan_gladen(share, sensitivity=Fraction(4, 5), specificity=Fraction(9, 10)) for share in sorted((one, other))
    )
    assert 0 <= low <= high <= 1


def test_over_many_simulated_studies_it_is_right_on_average():
    """True recall .83; the raw share is off by .05 and more, the corrected one by less than four standard errors."""
    rng = np.random.default_rng(11)
    true = rng.binomial(500, 0.83, size=2000)
    observed = (rng.binomial(true, 0.9) + rng.binomial(500 - true, 0.05)) / 500
    corrected = np.array([float(rogan_gladen(share, sensitivity=0.9, specificity=0.95)) for share in observed])
    error = corrected.std() / np.sqrt(len(corrected))
    assert abs(observed.mean() - 0.83) > 0.05
    assert abs(corrected.mean() - 0.83) < 4 * error


@pytest.mark.parametrize(("se", "sp"), [(0.5, 0.5), (0, 1), (1, 0), (0.2, 0.3)])
def test_a_judge_no_better_than_chance_is_refused(se, sp):
    with pytest.raises(JudgeTooPoor, match="no better than chance"):
        rogan_gladen(0.5, sensitivity=se, specificity=sp)


@pytest.mark.parametrize("arguments", [(1.1, 1, 1), (0.5, -0.1, 1), (0.5, 1, float("nan"))])
def test_what_is_no_share_is_refused(arguments):
    observed, se, sp = arguments
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
        rogan_gladen(observed, sensitivity=se, specificity=sp)
