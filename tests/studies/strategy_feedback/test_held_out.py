"""Held-out runs replay the decision: they confirm it, leave it, or take it back."""

from dataclasses import replace

import numpy as np
import pytest

from eval_pipeline.errors import MalformedObservations
from eval_pipeline.observations import Log
from eval_pipeline.studies.strategy_feedback.decision import Word
from eval_pipeline.studies.strategy_feedback.generator import HELPFUL, generated
from eval_pipeline.studies.strategy_feedback.held_out import held_out
from tests.studies.strategy_feedback.made_up import execution


@pytest.fixture(scope="module")
def harmful(plan):
    """Held-out runs in which the loop harms."""
    return generated(plan, replace(HELPFUL, effect=-0.12), runs=300, rng=np.random.default_rng(1))


def test_runs_of_the_same_truth_confirm_the_decision(replay, found):
    assert (found.decision.word, replay.standing, replay.decision) == (Word.SHIP, "confirmed", found.decision)


def test_the_replay_is_of_the_held_out_runs_alone(replay, parts):
    recorded = sum(row.claims > 0 for row in parts[1].rows)
    assert replay.whole.on.executions + replay.whole.off.executions == recorded < 0.3 * len(parts[0].rows)


def test_runs_of_another_truth_take_it_back(found, harmful, plan):
    after = held_out(found, harmful, plan)
    assert (after.standing, after.decision.word) == ("contradicted", Word.REVERT)
    assert "but held-out runs say the contrary" in after.decision.reason


def test_too_few_to_tell_leave_it(found, harmful, plan):
    after = held_out(found, Log(harmful.rows[:40], simulated=True), plan)
    assert (after.standing, after.decision) == ("not_contradicted", found.decision)


def test_none_that_can_be_compared_say_nothing(found, harmful, plan):
    after = held_out(found, Log(harmful.rows[:1], simulated=True), plan)
    assert (after.standing, after.decision) == (None, found.decision)
    assert after.whole.why


def test_where_nothing_was_decided_there_is_nothing_to_replay(found, harmful, plan):
    open_ = replace(found, decision=replace(found.decision, word=Word.MORE_DATA))
    assert held_out(open_, harmful, plan).standing is None


def test_held_out_runs_are_held_to_the_plan_too(found, plan):
    with pytest.raises(MalformedObservations, match="expected one of"):
        held_out(found, Log((execution(plan, "r1", 1, strategy="x"),), simulated=False), plan)
