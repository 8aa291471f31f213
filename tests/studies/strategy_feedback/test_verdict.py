"""Each claim has its outcome, and one that cannot be said is withheld with its reason."""

from dataclasses import replace

import pytest

from eval_pipeline.records import Interval, Outcome, Reason
from eval_pipeline.studies.strategy_feedback.decision import Decision, Word
from eval_pipeline.studies.strategy_feedback.verdict import CLAIMS, verdicts


def claim(name, found, replay, plan):
    return next(one for one in verdicts(found, replay, plan) if one.claim == name)


def deciding(found, word):
    return replace(found, decision=Decision(word, f"why {word.value}"))


def test_the_claims_stand_in_their_order_and_each_is_put_in_words(found, replay, plan):
    assert [one.claim for one in verdicts(found, replay, plan)] == list(CLAIMS)
    assert all(words.endswith(".") for words in CLAIMS.values())


@pytest.mark.parametrize(
    ("word", "outcome", "reason"),
    [
        (Word.SHIP, Outcome.PASS, None),
        (Word.BELOW_EFFECT, Outcome.WARN, Reason.THRESHOLD_MISSED),
        (Word.MORE_DATA, Outcome.SKIP, Reason.UNDERPOWERED),
        (Word.REVERT, Outcome.FAIL, Reason.THRESHOLD_MISSED),
    ],
)
def test_the_word_decides_whether_the_loop_helps(found, plan, word, outcome, reason):
    said = claim("loop_helps", deciding(found, word), None, plan)
    assert (said.outcome, said.reason, said.detail) == (outcome, reason, f"why {word.value}")
    assert (said.estimate, said.interval) == (found.whole.difference, found.whole.interval)
    assert said.threshold == plan.deciding.ship_at_least


def test_no_number_is_stated_before_the_planned_one(found, plan):
    early = replace(found, whole=replace(found.whole, needed=10**6), decision=Decision(Word.MORE_DATA, "early"))
    said = claim("loop_helps", early, None, plan)
    assert (said.outcome, said.estimate, said.interval) == (Outcome.SKIP, None, None)


def test_held_out_runs_have_the_last_word(found, replay, plan):
    taken_back = replace(replay, standing="contradicted", decision=Decision(Word.REVERT, "taken back"))
    assert claim("loop_helps", found, taken_back, plan).outcome is Outcome.FAIL
    assert claim("held_out_agrees", found, taken_back, plan).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    ("standing", "outcome", "reason"),
    [("confirmed", Outcome.PASS, None), ("not_contradicted", Outcome.WARN, Reason.NOT_SHOWN)],
)
def test_held_out_runs_agree_or_are_too_few(found, replay, plan, standing, outcome, reason):
    said = claim("held_out_agrees", found, replace(replay, standing=standing), plan)
    assert (said.outcome, said.reason) == (outcome, reason)
    assert f"the decision 'ship' is {standing.replace('_', ' ')}" in said.detail


def test_without_held_out_runs_nothing_is_said_of_them(found, replay, plan):
    for none in (None, replace(replay, standing=None)):
        said = claim("held_out_agrees", found, none, plan)
        assert (said.outcome, said.reason, said.estimate) == (Outcome.SKIP, Reason.NOT_MEASURED, None)


def with_strategy(found, number, **fields):
    strategies = list(found.strategies)
    strategies[number] = replace(strategies[number], **fields)
    return replace(found, strategies=tuple(strategies))


def test_no_strategy_harmed_passes_with_the_lowest(found, plan):
    said = claim("no_strategy_harmed", found, None, plan)
    lowest = min(found.strategies, key=lambda one: one.difference)
    assert (said.outcome, said.estimate, said.interval) == (Outcome.PASS, lowest.difference, lowest.interval)


def test_a_strategy_that_passes_less_is_named(found, plan):
    harm = {"difference": -0.1, "interval": Interval(-0.15, -0.05, 0.9875)}
    said = claim("no_strategy_harmed", with_strategy(found, 2, **harm), None, plan)
    assert (said.outcome, said.estimate) == (Outcome.FAIL, -0.1)
    assert "the pass rate of reflexion is lower" in said.detail
    touching = with_strategy(found, 2, difference=-0.1, interval=Interval(-0.2, 0.0, 0.9875))
    assert claim("no_strategy_harmed", touching, None, plan).outcome is Outcome.PASS


def test_a_strategy_with_too_few_executions_withholds_the_claim_but_hides_no_harm(found, plan):
    few = with_strategy(found, 1, needed=10**6)
    said = claim("no_strategy_harmed", few, None, plan)
    assert (said.outcome, said.reason) == (Outcome.SKIP, Reason.UNDERPOWERED)
    assert "self_consistency (" in said.detail
    harm = with_strategy(few, 2, difference=-0.1, interval=Interval(-0.15, -0.05, 0.9875))
    assert claim("no_strategy_harmed", harm, None, plan).outcome is Outcome.FAIL


def test_a_harm_that_too_few_show_is_not_stated(found, plan):
    harm = {"difference": -0.1, "interval": Interval(-0.15, -0.05, 0.9875), "needed": 10**6}
    assert claim("no_strategy_harmed", with_strategy(found, 2, **harm), None, plan).outcome is Outcome.SKIP


def test_constants_that_charts_call_out_are_a_warning_with_what_moves(found, plan):
    said = claim("constants_stable", found, None, plan)
    assert (said.outcome, said.reason) == (Outcome.WARN, Reason.DRIFT)
    assert "reflexion / feature / standard to -0.300" in said.detail


def test_constants_that_nothing_speaks_against_stand(found, plan):
    quiet = replace(found, charts=tuple(replace(chart, signals=()) for chart in found.charts))
    assert claim("constants_stable", quiet, None, plan).outcome is Outcome.PASS
    silent = replace(quiet.charts[1], centre=None, why="3 batches are there")
    said = claim("constants_stable", replace(quiet, charts=(*quiet.charts[:1], silent)), None, plan)
    assert (said.outcome, said.reason) == (Outcome.SKIP, Reason.NOT_MEASURED)
    assert said.detail == "gain of self_consistency / feature / standard: 3 batches are there"
