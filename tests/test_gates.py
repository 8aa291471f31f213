"""A gate passes exactly when the estimate is on the right side of the threshold, and not by a rounding."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval_pipeline.gates import at_least, at_most, below
from eval_pipeline.records import Outcome

LAW = settings(deadline=None, derandomize=True, max_examples=60)
FOUR_FIFTHS, TENTH, GUARD = Fraction(4, 5), Fraction(1, 10), Fraction(19, 20)
TINY = Fraction(1, 10**30)


@pytest.mark.parametrize(
    ("estimate", "threshold", "outcome"),
    [
        pytest.param(FOUR_FIFTHS, FOUR_FIFTHS, Outcome.PASS, id="on-it"),
        pytest.param(FOUR_FIFTHS + TINY, FOUR_FIFTHS, Outcome.PASS, id="just-above"),
        pytest.param(FOUR_FIFTHS - TINY, FOUR_FIFTHS, Outcome.FAIL, id="just-below"),
        pytest.param(Fraction(19, 20), GUARD, Outcome.PASS, id="19-of-20"),
        pytest.param(Fraction(18, 20), GUARD, Outcome.FAIL, id="18-of-20"),
        pytest.param(0.75, Fraction(3, 4), Outcome.PASS, id="a-float-that-is-exact"),
    ],
)
def test_at_least(estimate, threshold, outcome):
    assert at_least(estimate, threshold, "exact") is outcome


@pytest.mark.parametrize(
    ("estimate", "outcome"),
    [
        pytest.param(TENTH, Outcome.PASS, id="on-it"),
        pytest.param(TENTH - TINY, Outcome.PASS, id="just-below"),
        pytest.param(TENTH + TINY, Outcome.FAIL, id="just-above"),
        pytest.param(Fraction(8, 10) - Fraction(7, 10), Outcome.PASS, id="eight-tenths-less-seven"),
        pytest.param(Fraction(-1, 2), Outcome.PASS, id="negative"),
    ],
)
def test_at_most(estimate, outcome):
    assert at_most(estimate, TENTH, "exact") is outcome


def test_rounding_before_comparing_passes_what_the_exact_comparison_fails():
    """cr20-045: 19999 of 25000 is .79996, and .8000 to four decimals."""
    recall = Fraction(19_999, 25_000)
    assert float(recall) == 0.79996
    assert at_least(recall, FOUR_FIFTHS, "exact") is Outcome.FAIL
    assert at_least(recall, FOUR_FIFTHS, "four_decimals") is Outcome.PASS


@pytest.mark.parametrize(
    ("bound", "exact", "rounded"),
    [
        pytest.param(Fraction(10_004, 100_000), Outcome.FAIL, Outcome.PASS, id="rounded-down-to-it"),
        pytest.param(Fraction(10_006, 100_000), Outcome.FAIL, Outcome.FAIL, id="rounded-up-past-it"),
        pytest.param(Fraction(9_996, 100_000), Outcome.PASS, Outcome.PASS, id="rounded-up-to-it"),
    ],
)
def test_a_bound_is_rounded_the_same_way(bound, exact, rounded):
    assert at_most(bound, TENTH, "exact") is exact
    assert at_most(bound, TENTH, "four_decimals") is rounded


@LAW
@given(st.integers(1, 10**6).flatmap(lambda judged: st.tuples(st.integers(0, judged), st.just(judged))))
def test_the_exact_comparison_is_one_of_integers(counts):
    hits, judged = counts
    assert (at_least(Fraction(hits, judged), FOUR_FIFTHS, "exact") is Outcome.PASS) == (5 * hits >= 4 * judged)
    assert (at_most(Fraction(hits, judged), TENTH, "exact") is Outcome.PASS) == (10 * hits <= judged)


@LAW
@given(st.fractions(0, 1), st.fractions(0, 1), st.sampled_from(["exact", "four_decimals"]))
def test_a_gate_never_says_anything_but_pass_or_fail(estimate, threshold, comparison):
    said = {at_least(estimate, threshold, comparison), at_most(estimate, threshold, comparison)}
    assert said in ({Outcome.PASS}, {Outcome.PASS, Outcome.FAIL})


@pytest.mark.parametrize("estimate", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("gate", [at_least, at_most])
@pytest.mark.parametrize("comparison", ["exact", "four_decimals"])
def test_what_is_no_number_gets_no_outcome(gate, estimate, comparison):
    with pytest.raises((ValueError, OverflowError)):
        gate(estimate, FOUR_FIFTHS, comparison)


@pytest.mark.parametrize(
    ("estimate", "threshold"),
    [
        pytest.param(0.95, GUARD, id="the-nearest-float-lies-below"),
        pytest.param(1 - 0.2 / 0.5, Fraction(3, 5), id="kappa-of-.6"),
        pytest.param(0.1 * 3, Fraction(3, 10), id="the-sum-lies-above"),
        pytest.param(7 / 17, Fraction(7, 17), id="no-decimal"),
    ],
)
def test_arithmetic_of_floats_does_not_move_a_number_off_its_threshold(estimate, threshold):
    assert at_least(estimate, threshold, "exact") is at_most(estimate, threshold, "exact") is Outcome.PASS
    assert below(estimate, threshold) is Outcome.FAIL
    hair = Fraction(1, 10**11)
    assert at_least(estimate, threshold + hair, "exact") is at_most(estimate, threshold - hair, "exact") is Outcome.FAIL
    assert below(estimate, threshold + hair) is Outcome.PASS
