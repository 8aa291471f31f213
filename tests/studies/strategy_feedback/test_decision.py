"""Every difference falls into one branch; held-out runs can only take a decision back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.records import Interval
from eval_pipeline.studies.strategy_feedback.decision import Decision, Word, after_held_out, decide, standing_of
from tests.stats.laws import LAW


def word(plan, difference, low, high):
    return decide(difference, Interval(low, high, 0.95), plan.deciding).word


@pytest.mark.parametrize(
    ("difference", "low", "high", "expected"),
    [
        (0.12, 0.03, 0.21, Word.SHIP),
        (0.1, 0.001, 0.199, Word.SHIP),
        (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 5), Word.SHIP),
        (0.1 - 1e-9, 0.001, 0.199, Word.BELOW_EFFECT),
        (0.03, 0.01, 0.05, Word.BELOW_EFFECT),
        (0.12, 0.0, 0.24, Word.MORE_DATA),
        (0.12, -0.01, 0.25, Word.MORE_DATA),
        (0.04, -0.03, 0.11, Word.MORE_DATA),
        (0.0, -0.05, 0.05, Word.REVERT),
        (-0.01, -0.05, 0.03, Word.REVERT),
        (-0.02, -0.1, -0.001, Word.REVERT),
    ],
)
def test_the_branches_and_their_edges(plan, difference, low, high, expected):
    assert word(plan, difference, low, high) is expected


def test_a_float_that_lost_a_tenth_to_arithmetic_still_ships(plan):
    lost = 0.7 - 0.6
    assert lost < Fraction(1, 10)
    assert word(plan, lost, 0.05, 0.15) is Word.SHIP


def test_each_word_says_why_and_what_to_do(plan):
    said = {
        (
            0.12,
            0.03,
            0.21,
        ): "by 12.0 points (95% interval 3.0 points to 21.0 points), and 10.0 points were registered; switch",
        (
            0.03,
            0.01,
            0.05,
        ): "beneficial, below the registered effect of 10.0 points; do not ship on this evidence, and do",
        (0.04, -0.03, 0.11): "leaves 0 possible; keep the control arm, and run a new generation with more executions",
        (-0.02, -0.1, -0.001): "and is shown to harm; switch it off and clear what it has learnt",
        (-0.02, -0.1, 0.06): "which is no gain; switch it off",
    }
    for (difference, low, high), words in said.items():
        assert words in decide(difference, Interval(low, high, 0.95), plan.deciding).reason


ENDS = st.integers(-50, 50).map(lambda n: n / 100)


@LAW
@given(ENDS, st.integers(0, 30), st.integers(0, 30))
def test_more_is_never_worse(plan, difference, below, above):
    """Moved up as a whole, a difference and its interval never fall in rank."""
    rank = [Word.REVERT, Word.MORE_DATA, Word.BELOW_EFFECT, Word.SHIP]
    ranks = [
        rank.index(
            word(
                plan, difference + step / 50, difference - below / 100 + step / 50, difference + above / 100 + step / 50
            )
        )
        for step in range(40)
    ]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    ("first", "low", "high", "standing", "after"),
    [
        (Word.SHIP, 0.01, 0.2, "confirmed", Word.SHIP),
        (Word.SHIP, -0.1, 0.2, "not_contradicted", Word.SHIP),
        (Word.SHIP, 0.0, 0.2, "not_contradicted", Word.SHIP),
        (Word.SHIP, -0.2, -0.01, "contradicted", Word.REVERT),
        (Word.BELOW_EFFECT, -0.2, -0.01, "contradicted", Word.REVERT),
        (Word.BELOW_EFFECT, 0.01, 0.3, "confirmed", Word.BELOW_EFFECT),
        (Word.REVERT, 0.01, 0.2, "contradicted", Word.MORE_DATA),
        (Word.REVERT, -0.2, -0.01, "confirmed", Word.REVERT),
        (Word.REVERT, -0.2, 0.0, "not_contradicted", Word.REVERT),
    ],
)
def test_held_out_runs_take_back_what_they_exclude(first, low, high, standing, after):
    interval = Interval(low, high, 0.95)
    assert standing_of(first, interval) == standing
    assert after_held_out(Decision(first, "why"), standing, interval).word is after


def test_held_out_runs_do_not_decide_what_was_left_open():
    open_ = Decision(Word.MORE_DATA, "why")
    assert after_held_out(open_, "contradicted", Interval(-0.2, -0.1, 0.95)) is open_


def test_a_decision_that_was_taken_back_says_what_it_was():
    found = after_held_out(Decision(Word.SHIP, "found to help"), "contradicted", Interval(-0.2, -0.1, 0.95))
    assert found.reason == (
        "found to help; but held-out runs say the contrary (95% interval -20.0 points to -10.0 points): what was found"
        " does not hold; switch it off"
    )
