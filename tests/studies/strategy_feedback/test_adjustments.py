"""An adjustment moves on a signal alone, within its clamp, from ten executions on, and never by the outcome."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval_pipeline.arms import Arm
from eval_pipeline.observations import Log
from eval_pipeline.studies.strategy_feedback.adjustments import adjustment_of, expected_gain, learnt
from eval_pipeline.studies.strategy_feedback.cells import cells_of
from eval_pipeline.studies.strategy_feedback.executions import executions_of
from tests.stats.laws import LAW
from tests.studies.strategy_feedback.made_up import HELPFUL, changed, execution, made_up, runs_in

SHARE = st.fractions(-1, 1, max_denominator=200)


def gains_log(plan, gains, *, arm=Arm.CONTROL, passes=3):
    """An execution a gain, all of the first strategy, over a reference of .5."""
    runs = runs_in(plan, arm, len(gains))
    return Log(
        tuple(
            execution(plan, run_id, n, confidence=float(Fraction(1, 2) + gain), reference_confidence=0.5, passes=passes)
            for n, (run_id, gain) in enumerate(zip(runs, gains, strict=True))
        ),
        simulated=False,
    )


def first(log, plan):
    return learnt(executions_of(log, plan).recorded, plan).adjustments[0]


@pytest.fixture(scope="module")
def small(plan):
    """Points of two executions, limits from three points."""
    return changed(plan, updates={"batch": 2, "baseline_batches": 3})


OFF = [Fraction(n, 100) for n in (4, 6, 5, 7, 3, 5, 4, 6, 5, 5)]  # mean .05, expected .10
ON = [Fraction(n, 100) for n in (9, 11, 8, 14, 7, 11, 10, 12, 9, 9)]  # mean .10


def test_the_rule_by_hand(plan):
    # (.08 - .10) / .10 = -.2; (.05 - .10) / .10 = -.5, held at -.3; (.14 - .10) / .10 = .4, held at .3.
    means = [Fraction(n, 100) for n in (8, 5, 14, 13, 10)]
    found = [adjustment_of(mean, Fraction(1, 10), plan.updates) for mean in means]
    assert found == [Fraction(-1, 5), Fraction(-3, 10), Fraction(3, 10), Fraction(3, 10), 0]


@LAW
@given(SHARE, st.fractions(Fraction(1, 100), 1, max_denominator=200))
def test_an_adjustment_never_leaves_its_clamp_and_grows_with_the_gain(plan, mean, expected):
    found = adjustment_of(mean, expected, plan.updates)
    assert abs(found) <= plan.updates.clamp
    assert adjustment_of(mean + Fraction(1, 10), expected, plan.updates) >= found
    if abs(found) < plan.updates.clamp:
        assert expected * (1 + found) == mean


def test_a_signal_moves_it_to_what_control_runs_show(small):
    found = first(gains_log(small, OFF), small)
    assert (found.executions, found.mean_gain, found.moved) == (10, Fraction(1, 20), True)
    assert found.proposed == Fraction(-3, 10)
    assert "signals, the first at batch 1: beyond_limits" in found.why


def test_without_a_signal_it_stays_though_the_mean_is_another(small):
    gains = [gain + Fraction(1, 100) for gain in ON]
    found = first(gains_log(small, gains), small)
    assert (found.mean_gain, found.proposed, found.signals) == (Fraction(11, 100), 0, 0)
    assert found.why == "nothing on the chart speaks against the value in force"


def test_nine_executions_move_nothing_and_ten_do(small):
    nine = first(gains_log(small, OFF[:9]), small)
    assert (nine.moved, nine.why) == (False, "9 executions are recorded, and an update takes 10")
    assert nine.signals > 0
    assert first(gains_log(small, OFF), small).moved


def test_one_far_execution_moves_nothing(plan):
    """A single observation has no limits to be beyond: ten executions make one point, and limits take twelve."""
    found = first(gains_log(plan, [*ON, Fraction(49, 100)]), plan)
    assert (found.moved, found.why) == (False, "1 batches are there, and limits take 12; nothing moves until then")


def test_it_is_learnt_from_control_runs_alone(small):
    control, treated = gains_log(small, ON), gains_log(small, OFF, arm=Arm.TREATMENT)
    later = tuple(row.model_copy(update={"sequence": 100 + row.sequence}) for row in treated.rows)
    assert first(Log(control.rows + later, simulated=False), small) == first(control, small)
    assert first(treated, small).executions == 0
    assert first(treated, small).mean_gain is None


def test_a_value_in_force_that_control_runs_bear_out_stays(small):
    values = {"gain": "1/10", "adjustment": "-3/10"}
    moved = changed(small, expected={"tree_of_thoughts": values})
    gains = [gain - Fraction(3, 100) for gain in ON]  # mean .07, expected .10 (1 - .3)
    found = first(gains_log(moved, gains), moved)
    assert (found.in_force, found.proposed, found.moved) == (Fraction(-3, 10), Fraction(-3, 10), False)
    assert (found.signals, found.why) == (0, "nothing on the chart speaks against the value in force")


def test_a_control_run_chooses_without_history(plan):
    moved = changed(plan, expected={"reflexion": {"gain": "3/25", "adjustment": "-1/4"}})
    assert expected_gain("reflexion", Arm.TREATMENT, moved) == Fraction(9, 100)
    assert expected_gain("reflexion", Arm.CONTROL, moved) == Fraction(12, 100)


@pytest.mark.parametrize("passes", [0, 4])
def test_the_outcome_has_no_part_in_what_is_learnt(small, passes):
    """The first version recorded the expected gain if the section passed, and 0 if not.

    By that rule ten passes would give a mean of .10, the expected one, and confirm it; ten failures 0, and move it to
    the clamp. Here both give what the confidences say.
    """
    assert first(gains_log(small, OFF, passes=passes), small) == first(gains_log(small, OFF, passes=3), small)


@LAW
@given(st.integers(0, 2**32 - 1))
def test_no_outcome_whatever_changes_a_gain_or_an_adjustment(plan, seed):
    """Executions whose passes are drawn anew, without regard to anything, teach the loop the same."""
    rng = np.random.default_rng(3)
    executions = made_up(plan, HELPFUL, treated=rng.random(40) < 0.5, rng=rng).recorded
    other = replace(executions, passes=np.random.default_rng(seed).integers(0, executions.claims + 1))
    assert learnt(executions, plan) == learnt(other, plan)
    gains = [[cell.gain for cell in cells_of(one, plan.design)] for one in (executions, other)]
    assert gains[0] == gains[1]


def test_what_is_expected_does_not_change_what_is_recorded(small):
    """A gain that repeats the expectation would follow it here."""
    log = gains_log(small, OFF)
    other = changed(small, expected={"tree_of_thoughts": {"gain": "1/20", "adjustment": "0"}})
    assert first(log, other).mean_gain == first(log, small).mean_gain == Fraction(1, 20)
    assert first(log, other).proposed == 0
    assert first(log, small).proposed == Fraction(-3, 10)
