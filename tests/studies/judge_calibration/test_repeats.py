"""Whether a judge repeats itself within a run."""

import pytest

from eval_pipeline.records import Alignment
from eval_pipeline.studies.judge_calibration.confusion import error_rates
from eval_pipeline.studies.judge_calibration.repeats import flips
from tests.studies.judge_calibration.made_up import LEVEL, composed, predicted


def run_of(gold, wrong):
    """A run whose answers to the tuples of these numbers are wrong."""
    return predicted(gold, lambda item: Alignment.AMBIGUOUS if item.index in wrong else item.expected)


@pytest.fixture(scope="module")
def gold():
    return composed({"SUPPORTED": 30}, {"NOT_VIOLATED": 3})


def test_a_tuple_on_which_not_all_answers_are_one_has_turned_and_the_majority_decides(gold):
    found = flips([run_of(gold, {0, 1}), run_of(gold, {1, 2}), run_of(gold, {1, 2})], level=LEVEL)
    # Tuple 0 turned once, tuple 2 twice, tuple 1 never; the majority is wrong on 1 and 2.
    assert (found.runs, found.turned.errors, found.turned.n) == (3, 2, 33)
    assert (found.majority.false_negatives.errors, found.majority.false_negatives.n) == (2, 30)


def test_without_a_majority_there_is_no_answer(gold):
    found = flips([run_of(gold, {0}), run_of(gold, set())], level=LEVEL)
    assert (found.majority.invalid.errors, found.majority.false_negatives.n) == (1, 29)


def test_one_run_says_nothing_of_how_steady_the_judge_is(gold):
    assert flips([run_of(gold, {0})], level=LEVEL) is None


def test_the_majority_brings_the_breakdown_of_a_run_that_gave_it():
    partial = composed({"UNSUPPORTED": 4}, {"NOT_VIOLATED": 3}, partial=4)
    apart, whole = predicted(partial, lambda item: item.expected), run_of(partial, {0})
    found = flips([whole, apart, apart], level=LEVEL)
    assert (found.majority.partial_misses.errors, found.majority.partial_misses.n) == (0, 4)


def test_an_answer_without_a_label_is_an_answer_of_its_own(gold):
    silent = predicted(gold, lambda item: None if item.index == 0 else item.expected)
    found = flips([silent, silent, run_of(gold, {1})], level=LEVEL)
    # Tuple 0 has a label once in three, tuple 1 a wrong one once in three.
    assert (found.turned.errors, found.majority.invalid.errors, found.majority.false_negatives.errors) == (2, 1, 0)


def test_a_judge_that_never_changes_its_mind_turns_on_nothing_and_the_majority_is_the_run(gold):
    one = run_of(gold, {0, 5})
    found = flips([one] * 5, level=LEVEL)
    assert (found.runs, found.turned.errors) == (5, 0)
    assert found.majority == error_rates(one, level=LEVEL)
