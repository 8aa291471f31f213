"""Rates by hand, what they are shown to be, and what is in none of them."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from eval_pipeline.records import Alignment, Compliance
from eval_pipeline.studies.judge_calibration.confusion import error_rates, rate_of, standing_of
from tests.studies.judge_calibration.made_up import LEVEL, composed, predicted


def test_false_clears_and_false_flags_are_counted_apart_from_the_gate():
    gold = composed({"SUPPORTED": 4, "UNSUPPORTED": 3, "AMBIGUOUS": 2}, {"VIOLATED": 2, "NOT_VIOLATED": 3})
    turned = {0: Alignment.UNSUPPORTED, 4: Alignment.SUPPORTED, 7: Alignment.UNSUPPORTED, 11: Compliance.VIOLATED}
    rates = error_rates(predicted(gold, lambda item: turned.get(item.index, item.expected)), level=LEVEL)
    # One UNSUPPORTED of 3 cleared; of 4 SUPPORTED, 2 AMBIGUOUS and 3 NOT_VIOLATED three are flagged.
    assert (rates.false_clear.errors, rates.false_clear.n) == (1, 3)
    assert (rates.false_flag.errors, rates.false_flag.n) == (3, 9)
    # Three wrong labels count on both sides, the false violation on one: 3 of 9 + 2, 3 + 1 of 9 + 3.
    assert (rates.false_negatives.errors, rates.false_negatives.n) == (3, 11)
    assert (rates.false_positives.errors, rates.false_positives.n) == (4, 12)
    assert sum(rates.matrix.values()) == len(gold.tuples)
    # Missed: SUPPORTED 1/4, UNSUPPORTED 1/3, AMBIGUOUS 1/2, violations 0/2.
    assert rates.macro_false_negatives == (Fraction(1, 4) + Fraction(1, 3) + Fraction(1, 2)) / 4


def test_an_answer_without_a_label_is_in_no_rate_but_its_own():
    gold = composed({"SUPPORTED": 5}, {"NOT_VIOLATED": 3})
    rates = error_rates(predicted(gold, lambda item: None if item.index < 2 else item.expected), level=LEVEL)
    assert (rates.invalid.errors, rates.invalid.n) == (2, 8)
    assert (rates.false_negatives.n, rates.per_class["SUPPORTED"].false_negatives.n) == (3, 3)
    assert rates.matrix["SUPPORTED", None] == 2


def test_a_violation_that_is_found_for_another_rule_is_told():
    gold = composed({}, {"VIOLATED": 2, "NOT_VIOLATED": 3})
    first, *others = predicted(gold, lambda item: item.expected)
    rates = error_rates([replace(first, constraint_id="MNC-2"), *others], level=LEVEL)
    assert (rates.wrong_rule.errors, rates.wrong_rule.n) == (1, 2)


def test_a_violation_without_a_rule_named_says_nothing_of_rules():
    gold = composed({}, {"VIOLATED": 3, "NOT_VIOLATED": 3})
    predictions = [replace(one, constraint_id=None) for one in predicted(gold, lambda item: item.expected)]
    assert error_rates(predictions, level=LEVEL).wrong_rule.estimate is None


def test_a_judge_that_calls_the_doubtful_unsupported_flags_falsely_and_clears_nothing(canonical):
    """Row by row it looks like a careful judge; 3 AMBIGUOUS of 5 + 3 + 1 + 3 that should not be flagged."""
    doubtful = Alignment.AMBIGUOUS
    found = predicted(canonical, lambda item: Alignment.UNSUPPORTED if item.expected is doubtful else item.expected)
    rates = error_rates(found, level=LEVEL)
    assert (rates.false_flag.errors, rates.false_flag.n) == (3, 12)
    assert (rates.false_clear.errors, rates.false_clear.n) == (0, 8)
    assert rates.matrix["AMBIGUOUS", "UNSUPPORTED"] == 3


def test_a_false_violation_and_a_flag_on_a_failed_retrieval_are_false_flags_and_a_missed_one_is_none(canonical):
    turned = {
        Alignment.RETRIEVAL_FAILED: Alignment.UNSUPPORTED,
        Compliance.NOT_VIOLATED: Compliance.VIOLATED,
        Compliance.VIOLATED: Compliance.NOT_VIOLATED,
    }
    rates = error_rates(predicted(canonical, lambda item: turned.get(item.expected, item.expected)), level=LEVEL)
    assert (rates.false_flag.errors, rates.false_flag.n) == (4, 12)
    assert (rates.false_negatives.errors, rates.false_positives.errors) == (6, 4)


def test_whatever_a_judge_says_the_counts_of_the_matrix_add_up(canonical):
    """Over 30 judges who answer by chance: rows, errors, denominators and answers without a label, from the matrix."""
    rng = np.random.default_rng(11)
    for _ in range(30):
        choices = [[*Alignment, None], [*Compliance, None]]
        answers = [choices[item.constraint is not None] for item in canonical.tuples]
        said = [labels[rng.integers(len(labels))] for labels in answers]
        rates = error_rates(predicted(canonical, lambda item, said=said: said[item.index]), level=LEVEL)
        matrix = rates.matrix
        assert sum(matrix.values()) == rates.invalid.n == 25
        assert sum(count for (_, label), count in matrix.items() if label is None) == rates.invalid.errors
        for label in ("SUPPORTED", "UNSUPPORTED", "AMBIGUOUS"):
            of = rates.per_class[label]
            labelled = {cell: count for cell, count in matrix.items() if cell[1] and cell[0] in list(Alignment)}
            assert of.false_negatives.n + of.false_positives.n == sum(labelled.values())
            row = sum(count for cell, count in labelled.items() if cell[0] == label)
            column = sum(count for cell, count in labelled.items() if cell[1] == label)
            right = matrix.get((label, label), 0)
            assert (of.false_negatives.n, of.false_negatives.errors) == (row, row - right)
            assert of.false_positives.errors == column - right
        wrong = sum(count for cell, count in labelled.items() if cell[0] != cell[1])
        assert rates.false_negatives.errors == wrong + matrix.get(("VIOLATED", "NOT_VIOLATED"), 0)
        assert rates.false_positives.errors == wrong + matrix.get(("NOT_VIOLATED", "VIOLATED"), 0)


def test_the_order_of_the_tuples_changes_nothing(canonical):
    found = predicted(canonical, lambda item: Alignment.SUPPORTED if item.index % 3 == 0 else item.expected)
    assert error_rates(found, level=LEVEL) == error_rates(found[::-1], level=LEVEL)


@pytest.mark.parametrize(("errors", "n"), [(0, 22), (3, 22), (5, 5), (1, 20), (0, 3), (7, 165)])
def test_the_interval_of_a_rate_is_that_of_scipy(errors, n):
    exact = binomtest(errors, n).proportion_ci(0.95, method="exact")
    found = rate_of(errors, n, level=LEVEL).interval
    assert [found.low, found.high] == pytest.approx([exact.low, exact.high], abs=1e-9)


def test_what_was_not_measured_is_no_rate():
    assert rate_of(0, 0, level=LEVEL).estimate is None
    assert rate_of(0, 0, level=LEVEL).interval is None
    assert standing_of(rate_of(0, 0, level=LEVEL), Fraction(1, 10), level=LEVEL) is None


@pytest.mark.parametrize(
    ("errors", "n", "bar", "standing"),
    [
        (0, 29, "1/10", "shown_below"),
        (0, 28, "1/10", "not_shown"),
        (1, 46, "1/10", "shown_below"),
        (1, 45, "1/10", "not_shown"),
        (0, 19, "3/20", "shown_below"),
        (0, 18, "3/20", "not_shown"),
        (1, 30, "3/20", "shown_below"),
        (1, 29, "3/20", "not_shown"),
        (9, 30, "1/10", "shown_above"),
        (3, 3, "1/10", "shown_above"),
        (7, 30, "1/10", "shown_above"),
        (6, 30, "1/10", "not_shown"),
        (4, 30, "1/10", "not_shown"),
    ],
)
def test_a_rate_is_shown_to_lie_on_a_side_of_its_bar_by_as_many_tuples_as_the_planner_asks(errors, n, bar, standing):
    assert standing_of(rate_of(errors, n, level=LEVEL), Fraction(bar), level=LEVEL) == standing
