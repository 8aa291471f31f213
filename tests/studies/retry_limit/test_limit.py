"""The decision, branch by branch, and on every bar."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.records import Interval
from eval_pipeline.studies.retry_limit.curves import Step
from eval_pipeline.studies.retry_limit.limit import Evidence, Rung, Word, decide, rungs_of, smallest
from tests.stats.laws import LAW
from tests.studies.retry_limit.conftest import SHIPPED, WITH, WITHOUT, amended

RUNGS = (Rung(1, 0.5, 0.58), Rung(2, 0.03, 0.049), Rung(3, 0.005, 0.02))
ENOUGH = Evidence(
    sections=2057,
    required=2057,
    failures=(100, 100),
    first_failing=Fraction(1, 10),
    p_value=0.001,
    passes=300,
    faster=WITH,
    rungs=RUNGS,
    astray=Fraction(1, 50),
)


def test_evidence_that_reaches_every_bar_calibrates_the_limit():
    found = decide(ENOUGH, SHIPPED)
    assert (found.word, found.attempts, found.kept) == (Word.CALIBRATED, 2, WITH)
    assert found.reason == (
        "retries that are told what was wrong pass sooner (p = 0.001), and attempt 3 passes in 3.0% of the sections"
        " that come to it, at most 4.9%, below 5%"
    )


@pytest.mark.parametrize(
    ("change", "word", "attempts", "words"),
    [
        ({"first_failing": Fraction(19, 200)}, Word.HELD, 3, "of the first 200 sections 9.5% failed"),
        ({"sections": 2056}, Word.UNDECIDED, 3, "2056 sections were tried and 2057 are needed; go on"),
        ({"required": None}, Word.UNDECIDED, 3, "no number of sections is known to be enough"),
        ({"failures": (99, 500)}, Word.UNDECIDED, 3, "99 first attempts failed in one arm and 100 are needed"),
        ({"failures": (500, 99)}, Word.UNDECIDED, 3, "99 first attempts failed in one arm and 100 are needed"),
        ({"astray": Fraction(21, 1000)}, Word.UNDECIDED, 3, "2.1% of the retries were told against their arm, and"),
        ({"p_value": None}, Word.UNDECIDED, 3, "the arms cannot be compared"),
        ({"p_value": 0.05}, Word.MECHANISM_BROKEN, 1, "(p = 0.05, not below 0.05); investigate the retry mechanism"),
        ({"p_value": None, "passes": 0}, Word.MECHANISM_BROKEN, 1, "no retry passed in either arm"),
        ({"rungs": RUNGS[:1]}, Word.KEPT, 3, "after no number of attempts is the next one shown"),
        ({"rungs": ()}, Word.KEPT, 3, "after no number of attempts is the next one shown"),
        ({"faster": WITHOUT}, Word.CALIBRATED, 2, "retries that are not told what was wrong pass sooner"),
    ],
)
def test_each_branch_by_the_first_that_holds(change, word, attempts, words):
    found = decide(replace(ENOUGH, **change), SHIPPED)
    assert (found.word, found.attempts) == (word, attempts)
    assert words in found.reason
    assert found.kept is (change.get("faster", WITH) if word in (Word.CALIBRATED, Word.KEPT) else None)


def test_a_p_below_the_bar_by_the_least_is_below_it():
    assert decide(replace(ENOUGH, p_value=0.0499999), SHIPPED).word is Word.CALIBRATED


def test_a_test_without_power_breaks_no_mechanism():
    """The first version took any p of .05 or more for a broken mechanism, after however few sections."""
    assert decide(replace(ENOUGH, sections=20, p_value=0.9), SHIPPED).attempts == 3


def test_before_there_are_enough_first_sections_nothing_is_held():
    assert decide(replace(ENOUGH, first_failing=None), SHIPPED).word is Word.CALIBRATED


@pytest.mark.parametrize(
    ("rung", "wasted"),
    [
        (Rung(2, 0.0499, 0.0499), True),
        (Rung(2, 0.05, 0.0499), False),
        (Rung(2, 0.0499, 0.05), False),
        (Rung(2, 0.01, None), False),
    ],
)
def test_share_and_bound_must_both_lie_below_the_bar(rung, wasted):
    assert smallest([rung], SHIPPED.limit) == (2 if wasted else None)


def test_the_smallest_limit_is_taken_and_it_may_be_above_the_default():
    assert smallest(RUNGS, SHIPPED.limit) == 2
    assert smallest((RUNGS[0], Rung(2, 0.2, 0.3), Rung(3, 0.2, 0.3), Rung(4, 0.0, 0.01)), SHIPPED.limit) == 4


def test_a_rung_is_what_one_attempt_more_would_give():
    interval = Interval(0.0, 0.04, 0.95)
    steps = [Step(k, 100, 1, 0.01 * k, Interval(0.0, 1.0, 0.95), interval if k < 3 else None, None) for k in (1, 2, 3)]
    assert rungs_of(steps) == (Rung(1, 0.02, 0.04), Rung(2, 0.03, None))
    assert rungs_of(steps[:1]) == ()


@LAW
@given(
    st.integers(0, 4000),
    st.floats(0, 1),
    st.integers(0, 300),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=4),
)
def test_the_limit_is_never_two_where_the_mechanism_is_broken(sections, p_value, failures, rungs):
    """And it leaves the default only where there were enough sections."""
    steps = tuple(Rung(k, low, max(low, high)) for k, (low, high) in enumerate(rungs, 1))
    evidence = replace(ENOUGH, sections=sections, p_value=p_value, failures=(failures, 300), rungs=steps)
    found = decide(evidence, SHIPPED)
    if sections < 2057 or failures < 100:
        assert (found.word, found.attempts) == (Word.UNDECIDED, 3)
    elif p_value >= 0.05:
        assert (found.word, found.attempts) == (Word.MECHANISM_BROKEN, 1)
    else:
        assert found.attempts == (smallest(steps, SHIPPED.limit) or 3)


def test_the_bars_are_the_plan_s():
    under = amended(SHIPPED, stopping={"hold_below": "1/5"})
    assert decide(ENOUGH, under).word is Word.HELD
    assert decide(ENOUGH, amended(SHIPPED, limit={"pass_below": "1/50"})).word is Word.KEPT
