"""The shipped plan says every number, and its own are what our power functions give; one that cannot be is refused."""

from fractions import Fraction

import pytest

from eval_pipeline.errors import PlanRefused
from eval_pipeline.plan import parse_plan
from eval_pipeline.studies.strategy_feedback.plan import StrategyFeedbackPlan
from tests.studies.strategy_feedback.made_up import changed


def test_the_shipped_plan_says_what_was_promised(plan):
    assert (plan.study, plan.power.n, plan.deciding.ship_at_least) == ("strategy-feedback", 393, Fraction(1, 10))
    assert (plan.updates.clamp, plan.updates.executions) == (Fraction(3, 10), 10)
    assert plan.arms.control_share == Fraction(1, 5)
    assert plan.arms.rule.salt == "strategy-feedback"
    assert (plan.design.reference, len(plan.design.strategies)) == ("chain_of_thought", 4)


def test_every_contradiction_of_this_loop_is_settled_with_a_reason(plan):
    said = " ".join(one.said for one in plan.settled)
    for subject in ("50 executions", "equal arms", "no rest by 5", "no branch", "interval spans 0", "expected one"):
        assert subject in said
    assert all(one.reason.endswith(".") for one in plan.settled)


def test_what_runs_cost_is_added_to_the_number(plan):
    # 393 (1 + 3 x .05) = 451.95.
    assert plan.needed == 452
    assert plan.needed_of_all == 4 * 452
    assert changed(plan, design={"intraclass": "0"}).needed == 393


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        ({"design": {"strategies": ["a", "chain_of_thought"]}}, "strategies without the reference"),
        ({"design": {"strategies": ["a", "a"]}}, "none twice"),
        ({"design": {"contexts": []}}, "at least one of each"),
        ({"design": {"sd": "3/5"}}, 'design.sd\': found "3/5", expected less than'),
        ({"design": {"strategies": ["tree_of_thoughts"]}}, "an expected gain for each of tree_of_thoughts"),
        ({"arms": {"control_share": "0"}}, "leaves runs in both arms"),
        ({"arms": {"control_share": "1"}}, "leaves runs in both arms"),
        ({"updates": {"baseline_batches": 1}}, "updates.baseline_batches"),
        ({"updates": {"clamp": "0"}}, "updates.clamp"),
        ({"deciding": {"powered_effect": "1/10"}}, "a powered effect above the one that ships"),
        ({"deciding": {"ship_at_most": "1/10"}}, "a field that no rule reads"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_with_its_sentence(plan, tables, sentence):
    with pytest.raises(PlanRefused, match=sentence):
        changed(plan, **tables)


def test_an_adjustment_in_force_beyond_the_clamp_is_refused(plan):
    beyond = plan.model_dump(mode="json")["expected"]["reflexion"] | {"adjustment": "-31/100"}
    with pytest.raises(PlanRefused, match=r"within the clamp of 0\.3"):
        changed(plan, expected={"reflexion": beyond})


@pytest.mark.parametrize(("table", "field"), [("deciding", "level"), ("updates", "clamp"), ("design", "sd")])
def test_nothing_is_left_to_a_default(plan, table, field):
    values = plan.model_dump(mode="json")
    values[table].pop(field)
    with pytest.raises(PlanRefused, match=f"{table}.{field}.*a plan leaves nothing to a default"):
        parse_plan(values, StrategyFeedbackPlan, "plan")
