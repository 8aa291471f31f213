"""A refusal's message counts what it found and shows the first of it."""

import pytest

from eval_pipeline import errors
from eval_pipeline.errors import FAULTS_SHOWN, Malformed, MalformedFixture, Refused, ThinResamples


def test_one_fault_is_one_fault():
    assert str(MalformedFixture("file 'p'", ["line 1, wrong"])) == "file 'p' has 1 fault: line 1, wrong"


def test_faults_stand_in_the_order_of_the_file():
    refusal = MalformedFixture("file 'p'", ["line 2, wrong", "line 9, odd"])
    assert str(refusal) == "file 'p' has 2 faults: line 2, wrong; line 9, odd"
    assert refusal.faults == ("line 2, wrong", "line 9, odd")


@pytest.mark.parametrize("more", [0, 1, 500])
def test_beyond_twenty_faults_the_rest_are_counted_and_kept(more):
    faults = [f"line {number}, wrong" for number in range(1, FAULTS_SHOWN + more + 1)]
    refusal = Malformed("file 'p'", faults)
    assert f"has {FAULTS_SHOWN + more} faults: line 1, wrong; " in str(refusal)
    assert str(refusal).endswith(f"; and {more} more" if more else f"line {FAULTS_SHOWN}, wrong")
    assert len(refusal.faults) == FAULTS_SHOWN + more


def test_too_few_valid_resamples_say_how_many_there_were_and_how_many_are_needed():
    refusal = ThinResamples(valid=499, resamples=1000, valid_at_least=500, what="have a value", remedy="look again")
    assert refusal.valid == 499
    assert "only 499 of 1000 resamples" in str(refusal)
    assert "at least 500" in str(refusal)


def test_whoever_catches_a_refusal_catches_them_all():
    classes = [item for item in vars(errors).values() if isinstance(item, type) and item.__module__ == errors.__name__]
    assert len(classes) > 10
    assert all(issubclass(item, Refused) for item in classes)
