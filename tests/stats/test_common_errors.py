"""Errors that two judges share: by hand, as Fisher's test has them, and rarely called many where they err apart."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, fisher_exact
from statsmodels.stats.contingency_tables import StratifiedTable

from eval_pipeline.errors import InputRefused, TooFewObservations
from eval_pipeline.stats.common_errors import common_errors
from tests.stats.laws import LAW

CASES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=25)


def found_in(cases):
    return common_errors(*zip(*cases, strict=True))


def test_two_errors_each_in_four_cases_by_hand():
    """Both judges err on 2 of 4. In common 0, 1 or 2 come with 1, 4 and 1 of 6 chances; 2 * 2 / 4 = 1 is expected."""
    found = common_errors([1, 1, 0, 0], [1, 1, 0, 0], [0] * 4)
    assert (found.n, found.both, found.expected) == (4, 2, 1)
    assert found.p_value == pytest.approx(1 / 6, abs=1e-12)
    assert common_errors([1, 1, 0, 0], [0, 1, 1, 0], [0] * 4).p_value == pytest.approx(5 / 6, abs=1e-12)


def test_two_such_strata_by_hand():
    """Four in common of two and two: 1 / 6 in either stratum, 1 / 36 in both."""
    found = common_errors([1, 1, 0, 0] * 2, [1, 1, 0, 0] * 2, ["a"] * 4 + ["b"] * 4)
    assert (found.both, found.expected) == (4, 2)
    assert found.p_value == pytest.approx(1 / 36, abs=1e-12)


def test_strata_in_which_both_err_more_often_are_no_errors_in_common():
    """In one stratum both always err, in the other neither does: nothing is left to chance."""
    found = common_errors([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1, 1, 1, 2, 2, 2])
    assert (found.both, found.expected, found.p_value) == (3, 3, 1.0)
    assert common_errors([1, 1, 1, 0, 0, 0], [1, 1, 1, 0, 0, 0], [1] * 6).p_value == pytest.approx(1 / 20)


@LAW
@given(CASES)
def test_in_one_stratum_it_is_fishers_one_sided_test(cases):
    """scipy 1.17.1, fisher_exact(alternative="greater")."""
    first, second, _ = (np.array(column) for column in zip(*cases, strict=True))
    table = [[sum((first == i) & (second == j)) for j in (1, 0)] for i in (1, 0)]
    found = common_errors(first, second, np.zeros(len(first)))
    assert found.p_value == pytest.approx(fisher_exact(table, alternative="greater").pvalue, abs=1e-9)


def test_of_many_cases_it_is_about_half_of_the_mantel_haenszel_test_of_statsmodels():
    """statsmodels 0.14, StratifiedTable.test_null_odds(correction=True), two-sided."""
    rng = np.random.default_rng(2)
    strata = rng.integers(0, 3, 900)
    hard = rng.random(900) < 0.2
    first, second = ((rng.random(900) < 0.1 + 0.05 * strata + 0.25 * hard).astype(int) for _ in range(2))
    tables = [[[sum((first == i) & (second == j) & (strata == k)) for j in (1, 0)] for i in (1, 0)] for k in range(3)]
    theirs = StratifiedTable([np.array(table, dtype=float) for table in tables])
    found = common_errors(first, second, strata)
    assert found.p_value == pytest.approx(theirs.test_null_odds(correction=True).pvalue / 2, rel=0.15)


@LAW
@given(CASES)
def test_it_is_the_same_of_either_judge_and_in_any_order(cases):
    found = found_in(cases)
    assert found_in([(b, a, c) for a, b, c in cases]) == found
    assert found_in(cases[::-1]).p_value == pytest.approx(found.p_value, abs=1e-12)
    assert 0 < found.p_value <= 1


def test_judges_that_err_apart_are_rarely_called_alike():
    """Exact tests reject at most as often as they say: 400 pairs, at 5 %."""
    rng = np.random.default_rng(3)
    strata = np.repeat([0, 1], [40, 80])
    rates = np.where(strata, 0.1, 0.4)
    pairs = [(rng.random(120) < rates, rng.random(120) < rates) for _ in range(400)]
    rejected = sum(common_errors(*pair, strata).p_value <= 0.05 for pair in pairs)
    assert binomtest(rejected, 400, 0.05, alternative="greater").pvalue > 0.01
    assert sum(common_errors(a, a | (rng.random(120) < 0.05), strata).p_value <= 0.05 for a, _ in pairs[:50]) == 50


def test_what_is_expected_is_exact():
    assert common_errors([1, 0, 0], [1, 0, 0], [0, 0, 0]).expected == Fraction(1, 3)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(TooFewObservations, match="no cases that both judges judged"):
        common_errors([], [], [])
    with pytest.raises(InputRefused, match="first: found 2, expected 0 or 1"):
        common_errors([2], [1], [0])
    with pytest.raises(InputRefused, match="found 2 first, 1 second, 2 strata"):
        common_errors([1, 0], [1], [0, 0])
