"""The arms are compared on retries, by runs; where nothing compares them the plan says what is said."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines.statistics import logrank_test
from statsmodels.duration.hazard_regression import PHReg

from eval_pipeline.studies.retry_limit.comparison import compared
from eval_pipeline.studies.retry_limit.generator import courses
from eval_pipeline.studies.retry_limit.sections import Columns, columns
from tests.stats.laws import LAW
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended, of_first_version, section


def generated(seed: int, **truth: object) -> Columns:
    return courses(amended(SHIPPED, seed=seed, generated={"inputs": 30} | truth)).columns


def test_the_first_attempt_plays_no_part():
    """However the arms differ at it: by hand, 2 of 2 pass at attempt 2 with, and 1 of 2 without."""
    retried = [section(f"w{k}", "s", "rp", WITH) for k in range(2)]
    retried += [section("o0", "s", "rp", WITHOUT), section("o1", "s", "rrt", WITHOUT)]
    found = compared(columns([*retried, *[section(f"f{k}", "s", "p", WITH) for k in range(50)]]), SHIPPED.contrast)
    assert (found.sections, found.passes) == (4, 3)
    assert found.observed == (1, 2)
    assert found.expected == pytest.approx((1.5, 1.5))
    # 3 of 4 at risk pass, 2 in each arm: the variance is 3 * 1 * 2 * 2 / (16 * 3) = 1/4.
    assert found.plain.chi2 == pytest.approx(0.5**2 / (1 / 4))
    assert found.rate_ratio == pytest.approx((2 / 1.5) / (1 / 1.5))
    assert found.faster is WITH


@pytest.mark.parametrize("seed", range(4))
def test_lifelines_gives_the_plain_test_and_statsmodels_the_one_by_runs(seed):
    data = generated(seed)
    found = compared(data, SHIPPED.contrast)
    kept = data.where(data.until >= 2)
    side = kept.arm == 1
    other = logrank_test(kept.until[side], kept.until[~side], kept.passed[side], kept.passed[~side])
    assert found.plain.p_value == pytest.approx(other.p_value, rel=1e-9)
    # The sandwich of a Cox model at no effect is the score test by runs; statsmodels gives the scores.
    model = PHReg(kept.until.astype(float), kept.arm[:, None].astype(float), status=kept.passed, ties="breslow")
    scores = np.asarray(model.score_residuals(np.zeros(1)))[:, 0]
    by_run = np.bincount(kept.run, weights=scores)
    assert found.clustered.chi2 == pytest.approx(scores.sum() ** 2 / (by_run**2).sum(), rel=1e-6)
    assert found.p_value == found.clustered.p_value


def test_runs_that_go_together_widen_the_test():
    spread = [compared(generated(7, run_spread=size, inputs=200), SHIPPED.contrast) for size in ("0", "1")]
    assert spread[0].design_effect == pytest.approx(1, abs=0.2)
    assert spread[1].design_effect > 1.4


def test_the_plan_says_which_test_decides():
    found = compared(generated(1), amended(SHIPPED, contrast={"variance": "plain"}).contrast)
    assert found.p_value == found.plain.p_value != found.clustered.p_value


@LAW
@given(st.integers(0, 10**6))
def test_the_arms_may_change_names(seed):
    data = generated(seed)
    found = compared(data, SHIPPED.contrast)
    other = compared(Columns(data.until, data.passed, 1 - data.arm, data.run), SHIPPED.contrast)
    assert other.p_value == pytest.approx(found.p_value, abs=1e-12)
    assert other.observed == found.observed[::-1]
    assert {found.faster, other.faster} == {WITH, WITHOUT}
    assert other.rate_ratio == pytest.approx(1 / found.rate_ratio)


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        ([("rp", WITH)], "found 0 subjects in arm 0 and 1 in arm 1; expected some in both"),
        ([("rt", WITH), ("rt", WITHOUT)], "nobody had the event; without events the arms cannot be compared"),
        ([("p", WITH), ("p", WITHOUT)], "found no subject; a curve or a test of survival needs at least one"),
    ],
)
def test_where_nothing_compares_the_arms_nothing_is_said(paths, why):
    found = columns([section(f"r{k}", "s", path, arm) for k, (path, arm) in enumerate(paths)])
    nothing = compared(found, SHIPPED.contrast)
    assert (nothing.p_value, nothing.plain, nothing.clustered, nothing.faster) == (None,) * 4
    assert nothing.why == why
    first_version = compared(found, amended(SHIPPED, contrast={"no_contrast": "no_difference"}).contrast)
    assert (first_version.plain.chi2, first_version.p_value) == (0, 1)


def test_one_run_in_an_arm_has_no_test_by_runs():
    sections = [section("a", f"s{k}", "rp", WITH) for k in range(5)]
    sections += [section(f"b{k}", "s", "rrp", WITHOUT) for k in range(5)]
    found = compared(columns(sections), SHIPPED.contrast)
    assert found.plain is not None
    assert found.p_value is None
    assert found.why == "arm 1 has subjects of one cluster, and at least 2 are needed in each arm"
    assert found.design_effect is None


def test_nothing_that_passed_without_leaves_no_ratio():
    sections = [section(f"a{k}", "s", "rp", WITH) for k in range(3)] + [section("b", "s", "rt", WITHOUT)]
    assert compared(columns(sections), SHIPPED.contrast).rate_ratio is None


def test_arms_that_do_the_same_have_no_faster_one():
    sections = [
        section(f"r{k}", "s", path, arm)
        for k, (path, arm) in enumerate([("rp", WITH), ("rt", WITH), ("rp", WITHOUT), ("rt", WITHOUT)])
    ]
    found = compared(columns(sections), of_first_version(SHIPPED).contrast)
    assert found.faster is None
    assert Fraction(found.observed[0]) == Fraction(found.observed[1])
